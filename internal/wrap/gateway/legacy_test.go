package gateway

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

func TestASessionBeginsWorksAndEnds(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	a := c.call("1", "echo", `{"text":"hello"}`).want(200)
	if got := a.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("answered as %s", got)
	}
	a.result().wantText(t, "hello")
	c.request("DELETE", "").want(204)
	c.call("2", "echo", `{"text":"hello"}`).want(404)
	c.request("GET", "").want(404)
	c.request("DELETE", "").want(404)
}

func TestAServerKilledInTheMiddleCostsNoSession(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	c.call("1", "die", `{}`).want(200).result().wantText(t, "outcome-unknown")
	c.call("2", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
}

func TestEachSessionHasAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	one, two := f.client().initialize("2025-06-18"), f.client().initialize("2025-06-18")
	first, second := one.call("1", "pid", `{}`).result(), two.call("1", "pid", `{}`).result()
	if first.raw == second.raw {
		t.Errorf("both are %s", first.raw)
	}
}

func TestACallInFlightIsAnsweredWhenItsSessionIsEnded(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	a := c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"progress","arguments":{"n":-1,"interval_ms":5}}}`).want(200)
	a.next()
	c.request("DELETE", "").want(204)
	a.result().wantText(t, "[gauze: ")
	if a.next() != nil {
		t.Error("something follows the answer")
	}
}

func TestAnInitializeThatIsRefusedLeavesNoSession(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly(), "-era", "modern")
	a := f.client().request("POST", fmt.Sprintf(hello, "2025-06-18"))
	if m := a.result(); m.Error == nil {
		t.Fatalf("told %s", m.raw)
	}
	if a.Header.Get(sessionHeader) != "" {
		t.Error("there is a session id")
	}
	f.g.table.mu.Lock()
	defer f.g.table.mu.Unlock()
	for len(f.g.table.sessions) > 0 {
		t.Fatal("the session is still there")
	}
}

func TestASessionIsInitializedOnce(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	c.request("POST", fmt.Sprintf(hello, "2025-06-18")).want(400)
}

func TestAnIDInUseIsRefusedAndItsFirstUserGetsTheAnswer(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	slow := make(chan *answer)
	go func() {
		a, _ := c.try("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"progress","arguments":{"n":-1,"interval_ms":5}}}`)
		slow <- a
	}()
	a := <-slow // it has begun: there was progress
	m := c.call("1", "echo", `{"text":"x"}`).want(400).result()
	if m.Error == nil || m.Error.Code != codeInvalidRequest || string(m.ID) != "1" {
		t.Errorf("told %s", m.raw)
	}
	c.request("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).want(202)
	for a.next() != nil { // the stream of a cancelled request ends without an answer
	}
	c.call("1", "echo", `{"text":"again"}`).want(200).result().wantText(t, "again")
}

func TestAQuestionOfTheServerFindsItsWay(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	a := c.call("1", "ask", `{"method":"roots/list"}`).want(200)
	question := a.next()
	if question.Method != "roots/list" {
		t.Fatalf("told %s", question.raw)
	}
	c.request("POST", `{"jsonrpc":"2.0","id":`+string(question.ID)+`,"result":{"roots":[{"uri":"file:///here"}]}}`).want(202)
	a.result().wantText(t, "file:///here")
}

func TestBatchesExistInOneVersionOnly(t *testing.T) {
	t.Parallel()
	batch := `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"one"}}},
		{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"two"}}},
		{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`
	f := serve(t, quickly())
	a := f.client().initialize("2025-03-26").request("POST", batch).want(200)
	if both := a.result().raw + a.result().raw; !strings.Contains(both, "one") || !strings.Contains(both, "two") || a.next() != nil {
		t.Errorf("told %s", both)
	}
	f.client().initialize("2025-06-18").request("POST", batch).want(400)
}

func TestAMessageOnManyLinesIsOneMessage(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	c.request("POST", "{\n \"jsonrpc\": \"2.0\",\r\n\t\"id\": 1,\n \"method\": \"tools/call\",\n \"params\": {\"name\": \"echo\",\n\n \"arguments\": {\"text\": \"a\\nb\"}}\n}\n").
		want(200).result().wantText(t, `a\nb`)
}

func TestWhatBelongsToNoRequestWaitsForAListener(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	c.request("POST", `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`).result()
	c.call("1", "change_tools", `{}`).result()
	a := c.request("GET", "").want(200)
	if m := a.next(); m.Method != "notifications/tools/list_changed" {
		t.Errorf("told %s", m.raw)
	}
	c.request("GET", "").want(409)
	c.request("GET", "", resumeHeader, "0_0").want(400) // not resumable
	a.hangUp()
}

func TestAStreamGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.KeepAlive = 2 * time.Millisecond
	f := serve(t, o)
	c := f.client().initialize("2025-06-18")
	a := c.request("GET", "").want(200)
	for seen := 0; seen < 3; {
		line, err := a.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, ": keep-alive") {
			seen++
		}
	}
	// An answer that takes longer than that still comes whole.
	c.call("1", "sleep", `{"ms":20}`).want(200).result().wantText(t, "")
}

