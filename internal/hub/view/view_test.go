package view

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(census.Run(m))
}

// faulty returns a member whose server is a faultyserver with these flags.
func faulty(t *testing.T, key string, flags ...string) Member {
	path, args, env := faultyserver.Command(append(flags, "-ledger", filepath.Join(t.TempDir(), "ledger"))...)
	env = append(env, "GAUZE_TEST_KEY="+key, census.Mark(t))
	return Member{Key: key, Open: func(tell func(proxy.Told)) Server {
		return proxy.New(proxy.Options{Name: key, Tell: tell, Spec: launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}})
	}}
}

// peer is a client of a view, with verbs that read like what clients do.
type peer struct {
	t    *testing.T
	v    *View
	in   io.WriteCloser
	out  *bufio.Scanner
	last int
	past []message // received while something else was waited for
	done chan error
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// connect begins a session with these servers.
func connect(t *testing.T, o Options) *peer {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	p := &peer{t: t, v: New(o), in: in, out: bufio.NewScanner(out), done: make(chan error, 1)}
	p.out.Buffer(nil, 64<<20)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		p.done <- p.v.Serve(ctx, fromClient, toClient)
		toClient.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		stop()
		go io.Copy(io.Discard, out)
		<-p.done
	})
	return p
}

// open is connect and initialize.
func open(t *testing.T, members ...Member) *peer {
	t.Helper()
	return begin(connect(t, Options{Members: members, Software: "test", ListWait: patience.Limit()})) // a busy machine is slow
}

