package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// clientFlag adds --client, which selects servers by client.
func clientFlag(cmd *cobra.Command, clients *[]string) {
	cmd.Flags().StringSliceVar(clients, "client", nil, "only the clients with these `ids`, separated by commas (see gauze list --clients)")
}

// gauzeFlag adds --gauze, the path of our own binary in the entries of wrapped servers.
func gauzeFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "gauze", "", "`path` to the gauze binary, as written to configuration files (default: $GAUZE_BIN, or this binary)")
}

// ourProgram returns the path at which clients find gauze. It refuses a temporary one: when that is
// deleted, no wrapped server starts.
func ourProgram(given string) (string, error) {
	path := given
	if path == "" {
		path = os.Getenv("GAUZE_BIN")
	}
	if path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return "", fmt.Errorf("no program at %s", path)
		}
		if name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe"); name != "gauze" {
			return "", fmt.Errorf("the program at %s must be named gauze, because gauze recognizes wrapped servers by this name", path)
		}
		return path, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", errors.New("cannot determine the path of this binary; set it with --gauze PATH")
	}
	if temporary(path) {
		return "", errors.New("this gauze binary is in a temporary directory; install it first:\n\n" +
			"  go install github.com/gauze-mcp/gauze/cmd/gauze@latest\n\nor use an installed one with --gauze PATH")
	}
	return path, nil
}

// temporary reports whether path is in a temporary directory, where go run and go test build.
func temporary(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, temp := range []string{os.TempDir(), "/tmp", "/var/tmp", "/var/folders"} {
		if followed, err := filepath.EvalSymlinks(temp); err == nil {
			temp = followed
		}
		if rel, err := filepath.Rel(temp, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return strings.Contains(filepath.ToSlash(real), "/go-build")
}

// chosen reads the files of the chosen clients, or of all, and returns the chosen servers.
func chosen(f *fleet.Fleet, c fleet.Choice) (*fleet.View, []*fleet.Server, error) {
	clients, err := fleet.Clients(c.Clients)
	if err != nil {
		return nil, nil, err
	}
	view := f.Look(clients...)
	servers, err := view.Choose(c)
	return view, servers, err
}

// inUse returns the names of the clients that are installed here.
func inUse(f *fleet.Fleet) (names []string) {
	for _, c := range clientconfig.Clients() {
		if f.Home.Uses(c) {
			names = append(names, c.Name)
		}
	}
	return names
}
