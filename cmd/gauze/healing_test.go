//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
)

// The examples of the healing loop, from the broken server to the working entry, at a terminal and
// through gauze mcp. What each reader sees is in testdata/healing.

// healing is a home with a server that fails until it gets what it needs.
type healing struct {
	agentHome
	inner, outer int // the port that is refused, and the one that works
	env          []string
	heals        string // a string in the file once the server is healed; "" if gauze run heals it at every start
	slow         bool
}

// ledger is a server that connects to a database when it starts: its port is published by the compose
// file of the project that the user works in.
func ledger(t *testing.T) *healing {
	h := &healing{agentHome: newAgentHome(t)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	h.outer = listener.Addr().(*net.TCPAddr).Port
	h.inner = refusing.Port(t)
	h.program("bin/works")
	h.write("bin/server", fmt.Sprintf(`#!/bin/sh
case "$DATABASE_URL$*" in
*:%d/*) exec "$HOME/bin/works" ;;
esac
echo "Error: connect ECONNREFUSED 127.0.0.1:%d" >&2
exit 1
`, h.outer, h.inner))
	h.write("project/docker-compose.yml", fmt.Sprintf("services:\n  db:\n    image: postgres:16\n    ports:\n      - \"%d:%d\"\n", h.outer, h.inner))
	h.env = []string{fmt.Sprintf("DATABASE_URL=postgres://app@localhost:%d/ledger", h.inner)}
	h.heals = fmt.Sprintf("postgres://app@localhost:%d/ledger", h.outer)
	return h
}

// orbit is a server that needs two variables and names them one at a time. They are in the .env
// beside its program.
func orbit(t *testing.T) *healing {
	h := &healing{agentHome: newAgentHome(t)}
	h.program("orbit/works")
	h.write("orbit/.env", "ORBIT_TOKEN=correct-horse-battery\nORBIT_TEAM=staple-battery-horse\n")
	h.write("orbit/server", `#!/bin/sh
for name in ORBIT_TOKEN ORBIT_TEAM; do
	if eval "[ -z \"\$$name\" ]"; then
		echo "Error: $name environment variable is required" >&2
		exit 1
	fi
done
exec "$HOME/orbit/works"
`)
	return h
}

// tortoise is a server that does not respond in time when it is started first.
func tortoise(t *testing.T) *healing {
	h := &healing{agentHome: newAgentHome(t), slow: true}
	h.program("bin/works")
	h.write("bin/server", `#!/bin/sh
if [ ! -e "$HOME/started" ]; then
	: > "$HOME/started"
	cat > /dev/null
	exit
fi
exec "$HOME/bin/works"
`)
	h.heals = fmt.Sprintf(`"startup_timeout_sec": %d`, min(60, 9*patience.Pace())) // gauze waits for a minute at most
	return h
}

func (h *healing) server() string {
	for _, dir := range []string{"bin", "orbit"} {
		if _, err := os.Stat(filepath.Join(h.dir, dir, "server")); err == nil {
			return filepath.Join(h.dir, dir, "server")
		}
	}
	return ""
}

// again makes the server fail as at first.
func (h *healing) again() { os.Remove(filepath.Join(h.dir, "started")) }

// settled replaces what differs between runs.
func (h *healing) settled(text string) string {
	gauze, _ := exec.LookPath("gauze")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.NewReplacer(gauze, "GAUZE", h.dir, "HOME").Replace(text)
	if h.inner > 0 {
		text = strings.NewReplacer(strconv.Itoa(h.inner), "5432", strconv.Itoa(h.outer), "54320").Replace(text)
	}
	folded := regexp.MustCompile(`(?s)(?:(?:[+✚] healed|[+✚] helped|works only with this fix): .*?\n[\n\[]|\S+ does not work: .*?\?)`) // where depends on the names of directories
	text = folded.ReplaceAllStringFunc(text, func(part string) string {
		end := part[len(strings.TrimRight(part, "\n[")):]
		part = strings.TrimSuffix(part, end)
		return strings.Join(strings.Fields(part), " ") + end
	})
	for pattern, with := range map[string]string{
		`startup_timeout_sec = \d+`: "startup_timeout_sec = TIME", `(within|up to) [0-9.m]+s`: "$1 TIME",
		`"?tested in [0-9.m]+s`: "tested in TIME", `It works \([0-9.m]+s\)`: "It works (TIME)", `tools, [0-9.m]+s`: "tools, TIME",
		`gauze undo \S+`: "gauze undo ID", `\{"id": "[^"]+"\}`: `{"id": "ID"}`, `\d+: echo, .*, …`: "N: echo, …", `\d+ tools`: "N tools", `\(echo, [^)]*\)`: "(echo, …)",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

// atTerminal runs gauze in a terminal, with a person who answers every question with yes.
func (h *healing) atTerminal(args ...string) string {
	h.t.Helper()
	control, terminal := openTerminal(h.t)
	cmd := h.command("gauze", args...)
	gauze, _ := exec.LookPath("gauze")
	cmd.Env = append(cmd.Env, "GAUZE_BIN="+gauze, "NO_COLOR=1", "TERM=dumb")
	var progress strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, &progress
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	terminal.Close()
	said := make(chan string)
	go func() {
		var all strings.Builder
		part := make([]byte, 4096)
		for {
			n, err := control.Read(part)
			all.Write(part[:n])
			if strings.HasSuffix(all.String(), "[y/N] ") && n > 0 {
				io.WriteString(control, "y\n")
			}
			if err != nil { // the other side was closed
				said <- all.String()
				return
			}
		}
	}()
	err := cmd.Wait()
	text := <-said
	if err != nil {
		text += fmt.Sprintln("exit:", err)
	}
	return text + progress.String()
}

// throughAgent calls a tool of gauze mcp, for a person who agrees to every question. It returns the
// questions and the result.
func (h *healing) throughAgent(tool string, arguments object) string {
	h.t.Helper()
	var said strings.Builder
	options := agreeable(func(question string) { fmt.Fprintf(&said, "=== question\n%s\n", strings.TrimSpace(question)) })
	cmd := h.command("gauze", "mcp")
	gauze, _ := exec.LookPath("gauze")
	cmd.Env = append(cmd.Env, "GAUZE_BIN="+gauze)
	_, text := callTool(h.t, connect(h.t, cmd, "2025-06-18", options), tool, arguments)
	return said.String() + "=== " + tool + "\n" + strings.TrimSpace(text) + "\n"
}

func (h *healing) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Error(err)
	}
	return string(text)
}

func TestTheHealingLoopEndToEnd(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(*testing.T) *healing{"port": ledger, "two-variables": orbit, "slow-start": tortoise} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := broken(t)
			add := []string{"add", "notes", "--client", "codex"}
			arguments := object{"command": h.server()}
			if len(h.env) > 0 {
				key, value, _ := strings.Cut(h.env[0], "=")
				add, arguments["env"] = append(add, "--env", h.env[0]), object{key: value}
			}
			if h.slow {
				limit := 3 * patience.Pace() // a busy machine starts the server in three times as long
				add, arguments["timeout_seconds"] = append(add, "--timeout", fmt.Sprintf("%ds", limit)), limit
			}
			var got strings.Builder
			fmt.Fprintf(&got, "=== gauze add\n%s", h.atTerminal(append(add, "--", h.server())...))
			h.healed(".codex/config.toml")

			h.again()
			got.WriteString(h.throughAgent("test_connection", arguments))
			h.again()
			configure := maps.Clone(arguments)
			configure["name"], configure["clients"] = "notes", []string{"cursor"}
			got.WriteString(h.throughAgent("configure_server", configure))
			h.again()
			h.healed(".cursor/mcp.json")
			for _, secret := range []string{"correct-horse", "staple-battery"} {
				if strings.Contains(got.String()+h.read(".cursor/mcp.json")+h.read(".codex/config.toml"), secret) {
					t.Error("a secret is shown")
				}
			}
			golden(t, filepath.Join("testdata", "healing", name+".golden"), h.settled(got.String()))
		})
	}
}

