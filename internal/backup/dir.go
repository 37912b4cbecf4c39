package backup

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultDir is where this user's backups are: in $GAUZE_STATE_DIR, or where the system keeps the state of programs.
func DefaultDir() (string, error) {
	home, _ := os.UserHomeDir()
	dir := stateDir(runtime.GOOS, home, os.Getenv)
	if dir == "" {
		return "", errors.New("there is no home folder to keep backups in\nnext: set GAUZE_STATE_DIR to a folder of your own")
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
	// "All paths set in these environment variables must be absolute. If an implementation encounters a relative path
	// [...] it should consider the path invalid and ignore it." (XDG Base Directory Specification)
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return under(dir, "gauze")
	}
	return under(home, ".local", "state", "gauze")
}
