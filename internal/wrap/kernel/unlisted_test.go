package kernel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
)

// serveUsers has tools that check their arguments themselves, and records the methods that it is asked.
// How it lists its tools is in the file "lists": by default at once; paged, rejected, changing, never, after the
// file "go" is there, by exiting the first times, or when a tool is called.
func serveUsers(in io.Reader, out io.Writer, dir string) {
	const create = `{"name":"create-user","inputSchema":{"type":"object","properties":{"username":{"type":"string","minLength":3},` +
		`"email":{"type":"string","format":"email"},"age":{"type":"integer"}},"required":["username","email"]}}`
	const look = `{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	text, _ := os.ReadFile(filepath.Join(dir, "lists"))
	lists := string(text)
	asked, _ := os.OpenFile(filepath.Join(dir, "asked"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	is := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	var list json.RawMessage // the id of a request that is answered when a tool is called
	var early *plainMessage  // a call that came before it
	var serve func(plainMessage)
	serve = func(m plainMessage) {
		answer := func(text string) { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, text) }
		result := func(text string, failed bool) {
			quoted, _ := json.Marshal(text)
			answer(fmt.Sprintf(`"result":{"content":[{"type":"text","text":%s}],"isError":%v}`, quoted, failed))
		}
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"users","version":"1"}}`)
		case "ping":
			answer(`"result":{}`)
		case "tools/list":
			switch {
			case lists == "never":
			case lists == "with the call" && !is("looked"):
				if list = m.ID; early != nil {
					serve(*early)
				}
			case lists == "changing":
				fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				answer(`"result":{"tools":[` + look + `,` + create + `]}`)
			case lists == "rejected":
				answer(`"error":{"code":-32601,"message":"Method not found"}`)
			case lists == "dies" && os.Mkdir(filepath.Join(dir, "died"), 0o700) == nil, lists == "dies-always":
				os.Exit(3)
			case lists == "paged" && !strings.Contains(string(m.Params), `"cursor":"2"`):
				answer(`"result":{"tools":[` + look + `],"nextCursor":"2"}`)
			case lists == "paged":
				answer(`"result":{"tools":[` + create + `]}`)
			default:
				for lists == "later" && !is("go") {
					time.Sleep(time.Millisecond)
				}
				answer(`"result":{"tools":[` + look + `,` + create + `]}`)
			}
		case "tools/call":
			var call struct {
				Name      string
				Arguments map[string]any
			}
			json.Unmarshal(m.Params, &call)
			if lists == "with the call" && list == nil && !is("looked") {
				early = &m
				return
			}
			if list != nil {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", list, look)
				for !is("go") {
					time.Sleep(time.Millisecond)
				}
			}
			username, _ := call.Arguments["username"].(string)
			switch {
			case call.Name == "look" && os.Mkdir(filepath.Join(dir, "looked"), 0o700) == nil && is("fragile"):
				os.Exit(3)
			case call.Name == "create-user" && len(username) < 3:
				result("Error: username must be at least 3 characters", true)
			default:
				result(string(m.Params), false)
			}
		}
	}
	eachLine(in, func(_ []byte, m plainMessage) {
		fmt.Fprintln(asked, m.Method)
		serve(m)
	})
}

// beginUsers starts a session with serveUsers, in which the client does not list the tools.
func beginUsers(t *testing.T, o Options, lists string) (s *story, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lists"), []byte(lists), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Spec = plainServer("users", dir)
	return (&story{t: t, ended: make(chan error, 1)}).run(o), dir
}

