//go:build linux

package realtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Claude Code, Codex and Gemini CLI have one entry each, gauze connect, and one gauze up for all of them. In every client's session
// a server is killed, and another one is changed in the file, and the client goes on.
func TestClientsHaveOneEntry(t *testing.T) {
	u := newUpHouse(t)
	up := 0
	clients := judges[:3]
	if !programs.Everything() { // two share it
		without := some(t, clients, len(clients))[0].client
		clients = slices.DeleteFunc(slices.Clone(clients), func(j judge) bool { return j.client == without })
	}
	for _, j := range clients {
		t.Run(string(j.client), func(t *testing.T) {
			if j.client == realparts.GeminiCLI {
				j.end = `}, "security": {"auth": {"selectedType": "gemini-api-key"}}}`
			}
			h := newPatientHouse(t, j)
			h.project = u.dir
			u := &upHouse{t: t, workplace: u.workplace, servers: u.servers}
			before, after := u.versions(string(j.client))
			var old []process
			if up != 0 { // gauze up still has the file of the client before, and all of its tools are there
				old = serverBelow(t, up, string(realparts.Memory))
			}
			u.write(before)
			u.awaitEnd(old)
			h.writeEntries([]string{"gauze"}, []string{u.entry(h)})
			u.meet(h, before)
			if up == 0 {
				up = u.up()
			}
			s := h.newScript()
			if err := h.converseOneEntry(s, func(use func(call) (string, error)) { u.tour(h, s, use, up, after) }); err != nil {
				t.Fatalf("%s: %v", h.client, err)
			}
			if again := u.up(); again != up {
				t.Errorf("%s uses the gauze up with pid %d, not %d", h.client, again, up)
			}
		})
	}
}

// tour is what happens in a client's session.
func (u *upHouse) tour(h *house, s *script, use func(call) (string, error), up int, after map[string]upServer) {
	want := func(c call, text string) {
		u.t.Helper()
		if got, err := use(c); err != nil || !strings.Contains(got, text) {
			u.t.Fatalf("%s: %s: %.1000s, %v, want %q", h.client, c.tool, got, err, text)
		}
	}
	echo := call{tool: "everything__echo", args: everything.read.args}
	search := func(query string) call {
		return call{tool: "memory__search_nodes", args: map[string]any{"query": query}}
	}
	want(echo, everything.want)
	first := s.names()
	u.kill(up, string(realparts.Everything))
	want(echo, everything.want)
	want(search("known"), "before "+string(h.client))
	old := serverBelow(u.t, up, string(realparts.Memory))
	u.write(after)
	u.awaitEnd(old)
	want(search("thing"), "after "+string(h.client))
	if _, ok := after["filesystem"]; ok {
		want(call{tool: "filesystem__read_text_file", args: map[string]any{"path": u.path("known.txt")}}, knownText)
	}
	want(echo, everything.want)
	u.t.Logf("%s: %d tools, named as %s; after the reload %d, and the new server is listed: %v", h.client, len(first), first[0], len(s.names()),
		len(u.missing(map[string]upServer{"more": {}}, s.names())) == 0)
}

// newScript returns a model that calls what is behind the client's entry.
func (h *house) newScript() *script {
	return newScript(map[realparts.Client]string{realparts.ClaudeCode: "mcp__gauze__", realparts.Codex: "mcp__gauze/", realparts.GeminiCLI: "mcp_gauze_"}[h.client])
}

// converseOneEntry lets the client do what the model wants, in one session.
func (h *house) converseOneEntry(s *script, talk func(use func(call) (string, error))) error {
	switch h.client {
	case realparts.Codex:
		return h.converseScripted(s, (*script).responses, talk, func(url string) (string, string, error) {
			return h.run("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", `model="none"`, "-c", `model_provider="none"`,
				"-c", fmt.Sprintf(`model_providers.none={name="none", base_url=%q, wire_api="responses"}`, url), "Say nothing.")
		})
	case realparts.GeminiCLI:
		return h.converseScripted(s, (*script).gemini, talk, func(url string) (string, string, error) {
			return h.runWith([]string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url}, "--prompt", "Say nothing.", "--model", "gemini-2.5-flash", "--approval-mode", "yolo")
		})
	}
	return h.converseScripted(s, (*script).anthropic, talk, func(url string) (string, string, error) {
		return h.runWith([]string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "ENABLE_TOOL_SEARCH=false"},
			"--print", "Say nothing.", "--no-session-persistence", "--tools", "", "--allowedTools", "mcp__gauze")
	})
}

// upHouse is a gauze up that several clients use.
type upHouse struct {
	t *testing.T
	workplace
	servers map[string]upServer
}

// upServer is a server in the file of gauze up.
type upServer struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
}

// newUpHouse has ten real servers in a run of everything, otherwise two of them.
func newUpHouse(t *testing.T) *upHouse {
	t.Helper()
	u := &upHouse{t: t, workplace: newWorkplace(t), servers: map[string]upServer{}}
	fill := strings.NewReplacer("{dir}", u.dir)
	for _, s := range realparts.NeedServers(t) {
		if used := s.Name == string(realparts.Everything) || s.Name == string(realparts.Memory); !used && !programs.Everything() {
			continue
		}
		server := upServer{Env: map[string]string{}}
		for _, word := range s.Argv {
			server.Command = append(server.Command, fill.Replace(word))
		}
		for _, pair := range s.Env {
			name, value, _ := strings.Cut(pair, "=")
			server.Env[name] = fill.Replace(value)
		}
		u.servers[names.Key(path.Base(s.Name))] = server
	}
	t.Cleanup(u.stop)
	return u
}

