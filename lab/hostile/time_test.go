//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// way is a command or a tool through which something of a project is used.
type way struct {
	name  string
	kinds []string // of things
	first string   // the way by which a person approves, if this one does not ask
	every bool     // it asks each time, or never does it: it writes a file, an agent chooses what is done, or nothing is remembered
	run   func(*world, thing, person) transcript
}

// The kinds of things that most ways are for.
var (
	entries = []string{"command", "URL"}
	remotes = []string{"URL"}
	tasks   = []string{"task"}
	ports   = []string{"port"}
)

func typing(args ...string) func(*world, thing, person) transcript {
	return func(w *world, k thing, who person) transcript {
		words := slices.Clone(args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "ID", k.id)
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
				all[key] = k.id
			}
		}
		return all
	}
}

// planOf is a task with a server of the project, which can be resumed.
func planOf(k thing) object {
	return object{"servers": object{"one": k.id}, "budget": object{"steps": 2}, "steps": []any{
		object{"id": "look", "server": "one", "tool": "look", "for": "n in " + often},
	}}
}

// runsTask runs a task of a file: the project's, or one of the user's with a server of the project.
func runsTask(flags ...string) func(*world, thing, person) transcript {
	return func(w *world, k thing, who person) transcript {
		file := filepath.Join(w.project.root, "task.json")
		if k.kind != "task" {
			file = filepath.Join(w.user.home, "task.json")
			writeJSON(w.t, file, planOf(k))
		}
		return w.at(who, slices.Concat([]string{"task", "run"}, flags, []string{file})...)
	}
}

// resumesTask resumes the only task, and runs it the first time. With file, it is given the file again.
func resumesTask(file bool) func(*world, thing, person) transcript {
	return func(w *world, k thing, who person) transcript {
		id := w.task()
		if id == "" {
			return runsTask()(w, k, who)
		}
		words := []string{"task", "resume"}
		if file {
			words = append(words, "--file", filepath.Join(w.project.root, "task.json"))
		}
		return w.at(who, append(words, id)...)
	}
}

// task returns the ID of a task that was run.
func (w *world) task() string {
	var newest struct{ ID string }
	_ = json.NewDecoder(strings.NewReader(w.gauze(nil, "task", "list", "--json").output)).Decode(&newest) // there may be none
	return newest.ID
}

var ways = []way{
	{name: "doctor ID", kinds: entries, run: typing("doctor", "ID")},
	{name: "doctor", kinds: entries, first: "doctor ID", run: typing("doctor")},
	{name: "doctor --heal ID", kinds: entries, run: typing("doctor", "--heal", "ID")},
	{name: "doctor --heal", kinds: entries, first: "doctor ID", run: typing("doctor", "--heal")},
	{name: "doctor --fix ID", kinds: entries, run: typing("doctor", "--fix", "ID")},
	{name: "doctor --fix --yes", kinds: entries, first: "doctor ID", run: typing("doctor", "--fix", "--yes")},
	{name: "test ID", kinds: entries, run: typing("test", "ID")},
	{name: "test --heal ID", kinds: entries, run: typing("test", "--heal", "ID")},
	{name: "lock ID", kinds: entries, run: typing("lock", "ID")},
	{name: "lock", kinds: entries, first: "doctor ID", run: typing("lock")},
	{name: "verify ID", kinds: entries, first: "lock ID", run: typing("verify", "ID")},
	{name: "verify", kinds: entries, first: "lock ID", run: typing("verify")},
	{name: "login ID", kinds: remotes, first: "doctor ID", every: true, run: typing("login", "--no-browser", "ID")},
	{name: "task run", kinds: slices.Concat(entries, tasks), run: runsTask()},
	{name: "task run --yes", kinds: tasks, first: "task run", run: runsTask("--yes")},
	{name: "task resume", kinds: entries, run: resumesTask(false)},
	{name: "task resume --file", kinds: tasks, run: resumesTask(true)},
	{name: "test_connection", kinds: entries, run: calling("test_connection", plain(object{"server": "ID"}))},
	{name: "check_health", kinds: entries, first: "test_connection", run: calling("check_health", plain(object{}))},
	{name: "check_health include_project", kinds: entries, run: calling("check_health", plain(object{"include_project": true, "auto_heal": true}))},
	{name: "evaluate_health", kinds: entries, first: "test_connection", run: calling("evaluate_health", plain(object{"server": "ID"}))},
	{name: "heal_server", kinds: entries, run: calling("heal_server", plain(object{"server": "ID"}))},
	{name: "heal_server all", kinds: entries, first: "test_connection", run: calling("heal_server", plain(object{}))},
	{name: "verify tool", kinds: entries, first: "lock ID", run: calling("verify", plain(object{}))},
	{name: "run_task", kinds: entries, every: true, run: calling("run_task", func(_ *world, k thing) object {
		return object{"plan": planOf(k), "wait_seconds": 30}
	})},
	{name: "resume_task", kinds: entries, every: true, run: func(w *world, k thing, who person) transcript {
		if id := w.task(); id != "" {
			return w.agent(who, call{"resume_task", object{"id": id, "wait_seconds": 30}})
		}
		return w.agent(who, call{"run_task", object{"plan": planOf(k), "wait_seconds": 30}})
	}},
	{name: "connect", kinds: entries, first: "doctor ID", run: connects},
	// Without a terminal no such fix is tried, not even one that was agreed to.
	{name: "doctor --heal ID, port", kinds: ports, every: true, run: typing("doctor", "--heal", "ID")},
	{name: "doctor --fix ID, port", kinds: ports, every: true, run: typing("doctor", "--fix", "ID")},
	{name: "test --heal ID, port", kinds: ports, every: true, run: typing("test", "--heal", "ID")},
	{name: "test_connection, port", kinds: ports, run: calling("test_connection", plain(object{"server": "ID"}))},
	{name: "heal_server, port", kinds: ports, every: true, run: calling("heal_server", plain(object{"server": "ID"}))},
}

