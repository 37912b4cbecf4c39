//go:build unix

package installed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that another user could have written is neither started nor kept.
func TestACopyThatOthersCanWriteIsNotStarted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		dir, file os.FileMode
		foreign   string // what belongs to another user
		refused   string
	}{
		{"ours", 0o755, 0o755, "", ""},
		{"a directory for everybody", 0o777, 0o755, "", "bin"},
		{"a file for everybody", 0o755, 0o757, "", "gauze"},
		{"a directory of another user", 0o755, 0o755, "bin", "bin"},
		{"a file of another user", 0o755, 0o755, "gauze", "gauze"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			own, bin, ran := filepath.Join(dir, "own"), filepath.Join(dir, "bin"), filepath.Join(dir, "ran")
			to := filepath.Join(bin, "gauze")
			os.WriteFile(own, []byte("#!/bin/sh\n"), 0o755)
			os.Mkdir(bin, 0o755)
			os.WriteFile(to, []byte("#!/bin/sh\necho > '"+ran+"'\necho gauze 9.9.9\n"), 0o755)
			os.Chmod(to, tt.file)
			os.Chmod(bin, tt.dir)
			if path := map[string]string{"bin": bin, "gauze": to}[tt.foreign]; path != "" {
				if os.Geteuid() != 0 {
					t.Skip("only root can give a file to another user")
				}
				if err := os.Chown(path, 65534, 65534); err != nil {
					t.Fatal(err)
				}
			}
			wrote, err := Copy(own, to, "1.2.3")
			_, started := os.Stat(ran)
			if tt.refused == "" {
				if wrote || err != nil || started != nil {
					t.Errorf("%v, %v, %v", wrote, err, started)
				}
				return
			}
			culprit := map[string]string{"bin": bin, "gauze": to}[tt.refused]
			if wrote || err == nil || !strings.Contains(err.Error(), "the copy of gauze at "+to+", because "+culprit+" cannot be trusted:") || !strings.Contains(err.Error(), "\nnext: ") {
				t.Errorf("%v, %v", wrote, err)
			}
			if started == nil {
				t.Error("it was started")
			}
		})
	}
}
