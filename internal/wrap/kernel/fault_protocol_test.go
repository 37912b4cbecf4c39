package kernel_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// What the protocol remembers, and what a restart must not make it forget.

func TestFaultM01CancelledThenKilled(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed()).initialize()
	ids := []string{s.start("hang", ""), s.request("tools/call", `{"name":"hang_unsafe","arguments":{"key":"k"}}`)}
	s.state() // it has both
	for i, id := range ids {
		s.withdraw(id)
		s.await(event.Cancelled, i+1)
	}
	s.kill()
	if got := s.state(); strings.Count(got.methods(), "tools/call") != 1 {
		t.Errorf("the next generation has seen %s", got.methods())
	}
	s.wantReplays("hang", 0)
	s.wantReplays("hang_unsafe", 0)
	if n := s.effects()["k"]; n > 1 {
		t.Errorf("the effect happened %d times", n)
	}
	for _, id := range ids {
		if n := s.answers(id); n != 0 {
			t.Errorf("%d answers to a cancelled call", n)
		}
	}
}

func TestFaultM02TaskCreationInterrupted(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before-effect", "after-effect"} {
		t.Run(when, func(t *testing.T) {
			s := begin(t, unprobed()).initialize()
			// The tool says it only reads; the task it creates is an effect.
			id := s.request("tools/call", `{"name":"die_read","arguments":{"key":"k","when":"`+when+`"},"task":{"ttl":60000}}`)
			s.wantFault(id, fault.OutcomeUnknown)
			s.wantOneAnswer(id)
			s.wantReplays("die_read", 0)
			s.wantEffect("k", map[string]int{"before-effect": 0, "after-effect": 1}[when])
		})
	}
}

// beginTasks is begin with a server that has tasks; durable ones survive it.
func beginTasks(t *testing.T, durable bool) (s *story, dir string) {
	t.Helper()
	dir = t.TempDir()
	kind := "tasks"
	if durable {
		kind = "durable-tasks"
	}
	return beginPlain(t, kind, dir), dir
}