// greet does the legacy handshake, without the list of the tools.
func (s *story) greet() {
	s.t.Helper()
	s.answer(s.request("initialize", helloParams))
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// askedOf returns the methods that the server was asked, without its handshake and probes.
func askedOf(t *testing.T, dir string) (methods []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	for method := range strings.FieldsSeq(string(text)) {
		if method != "initialize" && method != "notifications/initialized" && method != "ping" {
			methods = append(methods, method)
		}
	}
	return methods
}

const wrongUser = `{"username":"ab","email":"not-an-email"}`

// waitsLong is for tests in which no call may be sent because time passes.
func waitsLong(o Options) Options {
	o.Timing.ListWait = time.Hour
	return o
}

// The first call of a client that did not list the tools is checked like every other.
func TestTheFirstCallIsChecked(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]string{"at once": "", "in pages": "paged", "after a crash": "dies"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := beginUsers(t, waitsLong(quick()), lists)
			s.greet()
			r := s.result(s.start("create-user", wrongUser))
			if len(r.Content) != 2 || !strings.Contains(r.Content[1].Text, "username") || !strings.Contains(r.Content[1].Text, "email") {
				t.Errorf("not explained: %+v", r.Content)
			}
			repaired := s.result(s.start("create-user", `{"username":"abc","email":"a@example.com","age":"7"}`))
			if !strings.Contains(repaired.Content[0].Text, `"age":7`) {
				t.Errorf("not repaired: %+v", repaired.Content)
			}
			asked := askedOf(t, dir)
			if n := len(asked); asked[n-2] != "tools/call" || asked[n-1] != "tools/call" {
				t.Errorf("asked %v", asked)
			}
			if strings.Contains(s.told(), "inputSchema") {
				t.Errorf("our own list reached the client: %s", s.told())
			}
		})
	}
}

// A first call that can be repaired is, and keeps its place among what the client sent.
func TestTheFirstCallIsRepairedInItsPlace(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(quick()), "")
	s.greet()
	first := s.start("create-user", `{"username":"abc","email":"a@example.com","age":"7"}`)
	second := s.request("resources/read", `{"uri":"x:y"}`)
	third := s.start("look", "")
	if r := s.result(first); !strings.Contains(r.Content[0].Text, `"age":7`) || len(r.Meta.Repair.Changes) != 1 {
		t.Errorf("%+v", r)
	}
	s.answer(third)
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list tools/call resources/read tools/call]" {
		t.Errorf("asked %v", got)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + second + `}}`)
}

// A script sends everything in one go, and closes its side.
func TestTheFirstCallOfAScriptIsChecked(t *testing.T) {
	t.Parallel()
	o := waitsLong(strict())
	o.Timing.FinishGrace = -1
	s, dir := beginUsers(t, o, "")
	s.request("initialize", helloParams)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	id := s.start("create-user", wrongUser)
	s.in.Close()
	s.wantFault(id, fault.ArgumentsInvalid)
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list]" {
		t.Errorf("asked %v", got)
	}
}

// A modern client has no handshake: its first request may be the call.
func TestTheFirstCallOfAModernClientIsChecked(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(strict()), "")
	s.wantFault(s.startModern("create-user", wrongUser), fault.ArgumentsInvalid)
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list]" {
		t.Errorf("asked %v", got)
	}
}

// The client's own list counts: the server is not asked twice.
func TestTheFirstCallWaitsForTheClientsOwnList(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(strict()), "")
	s.greet()
	list := s.request("tools/list", "")
	s.wantFault(s.start("create-user", wrongUser), fault.ArgumentsInvalid)
	s.answer(list)
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list]" {
		t.Errorf("asked %v", got)
	}
}

// A client that has read one page of the list calls a tool of the next.
func TestTheFirstCallOfAToolOnALaterPageIsChecked(t *testing.T) {
	t.Parallel()
	s, _ := beginUsers(t, waitsLong(strict()), "paged")
	s.greet()
	s.request("tools/list", "")
	s.wantFault(s.start("create-user", wrongUser), fault.ArgumentsInvalid)
}

