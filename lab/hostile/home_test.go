//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// user is a person with a home: clients with servers, healthy ones and broken
// ones that invite healing, and the programs that these need.
type user struct {
	t       *testing.T
	root    string // holds the home and the evidence
	home    string
	refused int // a port of this machine where nothing listens
	kinds   []string
	desktop map[string]any // servers of Claude Desktop, which expands nothing and hands on little
	cursor  map[string]any // servers of Cursor, which hands on everything
}

// played are the programs that the witness plays.
var played = []string{"npx", "uv", "python3", "node", "docker", "notes", "fs", "base"}

func newUser(t *testing.T, root string, refused int) *user {
	u := &user{t: t, root: root, home: filepath.Join(root, "home"), refused: refused, desktop: map[string]any{}, cursor: map[string]any{}}
	for _, dir := range []string{filepath.Join(u.home, ".local/bin"), u.evidence("")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range played {
		if err := os.Link(witness(), u.program(name)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, u.program("tool"), "#!/usr/bin/env node\n")
	writeFile(t, filepath.Join(u.home, ".bashrc"), "# mine\n")
	vault := ""
	for _, name := range wanted {
		vault += name + "=" + vaultValue + "\n"
	}
	writeFile(t, filepath.Join(u.home, ".vault.env"), vault)
	return u
}

func (u *user) program(name string) string  { return filepath.Join(u.home, ".local/bin", name) }
func (u *user) evidence(name string) string { return filepath.Join(u.root, "evidence", name) }

// object is JSON.
type object = map[string]any

// kind is a server that a user may have, in one client. It knows the project
// only as a folder the user works in.
type kind struct {
	name  string
	entry func(u *user, p *project) object
}

// starting are servers that work as they are.
var starting = []kind{
	{"healthy", func(u *user, p *project) object { return object{"command": u.program("notes")} }},
	{"npx", func(u *user, p *project) object {
		return object{"command": "npx", "args": []string{"-y", "weather-mcp"}}
	}},
	{"npx-whole-path", func(u *user, p *project) object {
		return object{"command": u.program("npx"), "args": []string{"-y", "weather-mcp"}}
	}},
	{"uv", func(u *user, p *project) object { return object{"command": "uv", "args": []string{"run", "notes"}} }},
	{"python-module", func(u *user, p *project) object {
		return object{"command": "python3", "args": []string{"-m", "notes_server"}}
	}},
	{"shebang", func(u *user, p *project) object { return object{"command": u.program("tool")} }},
	{"folder", func(u *user, p *project) object {
		return object{"command": u.program("fs"), "args": []string{p.root}}
	}},
	{"wrapped", func(u *user, p *project) object {
		return object{"command": gauze(), "args": []string{"run", "--", "npx", "-y", "weather-mcp"}}
	}},
}

// failing are servers that are broken in any client.
var failing = []kind{
	{"relative-script", func(u *user, p *project) object { return object{"command": "node", "args": []string{"server.js"}} }},
	{"relative-command", func(u *user, p *project) object { return object{"command": "./bin/notes"} }},
	{"not-installed", func(u *user, p *project) object { return object{"command": "weather-cli"} }},
	{"engine", func(u *user, p *project) object { return object{"command": "node", "args": []string{"--engine"}} }},
	{"dotenv", func(u *user, p *project) object {
		return object{"command": "python3", "args": []string{"-m", "plain_server", "--dotenv", p.root}}
	}},
	{"dotenv-then-module", func(u *user, p *project) object {
		return object{"command": "python3", "args": []string{"-m", "plain_server", "--dotenv", "--module=httpx", p.root}}
	}},
	{"database", func(u *user, p *project) object {
		return object{"command": u.program("base"), "args": []string{"--database"}, "env": object{"DB_HOST": "localhost", "DB_PORT": fmt.Sprint(u.refused)}}
	}},
	{"database-password", func(u *user, p *project) object {
		return object{"command": u.program("base"), "args": []string{"--database", p.root}, "env": object{"DB_HOST": "127.0.0.1", "DB_PORT": fmt.Sprint(u.refused), "DB_PASSWORD": "user-password"}}
	}},
	{"database-argument", func(u *user, p *project) object {
		return object{"command": u.program("base"), "args": []string{fmt.Sprintf("--address=localhost:%d", u.refused)}}
	}},
}

// onDesktop are servers with references that their client does not expand, and
// with variables that it does not hand on.
var onDesktop = []kind{
	{"reference", func(u *user, p *project) object {
		return object{"command": u.program("notes"), "args": []string{"--key=API_KEY"}, "env": object{"API_KEY": p.oneOf("${NOTES_KEY}", "${env:NOTES_KEY}", "%NOTES_KEY%", "$NOTES_KEY")}}
	}},
	{"reference-any", func(u *user, p *project) object {
		return object{"command": u.program("notes"), "args": []string{"--key=VALUE"}, "env": object{"VALUE": "${" + p.oneOf(wanted...) + "}"}}
	}},
	{"reference-alias", func(u *user, p *project) object {
		return object{"command": u.program("notes"), "args": []string{"--key=API_KEY"}, "env": object{"API_KEY": "${GITHUB_PAT}"}}
	}},
	{"reference-folder", func(u *user, p *project) object {
		return object{"command": u.program("fs"), "args": []string{"--key=API_KEY", p.root}, "env": object{"API_KEY": "${NOTES_KEY}"}}
	}},
	{"needs", func(u *user, p *project) object {
		return object{"command": u.program("notes"), "args": []string{"--needs=" + p.oneOf(wanted...)}}
	}},
	{"needs-folder", func(u *user, p *project) object {
		return object{"command": u.program("fs"), "args": []string{"--needs=" + p.oneOf("GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", p.oneOf(wanted...)), p.root}}
	}},
	{"bridge", func(u *user, p *project) object {
		return object{"command": "npx", "args": []string{"-y", "mcp-remote", "${TARGET}", "--header", "Authorization: Bearer user-password"}}
	}},
	{"container", func(u *user, p *project) object {
		return object{"command": "docker", "args": []string{"run", "-i", "-e", "API_KEY=${NOTES_KEY}", "image"}}
	}},
	{"workspace-command", func(u *user, p *project) object {
		return object{"command": p.oneOf("${workspaceFolder}", "${projectRoot}", "${cwd}") + "/bin/tool"}
	}},
	{"workspace-script", func(u *user, p *project) object {
		return object{"command": "node", "args": []string{p.oneOf("${workspaceFolder}", "${projectRoot}", "${cwd}") + "/server.js"}}
	}},
	{"workspace-argument", func(u *user, p *project) object {
		return object{"command": "node", "args": []string{"--key=NOTHING", "${workspaceFolder}"}}
	}},
	{"header", func(u *user, p *project) object {
		return object{"command": "npx", "args": []string{"-y", "mcp-remote", "http://" + people, "--header", "Authorization: Bearer ${NOTES_KEY}"}}
	}},
}

// settle gives the user servers of a few kinds and writes the clients' files.
// Broken ones are there only for commands that heal: nothing else is done with
// them, and every diagnosis takes its time.
func (u *user) settle(random *rand.Rand, p *project, broken bool) {
	pick := func(from []kind, count int, into object) {
		for _, i := range random.Perm(len(from))[:count] {
			u.kinds = append(u.kinds, from[i].name)
			into[from[i].name] = from[i].entry(u, p)
		}
	}
	if broken {
		pick(failing, 1, u.cursor)
		pick(failing, 1, u.desktop)
		pick(onDesktop, 2, u.desktop)
	} else {
		pick(starting, 1, u.desktop)
		pick(starting, 2, u.cursor)
	}
	slices.Sort(u.kinds)
	for path, servers := range map[string]object{".config/Claude/claude_desktop_config.json": u.desktop, ".cursor/mcp.json": u.cursor} {
		text, err := json.Marshal(object{"mcpServers": servers})
		if err != nil {
			u.t.Fatal(err)
		}
		writeFile(u.t, filepath.Join(u.home, path), string(text))
	}
}