// beginPlain is begin with the plain server.
func beginPlain(t *testing.T, kind, dir string) *story {
	t.Helper()
	o := unprobed()
	o.Spec = plainServer(kind, dir)
	return (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
}

// createTask returns the id of a new one.
func (s *story) createTask() string {
	s.t.Helper()
	var created struct {
		Task struct {
			ID string `json:"taskId"`
		}
	}
	m := s.answer(s.request("tools/call", `{"name":"work","arguments":{},"task":{"ttl":60000}}`))
	if json.Unmarshal(m.Result, &created) != nil || created.Task.ID == "" {
		s.t.Fatalf("no task: %s", m.raw)
	}
	return created.Task.ID
}

func TestFaultM03TaskSurvivesARestart(t *testing.T) {
	t.Parallel()
	s, dir := beginTasks(t, true)
	task := s.createTask()
	s.kill()
	poll := fmt.Sprintf(`{"taskId":%q}`, task)
	if m := s.answer(s.request("tasks/get", poll)); m.Error != nil || !strings.Contains(m.raw, `"working"`) {
		t.Errorf("%s", m.raw)
	}
	// A poll that dies with the server is asked again.
	if err := os.WriteFile(filepath.Join(dir, "die"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := s.request("tasks/get", poll)
	if m := s.answer(id); m.Error != nil || !strings.Contains(m.raw, task) {
		t.Errorf("%s", m.raw)
	}
	s.want(event.Replayed, 1)
	if created, _ := os.ReadFile(filepath.Join(dir, "created")); strings.Count(string(created), "\n") != 1 {
		t.Errorf("tasks were created: %q", created)
	}
	if n := s.answers(id); n != 1 {
		t.Errorf("%d answers", n)
	}
}

func TestFaultM04TaskLostByARestart(t *testing.T) {
	t.Parallel()
	s, dir := beginTasks(t, false)
	task := s.createTask()
	s.kill()
	m := s.answer(s.request("tasks/get", fmt.Sprintf(`{"taskId":%q}`, task)))
	if want := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32602,"message":"no such task"}}`; m.raw != want {
		t.Errorf("%s, want the server's own words %s", m.raw, want)
	}
	if created, _ := os.ReadFile(filepath.Join(dir, "created")); strings.Count(string(created), "\n") != 1 {
		t.Errorf("tasks were created: %q", created)
	}
}

func TestFaultM06ManySubscriptionsRestored(t *testing.T) {
	t.Parallel()
	const all = 1500 // more than may wait for a server that does not read
	s := begin(t, unprobed(), fmt.Sprintf("-resources=%d", all), "-forget-resources=n=3").initialize()
	for from := 0; from < all; from += 500 {
		var ids []string
		for i := from; i < from+500; i++ {
			ids = append(ids, s.request("resources/subscribe", fmt.Sprintf(`{"uri":"mem://%d"}`, i)))
		}
		for _, id := range ids {
			if m := s.answer(id); m.Error != nil {
				t.Fatalf("%s", m.raw)
			}
		}
	}
	s.answer(s.request("resources/unsubscribe", `{"uri":"mem://7"}`))
	s.kill()
	state := s.state()
	if len(state.Subscriptions) != all-4 || slices.Contains(state.Subscriptions, "mem://7") || slices.Contains(state.Subscriptions, "mem://1499") {
		t.Errorf("%d subscriptions restored, want %d", len(state.Subscriptions), all-4)
	}
	if methods := state.methods(); !strings.HasSuffix(methods, " tools/call") || strings.Count(methods, "tools/call") != 1 {
		t.Error("traffic came before the session was restored")
	}
	s.want(event.Died, 1)
	// Nobody can know what changed in between: the client is told to look.
	s.notice("notifications/resources/updated", all-1)
	s.call("touch", `{"uri":"mem://0"}`)
	s.notice("notifications/resources/updated", all)
}

func TestFaultM07LogLevelRestored(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed()).initialize()
	for _, level := range []string{"error", "debug"} {
		s.answer(s.request("logging/setLevel", `{"level":"`+level+`"}`))
	}
	s.kill()
	state := s.state()
	if state.LogLevel != "debug" || state.methods() != "initialize notifications/initialized logging/setLevel tools/call" {
		t.Errorf("level %q after %s", state.LogLevel, state.methods())
	}
	// A level the server refused is not one.
	s.answer(s.request("logging/setLevel", `{}`))
	s.kill()
	if state := s.state(); state.LogLevel != "debug" {
		t.Errorf("level %q", state.LogLevel)
	}
}

func TestFaultM08RootsChangedWhileDown(t *testing.T) {
	t.Parallel()
	const changed = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	g := newGate(t)
	o := unprobed()
	s := begin(t, o, g.flag())
	g.open(t)
	s.initialize()
	s.kill()
	s.await(event.Started, 2)
	for range 3 {
		s.send(changed)
	}
	s.taken()
	g.open(t)
	if got := s.state().methods(); got != "initialize notifications/initialized notifications/roots/list_changed tools/call" {
		t.Errorf("the next generation has seen %s", got)
	}
}

func TestFaultM08RootsChangedAndNeverRead(t *testing.T) {
	t.Parallel()
	if !provesUnread {
		t.Skip("this system does not tell what was read")
	}
	notRead := func(t *testing.T, s *story) {
		t.Helper()
		s.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		s.taken()
		s.until("all of it is written", func() bool { return !s.conn().Blocked() })
		s.kill()
		if got := s.state().methods(); strings.Count(got, "notifications/roots/list_changed") != 1 {
			t.Errorf("after a notice that was never read: %s", got)
		}
	}
	t.Run("it reads no more", func(t *testing.T) {
		notRead(t, begin(t, unprobed(), "-stop-reading=1,n=3").initialize())
	})
	t.Run("it is suspended", func(t *testing.T) {
		windowstest.Skip(t)
		s := begin(t, unprobed()).initialize()
		s.stop()
		notRead(t, s)
	})
}

func TestFaultM09CursorOfADeadProcess(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-page-size=5").initialize()
	var page struct {
		Tools []json.RawMessage
		Next  string `json:"nextCursor"`
	}
	json.Unmarshal(s.answer(s.request("tools/list", "")).Result, &page)
	if len(page.Tools) != 5 || page.Next == "" {
		t.Fatalf("%d tools, cursor %q", len(page.Tools), page.Next)
	}
	s.kill()
	s.call("pid", "")
	m := s.answer(s.request("tools/list", fmt.Sprintf(`{"cursor":%q}`, page.Next)))
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, page.Next) {
		t.Errorf("%s", m.raw)
	}
	// From the start it is one list, and the same one.
	var all []json.RawMessage
	for cursor := "{}"; cursor != ""; {
		page.Next, page.Tools = "", nil
		json.Unmarshal(s.answer(s.request("tools/list", cursor)).Result, &page)
		all = append(all, page.Tools...)
		if cursor = ""; page.Next != "" {
			cursor = fmt.Sprintf(`{"cursor":%q}`, page.Next)
		}
	}
	if len(all) < 20 {
		t.Errorf("%d tools", len(all))
	}
	s.want(event.ListChanged, 0)
}

func TestFaultM10DiscoverIgnored(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.DiscoverWait = 100 * time.Millisecond
	s := begin(t, o, "-era=legacy", "-ignore-discover")
	m := s.wantFault(s.request("server/discover", "{"+modernMeta+"}"), fault.DiscoverUnanswered)
	if m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("%s", m.raw)
	}
	s.initialize()
	s.wantAlive()
	s.want(event.Started, 1)
	if state := s.state(); strings.Count(state.methods(), "initialize ") != 1 {
		t.Errorf("%s", state.methods())
	}
}

func TestFaultM10DiscoverRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-era=legacy")
	m := s.answer(s.request("server/discover", "{"+modernMeta+"}"))
	if code, _ := s.faultOf(m); code != "" || m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("not the server's own refusal: %s", m.raw)
	}
	s.initialize()
	s.want(event.Started, 1)
}

func TestFaultM10DiscoverKills(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-era=legacy", "-exit-on-discover=code=1")
	id := s.request("server/discover", "{"+modernMeta+"}")
	m := s.wantFault(id, fault.DiscoverUnanswered)
	if m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("%s", m.raw)
	}
	s.initialize()
	if got := s.call("echo", `{"text":"x"}`); got != "x" {
		t.Errorf("%q", got)
	}
	s.want(event.Started, 3) // it died of the question twice; nobody asks a third time
	s.wantOneAnswer(id)
}

func TestFaultM11UnsupportedVersion(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-era=modern", "-unsupported-version=1,2027-01-01+2026-07-28")
	m := s.answer(s.request("server/discover", "{"+modernMeta+"}"))
	want := `"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2027-01-01","2026-07-28"],"requested":"2026-07-28"}}}`
	if !strings.HasSuffix(m.raw, want) {
		t.Errorf("%s\nwant %s", m.raw, want)
	}
	// The client asks again in another version, and nobody initialised.
	s.discover()
	if state := s.text(s.answer(s.startModern("state", ""))); strings.Contains(state, `"initialize"`+",") || strings.Contains(state, `"method":"initialize"`) {
		t.Errorf("%s", state)
	}
	s.want(event.Started, 1)
}

// painfulSchemas lists tools whose schemas hurt validators and calls them,
// before and after a restart: what cannot be verified passes.
func painfulSchemas(t *testing.T, schemas map[string]string) {
	t.Helper()
	kinds := slices.Sorted(maps.Keys(schemas))
	s := begin(t, unprobed(), "-schema="+strings.Join(kinds, "+")).initialize()
	list := string(s.answer(s.request("tools/list", "")).Result)
	for kind, schema := range schemas {
		if want := `{"name":"painful_` + kind + `","description":"has a schema that is costly to validate","inputSchema":` + schema; !strings.Contains(list, want) {
			t.Errorf("the tool is not listed as it is: %s", list[max(0, len(list)-4000):])
		}
	}
	for range 2 {
		for _, kind := range kinds {
			for _, arguments := range []string{`{}`, `{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!","n":-1}`, `{"a":{"a":{"a":null}}}`} {
				m := s.answer(s.start("painful_"+kind, arguments))
				if code, _ := s.faultOf(m); code != "" || m.Error != nil {
					t.Errorf("%s %s: %s", kind, arguments, m.raw)
				}
			}
		}
		s.kill()
	}
	s.want(event.ListChanged, 0)
}

