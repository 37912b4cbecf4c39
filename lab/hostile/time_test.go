//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// way is a command or a tool through which an entry of a project is started or reached.
type way struct {
	name   string
	agent  bool   // it is a tool
	first  string // the way by which a person approves, if this one does not ask
	every  bool   // it asks each time, because an agent chooses what is done
	remote bool   // it is only for servers at a URL
	before func(*world, thing)
	run    func(*world, thing, person) transcript
}

func typing(args ...string) func(*world, thing, person) transcript {
	return func(w *world, k thing, who person) transcript {
		words := slices.Clone(args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "ID", k.id())
		}
		return w.at(who, words...)
	}
}

func calling(tool string, arguments func(*world, thing) object) func(*world, thing, person) transcript {
	return func(w *world, k thing, who person) transcript {
		return w.agent(who, call{tool, arguments(w, k)})
	}
}

func plain(arguments object) func(*world, thing) object {
	return func(_ *world, k thing) object {
		all := maps.Clone(arguments)
		for key, value := range all {
			if value == "ID" {
				all[key] = k.id()
			}
		}
		return all
	}
}

// planOf is a task with the server.
func planOf(k thing) object {
	return object{"servers": object{"one": k.id()}, "steps": []any{object{"id": "look", "server": "one", "tool": "look"}}}
}

// taskFile writes the plan to a file of the user's.
func taskFile(w *world, k thing) {
	text, err := json.Marshal(planOf(k))
	if err != nil {
		w.t.Fatal(err)
	}
	writeFile(w.t, filepath.Join(w.user.home, "task.json"), string(text))
}

var ways = []way{
	{name: "doctor ID", run: typing("doctor", "ID")},
	{name: "doctor", first: "doctor ID", run: typing("doctor")},
	{name: "doctor --heal ID", run: typing("doctor", "--heal", "ID")},
	{name: "doctor --heal", first: "doctor ID", run: typing("doctor", "--heal")},
	{name: "doctor --fix ID", run: typing("doctor", "--fix", "ID")},
	{name: "doctor --fix --yes", first: "doctor ID", run: typing("doctor", "--fix", "--yes")},
	{name: "test ID", run: typing("test", "ID")},
	{name: "test --heal ID", run: typing("test", "--heal", "ID")},
	{name: "lock ID", run: typing("lock", "ID")},
	{name: "lock", first: "doctor ID", run: typing("lock")},
	{name: "verify ID", first: "lock ID", run: typing("verify", "ID")},
	{name: "verify", first: "lock ID", run: typing("verify")},
	{name: "login ID", first: "doctor ID", remote: true, run: typing("login", "--no-browser", "ID")},
	{name: "task run", before: taskFile, run: func(w *world, _ thing, who person) transcript {
		return w.at(who, "task", "run", filepath.Join(w.user.home, "task.json"))
	}},
	{name: "task run --server ID", run: typing("task", "run", "--server", "one=ID", "--goal", "x")},
	{name: "test_connection", agent: true, run: calling("test_connection", plain(object{"name": "ID"}))},
	{name: "check_health", agent: true, first: "test_connection", run: calling("check_health", plain(object{}))},
	{name: "check_health include_project", agent: true, run: calling("check_health", plain(object{"include_project": true, "auto_heal": true}))},
	{name: "evaluate_health", agent: true, first: "test_connection", run: calling("evaluate_health", plain(object{"server": "ID"}))},
	{name: "heal_server", agent: true, run: calling("heal_server", plain(object{"server": "ID"}))},
	{name: "heal_server all", agent: true, first: "test_connection", run: calling("heal_server", plain(object{}))},
	{name: "verify tool", agent: true, first: "lock ID", run: calling("verify", plain(object{}))},
	{name: "run_task", agent: true, every: true, run: calling("run_task", func(_ *world, k thing) object {
		return object{"plan": planOf(k), "wait_seconds": 30}
	})},
}

func wayNamed(name string) way {
	return ways[slices.IndexFunc(ways, func(y way) bool { return y.name == name })]
}

// approval is what a client's own file says about the entry before gauze sees it.
type approval struct {
	name   string
	only   string // the client
	record func(*world)
}

var approvals = []approval{
	{name: "nothing is approved elsewhere", record: func(*world) {}},
	{name: "its name is approved in the client", only: "claude-code", record: func(w *world) {
		writeFile(w.t, filepath.Join(w.user.home, ".claude.json"), fmt.Sprintf(
			`{"projects":{%q:{"hasTrustDialogAccepted":true,"enabledMcpjsonServers":[%q]}}}`, w.project.root, serverName))
	}},
	{name: "all names are approved in the client", only: "claude-code", record: func(w *world) {
		writeFile(w.t, filepath.Join(w.user.home, ".claude/settings.json"), `{"enableAllProjectMcpServers":true}`)
	}},
}

// story is: a person approves, an agent changes, and the same is run again.
type story struct {
	way
	thing
	approval
}

