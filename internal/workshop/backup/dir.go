package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// StateDir returns the directory for the state of gauze: $GAUZE_STATE_DIR, or the default of the
// system. It is an error if other users can write to it, or if it is relative: what is in it decides what gauze starts without
// a question, and where it logs in.
func StateDir() (string, error) {
	home, _ := os.UserHomeDir()
	dir := stateDir(runtime.GOOS, home, os.Getenv)
	if dir == "" {
		return "", errors.New("no home directory to store state in\nnext: set GAUZE_STATE_DIR to a directory that you own")
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("gauze's state directory %s must be absolute: it controls what gauze starts, and a relative path would put it in every project\nnext: set GAUZE_STATE_DIR to an absolute path", dir)
	}
	dir = filepath.Clean(dir)
	return dir, checkOwn(dir)
}

// CheckOwn returns an error if others than this user and root can write to a state directory that a program chose.
func CheckOwn(dir string) error { return checkOwn(dir) }

// DefaultDir returns the directory of this user's backups in StateDir.
func DefaultDir() (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "backups"), nil
}

func stateDir(system, home string, env func(string) string) string {
	under := func(dir string, names ...string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(append([]string{dir}, names...)...)
	}
	if dir := env("GAUZE_STATE_DIR"); dir != "" {
		return dir
	}
	switch system {
	case "windows":
		return under(env("LOCALAPPDATA"), "gauze")
	case "darwin":
		return under(home, "Library", "Application Support", "gauze")
	}
	// "All paths set in these environment variables must be absolute. If an implementation
	// encounters a relative path [...] it should consider the path invalid and ignore it." (XDG
	// Base Directory Specification)
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return under(dir, "gauze")
	}
	return under(home, ".local", "state", "gauze")
}