// connects calls a tool of the entry through a file of gauze up that includes it. No gauze up is left running.
func connects(w *world, k thing, _ person) transcript {
	hostileUp(w, k)
	writeFile(w.t, filepath.Join(w.user.root, "state/gauze/up"), "not a directory, so gauze connect serves it alone")
	return w.converse(nil, []string{"connect", "--file", "up.json"}, func(a *agent) (said transcript) {
		var answer []byte
		if said.err = a.initialize(false); said.err == nil {
			_, said.err = a.request("tools/list", object{})
		}
		if said.err == nil {
			answer, said.err = a.request("tools/call", object{"name": serverName + "__look", "arguments": object{}})
		}
		said.output = string(answer)
		return said
	})
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
	few := []string{"doctor ID", "task run", "check_health", "test_connection"}
	for _, y := range ways {
		for _, k := range things() {
			for _, a := range approvals {
				one := !slices.Contains(entries, k.kind) || k.client == "claude-code" || k.client == "cursor" || slices.Contains(few, y.name)
				if one && (a.only == "" || a.only == k.client) && slices.Contains(y.kinds, k.kind) {
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
	w := &world{t: t, user: newUser(t, root, refusedPort), remote: newRemote(t), ports: [2]int{openPort(t), openPort(t)}}
	w.project = &project{t: t, user: w.user, root: filepath.Join(w.user.home, "src/shop")}
	w.project.write(".git/HEAD", "ref: refs/heads/main\n")
	w.project.write("packages/app/.keep", "")
	w.dir, w.path = w.project.root, filepath.Join(w.user.home, ".local/bin")+":/usr/bin:/bin"
	return w
}

// openPort returns a port with a listener.
func openPort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
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
		before := s.used(w)
		said = y.run(w, s.thing, who)
		if said.err != nil {
			add("hangs or fails", "", said)
		}
		return said, s.used(w) - before
	}
	s.write(w, s.made(w))
	s.record(w)
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
		changed := s.made(w)
		c.make(w, changed)
		s.write(w, changed)
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
		case !strings.Contains(squeezed(said.asked), strings.ReplaceAll(squeezed(c.shows), "PORT", fmt.Sprint(w.ports[1]))):
			add("a person agrees to what was changed without seeing it", c.name, said)
		}
		if i == 0 {
			quiet(c.name)
		}
	}
	s.write(w, s.made(w))
	quiet("there and back")
	return found, tries
}

// squeezed returns text without spaces and colors: a terminal breaks lines where it likes.
func squeezed(text string) string {
	return strings.Join(strings.Fields(escapes.ReplaceAllString(unfolded(text), "")), "")
}

// unfolded returns what a person was shown without the marks of lines that continue.
func unfolded(text string) string { return folds.ReplaceAllString(text, "") }