// begin initializes.
func begin(p *peer) *peer {
	p.t.Helper()
	r := p.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"test","version":"1"}}`)
	if r.Error != nil {
		p.t.Fatalf("initialize: %+v", r.Error)
	}
	p.tell("notifications/initialized", `{}`)
	return p
}

func (p *peer) write(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) tell(method, params string) {
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// send sends a request and returns its id.
func (p *peer) send(method, params string) string {
	p.last++
	id := strconv.Itoa(p.last)
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// next returns the first message, also of the past, for which is holds.
func (p *peer) next(what string, is func(message) bool) message {
	p.t.Helper()
	if i := slices.IndexFunc(p.past, is); i >= 0 {
		m := p.past[i]
		p.past = slices.Delete(p.past, i, i+1)
		return m
	}
	for {
		line, ok := p.read()
		if !ok {
			p.t.Fatalf("the session ended before %s", what)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		if is(m) {
			return m
		}
		p.past = append(p.past, m)
	}
}

func (p *peer) read() ([]byte, bool) {
	p.t.Helper()
	read := make(chan bool, 1)
	go func() { read <- p.out.Scan() }()
	select {
	case ok := <-read:
		return p.out.Bytes(), ok
	case <-patience.Context(p.t).Done():
		p.t.Fatal("nothing was received")
		return nil, false
	}
}

func (p *peer) response(id string) message {
	p.t.Helper()
	return p.next("the response to "+id, func(m message) bool { return string(m.ID) == id && m.Method == "" })
}

func (p *peer) notification(method string) message {
	p.t.Helper()
	return p.next(method, func(m message) bool { return m.Method == method })
}

func (p *peer) ask(method, params string) message {
	p.t.Helper()
	return p.response(p.send(method, params))
}

// call calls a tool and returns the text of its result.
func (p *peer) call(tool, arguments string) string {
	p.t.Helper()
	return textOf(p.t, p.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)))
}

func textOf(t *testing.T, r message) string {
	t.Helper()
	if r.Error != nil {
		return "error: " + r.Error.Message
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(r.Result, &result); err != nil || len(result.Content) == 0 {
		t.Fatalf("not the result of a tool: %s", r.Result)
	}
	return result.Content[0].Text
}

// names returns the names in a list.
func (p *peer) names(method, member, field string) (all []string) {
	p.t.Helper()
	r := p.ask(method, `{}`)
	var result map[string][]map[string]any
	if r.Error != nil || json.Unmarshal(r.Result, &result) != nil {
		p.t.Fatalf("%s: %+v %s", method, r.Error, r.Result)
	}
	for _, item := range result[member] {
		all = append(all, fmt.Sprint(item[field]))
	}
	return all
}

func TestToolsOfAllServersAreListedAndCalledByTheirNames(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"), faulty(t, "two", "-page-size", "3"))
	tools := p.names("tools/list", "tools", "name")
	for _, want := range []string{"one__echo", "two__echo", "one__append", "two__env"} {
		if !slices.Contains(tools, want) {
			t.Errorf("%s is not listed: %v", want, tools)
		}
	}
	if first, second := slices.Index(tools, "one__stderr"), slices.Index(tools, "two__echo"); first > second {
		t.Errorf("not in the order of the view: %v", tools)
	}
	for _, key := range []string{"one", "two"} {
		if env := p.call(key+"__env", `{}`); !strings.Contains(env, "GAUZE_TEST_KEY="+key) {
			t.Errorf("%s__env was answered by another server: %s", key, env)
		}
	}
}

func TestACallDoesNotNeedAList(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"), faulty(t, "two"))
	if got := p.call("two__echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("got %q", got)
	}
}

func TestOnlyIdsNamesAndTokensChange(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"), faulty(t, "two"))
	const rest = `"arguments" : {"z":1.0, "a":"é\u00e9"}, "extra":[1e5]`
	id := p.send("tools/call", `{"name":"two__echo_raw_params", `+rest+`}`)
	if got := textOf(t, p.response(id)); got != `{"name":"echo_raw_params", `+rest+`}` {
		t.Errorf("the server got %s", got)
	}
}

func TestNamesThatAreAlmostRight(t *testing.T) {
	t.Parallel()
	members := []Member{faulty(t, "one"), faulty(t, "two")}
	members[1].Admits = func(tool string) bool { return tool == "forecast" }
	p := open(t, members...)
	p.names("tools/list", "tools", "name")
	for _, c := range []struct{ tool, want string }{
		{"echo", "hi"}, // only one server of the view has it
		{"two__echo", `error: the tool "echo" of the server "two" is not part of this view`},
		{"forecast", `error: no server has a tool "forecast"; did you mean "one__forecast"?`},
		{"tow__forecast", `error: no server has a tool "tow__forecast"; did you mean "two__forecast"?`},
	} {
		if got := p.call(c.tool, `{"text":"hi"}`); got != c.want {
			t.Errorf("%s: got %q, want %q", c.tool, got, c.want)
		}
	}
}

func TestADeadServerHarmsNoOther(t *testing.T) {
	t.Parallel()
	p := begin(connect(t, Options{Members: []Member{faulty(t, "dead", "-exit-at-start"), faulty(t, "frozen", "-hang"), faulty(t, "well")}}))
	if got := p.call("well__echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("got %q", got)
	}
	for !slices.Contains(p.names("tools/list", "tools", "name"), "well__echo") { // on a busy machine, it may be late once
		p.notification("notifications/tools/list_changed")
	}
	if got := p.call("dead__echo", `{}`); !strings.HasPrefix(got, "[gauze: ") {
		t.Errorf("a call to the dead server got %q", got)
	}
}

func TestAServerThatWasLateIsAnnounced(t *testing.T) {
	t.Parallel()
	gate, err := faultyserver.NewGate()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	p := connect(t, Options{Members: []Member{faulty(t, "slow", "-gate", gate.Addr()), faulty(t, "well")}, ListWait: 1})
	p.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	for _, name := range p.names("tools/list", "tools", "name") {
		if strings.HasPrefix(name, "slow__") {
			t.Fatalf("%s is listed before its server runs", name)
		}
	}
	gate.Open()
	for begun := true; begun || !slices.Contains(p.names("tools/list", "tools", "name"), "slow__echo"); begun = false {
		p.notification("notifications/tools/list_changed") // the other one may have been late as well
	}
}

func TestACrashedServerIsHealed(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"), faulty(t, "two"))
	before := p.call("two__pid", `{}`)
	p.call("one__die", `{}`)
	if got := p.call("one__echo", `{"text":"back"}`); got != "back" {
		t.Errorf("got %q", got)
	}
	if after := p.call("two__pid", `{}`); after != before {
		t.Errorf("the other server was restarted: %s, then %s", before, after)
	}
}

func TestProgressReachesItsRequest(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"), faulty(t, "two"))
	id := p.send("tools/call", `{"name":"one__progress","arguments":{"n":2},"_meta":{"progressToken":"same"}}`)
	for range 2 {
		if n := p.notification("notifications/progress"); !strings.Contains(string(n.Params), `"progressToken":"same"`) {
			t.Errorf("progress with another token: %s", n.Params)
		}
	}
	p.response(id)
}

func TestAQuestionIsAnsweredToTheServerThatAsked(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"), faulty(t, "two"))
	var calls, questions [2]string
	for i, key := range []string{"one", "two"} { // both ask with the same id
		calls[i] = p.send("tools/call", fmt.Sprintf(`{"name":"%s__ask","arguments":{"method":"roots/list","id":7}}`, key))
		questions[i] = string(p.notification("roots/list").ID)
	}
	if questions[0] == questions[1] {
		t.Fatalf("two questions with the id %s", questions[0])
	}
	for i, root := range []string{"file:///one", "file:///two"} {
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, questions[i], root))
	}
	for i, root := range []string{"file:///one", "file:///two"} {
		if got := textOf(t, p.response(calls[i])); !strings.Contains(got, root) {
			t.Errorf("the answer to call %d is %q, want %s", i, got, root)
		}
	}
}

func TestACancelledCallGetsNoAnswer(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"))
	id := p.send("tools/call", `{"name":"one__hang","arguments":{}}`)
	p.tell("notifications/cancelled", `{"requestId":`+id+`}`)
	p.call("one__echo", `{"text":"hi"}`)
	for _, m := range p.past {
		if string(m.ID) == id {
			t.Errorf("the cancelled call was answered: %+v", m)
		}
	}
}

func TestResourcesBelongToTheirServers(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "none", "-resources", "0"), faulty(t, "two", "-resources", "2"))
	if all := p.names("resources/list", "resources", "uri"); !slices.Equal(all, []string{"mem://0", "mem://1"}) {
		t.Fatalf("listed %v", all)
	}
	if r := p.ask("resources/read", `{"uri":"mem://1"}`); r.Error != nil || !strings.Contains(string(r.Result), "mem://1") {
		t.Errorf("read: %+v %s", r.Error, r.Result)
	}
	if r := p.ask("resources/subscribe", `{"uri":"mem://0"}`); r.Error != nil {
		t.Errorf("subscribe: %+v", r.Error)
	}
	p.call("two__touch", `{"uri":"mem://0"}`)
	if n := p.notification("notifications/resources/updated"); !strings.Contains(string(n.Params), "mem://0") {
		t.Errorf("updated: %s", n.Params)
	}
}

func TestTheLogLevelReachesEveryServer(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "early"), faulty(t, "later"))
	p.call("early__echo", `{}`)
	if r := p.ask("logging/setLevel", `{"level":"warning"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	for _, key := range []string{"early", "later"} {
		if state := p.call(key+"__state", `{}`); !strings.Contains(state, "warning") {
			t.Errorf("%s has no log level: %s", key, state)
		}
	}
}

