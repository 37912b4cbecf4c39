package backup

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// StateDir returns where gauze keeps what it has to remember for this user: $GAUZE_STATE_DIR, or where the system keeps
// the state of programs.
func StateDir() (string, error) {
	home, _ := os.UserHomeDir()
	dir := stateDir(runtime.GOOS, home, os.Getenv)
	if dir == "" {
		return "", errors.New("there is no home directory to keep state in\nnext: set GAUZE_STATE_DIR to a directory of your own")
	}
	return dir, nil
}

// DefaultDir returns where this user's backups are, in StateDir.
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
	// "All paths set in these environment variables must be absolute. If an implementation encounters a relative path
	// [...] it should consider the path invalid and ignore it." (XDG Base Directory Specification)
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return under(dir, "gauze")
	}
	return under(home, ".local", "state", "gauze")
}
