//go:build unix

package backup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// owned is a directory of a user and a group.
type owned struct {
	fs.FileInfo
	mode     fs.FileMode
	uid, gid uint32
}

func (o owned) Mode() fs.FileMode { return o.mode | fs.ModeDir }
func (o owned) Sys() any          { return &syscall.Stat_t{Uid: o.uid, Gid: o.gid} }

func TestWhoMayWriteToTheStateDirectory(t *testing.T) {
	const us, our, other = 1000, 1000, 1001
	mac := runtime.GOOS == "darwin"
	for _, c := range []struct {
		name     string
		dir      owned
		uid, gid int
		refused  bool
	}{
		{"private", owned{mode: 0o700, uid: us, gid: our}, us, our, false},
		{"readable", owned{mode: 0o755, uid: us, gid: our}, us, our, false},
		{"everybody writes", owned{mode: 0o777, uid: us, gid: our}, us, our, true},
		{"others write, the group does not", owned{mode: 0o702, uid: us, gid: our}, us, our, true},
		{"sticky", owned{mode: 0o777 | fs.ModeSticky, uid: 0, gid: 0}, us, our, true},
		{"of another user", owned{mode: 0o700, uid: other, gid: other}, us, our, true},
		{"of another user, for root", owned{mode: 0o755, uid: us, gid: our}, 0, 0, true},
		{"a private group, umask 002", owned{mode: 0o775, uid: us, gid: our}, us, our, mac},
		{"a group of several users", owned{mode: 0o775 | fs.ModeSetgid, uid: us, gid: 50}, us, our, true},
		{"a container of root", owned{mode: 0o755, uid: 0, gid: 0}, 0, 0, false},
		{"root's, for a container of a user", owned{mode: 0o755, uid: 0, gid: 0}, us, our, false},
		{"an arbitrary user id with group 0", owned{mode: 0o775, uid: 0, gid: 0}, 1000650000, 0, mac},
		{"a volume with fsGroup", owned{mode: 0o775 | fs.ModeSetgid, uid: 0, gid: 2000}, us, our, true},
		{"a volume with fsGroup as the primary group", owned{mode: 0o775 | fs.ModeSetgid, uid: 0, gid: 2000}, us, 2000, mac},
		{"our directory in a volume with fsGroup", owned{mode: 0o700 | fs.ModeSetgid, uid: us, gid: 2000}, us, our, false},
		{"an empty volume", owned{mode: 0o777, uid: 0, gid: 0}, us, our, true},
	} {
		err := checkWriters("/d", c.dir, c.uid, c.gid)
		if shared := c.dir.mode&fs.ModeSetgid != 0; c.refused && !mac && shared != strings.Contains(fmt.Sprint(err), fmt.Sprintf("runAsGroup to %d", c.dir.gid)) {
			t.Errorf("%s: %v does not say what to do about a group", c.name, err)
		}
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), " /d ") || !strings.Contains(err.Error(), "\nnext: ")) {
			t.Errorf("%s: %v does not say where and what to do", c.name, err)
		}
	}
}

func TestAStateDirectoryThatOthersCanWriteToIsRefused(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "state")
	t.Setenv("GAUZE_STATE_DIR", dir)
	accepted := func(what string) {
		t.Helper()
		if got, err := StateDir(); err != nil || got != dir {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
	accepted("it does not exist yet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	accepted("it is private")
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, err := StateDir(); err == nil || !strings.Contains(err.Error(), "chmod 700 "+dir) {
		t.Errorf("everybody can write to it: %v", err)
	}
	if _, err := DefaultDir(); err == nil {
		t.Error("the backups are used")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	accepted("it is private again")
	if os.Geteuid() != 0 {
		return // only root can give a directory away
	}
	link := filepath.Join(parent, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(link, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GAUZE_STATE_DIR", link)
	if _, err := StateDir(); err == nil || !strings.Contains(err.Error(), "uid 4711") {
		t.Errorf("a link that another user made: %v", err)
	}
}
