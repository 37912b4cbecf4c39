package fleet

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/doctor"
)

// Here is the fleet of whoever runs us: this machine, this user, and the
// folder we are in as the project.
func Here(version string) (*Fleet, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	project, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := backup.DefaultDir()
	if err != nil {
		return nil, err
	}
	return &Fleet{
		Home:    clientconfig.Home{OS: runtime.GOOS, Home: home, Project: project, Environ: os.Environ(), Windows: windowsHome(home)},
		Store:   backup.Store{Dir: dir},
		Machine: doctor.ThisMachine(),
		Version: version,
	}, nil
}

// windowsHome is under WSL the same person's home on the Windows side: the one
// of the same name, or the only one there is.
func windowsHome(home string) string {
	const users = "/mnt/c/Users"
	if runtime.GOOS != "linux" {
		return ""
	}
	entries, err := os.ReadDir(users)
	if err != nil {
		return ""
	}
	var people []string
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"Public", "Default", "Default User", "All Users"}, e.Name()) {
			people = append(people, e.Name())
		}
	}
	for _, name := range people {
		if len(people) == 1 || strings.EqualFold(name, filepath.Base(home)) {
			return filepath.Join(users, name)
		}
	}
	return ""
}

// Tilde shortens a path below the home, for people.
func (f *Fleet) Tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimRight(f.Home.Home, `/\`)+string(filepath.Separator)); ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}