var folds = regexp.MustCompile("\r?\n    ↳ ")

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// TestApprovedMeansSeen approves an entry of a project, changes it, and runs the same again: nothing
// is started or reached without a question that shows what was changed. What was not changed runs
// without a question.
func TestApprovedMeansSeen(t *testing.T) {
	seed := sample.Seed(t, gauze(), witness())
	var mu sync.Mutex
	tried, found := 0, map[string]int{}
	all := sample.Some(seed, stories(), 12)
	told := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range told {
				s := all[i]
				t.Run(s.String(), func(t *testing.T) {
					some := sample.Some(seed+uint64(i), s.changes(), 5)
					wrong, tries := s.live(t, some)
					mu.Lock()
					defer mu.Unlock()
					tried += tries
					for _, f := range wrong {
						t.Errorf("%s: %s", f.kind, f.detail)
						found[f.kind+" ("+s.way.name+")"]++
						found["= "+f.kind]++
					}
				})
			}
		})
	}
	for i := range all {
		told <- i
	}
	close(told)
	workers.Wait()
	t.Logf("%d times something changed was tried without agreement", tried)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%4d times %s", found[kind], kind)
	}
}

// TestApprovedMeansSeenAgain lives stories that failed once, with the change after which they did: references that
// Cursor does not expand are mistakes in its file, and heal_server asks whether it may fix them.
func TestApprovedMeansSeenAgain(t *testing.T) {
	for _, c := range []struct{ way, client, kind, change string }{
		{"heal_server all", "cursor", "URL", "header added"},
		{"heal_server all", "cursor", "command", "reference added"},
	} {
		s := story{wayNamed(c.way), entryOf(c.client, c.kind), approvals[0]}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			all := s.changes()
			found, tries := s.live(t, all[slices.IndexFunc(all, func(one change) bool { return one.name == c.change }):][:1])
			for _, f := range found {
				t.Errorf("%s: %s", f.kind, f.detail)
			}
			if tries == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}

// TestShownMeansStarted changes a thing while a person reads a question about it. What they agree to is
// what they were shown.
func TestShownMeansStarted(t *testing.T) {
	type shown struct {
		way
		thing
	}
	var all []shown
	for _, y := range ways {
		for _, k := range things() {
			if (k.client == "cursor" || k.kind == "task") && slices.Contains(y.kinds, k.kind) && y.first == "" {
				all = append(all, shown{y, k})
			}
		}
	}
	for _, s := range sample.Some(sample.Seed(t, gauze(), witness()), all, 5) {
		t.Run(fmt.Sprintf("%s, %v", s.way.name, s.thing), func(t *testing.T) {
			t.Parallel()
			w := quietWorld(t)
			s.write(w, s.made(w))
			w.reads = func() {
				changed := s.made(w)
				for _, c := range s.changes() {
					if c.name == "command" || c.name == "path" {
						c.make(w, changed)
					}
				}
				s.write(w, changed)
			}
			said := s.run(w, s.thing, agreeing)
			if said.err != nil || said.questions == 0 {
				t.Errorf("%d questions, %v\n%s", said.questions, said.err, said.output)
			}
			shown := func(text string) bool { return strings.Contains(squeezed(said.asked), text) }
			for _, one := range w.starts() {
				if one.name == "fs" && !shown("/.local/bin/fs") {
					t.Errorf("fs was started, which was not shown\n  command: %s\n  asked: %q\n  output: %.800s", said.line, said.asked, said.output)
				}
			}
			for _, request := range w.remote.requests() {
				if strings.Contains(request, "/mcp/red") && !shown("/mcp/red") {
					t.Errorf("%s was sent, which was not shown\n  command: %s\n  asked: %q", request, said.line, said.asked)
				}
			}
		})
	}
}

// entryOf returns a thing of a client.
func entryOf(client, kind string) thing {
	all := things()
	return all[slices.IndexFunc(all, func(k thing) bool { return k.client == client && k.kind == kind })]
}

// A hash confirms the entry that was shown with it, and is remembered as an answer would be.
func TestConsentIsForWhatWasShown(t *testing.T) {
	w, k := quietWorld(t), entryOf("cursor", "command")
	k.write(w, k.made(w))
	refused := w.at(nobody, "doctor", k.id)
	hash := regexp.MustCompile(`--consent ([0-9a-f]{16,})`).FindStringSubmatch(refused.output)
	if hash == nil || w.deeds() > 0 {
		t.Fatalf("no hash, or the server was started:\n%s", refused.output)
	}
	k.write(w, with(k.made(w), "--red"))
	for _, who := range []person{nobody, declining} {
		if said := w.at(who, "test", "--consent", hash[1], k.id); w.deeds() > 0 {
			t.Fatalf("the hash of a different entry confirms this one:\n%s", said.output)
		}
	}
	k.write(w, k.made(w))
	for _, words := range [][]string{{"test", "--consent", hash[1], k.id}, {"doctor"}, {"lock"}} {
		before := w.deeds()
		if said := w.at(nobody, words...); w.deeds() == before {
			t.Errorf("%s does not start the server:\n%s", said.line, said.output)
		}
	}
}

// With --allow-writes, an agent confirms in the place of the user while gauze mcp runs. That is no
// person: nothing of it is remembered.
func TestAnAgentsAgreementIsNotAPersons(t *testing.T) {
	w, k := quietWorld(t), entryOf("claude-code", "command")
	k.write(w, k.made(w))
	token := regexp.MustCompile(`"consent":"([0-9a-f]+)"`)
	said := w.converse(nil, []string{"mcp", "--allow-writes"}, func(a *agent) (said transcript) {
		said.err = a.initialize(false)
		arguments := object{"name": k.id}
		for range 2 {
			answer, err := a.request("tools/call", object{"name": "test_connection", "arguments": arguments})
			if err != nil {
				said.err = err
				return said
			}
			if found := token.FindSubmatch(answer); found != nil {
				arguments["consent"] = string(found[1])
			}
			said.output += string(answer) + "\n"
		}
		return said
	})
	if said.err != nil || w.deeds() != 1 {
		t.Fatalf("%d starts, %v:\n%s", w.deeds(), said.err, said.output)
	}
	for _, y := range someWays(t, k) {
		if said := y.run(w, k, declining); said.err != nil || w.deeds() != 1 {
			t.Fatalf("%s starts what only an agent agreed to: %v\n%s", said.line, said.err, said.output)
		}
	}
}

// someWays returns ways for a thing.
func someWays(t *testing.T, k thing) []way {
	all := slices.DeleteFunc(slices.Clone(ways), func(y way) bool { return !slices.Contains(y.kinds, k.kind) })
	return sample.Some(sample.Seed(t, gauze(), witness()), all, 5)
}

// What was seen in one project was not seen in a different one, whose files it starts.
func TestSeenInOneProjectOnly(t *testing.T) {
	w, k := quietWorld(t), entryOf("cursor", "command")
	entry := object{"command": "./server"}
	k.write(w, entry)
	w.project.tripwire("server")
	if said := w.at(agreeing, "doctor", k.id); len(w.trips()) == 0 {
		t.Fatalf("it is not started:\n%s", said.output)
	}
	other := *w.project
	other.root = filepath.Join(w.user.home, "src/clone")
	w.project, w.dir = &other, other.root
	k.write(w, entry)
	w.project.tripwire("server")
	before := len(w.trips())
	for _, y := range someWays(t, k) {
		if said := y.run(w, k, declining); said.err != nil || len(w.trips()) != before {
			t.Fatalf("%s starts what was seen in a different project: %v\n%s", said.line, said.err, said.output)
		}
	}
}

// A change that gauze makes to a seen entry after the user confirmed it needs no second question.
func TestWrappedAfterItWasSeen(t *testing.T) {
	w, k := quietWorld(t), entryOf("cursor", "command")
	k.write(w, k.made(w))
	w.at(agreeing, "doctor", k.id)
	wrapped(w, k)
	file := filepath.Join(w.project.root, ".cursor/mcp.json")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"run"`) {
		t.Fatalf("not wrapped: %s %v", text, err)
	}
	before := w.deeds()
	if said := w.at(declining, "doctor", k.id); said.questions > 0 || w.deeds() == before {
		t.Errorf("%d questions, %d starts:\n%s", said.questions, w.deeds()-before, said.output)
	}
	writeFile(t, file, strings.Replace(string(text), `"blue"`, `"red"`, 1))
	before = w.deeds()
	if said := w.at(declining, "doctor", k.id); said.questions != 1 || w.deeds() != before {
		t.Errorf("changed: %d questions, %d starts:\n%s", said.questions, w.deeds()-before, said.output)
	}
}