func TestAResumedStreamTakesOverFromTheBrokenOne(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Resumable = true
	f := serve(t, o)
	c := f.client().initialize("2025-11-25")
	c.request("POST", `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`).result()
	first := c.request("GET", "").want(200)
	c.call("1", "change_tools", `{}`).result()
	if m := first.next(); m.Method != "notifications/tools/list_changed" || first.lastID == "" {
		t.Fatalf("told %s under the id %q", m.raw, first.lastID)
	}
	second := c.request("GET", "", resumeHeader, first.lastID).want(200)
	if first.next() != nil {
		t.Error("the first stream goes on")
	}
	c.request("GET", "").want(409)
	second.hangUp()
	for _, id := range []string{"x", "0", "0_x", "-1_0", "0_-1", "9_0", "0_999", "_0"} {
		c.request("GET", "", resumeHeader, id).want(400)
	}
}

func TestTooManySessionsAreRefusedClearly(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.MaxSessions = 1
	f := serve(t, o)
	first := f.client().initialize("2025-06-18")
	first.request("GET", "").want(200) // in use
	a := f.client().request("POST", fmt.Sprintf(hello, "2025-06-18")).want(503)
	m := a.result()
	if a.Header.Get("Retry-After") == "" || m.Error == nil || m.Error.Code != (&fault.Fault{Code: fault.SessionLimit}).RPCCode() ||
		!strings.Contains(m.Error.Message, "--max-sessions") || string(m.ID) != `"hello"` {
		t.Errorf("told %s", m.raw)
	}
	first.call("1", "echo", `{"text":"untouched"}`).want(200).result().wantText(t, "untouched")
	first.request("DELETE", "").want(204)
	f.client().initialize("2025-06-18")
}

func TestAnIdleSessionIsEnded(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	began := time.Now()
	idle, listening := f.client().initialize("2025-06-18"), f.client().initialize("2025-06-18")
	a := listening.request("GET", "").want(200)
	f.client().modernCall("1", "echo", `{"text":"x"}`).want(200).result()
	f.quiet()
	f.g.table.reap(began.Add(f.g.Idle - 1)) // however long the machine took to get here
	idle.call("1", "echo", `{"text":"not yet"}`).want(200).result().wantText(t, "not yet")
	f.quiet()
	f.g.table.reap(time.Now().Add(f.g.Idle))
	idle.call("2", "echo", `{"text":"x"}`).want(404)
	listening.call("1", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
	f.client().modernCall("1", "echo", `{"text":"a new one"}`).want(200).result().wantText(t, "a new one")
	a.hangUp()
}

// quiet waits until the handlers of what was answered have left.
func (f *front) quiet() {
	f.t.Helper()
	for deadline := time.Now().Add(patience.Limit()); ; {
		f.g.table.mu.Lock()
		asked := f.g.table.asked
		f.g.table.mu.Unlock()
		if asked == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatal("a handler does not leave")
		}
		runtime.Gosched()
	}
}

func TestAStuckClientHoldsUpNobody(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	stuck := f.client().initialize("2025-06-18")
	// Its answers are larger than what fits on the way, and it reads nothing.
	var answers []*answer
	for i := range 3 {
		answers = append(answers, stuck.call(fmt.Sprint(i), "big", `{"n":8000000}`).want(200))
	}
	stuck.call(`"same session"`, "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
	f.client().initialize("2025-06-18").call("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
	modern := f.client()
	answers = append(answers, modern.modernCall("1", "big", `{"n":8000000}`).want(200))
	f.client().modernCall("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
	for _, a := range answers {
		a.hangUp()
	}
}

func TestAStreamNobodyReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newSession("x", principal{}, &Options{})
	s.listen.out = newStream()
	out := s.listen.out
	line := []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 1<<20) + `"}}`)
	for range 10 {
		s.tell(proxy.Told{Line: line})
	}
	if _, _, cut := out.take(); !cut || s.listen.out != nil {
		t.Error("the stream is still there")
	}
	if s.kept.bytes == 0 || s.kept.bytes > maxKeptBytes {
		t.Errorf("%d bytes are kept", s.kept.bytes)
	}
}

func TestWhatIsKeptHasLimits(t *testing.T) {
	t.Parallel()
	s := newSession("x", principal{}, &Options{Resumable: true})
	line := []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	for range 3 * maxKeptEvents {
		s.tell(proxy.Told{Line: line})
	}
	if n := len(s.kept.events); n != maxKeptEvents {
		t.Errorf("%d events are kept", n)
	}
	if _, _, refused := s.attach(0, 10, true); refused == nil || refused.status != 400 {
		t.Errorf("a gap was not noticed: %+v", refused)
	}
	if _, out, refused := s.attach(0, 3*maxKeptEvents-3, true); refused != nil || len(out.items) != 2 {
		t.Errorf("the last two are not there: %+v", refused)
	}
	s.expire(time.Now().Add(keepTimeout + time.Second))
	if len(s.kept.events) != 0 || s.kept.bytes != 0 {
		t.Errorf("%d events are kept for ever", len(s.kept.events))
	}
}
