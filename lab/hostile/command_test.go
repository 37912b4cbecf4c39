//go:build linux

package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// world is a user at a terminal, in the directory of a hostile project.
type world struct {
	t        *testing.T
	rand     *rand.Rand
	user     *user
	project  *project
	host     *host // of the project's choice
	remote   *remote
	ports    [2]int // of the project's choice, with listeners
	dir      string // where gauze is run
	path     string // PATH of the terminal
	terminal string // what is special about it
	reads    func() // what happens while the person reads a question
}

// newWorld makes the world of a seed, for one command.
func newWorld(t *testing.T, seed uint64, c command) *world {
	root, err := os.MkdirTemp("", "gz") // a short name: a long one looks like a key
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	w := &world{t: t, rand: sample.Random(seed, 0), host: listen(t)}
	w.user = newUser(t, root, refusedPort)
	w.project = clone(t, w.user, w.rand, w.host.address)
	w.user.settle(w.rand, w.project, c.heals)
	w.dir = w.project.root
	usual := filepath.Join(w.user.home, ".local/bin") + ":/usr/bin:/bin"
	w.path = usual
	switch w.rand.IntN(9) {
	case 0:
		w.terminal, w.path = "relative folders on PATH", "./node_modules/.bin:.:"+usual
	case 1:
		w.terminal, w.path = "started by npm, which puts node_modules/.bin on PATH", w.project.root+"/node_modules/.bin:"+usual
	case 2, 3:
		w.terminal, w.dir = "in a folder of the project", filepath.Join(w.project.root, "packages/app")
	case 4:
		w.terminal, w.dir = "in the project through a link", filepath.Join(w.user.home, "link")
		if err := os.Symlink(w.project.root, w.dir); err != nil {
			t.Fatal(err)
		}
	case 5:
		w.terminal, w.dir = "elsewhere", filepath.Join(w.user.home, "elsewhere")
		if err := os.Mkdir(w.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	default:
		w.terminal = "in the project"
	}
	return w
}

// transcript is what a command of gauze showed, and what a person was asked.
type transcript struct {
	line   string // the command
	output string
	asked  string // questions that were put to the person
	err    error

	questions int
}

// start prepares gauze in the terminal; env is in addition to what it has.
// GOGC=off halves the time of programs that live for a moment.
func (w *world) start(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, gauze(), args...)
	cmd.Dir = w.dir
	state := filepath.Join(w.user.root, "state")
	cmd.Env = append([]string{"HOME=" + w.user.home, "PATH=" + w.path, "PWD=" + w.dir, "SHELL=/bin/sh", "USER=me", "TERM=dumb", "LANG=C.UTF-8",
		"GOGC=off", "XDG_STATE_HOME=" + state, "XDG_CACHE_HOME=" + state, "GITHUB_TOKEN=" + terminalValue, "HTTPS_PROXY=http://" + people}, env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// gauze runs one command to its end, without anybody at the terminal.
func (w *world) gauze(env []string, args ...string) transcript {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience.Limit())
	defer cancel()
	cmd := w.start(ctx, env, args...)
	output, err := cmd.CombinedOutput()
	said := transcript{line: typed(env, args), output: string(output)}
	if ctx.Err() != nil {
		said.err = fmt.Errorf("it hung: %w", err)
	}
	return said
}

func typed(env, args []string) string {
	return strings.Join(slices.Concat(env, []string{"gauze"}, args), " ")
}

// command is something a person, a client or an agent does with gauze.
type command struct {
	name  string
	typed bool // what is run was typed here: it is started where we are, with what the terminal has
	heals bool
	run   func(*world) transcript
}

var commands = []command{
	{"run", true, true, func(w *world) transcript {
		env, line := w.line()
		return w.converse(env, append([]string{"run", "--"}, line...), func(a *agent) (said transcript) {
			if said.err = a.initialize(false); said.err == nil {
				_, said.err = a.request("tools/list", object{})
			}
			return said
		})
	}},
	{"test", true, false, func(w *world) transcript {
		env, line := w.line()
		return w.gauze(env, append([]string{"test", "--"}, line...)...)
	}},
	{"test --heal", true, true, func(w *world) transcript {
		env, line := w.line()
		return w.gauze(env, append([]string{"test", "--heal", "--"}, line...)...)
	}},
	{"doctor", false, false, func(w *world) transcript { return w.gauze(nil, "doctor") }},
	{"doctor --heal", false, true, func(w *world) transcript { return w.gauze(nil, "doctor", "--heal") }},
	{"doctor CLIENT/NAME", false, false, func(w *world) transcript {
		return w.gauze(nil, "doctor", w.named())
	}},
	{"lock", false, false, func(w *world) transcript { return w.gauze(nil, "lock") }},
	{"verify", false, false, func(w *world) transcript {
		if lock := filepath.Join(w.dir, "gauze.lock.json"); !exists(lock) {
			writeFile(w.t, lock, `{"gauzeLock":1,"servers":[]}`)
		}
		return w.gauze(nil, "verify")
	}},
	{"check_health", false, true, func(w *world) transcript {
		return w.agent(nobody, call{"check_health", object{"auto_heal": true, "include_project": w.rand.IntN(3) == 0}})
	}},
	{"heal_server", false, true, func(w *world) transcript {
		return w.agent(nobody, call{"heal_server", object{"server": w.own()}}, call{"heal_server", object{}})
	}},
	{"test_connection", false, true, func(w *world) transcript {
		return w.agent(nobody, call{"test_connection", object{"server": w.own()}}, call{"test_connection", object{"server": w.named()}})
	}},
	{"test_connection, agreed to", false, false, func(w *world) transcript {
		return w.agent(agreeing, call{"test_connection", object{"server": w.named()}}, call{"test_connection", object{"server": w.named()}})
	}},
}

// own is a server of the user's, as CLIENT/NAME.
func (w *world) own() string {
	return "claude-desktop/" + w.project.oneOf(slices.Sorted(maps.Keys(w.user.desktop))...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// named is a server of the project, as CLIENT/NAME.
func (w *world) named() string {
	if len(w.project.entries) == 0 {
		return "cursor/project"
	}
	e := w.project.entries[w.rand.IntN(len(w.project.entries))]
	return e.client + "/" + e.name
}

// line is a server that a person types, and what the terminal has for it.
func (w *world) line() (env, line []string) {
	u := w.user
	lines := []struct{ env, line []string }{
		{nil, []string{u.program("notes")}},
		{[]string{"API_KEY=${NOTES_KEY}"}, []string{u.program("notes"), "--key=API_KEY"}},
		{[]string{"VALUE=${" + w.project.oneOf(wanted...) + "}"}, []string{u.program("notes"), "--key=VALUE"}},
		{nil, []string{u.program("notes"), "--needs=" + w.project.oneOf(wanted...)}},
		{nil, []string{u.program("fs"), "--needs=" + w.project.oneOf(wanted...), w.project.root}},
		{[]string{"DB_HOST=localhost", fmt.Sprintf("DB_PORT=%d", u.refused)}, []string{u.program("base"), "--database"}},
		{nil, []string{u.program("base"), fmt.Sprintf("--address=localhost:%d", u.refused)}},
		{nil, []string{u.program("docker"), "run", "-i", "-e", "API_KEY=${NOTES_KEY}", "image"}},
		{nil, []string{"${workspaceFolder}/bin/tool"}},
		{nil, []string{u.program("node"), "--engine"}},
		{nil, []string{u.program("python3"), "-m", "plain_server", "--dotenv", "--module=httpx", w.project.root}},
	}
	picked := lines[w.rand.IntN(len(lines))]
	return picked.env, picked.line
}

// call is one of a tool of gauze mcp.
type call struct {
	tool      string
	arguments object
}

// agent makes calls to gauze mcp, one after the other, through the client of this person.
func (w *world) agent(who person, calls ...call) transcript {
	var line string
	said := w.converse(nil, []string{"mcp"}, func(a *agent) (said transcript) {
		a.user, a.reads = who, w.reads
		said.err = a.initialize(who != nobody)
		for _, c := range calls {
			var answer []byte
			if said.err == nil {
				answer, said.err = a.request("tools/call", object{"name": c.tool, "arguments": c.arguments})
			}
			arguments, _ := json.Marshal(c.arguments)
			line += fmt.Sprintf("; %s %s", c.tool, arguments)
			said.output += string(answer) + "\n"
		}
		said.asked, said.questions = a.asked.String(), a.questions
		return said
	})
	said.line += line
	return said
}

// converse speaks MCP with a command of gauze until all is said.
func (w *world) converse(env, args []string, speak func(*agent) transcript) transcript {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience.Limit())
	defer cancel()
	cmd := w.start(ctx, env, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	said := speak(&agent{in: in, out: bufio.NewReader(out)})
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // with a server that fails it fails
	said.line = typed(env, args)
	said.output += stderr.String()
	if ctx.Err() != nil {
		said.err = fmt.Errorf("it hung: %w", ctx.Err())
	}
	return said
}

// agent is the client's side of a session.
type agent struct {
	in    io.Writer
	out   *bufio.Reader
	id    int
	user  person
	reads func() // what happens while the user reads a question
	asked strings.Builder

	questions int
}

func (a *agent) send(message object) {
	message["jsonrpc"] = "2.0"
	line, _ := json.Marshal(message)
	_, _ = a.in.Write(append(line, '\n')) // the answer will be missed
}

// initialize opens the session, as a client that can or cannot ask its user.
func (a *agent) initialize(asks bool) error {
	capabilities := object{}
	if asks {
		capabilities["elicitation"] = object{}
	}
	_, err := a.request("initialize", object{"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": object{"name": "agent", "version": "1"}})
	a.send(object{"method": "notifications/initialized"})
	return err
}

// request waits for the answer. Its user answers all questions on the way.
func (a *agent) request(method string, params object) (result []byte, err error) {
	a.id++
	a.send(object{"id": a.id, "method": method, "params": params})
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Message string }
			Result json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		switch {
		case m.Method == "elicitation/create":
			a.asked.WriteString(m.Params.Message + "\n")
			a.questions++
			if a.reads != nil {
				a.reads()
			}
			answer := object{"action": "decline"}
			if a.user == agreeing {
				answer = object{"action": "accept", "content": object{"agree": true}}
			}
			a.send(object{"id": m.ID, "result": answer})
		case m.Method == "" && string(m.ID) == fmt.Sprint(a.id):
			return m.Result, nil
		}
	}
}