// A server that does not list its tools gets the call as it came, after a wait that is not repeated.
func TestTheFirstCallDoesNotWaitLong(t *testing.T) {
	t.Parallel()
	for _, lists := range []string{"never", "rejected", "dies-always"} {
		t.Run(lists, func(t *testing.T) {
			t.Parallel()
			o := quick()
			o.Timing.ListWait = 10 * time.Millisecond
			if lists != "never" {
				o = waitsLong(o)
			}
			o.Tools = map[string]Policy{"look": {Replay: "safe"}}
			s, _ := beginUsers(t, o, lists)
			s.greet()
			if got := s.call("look", ""); got != `{"name":"look","arguments":{}}` {
				t.Errorf("the server got %s", got)
			}
		})
	}
}

// What strict mode cannot check is not sent.
func TestStrictRefusesWhatItCannotCheck(t *testing.T) {
	t.Parallel()
	for lists, why := range map[string]string{
		"never": "did not answer tools/list within 50ms", "rejected": "rejected tools/list",
		"dies-always": "lost each time gauze tried to list its tools", "changing": "changed each time they were listed",
	} {
		t.Run(lists, func(t *testing.T) {
			t.Parallel()
			o := strict()
			if lists == "never" {
				o.Timing.Patience = 50 * time.Millisecond
			}
			s, dir := beginUsers(t, o, lists)
			s.greet()
			for range 2 {
				refused := s.wantFault(s.start("create-user", wrongUser), fault.ToolsUnlisted)
				if _, delivery := s.faultOf(refused); delivery != "unsent" || !strings.Contains(refused.raw, why) {
					t.Errorf("delivery %q, %s", delivery, refused.raw)
				}
			}
			if asked := fmt.Sprint(askedOf(t, dir)); strings.Contains(asked, "tools/call") {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

// A read that is lost is repeated if the server listed its tool as one, although the client never asked.
func TestALostFirstReadIsRepeated(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(quick()), "")
	if err := os.WriteFile(filepath.Join(dir, "fragile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.greet()
	if got := s.call("look", ""); !strings.Contains(got, "look") {
		t.Errorf("%s", got)
	}
	s.await(event.Replayed, 1)
}

// The same holds if the list came after the call was sent, and before it was lost.
func TestALostReadThatWasListedLateIsRepeated(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timing.ListWait = time.Millisecond
	s, dir := beginUsers(t, o, "with the call")
	if err := os.WriteFile(filepath.Join(dir, "fragile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.greet()
	id := s.start("look", "")
	s.until("the tools are known", func() bool { return s.session.ToolClass("look") == ReadOnly })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.text(s.answer(id)); !strings.Contains(got, "look") {
		t.Errorf("%s", got)
	}
	s.await(event.Replayed, 1)
}

// A call that waits can be cancelled, and what came after it goes on.
func TestACallThatWaitsForTheListIsCancelled(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(quick()), "later")
	s.greet()
	id := s.start("create-user", `{"username":"abc","email":"a@example.com"}`)
	next := s.start("look", "")
	s.until("both wait", func() bool {
		return s.session.Inside().ListWaiters == 2
	})
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	s.await(event.Cancelled, 1)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.answer(next)
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list tools/call]" || s.answers(id) != 0 {
		t.Errorf("asked %v, %d answers", got, s.answers(id))
	}
}

// A server that dies while a call waits is asked again, and the call is checked.
func TestTheServerDiesWhileACallWaits(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(strict()), "later")
	s.greet()
	id := s.start("create-user", wrongUser)
	s.until("it was asked", func() bool { return len(askedOf(t, dir)) == 1 })
	s.kill()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantFault(id, fault.ArgumentsInvalid)
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list tools/list]" {
		t.Errorf("asked %v", got)
	}
}

// A client that has listed the tools does not wait for anything.
func TestAListedCallDoesNotWait(t *testing.T) {
	t.Parallel()
	s, dir := beginUsers(t, waitsLong(quick()), "")
	s.initialize()
	s.call("look", "")
	if got := fmt.Sprint(askedOf(t, dir)); got != "[tools/list tools/call]" {
		t.Errorf("asked %v", got)
	}
}
