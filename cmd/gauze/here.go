package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/fleet"
)

// clientFlag is --client, wherever servers are chosen.
func clientFlag(cmd *cobra.Command, clients *[]string) {
	cmd.Flags().StringSliceVar(clients, "client", nil, "only these clients, by their id (gauze list --clients shows them)")
}

// gauzeFlag is --gauze, wherever our own program is written into files.
func gauzeFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "gauze", "", "path of gauze as it is to stand in the files (default that in GAUZE_BIN, or this program)")
}

// ourProgram is the path under which clients are to find us. One that will be
// gone tomorrow would take every server with it.
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
			return "", fmt.Errorf("there is no program at %s", path)
		}
		if name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe"); name != "gauze" {
			return "", fmt.Errorf("the program at %s has to be called gauze: that is how a wrapped server is known", path)
		}
		return path, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this program is cannot be found out: name it with --gauze PATH")
	}
	if passing(path) {
		return "", errors.New("this gauze lies in a folder for temporary files, and your clients would not find it tomorrow; install it first:\n\n" +
			"  go install github.com/gauze-mcp/gauze/cmd/gauze@latest\n\nor name one that stays with --gauze PATH")
	}
	return path, nil
}

// passing: go run and go test build programs there.
func passing(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, temp := range []string{os.TempDir(), "/tmp", "/var/tmp", "/var/folders"} {
		if followed, err := filepath.EvalSymlinks(temp); err == nil {
			temp = followed
		}
		if way, err := filepath.Rel(temp, real); err == nil && filepath.IsLocal(way) {
			return true
		}
	}
	return strings.Contains(filepath.ToSlash(real), "/go-build")
}

// chosen looks at the files of the clients that are named, or of all, and
// finds the servers that are meant.
func chosen(f *fleet.Fleet, c fleet.Choice) (*fleet.View, []*fleet.Server, error) {
	clients, err := fleet.Clients(c.Clients)
	if err != nil {
		return nil, nil, err
	}
	view := f.Look(clients...)
	servers, err := view.Choose(c)
	return view, servers, err
}

// inUse are the clients there is a sign of.
func inUse(f *fleet.Fleet) (names []string) {
	for _, c := range clientconfig.Clients() {
		if f.Home.Uses(c) {
			names = append(names, c.Name)
		}
	}
	return names
}
