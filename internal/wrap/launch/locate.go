package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Locate finds the program: a bare name in the server's own PATH, a path relative to the server's
// own directory.
func Locate(spec Spec) (path string, err error) {
	command := spec.Command
	switch {
	case filepath.Base(command) == command:
		path, err = lookPath(command, spec.Env)
	case spec.Dir != "" && !filepath.IsAbs(command):
		path, err = exec.LookPath(filepath.Join(spec.Dir, command))
	default:
		path, err = exec.LookPath(command)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// lookPath is exec.LookPath with the PATH of env.
func lookPath(name string, env []string) (string, error) {
	path, ours := pathOfEnvironment(env), os.Getenv("PATH")
	if path != ours && path != "" { // without one, the system has a default of its own
		return lookBeyondHere(name, path)
	}
	found, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) { // Windows looks into the current directory first
		if found, err := lookBeyondHere(name, ours); err == nil {
			return found, nil
		}
	}
	return found, err
}

// lookBeyondHere finds a program in the absolute directories of a PATH, never in the current
// directory.
func lookBeyondHere(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// WorkdirError reports that the working directory, not the command, is missing.
type WorkdirError struct{ Dir string }

func (e *WorkdirError) Error() string {
	return fmt.Sprintf("working directory \"%s\" does not exist", e.Dir)
}