func TestWhatAViewRefuses(t *testing.T) {
	t.Parallel()
	closed := faulty(t, "closed")
	closed.Closed = "nobody has confirmed it yet"
	closed.Open = func(func(proxy.Told)) Server { t.Error("the server was opened"); return nil }
	p := open(t, faulty(t, "one"), faulty(t, "two"), closed)
	for _, c := range []struct{ method, params, want string }{
		{"initialize", `{}`, "already initialized"},
		{"server/discover", `{}`, "not supported"},
		{"tools/call", `{}`, "has no name"},
		{"resources/read", `{}`, "not supported here"},
		{"resources/read", `{"uri":"x://y"}`, "x://y"},
		{"tasks/get", `{"taskId":"t1"}`, "no task"},
		{"other/method", `{}`, "does not say which of the 3 servers"},
	} {
		if r := p.ask(c.method, c.params); r.Error == nil || !strings.Contains(r.Error.Message, c.want) {
			t.Errorf("%s %s: %+v %s, want %q", c.method, c.params, r.Error, r.Result, c.want)
		}
	}
	if got := p.call("closed__echo", `{}`); !strings.Contains(got, "nobody has confirmed it yet") {
		t.Errorf("a call to a server that is not used got %q", got)
	}
	p.write(`{"jsonrpc":"2.0","id":77,"method":3}`)
	if m := p.next("a refusal", func(m message) bool {
		return m.Error != nil && strings.Contains(m.Error.Message, "not a valid message")
	}); string(m.ID) != "77" {
		t.Errorf("the refusal is for %s", m.ID)
	}
}