// healed checks that a file has what healed the server.
func (h *healing) healed(file string) {
	h.t.Helper()
	text := h.read(file)
	if strings.HasPrefix(file, ".codex") {
		text = strings.ReplaceAll(text, "startup_timeout_sec = ", `"startup_timeout_sec": `)
	} else if h.slow {
		return // this client has no such setting
	}
	if !strings.Contains(text, h.heals) || h.inner > 0 && strings.Contains(text, strconv.Itoa(h.inner)) {
		h.t.Errorf("%s has not what healed the server: %s", file, text)
	}
}

// An entry that exists gets the working port in place of the refused one, and nothing else in its file
// changes, whether it is wrapped or not.
func TestAnEntryGetsThePortThatHealedIt(t *testing.T) {
	t.Parallel()
	gauze, err := exec.LookPath("gauze")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		".cursor/mcp.json": `{"mcpServers": {
  "env":  {"command": "SERVER", "env": {"MODE": "ro", "DATABASE_URL": "postgres://app:s3cr3t-pw-4711@localhost:5432/ledger"}},
  "args": {"command": "SERVER", "args": ["--db", "postgres://localhost:5432/ledger", "--ro"]}
}}
`,
		".codex/config.toml": `# my servers
[mcp_servers.wrapped] # keep
command = "GAUZE"
args = ["run", "--", "SERVER", "postgres://localhost:5432/ledger"]
`,
		".config/opencode/opencode.json": `{"mcp": {"list": {"type": "local", "command": ["SERVER", "postgres://127.0.0.1:5432/ledger"]}}}
`,
	}
	for name, heal := range map[string]func(*healing) string{
		"doctor": func(h *healing) string {
			return "=== gauze doctor\n" + h.atTerminal("doctor") + "=== gauze doctor --fix\n" + h.atTerminal("doctor", "--fix")
		},
		"agent": func(h *healing) string { return h.throughAgent("heal_server", object{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ledger(t)
			at := func(text string, port int) string {
				return strings.NewReplacer("SERVER", h.server(), "GAUZE", gauze, "5432", strconv.Itoa(port)).Replace(text)
			}
			for file, text := range files {
				h.write(file, at(text, h.inner))
			}
			got := heal(h)
			for file, text := range files {
				if now, want := h.read(file), at(text, h.outer); now != want {
					t.Errorf("%s is\n%s, want\n%s", file, now, want)
				}
			}
			if strings.Contains(got, "s3cr3t-pw-4711") {
				t.Error("a secret is shown")
			}
			if n := strings.Count(strings.Join(strings.Fields(got), " "), "with this change?"); n != 4 {
				t.Errorf("asked %d times", n)
			}
		})
		t.Run(name+", as it is read", func(t *testing.T) {
			t.Parallel()
			h := ledger(t)
			h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "`+h.server()+`", "args": ["postgres://localhost:`+strconv.Itoa(h.inner)+`/ledger"]}}}`)
			golden(t, filepath.Join("testdata", "healing", "configured-"+name+".golden"), h.settled(heal(h)))
		})
	}
}

// With --yes nothing is asked: what the user would have to review is skipped.
func TestYesSkipsWhatMustBeAsked(t *testing.T) {
	t.Parallel()
	h := ledger(t)
	entry := `{"mcpServers": {"notes": {"command": "` + h.server() + `", "args": ["postgres://localhost:` + strconv.Itoa(h.inner) + `/ledger"]}}}`
	h.write(".cursor/mcp.json", entry)
	if text := h.atTerminal("doctor", "--fix", "--yes"); strings.Contains(text, "[y/N]") {
		t.Error(text)
	}
	if now := h.read(".cursor/mcp.json"); now != entry {
		t.Error(now)
	}
}

// What gauze doctor says to run next does something: a server that lacks a value that gauze can find
// is healed by it, and one that lacks a value that gauze cannot find is not sent there.
func TestTheNextCommandOfDoctorDoesSomething(t *testing.T) {
	t.Parallel()
	h := orbit(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "`+h.server()+`"}}}`)
	const next = "next: gauze doctor --fix cursor/notes"
	if text := h.atTerminal("doctor"); !strings.Contains(text, next) {
		t.Errorf("no %q in %s", next, text)
	}
	if text := h.atTerminal("doctor", "--fix", "cursor/notes"); !strings.Contains(text, "heal notes") || !strings.HasSuffix(strings.TrimSpace(text), "1 of 1 work.") {
		t.Error(text)
	}
	h = orbit(t)
	h.write("orbit/.env", "")
	h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "`+h.server()+`"}}}`)
	if text := h.atTerminal("doctor"); strings.Contains(text, next) || !strings.Contains(text, "by hand: Get a value for ORBIT_TOKEN") {
		t.Error(text)
	}
}

// A database of the project that is not running is started by the user: the command is for them, not
// for a model.
func TestAServiceThatIsDownIsNamed(t *testing.T) {
	t.Parallel()
	h := ledger(t)
	h.write("project/docker-compose.yml", fmt.Sprintf("services:\n  db:\n    ports: ['%d:5432', '%d:%d']\n", h.inner, h.inner, h.inner))
	h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "`+h.server()+`"}}}`)
	h.write(".docker/config.json", `{"currentContext": "office"}`) // whether that daemon runs is not known
	const command = "docker compose -f HOME/project/docker-compose.yml up -d db"
	text := h.settled(h.atTerminal("doctor"))
	if !strings.Contains(text, "by hand: Start the service db") || !strings.Contains(text, command) {
		t.Error(text)
	}
	if text := h.settled(h.throughAgent("check_health", object{})); !strings.Contains(text, "Start the service db") || strings.Contains(text, "docker compose") {
		t.Error(text)
	}
}
