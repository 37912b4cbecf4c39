//go:build unix

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// checkOwn returns an error if a user other than this one and root can write to the state directory. A
// directory that does not exist is created with mode 0700.
func checkOwn(dir string) error {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // who made the link chose the directory
		info, err := look(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("gauze's state directory cannot be used: %w\nnext: set GAUZE_STATE_DIR to a directory that you own", err)
		}
		if err := checkWriters(dir, info, os.Geteuid(), os.Getegid()); err != nil {
			return err
		}
	}
	return nil
}

// checkWriters returns an error if others than the user with these ids and root can write to dir.
//
// A group that may write is accepted if it is the user's own primary group: where new directories get such a
// mode, that group has no other member, and in a container with an arbitrary user id it is group 0. On
// macOS all users have the same primary group. A sticky bit does not help: others can create what gauze has
// not created yet.
func checkWriters(dir string, info fs.FileInfo, uid, gid int) error {
	owner := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	group := mode&0o020 != 0 && (int(owner.Gid) != gid || runtime.GOOS == "darwin")
	next := "\nnext: "
	if group && mode&0o002 == 0 && info.Mode()&fs.ModeSetgid != 0 { // a volume of Kubernetes, which widens the modes below it too
		next += fmt.Sprintf("in Kubernetes, set runAsGroup to %d, the same as fsGroup; elsewhere, ", owner.Gid)
	}
	switch {
	case int(owner.Uid) != uid && owner.Uid != 0:
		return fmt.Errorf("gauze's state directory %s belongs to another user (uid %d), who could control what gauze starts\nnext: set GAUZE_STATE_DIR to a directory that you own", dir, owner.Uid)
	case info.Mode()&fs.ModeSymlink != 0 || mode&0o002 == 0 && !group:
		return nil
	case int(owner.Uid) != uid:
		return fmt.Errorf("other users can write to gauze's state directory %s (mode %04o) and could control what gauze starts%sset GAUZE_STATE_DIR to a directory that you own, such as %[1]s/gauze, which gauze creates", dir, mode, next)
	}
	return fmt.Errorf("other users can write to gauze's state directory %s (mode %04o) and could control what gauze starts%sremove everything that is not yours from it, then run: chmod 700 %[1]s", dir, mode, next)
}

// ownAlone reports whether only this user and root can write to a file or a directory.
func ownAlone(path string, info fs.FileInfo) bool {
	return checkWriters(path, info, os.Geteuid(), os.Getegid()) == nil
}
