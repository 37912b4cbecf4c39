//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// A key that no output may hold.
const canary = "ghp_Vq7Zr2Lx9Ka4Tm1Ws8Yb3Nd6Pe5Hc0Ju2Rf9"

func keepsSecret(b *bench, r tested) {
	b.t.Helper()
	if strings.Contains(r.raw, canary) {
		b.t.Errorf("the key is shown:\n%s", r.raw)
	}
}

// brokenSettings are set-ups whose program is right, but a variable, an argument or a folder is not.
var brokenSettings = []brokenSetup{
	{
		name: "variable-in-dotenv", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.file("servers/github/.env", "# mine\nGITHUB_TOKEN="+canary+"\n")
			b.command("node", b.requires("servers/github/server.mjs", "GITHUB_TOKEN"))
		},
		heals: []string{"set GITHUB_TOKEN"}, also: keepsSecret,
	},
	{
		name: "variable-under-other-name", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.env = append(b.env, "GITHUB_TOKEN="+canary)
			b.command("node", b.requires("project/github.mjs", "GITHUB_PERSONAL_ACCESS_TOKEN"))
		},
		heals: []string{"set GITHUB_PERSONAL_ACCESS_TOKEN"}, also: keepsSecret,
	},
	{
		name: "variable-of-other-service", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.env = append(b.env, "GITHUB_TOKEN="+canary)
			b.command("node", b.requires("project/weather.mjs", "WEATHER_API_KEY"))
		},
		told: "Get a value for WEATHER_API_KEY", also: keepsSecret,
	},
	{
		name: "variable-nowhere", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.command("python3", b.file("project/server.py", "import os\nkey = os.environ['BRAVE_API_KEY']\n"))
		},
		told: "Get a value for BRAVE_API_KEY",
	},
	{
		name: "dollar-reference", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.env = append(b.env, "API_KEY=${MY_KEY}", "MY_KEY="+canary)
			picky(b)
		},
		heals: []string{"fill-in MY_KEY"}, also: keepsSecret,
	},
	{
		name: "percent-reference", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.env = append(b.env, "API_KEY=%MY_KEY%", "MY_KEY="+canary)
			picky(b)
		},
		heals: []string{"fill-in MY_KEY"}, also: keepsSecret,
	},
	{
		name: "env-reference", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.file("project/.env", "MY_KEY="+canary+"\n")
			b.env = append(b.env, "API_KEY=${env:MY_KEY}")
			picky(b)
		},
		heals: []string{"fill-in MY_KEY"}, also: keepsSecret,
	},
	{
		name: "reference-to-nothing", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.env = append(b.env, "API_KEY=${MY_KEY}")
			picky(b)
		},
		told: "MY_KEY",
	},
	{
		name: "reference-in-folder", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.env = append(b.env, "NOTES_DIR="+b.dir("notes"))
			b.command("node", b.server(realparts.Filesystem), "${NOTES_DIR}")
		},
		heals: []string{"fill-in NOTES_DIR"},
	},
	{
		name: "workspace-reference", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.server(realparts.Filesystem), "${workspaceFolder}")
		},
		told: "Gauze found the working directory $HOME/project",
	},
	{
		name: "workspace-reference-with-cwd", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.server(realparts.Filesystem), "${workspaceFolder}")
			b.args = append([]string{"--cwd", b.dir("documents")}, b.args...)
		},
		heals: []string{"fill-in workspaceFolder"},
	},
	{
		name: "reference-to-foreign-dotenv", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.file("project/.env", "MY_KEY="+canary+"\n")
			b.env = append(b.env, "API_KEY=${MY_KEY}")
			pickyIn(b, "servers")
		},
		told: "Gauze found MY_KEY in $HOME/project/.env", also: keepsSecret,
	},
	{
		name: "compose-of-foreign-project", cause: "connection_refused/companion_app_not_running",
		build: func(b *bench) {
			b.onPath("node", b.node())
			inner, outer := freePort(b.t), database(b)
			b.call(fmt.Sprint(inner), "$INNER")
			b.call(fmt.Sprint(outer), "$OUTER")
			b.file("project/compose.yaml", fmt.Sprintf("services:\n  db:\n    image: postgres:17\n    ports:\n      - \"%d:%d\"\n", outer, inner))
			b.env = append(b.env, fmt.Sprintf("DATABASE_URL=postgres://me:secret@localhost:%d/app", inner))
			b.command("node", usesDatabase(b, "servers"))
		},
		told: "the service defined in $HOME/project/compose.yaml, change port $INNER to $OUTER",
	},
	{
		name: "variable-as-argument", cause: "missing_env_var/env_given_as_argument",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.requires("project/github.mjs", "GITHUB_TOKEN"), "GITHUB_TOKEN="+canary)
		},
		heals: []string{"argument-to-variable GITHUB_TOKEN"}, also: keepsSecret,
	},
	{
		name: "dotenv-not-in-cwd", cause: "missing_env_var/dotenv_not_loaded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.file("servers/notes/.env", "NOTES_DIR=/tmp\n")
			b.command("node", b.behind("servers/notes/server.mjs", "import { readFileSync } from 'node:fs';\nreadFileSync('.env');"))
		},
		heals: []string{"start-in $HOME/servers/notes"},
	},
	{
		name: "compose-publishes-other-port", cause: "connection_refused/companion_app_not_running",
		build: func(b *bench) {
			b.onPath("node", b.node())
			inner, outer := freePort(b.t), database(b)
			b.call(fmt.Sprint(inner), "$INNER")
			b.call(fmt.Sprint(outer), "$OUTER")
			b.file("project/compose.yaml", fmt.Sprintf("services:\n  db:\n    image: postgres:17\n    ports:\n      - \"%d:%d\"\n", outer, inner))
			b.env = append(b.env, fmt.Sprintf("DATABASE_URL=postgres://me:secret@localhost:%d/app", inner))
			b.command("node", usesDatabase(b, "project"))
		},
		heals: []string{"compose-port $OUTER"},
	},
	{
		name: "database-is-down", cause: "connection_refused/companion_app_not_running",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.env = append(b.env, fmt.Sprintf("DATABASE_URL=postgres://me:secret@localhost:%d/app", freePort(b.t)))
			b.command("node", usesDatabase(b, "project"))
		},
		told: "Start that program",
	},
	{
		name: "folder-does-not-exist", cause: "path_not_found/wrong_directory_argument",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.server(realparts.Filesystem), filepath.Join(b.home, "Documnets"))
		},
		told: "Correct the path in the arguments",
	},
	{
		name: "argument-missing", cause: "config_malformed/required_argument_missing",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.command("python3", b.file("project/server.py", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--root', required=True)\np.parse_args()\n"))
		},
		told: "Add the missing argument",
	},
	{
		name: "unknown-option", cause: "config_malformed/unknown_cli_option",
		build: func(b *bench) { b.command(realparts.Need(b.t, realparts.Time, "--timezone", "UTC")...) },
		told:  "Remove the argument",
	},
}

// picky is a server that sends its key to a service, which does not take a reference for a key.
func picky(b *bench) { pickyIn(b, "project") }

func pickyIn(b *bench, dir string) {
	b.onPath("node", b.node())
	b.command("node", b.behind(dir+"/server.mjs", `if (!/^ghp_/.test(process.env.API_KEY)) { console.error("Error: 401 Unauthorized: invalid API key '" + process.env.API_KEY + "'"); process.exit(1); }`))
}

// usesDatabase is a server that connects before it serves.
func usesDatabase(b *bench, dir string) string {
	return b.behind(dir+"/server.mjs", `import net from 'node:net';
const to = new URL(process.env.DATABASE_URL);
await new Promise((yes, no) => net.connect(+to.port, to.hostname, yes).on('error', no)).then(() => {}, e => { console.error('Failed to connect to the database:', e.errors?.[0] ?? e); process.exit(1); });`)
}

// database is something that takes connections.
func database(b *bench) int {
	b.t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", freePort(b.t)))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn) // until the other side goes
				conn.Close()
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}
