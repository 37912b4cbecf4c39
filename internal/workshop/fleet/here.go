package fleet

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// Here returns the fleet of the current user on this machine, with the working directory as the
// project.
func Here(version string) (*Fleet, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	project, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	state, err := backup.StateDir()
	if err != nil {
		return nil, err
	}
	dir, err := backup.DefaultDir()
	if err != nil {
		return nil, err
	}
	return &Fleet{
		Home:    clientconfig.Home{OS: runtime.GOOS, Home: home, Project: project, Environ: os.Environ(), Windows: windowsHome(home), Copy: installed.This().CopyPath(home)},
		Store:   backup.Store{Dir: dir},
		Machine: doctor.ThisMachine(),
		Calls:   doctor.CallLogIn(state),
		Logins:  login.Open(state),
		Seen:    trust.NewMemory(state),
		Version: version,
	}, nil
}

// windowsHome returns, under WSL, the user's home on the Windows side: the one with the same name,
// or the only one.
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

// Tilde shortens a path below the home directory for display.
func (f *Fleet) Tilde(path string) plaintext.Foreign {
	if rest, ok := strings.CutPrefix(path, strings.TrimRight(f.Home.Home, `/\`)+string(filepath.Separator)); ok {
		return plaintext.Foreign("~" + string(filepath.Separator) + rest)
	}
	return plaintext.Foreign(path)
}
