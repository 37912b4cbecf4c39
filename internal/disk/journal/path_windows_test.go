package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// The database has the name that its user gave: a file: URL must not change it.
func TestEveryPathOfWindows(t *testing.T) {
	dir := t.TempDir()
	drive, rest := filepath.VolumeName(dir), filepath.ToSlash(dir)[2:]
	for _, state := range []string{
		dir + `\plain`,
		dir + `\with spaces, 100%, %41 #1 & ünï`,
		strings.ToLower(drive) + rest + "/slashes",
		`\\?\` + dir + `\verbatim`,
		`\\.\` + dir + `\device`,
		dir + strings.Repeat(`\a name that is fifty characters long, no more of it`, 6),
	} {
		path := filepath.Join(state, FileName)
		j := openFor(t, path)
		j.must(t, "a", 0, entry("begin", ""))
		j.Close()
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the journal is not where it should be: %v", err)
		}
		if got := openFor(t, path).told(t, "a"); got != "1:begin" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestWindowsDiskErrorsAreReported(t *testing.T) {
	for err, want := range map[error]string{
		windows.ERROR_DISK_FULL:     "the disk is full",
		windows.ERROR_WRITE_PROTECT: "read-only",
		windows.ERROR_ACCESS_DENIED: "read-only",
	} {
		wantProblem(t, failure("p", errors.Join(&os.PathError{Op: "write", Path: "p", Err: err})), want)
	}
}