func TestFaultM12SchemaThatRefersToItself(t *testing.T) {
	t.Parallel()
	painfulSchemas(t, map[string]string{
		"cycle":      `{"$ref":"#"}`,
		"cycle-defs": `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
	})
}

func TestFaultM13SchemaBomb(t *testing.T) {
	t.Parallel()
	painfulSchemas(t, map[string]string{
		"bomb": `{"$ref":"#/$defs/d0","$defs":{"d0":{"allOf":[{"$ref":"#/$defs/d1"},{"$ref":"#/$defs/d1"}]},`,
	})
}

func TestFaultM14SchemaOutside(t *testing.T) {
	t.Parallel()
	painfulSchemas(t, map[string]string{
		"file": `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		"http": `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/schema.json"}}}`,
	})
}

func TestFaultM15SchemaWithARegularExpression(t *testing.T) {
	t.Parallel()
	const trap = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"
	o := unprobed()
	o.Repair = "strict"
	s := begin(t, o, "-schema=regex+lookahead").initialize()
	s.answer(s.request("tools/list", ""))
	for range 2 {
		s.call("painful_regex", `{"a":"aaa"}`)
		s.wantFault(s.start("painful_regex", `{"a":"`+trap+`"}`), fault.ArgumentsInvalid)
		s.wantFault(s.start("painful_lookahead", `{"a":"`+trap+`"}`), fault.ArgumentsInvalid) // no engine here can tell
		s.wantFault(s.start("painful_lookahead", `{"a":{"b":1}}`), fault.ArgumentsInvalid)
		s.kill()
	}
	s.want(event.Unverified, 0)
	s.want(event.ListChanged, 0)
}

func TestFaultM16TenThousandTools(t *testing.T) {
	before := memoryInUse()
	s := beginPlain(t, "10000-tools", "")
	if n := strings.Count(string(s.answer("2").Result), `"inputSchema"`); n != 10_000 {
		t.Errorf("%d tools", n)
	}
	// The last of them is known to only read: it is repeated.
	id := s.start("the last", "")
	s.taken()
	s.kill()
	if got := s.text(s.answer(id)); got != "done" {
		t.Errorf("%q", got)
	}
	s.want(event.Replayed, 1)
	s.want(event.ListChanged, 0)
	if grown := memoryInUse() - before; grown > 50<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

func TestFaultM16ListTooLarge(t *testing.T) {
	t.Parallel()
	o := limited()
	o.Spec = plainServer("too-many-tools", "")
	s := (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
	s.wantFault("2", fault.ResponseTooLarge)
	if m := s.answer(s.request("ping", "")); m.Error != nil {
		t.Errorf("%s", m.raw)
	}
	s.kill()
	if m := s.answer(s.request("ping", "")); m.Error != nil {
		t.Errorf("%s", m.raw)
	}
	s.want(event.Started, 2)
}

func TestFaultM17ToolsChangeUnderACall(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed()).initialize()
	id := s.start("ask", "")
	question := s.notice("elicitation/create", 1)
	s.call("change_tools", "")
	s.notice("notifications/tools/list_changed", 1)
	list := string(s.answer(s.request("tools/list", "")).Result)
	if !strings.Contains(list, `"name":"extra"`) || strings.Contains(list, `"name":"get"`) {
		t.Errorf("the list did not change: %s", list)
	}
	s.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept"}}`)
	if got := s.text(s.answer(id)); got != `{"result":{"action":"accept"}}` {
		t.Errorf("the call in flight: %s", got)
	}
	if got := s.call("extra", `{"text":"new"}`); got != "new" {
		t.Errorf("%q", got)
	}
	if m := s.answer(s.start("get", `{"key":"k"}`)); m.Error == nil || !strings.Contains(m.Error.Message, "it does not list a tool named `get`") {
		t.Errorf("a tool that is gone: %s", m.raw)
	}
	s.wantOneAnswer(id)
}

// Once the server has announced different tools, the old list licenses no repetition.
func TestFaultM17WithdrawnHint(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-tools-change=annotate").initialize()
	s.call("change_tools", "")
	s.notice("notifications/tools/list_changed", 1)
	s.wantFault(s.start("die_read", `{"key":"k","when":"after-effect","times":1}`), fault.OutcomeUnknown)
	s.wantEffect("k", 1)
}

func TestFaultM17ToolChangedByARestart(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"schema", "annotate"} {
		t.Run(change, func(t *testing.T) {
			s := begin(t, unprobed(), "-tools-change="+change).initialize()
			id := s.start("die_read", `{"key":"k","when":"before-effect","times":1}`)
			s.wantFault(id, fault.ToolChanged)
			s.notice("notifications/tools/list_changed", 1)
			s.wantOneAnswer(id)
			s.wantEffect("k", 0)
		})
	}
}
