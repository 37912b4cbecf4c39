package installed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

func TestACopyIsInTheUsersDataDirectory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		os, home string
		env      map[string]string
		want     string
	}{
		{"linux", "/home/me", nil, "/home/me/.local/share/gauze/bin/gauze"},
		{"linux", "/home/me", map[string]string{"XDG_DATA_HOME": "/data/me"}, "/data/me/gauze/bin/gauze"},
		{"linux", "/home/me", map[string]string{"XDG_DATA_HOME": "data"}, "/home/me/.local/share/gauze/bin/gauze"},
		{"linux", "", nil, ""},
		{"darwin", "/Users/me", map[string]string{"XDG_DATA_HOME": "/data/me"}, "/Users/me/Library/Application Support/gauze/bin/gauze"},
		{"windows", `C:\Users\me`, map[string]string{"LOCALAPPDATA": `C:\Users\me\AppData\Local`}, `C:\Users\me\AppData\Local\gauze\bin\gauze.exe`},
		{"windows", `C:\Users\me`, nil, ""},
	} {
		s := System{OS: tt.os, Env: func(name string) string { return tt.env[name] }}
		if got := s.CopyPath(tt.home); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.os, tt.env, got, tt.want)
		}
	}
}

func TestACopyReplacesOnlyWhatIsOlder(t *testing.T) {
	t.Parallel()
	windowstest.Skip(t)
	script := func(version string) string { return "#!/bin/sh\necho gauze " + version + "\n" }
	for _, tt := range []struct {
		name, there, own string
		wrote            bool
	}{
		{"nothing there", "", script("1.2.3"), true},
		{"the same", script("1.2.3"), script("1.2.3"), false},
		{"an older one", script("1.2.2"), script("1.2.3"), true},
		{"a newer one", script("1.10.0"), script("1.2.3"), false},
		{"other bytes of the same version", script("1.2.3") + "#\n", script("1.2.3"), true},
		{"a pre-release", script("1.2.3-rc.1"), script("1.2.3"), true},
		{"a build without a version", script("dev"), script("1.2.3"), true},
		{"one that does not work", "#!/bin/sh\nexit 1\n", script("1.2.3"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			own, to := filepath.Join(dir, "own"), filepath.Join(dir, "data", "gauze", "bin", "gauze")
			os.WriteFile(own, []byte(tt.own), 0o755)
			want := tt.own
			if tt.there != "" {
				os.MkdirAll(filepath.Dir(to), 0o755)
				os.WriteFile(to, []byte(tt.there), 0o755)
			}
			if !tt.wrote {
				want = tt.there
			}
			wrote, err := Copy(own, to, "1.2.3")
			if err != nil || wrote != tt.wrote {
				t.Fatalf("%v, %v; want %v", wrote, err, tt.wrote)
			}
			got, _ := os.ReadFile(to)
			info, err := os.Stat(to)
			if err != nil || string(got) != want || info.Mode().Perm() != 0o755 {
				t.Errorf("%q, %v, %v", got, info, err)
			}
			if left, _ := os.ReadDir(filepath.Dir(to)); len(left) != 1 {
				t.Errorf("%d files", len(left))
			}
		})
	}
}