func (s story) String() string {
	return fmt.Sprintf("%s, %v, %s", s.way.name, s.thing, s.approval.name)
}

// stories are all ways with two clients, one of which has approvals of its own, and a few ways with
// the others: they only read different files.
func stories() (all []story) {
	few := []string{"doctor ID", "task run", "check_health", "heal_server"}
	for _, y := range ways {
		for _, k := range things() {
			for _, a := range approvals {
				one := k.client == "claude-code" || k.client == "cursor" || slices.Contains(few, y.name)
				if one && (a.only == "" || a.only == k.client) && (k.remote || !y.remote) {
					all = append(all, story{y, k, a})
				}
			}
		}
	}
	return all
}

// quietWorld is a world with one project, in which nothing is configured.
func quietWorld(t *testing.T) *world {
	root, err := os.MkdirTemp("", "gz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	w := &world{t: t, user: newUser(t, root, refusedPort), remote: newRemote(t)}
	w.project = &project{t: t, user: w.user, root: filepath.Join(w.user.home, "src/shop")}
	w.project.write(".git/HEAD", "ref: refs/heads/main\n")
	w.project.write("packages/app/.keep", "")
	w.dir, w.path = w.project.root, filepath.Join(w.user.home, ".local/bin")+":/usr/bin:/bin"
	return w
}

// deeds counts what was started and reached so far.
func (w *world) deeds() int { return len(w.starts()) + len(w.trips()) + len(w.remote.requests()) }

// finding is what a story found, which must be nothing.
type finding struct{ kind, detail string }

// live lives a story. It returns what is wrong, and how often a change was tried without agreement.
func (s story) live(t *testing.T, some []change) (found []finding, tries int) {
	w := quietWorld(t)
	add := func(kind string, change string, said transcript) {
		found = append(found, finding{kind, fmt.Sprintf("%v\n  change: %s\n  command: %s\n  asked: %q\n  output: %.800s", s, change, said.line, said.asked, said.output)})
	}
	run := func(y way, who person) (said transcript, done int) {
		before := w.deeds()
		said = y.run(w, s.thing, who)
		if said.err != nil {
			add("hangs or fails", "", said)
		}
		return said, w.deeds() - before
	}
	entry := s.thing.entry(w)
	s.thing.write(w, entry)
	s.record(w)
	if s.before != nil {
		s.before(w, s.thing)
	}
	approves := s.way
	if s.first != "" {
		approves = wayNamed(s.first)
	}
	if said, done := run(approves, agreeing); done == 0 {
		add("it does not run although a person agrees", "none", said)
		return found, 0
	}
	quiet := func(change string) {
		for _, who := range []person{declining, nobody} {
			switch said, done := run(s.way, who); {
			case s.every:
			case said.questions > 0:
				add("what was agreed to is asked about again", change, said)
			case done == 0:
				add("what was agreed to does not run, and nobody is asked", change, said)
			}
		}
	}
	quiet("none")
	for i, c := range some {
		s.thing.write(w, c.changed(w, entry))
		for _, who := range []person{declining, nobody} {
			tries++
			if said, done := run(s.way, who); done > 0 {
				add("what was changed runs without agreement", c.name+", "+who.String(), said)
			}
		}
		said, done := run(approves, agreeing)
		switch {
		case done == 0:
			add("what was changed does not run although a person agrees", c.name, said)
		case !strings.Contains(squeezed(said.asked), squeezed(c.shows)):
			add("a person agrees to what was changed without seeing it", c.name, said)
		}
		if i == 0 {
			quiet(c.name)
		}
	}
	s.thing.write(w, entry)
	quiet("there and back")
	return found, tries
}

// squeezed returns text without spaces and colors: a terminal breaks lines where it likes.
func squeezed(text string) string {
	return strings.Join(strings.Fields(escapes.ReplaceAllString(text, "")), "")
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// TestApprovedMeansSeen approves an entry of a project, changes it, and runs the same again: nothing
// is started or reached without a question that shows what was changed. What was not changed runs
// without a question.
func TestApprovedMeansSeen(t *testing.T) {
	seed := sample.Seed(t, gauze(), witness())
	var mu sync.Mutex
	tried, found := 0, map[string]int{}
	told := make(chan story)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for s := range told {
				t.Run(s.String(), func(t *testing.T) {
					some := sample.Some(seed, s.thing.changes(), 6)
					all, tries := s.live(t, some)
					mu.Lock()
					defer mu.Unlock()
					tried += tries
					for _, f := range all {
						t.Errorf("%s: %s", f.kind, f.detail)
						found[f.kind+" ("+s.way.name+")"]++
						found["= "+f.kind]++
					}
				})
			}
		})
	}
	for _, s := range sample.Some(seed, stories(), 40) {
		told <- s
	}
	close(told)
	workers.Wait()
	t.Logf("%d times something changed was tried without agreement", tried)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%4d times %s", found[kind], kind)
	}
}
