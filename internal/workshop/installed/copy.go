package installed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// CopyPath returns where a gauze that its tool may delete is copied to: in the user's own data
// directory. It returns "" if the user has none.
func (s System) CopyPath(home string) string {
	dir, name := "", "gauze"
	switch s.OS {
	case "windows":
		dir, name = s.slashed(s.Env("LOCALAPPDATA")), "gauze.exe"
	case "darwin":
		dir = under(home, "Library/Application Support")
	default:
		// "All paths set in these environment variables must be absolute." (XDG Base Directory Specification)
		if dir = s.Env("XDG_DATA_HOME"); !s.absolute(dir) {
			dir = under(home, ".local/share")
		}
	}
	return s.native(under(dir, "gauze/bin/"+name))
}

func under(dir, rest string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimRight(dir, "/") + "/" + rest
}

// Copy copies a binary to a path, unless the same bytes or a newer version are there. A client that starts
// the program meanwhile gets the old one or the new one, whole. It reports whether it wrote anything.
func Copy(from, to, version string) (wrote bool, err error) {
	return put(from, to, version, false)
}

// CopyOver is like Copy, but also replaces a newer version.
func CopyOver(from, to, version string) (wrote bool, err error) {
	return put(from, to, version, true)
}

func put(from, to, version string, over bool) (wrote bool, err error) {
	content, err := os.ReadFile(from)
	if err != nil {
		return false, err
	}
	if err := backup.CheckProgram(to, filepath.Dir(to)); err != nil {
		return false, err // it would be run below, and later by clients
	}
	there := ""
	if old, err := os.ReadFile(to); err == nil {
		if there = versionOf(to); bytes.Equal(old, content) || !over && IsVersion(there) && Compare(there, version) > 0 {
			return false, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, err
	}
	err = files.ReplaceProgram(to, content)
	switch {
	case err != nil && there != "": // Windows does not replace a program that is running; the old one works
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot copy gauze to %s: %w", to, err)
	}
	return true, nil
}

// versionTimeout bounds how long a program may take to print its version.
const versionTimeout = 10 * time.Second

// versionOf returns the version of the gauze at a path, or "" if it does not work.
func versionOf(program string) string {
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	version, ok := strings.CutPrefix(string(out), "gauze ")
	if err != nil || !ok {
		return ""
	}
	version, _, _ = strings.Cut(version, "\n")
	return strings.TrimSpace(version)
}
