package kernel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
)

// An idempotent call that is to be repeated goes before every write that came
// after it, even if it has to wait for its turn.
func TestALaterWriteDoesNotOvertakeARepetition(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	reading := s.start("sleep", `{"ms":300}`)
	first := s.start("die_set", `{"key":"x","when":"before-effect","times":1}`)
	s.await(event.Started, 2) // a call sent earlier may reach the dead server, which makes the first one unknown
	second := s.start("set", `{"key":"x","value":"2"}`)
	for _, id := range []string{reading, first, second} {
		s.text(s.answer(id))
	}
	var order []string
	for _, m := range s.state().Seen {
		var params struct{ Name string }
		if json.Unmarshal(m.Params, &params); params.Name == "set" || params.Name == "die_set" {
			order = append(order, params.Name)
		}
	}
	if got := strings.Join(order, " "); got != "die_set set" {
		t.Errorf("the server was sent %s\n%s", got, s.told())
	}
}

// wantSeen checks how the current server's story begins.
func (s *story) wantSeen(want ...string) {
	s.t.Helper()
	var seen []string
	for _, m := range s.state().Seen {
		seen = append(seen, m.Method)
	}
	if len(seen) < len(want) || fmt.Sprint(seen[:len(want)]) != fmt.Sprint(want) {
		s.t.Errorf("the server saw %v, want first %v", seen, want)
	}
}

// A client that says everything in one breath, before the server runs.
func TestAGreetingFollowsItsInitialize(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "legacy")
	s.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"own":1}}}` +
		"\n" + `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	if m := s.answer(`"l"`); m.Error != nil {
		t.Fatal(m.raw)
	}
	s.wantSeen("initialize", "notifications/initialized", "tools/list")
}

// The same, and the server dies with it unanswered.
func TestAGreetingFollowsARepeatedInitialize(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "legacy", "-exit-on-initialize=1")
	s.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.answer(`"i"`)
	s.wantSeen("initialize", "notifications/initialized")
}

func TestALogLineWithOneOfOurIDsEndsNoCall(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	slow := s.start("sleep", `{"ms":200}`)
	id := s.upstreamID("sleep")
	s.writeByServer(fmt.Sprintf(`{"level":30,"id":%s,"msg":"tool call started"}`, id))
	s.writeByServer(fmt.Sprintf(`{"id":%s,"result":"row inserted"}`, id))
	if got := s.text(s.answer(slow)); got != "slept" {
		t.Errorf("answered %q", got)
	}
}

const listen = `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`

// The first acknowledgement is news, whichever process sends it; the second is
// not.
func TestAStreamIsAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "modern").discover()
	s.send(listen)
	s.notice("notifications/subscriptions/acknowledged", 1)
	s.kill()
	s.await(event.Restored, 1)
	s.text(s.answer(s.startModern("echo", `{"text":"x"}`)))
	s.text(s.answer(s.startModern("change_tools", "")))
	s.notice("notifications/tools/list_changed", 1) // the stream is open again
	if n := s.notices("notifications/subscriptions/acknowledged"); n != 1 {
		t.Errorf("acknowledged %d times", n)
	}
}

// A server that dies before it acknowledged: then the next one's is the first.
func TestAStreamIsAcknowledgedByTheNextServer(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "modern", "-exit-after=1,n=2").discover()
	s.send(listen) // the third message
	s.await(event.Died, 1)
	s.notice("notifications/subscriptions/acknowledged", 1)
}

func TestAServerMayEndAStream(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "modern").discover()
	s.send(listen)
	s.notice("notifications/subscriptions/acknowledged", 1)
	n := s.session.IDAtServer(`"L"`)
	line, _ := json.Marshal(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n))
	s.text(s.answer(s.startModern("notify", `{"message":`+string(line)+`}`)))
	if m := s.notice("notifications/cancelled", 1); !strings.Contains(m.raw, `"requestId":"L"`) {
		t.Errorf("told %s", m.raw)
	}
	if n := s.session.Inside().Opened; n != 0 {
		t.Errorf("%d streams are still open", n)
	}
}

// A burst is passed on at the speed of the server; nobody is turned away.
func TestABurstIsNotTurnedAway(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	var burst strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&burst, `{"jsonrpc":"2.0","id":"b%d","method":"ping"}`+"\n", n)
	}
	s.send(strings.TrimSuffix(burst.String(), "\n"))
	for n := range 5000 {
		if m := s.answer(fmt.Sprintf(`"b%d"`, n)); m.Error != nil {
			t.Fatalf("ping %d: %s", n, m.raw)
		}
	}
}

// The id of a message that is refused is found wherever it stands.
func TestARefusalNamesItsRequest(t *testing.T) {
	t.Parallel()
	s := begin(t, limited()).initialize()
	s.send(`{"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 17<<20) + `"}},"jsonrpc":"2.0","id":"late"}`)
	s.wantFault(`"late"`, fault.RequestTooLarge)
	s.send(`{"jsonrpc":"2.0","method":"ping","Method":"tools/call","id":"odd"}`)
	s.wantFault(`"odd"`, fault.MessageInvalid)
	s.send(`{"jsonrpc":"2.0","method":"x","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"id":"deep"}`)
	s.wantFault(`"deep"`, fault.MessageInvalid)
}

// A refused message must not take the answer of a request with the same id.
func TestARefusalLeavesTheRequestInFlightAlone(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	s.send(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"sleep","arguments":{"ms":100}}}`)
	s.send(`{"jsonrpc":"2.0","id":"same","method":"ping","Method":"x"}`)
	if got := s.text(s.answer(`"same"`)); got != "slept" {
		t.Errorf("answered %q", got)
	}
	if n := s.answers(`"same"`); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// A server that closed its stdin can never be asked again: it is replaced at
// once, and the call that could not be written happens on the next one.
func TestAServerThatClosedItsStdinIsReplaced(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Spec = plainServer("deaf", "")
	s := begin(t, o)
	s.answer(s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	s.request("ping", "")
	if e := s.await(event.Died, 1); !strings.Contains(e.Detail, "closed its stdin") {
		t.Errorf("it ended because %s", e.Detail)
	}
}

// A client that does not read while a session is restored is no reason to
// replace the server.
func TestADeafClientDoesNotCostAHealthyServer(t *testing.T) {
	t.Parallel()
	o := quick()
	s := begin(t, o, "-era", "legacy").initialize()
	s.answer(s.request("resources/subscribe", `{"uri":"mem://0"}`))
	s.mu.Lock()
	s.reading = make(chan struct{})
	reading := s.reading
	s.mu.Unlock()
	s.kill()
	s.await(event.Ready, 2)
	close(reading)
	s.notice("notifications/resources/updated", 1)
	s.call("pid", "")
	if n := s.happened(event.Died); n != 1 {
		t.Errorf("%d servers died", n)
	}
	if got := s.session.Upstream().Health(); got < health.Degraded {
		t.Errorf("health is %v", got)
	}
}
