package differential

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Ten real servers, half of them by default. Most of them have no account and no network here, so that
// many calls fail: they must fail the same way.
func TestRealServers(t *testing.T) {
	compareServers(t, sample.Some(sample.Seed(t, gauzeBinary()), realparts.NeedServers(t), 2), true)
}

// 29 more, in a run of everything: they take three gigabytes.
func TestMoreRealServers(t *testing.T) {
	if !programs.Everything() {
		t.Skip("part of a run of everything")
	}
	compareServers(t, realparts.NeedMoreServers(t), false)
}

// compareServers compares servers. If they are offline, they need neither a network nor an account, and
// each must start.
func compareServers(t *testing.T, found []realparts.Server, offline bool) {
	all := &tally{improvements: map[string]int{}}
	t.Run("server", func(t *testing.T) {
		for _, s := range found {
			t.Run(strings.ReplaceAll(s.Name, "/", "+"), func(t *testing.T) {
				t.Parallel()
				compareServer(t, s, offline, all)
			})
		}
	})
	all.log(t)
	if want := len(found) * scriptCalls / 2; !t.Failed() && all.compared < want {
		t.Errorf("only %d answers were compared, want %d: too many servers do not start", all.compared, want)
	}
}

func compareServer(t *testing.T, s realparts.Server, offline bool, all *tally) {
	w := newWorkplace(t)
	c := w.command(s)
	script := realScript(w.discover(t, c, offline))
	run := func(c command) transcript {
		w.reset(t)
		return playSlowly(c.start(t), script.steps, patience.Limit(), 0)
	}
	direct := []transcript{run(c), run(c)}
	wrapped := run(c.wrapped())
	v := compare(direct, wrapped, script.bare, false)
	if len(v.harms) > 0 {
		// An answer with the time of day may be the same twice and then change. It also changes in a
		// direct run that is made after the wrapped one.
		v = compare(append(direct, run(c)), wrapped, script.bare, false)
	}
	all.add(v)
	t.Logf("%d answers compared, %d random, %v", v.compared, v.random, v.improvements)
	v.report(t)
	if v.compared < 5 {
		t.Errorf("only %d answers were compared", v.compared)
	}
}

// workplace is where a server works: the same directory in the same state before each run, because
// its name is in the answers.
type workplace struct{ root string }

func newWorkplace(t *testing.T) workplace {
	t.Helper()
	w := workplace{t.TempDir()}
	w.reset(t)
	return w
}

func (w workplace) dir() string  { return filepath.Join(w.root, "dir") }
func (w workplace) repo() string { return filepath.Join(w.root, "repo") }

func (w workplace) reset(t *testing.T) {
	t.Helper()
	for _, dir := range []string{w.dir(), w.repo()} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"a.txt": "first\nsecond\n",
		"kube.yaml": "apiVersion: v1\nkind: Config\ncurrent-context: none\nclusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]\n" +
			"users: [{name: none}]\ncontexts: [{name: none, context: {cluster: none, user: none}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dir(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	init := exec.Command("git", "init", "-q")
	init.Dir = w.repo()
	init.Run() // only one server needs it, and says so itself
}

func (w workplace) command(s realparts.Server) command {
	fill := func(list []string) (all []string) {
		for _, text := range list {
			all = append(all, strings.NewReplacer("{dir}", w.dir(), "{repo}", w.repo()).Replace(text))
		}
		return all
	}
	// A home of its own, and no browser to open: calls must not reach outside of the workplace.
	env := append(fill(s.Env), "HOME="+w.root, "XDG_CONFIG_HOME="+w.root, "KUBECONFIG="+filepath.Join(w.dir(), "kube.yaml"), "BROWSER=true")
	return command{argv: fill(s.Argv), env: env, dir: w.root}
}

// listed is a tool as a real server lists it.
type listed struct {
	Name        string
	InputSchema json.RawMessage
	Annotations struct{ ReadOnlyHint bool }
}

// discover asks the server itself for its tools.
func (w workplace) discover(t *testing.T, c command, offline bool) []listed {
	t.Helper()
	wr := &writer{random: rand.New(rand.NewPCG(1, 1)), integers: true}
	wr.initialize("2025-06-18")
	wr.request("tools/list", "{}")
	wr.flush()
	tr := playSlowly(c.start(t), wr.steps, patience.Limit(), 0)
	if len(tr.lost) > 0 {
		if os.Getenv("CI") != "" && offline {
			t.Fatal("the server does not start without gauze, and needs neither network nor account")
		}
		t.Skip("the server does not start here without gauze: it may need a network or an account")
	}
	var result struct{ Tools []listed }
	json.Unmarshal(tr.answers()["2"].Result, &result) // without an account some servers have none
	return result.Tools
}

// realScript makes about fifty calls of a real server: what it lists, its tools with arguments of
// every kind, and what it does not have. Not called are tools that wait for something.
func realScript(tools []listed) *writer {
	w := &writer{random: rand.New(rand.NewPCG(2, 2)), plain: true}
	w.initialize("2025-06-18")
	w.request("tools/list", "{}")
	w.flush()
	for _, method := range []string{"ping", "prompts/list", "resources/list", "resources/templates/list", "example/unknown"} {
		w.request(method, "{}")
		w.flush()
	}
	w.request("resources/read", `{"uri":"nowhere://x"}`)
	w.request("prompts/get", `{"name":"none"}`)
	w.call("no_such_tool", `{"a":1}`)
	w.flush()
	var callable []listed
	for _, tool := range tools {
		if !skipped(tool.Name) {
			callable = append(callable, tool)
		}
	}
	if len(callable) == 0 {
		return w
	}
	pick := w.random.Perm(len(callable))
	for n := 0; w.calls < scriptCalls; n++ {
		tool := callable[pick[n%len(pick)]]
		text := texts[n%len(texts)]
		if n%4 == 0 {
			text = "a.txt"
		}
		// Real servers handle calls at the same time: only what changes nothing is pipelined.
		if n%7 < 4 || !tool.Annotations.ReadOnlyHint {
			w.flush()
		}
		w.call(tool.Name, arguments(w.random, tool.InputSchema, n%argumentKinds, text))
		if !tool.Annotations.ReadOnlyHint {
			w.flush()
		}
	}
	w.flush()
	return w
}

// skipped reports whether a tool does something that a test must not wait for or must not do: start
// a browser, install, sleep for its own sake.
func skipped(name string) bool {
	for _, part := range []string{"browser", "install", "navigate", "new_page", "long", "trigger", "simulate", "toggle", "subscri", "wait", "port_forward", "exec", "sampling", "elicit", "kill", "terminate", "process"} {
		if strings.Contains(strings.ToLower(name), part) {
			return true
		}
	}
	return false
}