// versions returns two versions of the file: in the second one, the memory server has another memory, and there is one more server.
func (u *upHouse) versions(client string) (before, after map[string]upServer) {
	version := func(when string) map[string]upServer {
		u.workplace.write(u.t, client+when, `{"type":"entity","name":"known","entityType":"thing","observations":["`+when+" "+client+`"]}`)
		servers := maps.Clone(u.servers)
		servers["memory"] = upServer{u.servers["memory"].Command, map[string]string{"MEMORY_FILE_PATH": u.path(client + when)}}
		return servers
	}
	before, after = version("before"), version("after")
	after["more"] = u.servers["everything"]
	return before, after
}

// write writes the file as editors do.
func (u *upHouse) write(servers map[string]upServer) {
	u.t.Helper()
	text, err := json.Marshal(map[string]any{"servers": servers})
	if err != nil {
		u.t.Fatal(err)
	}
	u.workplace.write(u.t, "up.yaml.new", string(text))
	if err := os.Rename(u.path("up.yaml.new"), u.path("up.yaml")); err != nil {
		u.t.Fatal(err)
	}
}

// command returns the client's only entry. Every client starts it in the same directory and with the same environment, because gauze
// remembers the tools of a server for one directory and its secrets.
func (u *upHouse) command() []string {
	return []string{"env", "-i", "HOME=" + u.dir, "PATH=" + os.Getenv("PATH"), "GAUZE_STATE_DIR=" + u.path("state"), raceOptions(),
		gauzeBinary(), "connect", "--file", u.path("up.yaml")}
}

// entry returns the entry in the form of the client.
func (u *upHouse) entry(h *house) string {
	u.t.Helper()
	args, err := json.Marshal(u.command()[1:])
	if err != nil {
		u.t.Fatal(err)
	}
	if h.client == realparts.Codex {
		return fmt.Sprintf("command = %q\nargs = %s\nstartup_timeout_sec = %.0f", u.command()[0], args, patience.Limit().Seconds())
	}
	return fmt.Sprintf(`{"command": %q, "args": %s}`, u.command()[0], args)
}

// meet lets the client have sessions until gauze lists the tools of all servers immediately. What gauze remembers of a server is for
// one kind of client, one directory and its secrets, and on a busy machine, none of the servers answers within the time that a list waits.
func (u *upHouse) meet(h *house, servers map[string]upServer) {
	u.t.Helper()
	missing := slices.Sorted(maps.Keys(servers))
	for range 5 {
		s, known := h.newScript(), u.portraits()
		s.meet = func(tools []string) {
			if missing = u.missing(servers, tools); len(missing) > 0 {
				u.awaitPortraits(known + len(missing))
			}
		}
		if err := h.converseOneEntry(s, func(func(call) (string, error)) {}); err != nil {
			u.t.Fatalf("%s: %v", h.client, err)
		}
		if len(missing) == 0 {
			return
		}
	}
	u.t.Fatalf("%s has no tools of %q", h.client, missing)
}

// missing returns the servers that have no tool among these. Codex replaces hyphens in names.
func (u *upHouse) missing(servers map[string]upServer, tools []string) (keys []string) {
	for key := range servers {
		if !slices.ContainsFunc(tools, func(tool string) bool {
			return strings.Contains(strings.ReplaceAll(tool, "-", "_"), strings.ReplaceAll(key, "-", "_")+"__")
		}) {
			keys = append(keys, key)
		}
	}
	return keys
}

// portraits returns how many lists of tools gauze remembers.
func (u *upHouse) portraits() (n int) {
	found, _ := filepath.Glob(u.path("state/servers/*.json"))
	for _, file := range found {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(`"tools/list"`)) {
			n++
		}
	}
	return n
}

// awaitPortraits waits until gauze remembers so many lists.
func (u *upHouse) awaitPortraits(n int) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience.Limit() / 4); u.portraits() < n; {
		select {
		case <-look.C:
		case <-limit:
			return
		}
	}
}

// up returns the pid of the gauze up that gauze connect has started.
func (u *upHouse) up() int {
	u.t.Helper()
	found := u.ups()
	if len(found) != 1 {
		u.t.Fatalf("%d gauze up are running, want one: %v", len(found), found)
	}
	return found[0].pid
}

func (u *upHouse) ups() (found []process) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		u.t.Fatal(err)
	}
	for _, file := range stats {
		p, ok := readProcess(file)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if !ok || !strings.Contains(p.args, "--on-demand") || !bytes.Contains(env, []byte("GAUZE_STATE_DIR="+u.path("state")+"\x00")) {
			continue
		}
		if p.fd, err = unix.PidfdOpen(p.pid, 0); err != nil {
			continue // it ended meanwhile
		}
		u.t.Cleanup(func() { unix.Close(p.fd) })
		found = append(found, p)
	}
	return found
}

// kill kills a server.
func (u *upHouse) kill(up int, calledAs string) {
	u.t.Helper()
	server := serverBelow(u.t, up, calledAs)
	if len(server) == 0 {
		u.t.Fatalf("%s is not running", calledAs)
	}
	signalEach(u.t, server, syscall.SIGKILL)
	u.awaitEnd(server)
}

// awaitEnd waits until processes have ended.
func (u *upHouse) awaitEnd(processes []process) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), testPatience)
	defer cancel()
	if left := gone(ctx, processes); len(left) > 0 {
		u.t.Fatalf("%v are still there", left)
	}
}

// stop ends gauze up, and waits until its servers have ended.
func (u *upHouse) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	defer cancel()
	for _, p := range u.ups() {
		all := append(below(u.t, p.pid), p)
		signalEach(u.t, []process{p}, syscall.SIGTERM)
		if left := gone(ctx, all); len(left) > 0 {
			u.t.Errorf("%v are left", left)
		}
	}
}