func TestAClientThatLeavesGetsWhatIsDue(t *testing.T) {
	t.Parallel()
	p := open(t, faulty(t, "one"))
	id := p.send("tools/call", `{"name":"one__sleep","arguments":{"ms":50}}`)
	p.in.Close()
	if r := p.response(id); r.Error != nil {
		t.Errorf("got %+v", r.Error)
	}
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	p.done <- nil
}

func TestChangedServersKeepTheSession(t *testing.T) {
	t.Parallel()
	stays, goes, comes := faulty(t, "stays"), faulty(t, "goes"), faulty(t, "comes")
	p := open(t, stays, goes)
	pid := p.call("stays__pid", `{}`)
	p.names("tools/list", "tools", "name")
	due := p.send("tools/call", `{"name":"goes__sleep","arguments":{"ms":100}}`)
	p.call("goes__echo", `{}`) // so the other has arrived
	p.v.Change([]Member{comes, stays}, ListDirect)
	if r := p.response(due); r.Error != nil {
		t.Errorf("a call in flight got %+v", r.Error)
	}
	p.notification("notifications/tools/list_changed")
	tools := p.names("tools/list", "tools", "name")
	if !slices.Contains(tools, "comes__echo") || slices.Contains(tools, "goes__echo") {
		t.Errorf("the tools are %v", tools)
	}
	if got := p.call("goes__echo", `{}`); !strings.HasPrefix(got, `error: no server has a tool "goes__echo"`) {
		t.Errorf("a call to a server that left got %q", got)
	}
	if again := p.call("stays__pid", `{}`); again != pid {
		t.Errorf("the server that stayed was restarted: %s, then %s", pid, again)
	}
	if got := p.call("comes__echo", `{"text":"new"}`); got != "new" {
		t.Errorf("the new server answered %q", got)
	}
}

func TestALongListIsSearched(t *testing.T) {
	t.Parallel()
	for _, list := range []string{ListSearch, ListAuto} {
		p := connect(t, Options{Members: []Member{faulty(t, "one"), faulty(t, "two")}, List: list, ListWait: patience.Limit()})
		p.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
		if tools := p.names("tools/list", "tools", "name"); !slices.Equal(tools, []string{"find_tools", "call_read", "call_write"}) {
			t.Fatalf("%s: the tools are %v", list, tools)
		}
		found := p.call("find_tools", `{"query":"weather forecast","limit":2}`)
		if !strings.Contains(found, `"one__forecast"`) || !strings.Contains(found, `"two__forecast"`) || strings.Contains(found, `"one__sleep"`) {
			t.Errorf("found %s", found)
		}
		for _, c := range []struct{ tool, arguments, want string }{
			{"call_read", `{"name":"two__echo","arguments":{"text":"hi"}}`, "hi"},
			{"call_read", `{"name":"two__pid"}`, "pid"},
			{"call_read", `{"name":"one__append","arguments":{"key":"k"}}`, "one__append is not declared as read-only, so it was not called. Use call_write."},
			{"call_write", `{"name":"one__append","arguments":{"key":"k"}}`, ""},
			{"call_read", `{"name":"none__x"}`, `error: no server has a tool "none__x"`},
			{"call_read", `{}`, `The argument "name" is missing`},
			{"find_tools", `{}`, `The argument "query" is missing`},
			{"find_tools", `{"query":"zebra"}`, "Available servers: one, two."},
			{"one__echo", `{"text":"direct"}`, "direct"},
		} {
			if got := p.call(c.tool, c.arguments); !strings.Contains(got, c.want) {
				t.Errorf("%s %s: got %q, want %q", c.tool, c.arguments, got, c.want)
			}
		}
	}
}

func TestAShortListAndAClientThatSearchesItself(t *testing.T) {
	t.Parallel()
	few := faulty(t, "few")
	few.Admits = func(tool string) bool { return tool == "echo" }
	for _, c := range []struct {
		client string
		member Member
	}{{"test", few}, {"claude-code", faulty(t, "many")}} {
		p := connect(t, Options{Members: []Member{c.member}, List: ListAuto, ListWait: patience.Limit()})
		p.ask("initialize", fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}`, c.client))
		if tools := p.names("tools/list", "tools", "name"); !slices.Contains(tools, c.member.Key+"__echo") {
			t.Errorf("%s: the tools are %v", c.client, tools)
		}
	}
}
