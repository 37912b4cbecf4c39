package backup

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// limitFiles is a full disk: no file grows beyond a few bytes.
func limitFiles() error {
	signal.Ignore(syscall.SIGXFSZ)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 3, Max: 3})
}

func (t task) become() error {
	if t.Mount {
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return err
		}
		if err := unix.Mount(t.Path, t.Path, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	if t.User != 0 && os.Getuid() == 0 {
		if err := syscall.Setgid(t.User); err != nil {
			return err
		}
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		return syscall.Setuid(t.User)
	}
	return nil
}

// apart gives a process that mounts a view of the files of its own.
func apart(cmd *exec.Cmd, t task) {
	if t.Mount {
		one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: group}
	}
}

// refused runs the task and wants it to end with these words.
func (b *bench) refused(task task, words ...string) {
	b.Helper()
	said, exited := b.start(task)()
	if !exited {
		b.Errorf("it died: %s", said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			b.Errorf("%q does not say %q", said, word)
		}
	}
}

func TestAFullDiskLeavesTheFileAsItWas(t *testing.T) {
	for _, step := range []string{stepLocked, stepBefore, stepAfter, stepKept, stepTemp} {
		t.Run(step, func(t *testing.T) {
			b := newBench(t)
			path := b.put("mcp.json", "old content")
			b.refused(task{Path: path, Old: []byte("old content"), New: []byte("new content"), LimitAt: step}, "file too large", "next: ", "space")
			b.holds(path, "old content")
			b.tidy("mcp.json")
			b.lists()
			b.change(path, "old content", "new content")
		})
	}
}

const nobody = 65534

// give lets the user nobody have everything of the bench.
func (b *bench) give() {
	b.Helper()
	if os.Getuid() != 0 {
		return
	}
	root := filepath.Dir(b.folder)
	for _, path := range []string{filepath.Dir(root), root, b.folder} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAFolderThatMayNotBeWrittenIsSaid(t *testing.T) {
	b := newBench(t)
	b.give()
	path := b.put("mcp.json", "old")
	for path, mode := range map[string]os.FileMode{path: 0o666, b.folder: 0o555} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(b.folder, 0o755)
	b.refused(task{Path: path, Old: []byte("old"), New: []byte("new"), User: nobody}, path, "its directory is not writable (permission denied)", "next: ")
	b.refused(task{Path: b.at("sub/mcp.json"), New: []byte("new"), User: nobody}, "directory cannot be created", "next: ")
	b.holds(path, "old")
	b.lists()
}

func TestAnOwnerIsKeptOrTheChangeRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	b := newBench(t)
	b.give()

	theirs := b.put("theirs.json", "old")
	if err := os.Chown(theirs, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	b.change(theirs, "old", "new")
	info, err := os.Stat(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 1234 || stat.Gid != 2345 || info.Mode() != 0o644 {
		t.Errorf("it belongs to %d:%d, %v", stat.Uid, stat.Gid, info.Mode())
	}
	if err := os.RemoveAll(b.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Dir(b.Dir), nobody, nobody); err != nil {
		t.Fatal(err)
	}

	// Readable, and in a folder that lets it be replaced: still not ours.
	b.refused(task{Path: theirs, Old: []byte("new"), New: []byte("x"), User: nobody}, "not writable", "next: ")
	open := b.put("open.json", "old")
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	b.refused(task{Path: open, Old: []byte("old"), New: []byte("new"), User: nobody}, "owner", "could not be preserved", "next: ")
	b.holds(open, "old")
	b.tidy("open.json", "theirs.json")
}

func TestAFileThatIsMountedOnItsOwnIsSaid(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "old")
	b.refused(task{Path: path, Old: []byte("old"), New: []byte("new"), Mount: true}, path, "itself a mount point", "next: mount its directory")
	b.holds(path, "old")
	b.tidy("mcp.json")
	b.lists()
}

func TestAttributesAndAccessListsAreKept(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "old")
	if err := unix.Setxattr(path, "user.note", []byte("by somebody"), 0); err != nil {
		t.Skip("no attributes here: ", err)
	}
	// Version 2: the owner rw, user 1234 r, the group r, at most r, others nothing.
	list := "\x02\x00\x00\x00" +
		"\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\xd2\x04\x00\x00" + "\x04\x00\x04\x00\xff\xff\xff\xff" +
		"\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	lists := unix.Setxattr(path, accessList, []byte(list), 0) == nil
	b.change(path, "old", "new")
	value := func(path, name string) string {
		return string(grown(func(buf []byte) (int, error) { return unix.Getxattr(path, name, buf) }))
	}
	if got := value(path, "user.note"); got != "by somebody" {
		t.Errorf("the attribute is %q", got)
	}
	if !lists {
		t.Skip("no access lists here")
	}
	if got := value(path, accessList); got != list {
		t.Errorf("the access list is %q", got)
	}

	// A folder hands its list to new files, but the file it replaces had none.
	plain := b.put("plain.json", "old")
	if err := unix.Setxattr(b.folder, "system.posix_acl_default", []byte(list), 0); err != nil {
		t.Fatal(err)
	}
	b.change(plain, "old", "new")
	if got := value(plain, accessList); got != "" {
		t.Errorf("it got the access list %q", got)
	}
}

func TestPipesAndSocketsAreNotOpened(t *testing.T) {
	b := newBench(t)
	path := b.at("pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
	refuses(t, err, nil, "pipe")
	_, err = b.Write(Change{Path: "/dev/null", Old: []byte{}, New: []byte("new")})
	refuses(t, err, nil, "device")
}
