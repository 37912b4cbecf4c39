package kernel_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// The tests in this file hold the first rule: what the server would have done
// without us, it does with us, under default options.

func init() { plainServers["journal"] = serveJournal }

// serveJournal is a server that handles one message at a time and writes down
// what it is told:
//
//	append  notes its key; the answer is withheld until the next clear
//	count   answers how many keys are noted
//	clear   forgets the keys, and answers everything that was withheld
//	stall   reads nothing more until the test opens the gate
//	ask     asks the user, and reads nothing but the answer meanwhile
//	seen    answers the keys and notifications ever received, in their order
func serveJournal(in io.Reader, out io.Writer, dir string) {
	var keys, seen []string
	var withheld []json.RawMessage
	lines := bufio.NewReaderSize(in, 1<<20)
	next := func() (m struct {
		plainMessage
		Result, Error json.RawMessage
	}) {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		json.Unmarshal(line, &m)
		return m
	}
	reply := func(id json.RawMessage, result string) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	text := func(id json.RawMessage, text string) {
		quoted, _ := json.Marshal(text)
		reply(id, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
	}
	for {
		m := next()
		var p struct {
			Name      string
			Arguments struct{ Key string }
		}
		json.Unmarshal(m.Params, &p)
		switch {
		case m.Method == "initialize":
			reply(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"journal","version":"1"}}`)
		case m.Method == "ping":
			reply(m.ID, `{}`)
		case m.Method == "tools/list":
			reply(m.ID, `{"tools":[{"name":"append","inputSchema":{"type":"object"}},`+
				`{"name":"count","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},`+
				`{"name":"clear","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},`+
				`{"name":"stall","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}},`+
				`{"name":"seen","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		case strings.HasPrefix(m.Method, "notifications/test"):
			seen = append(seen, strings.TrimPrefix(m.Method, "notifications/test"))
		case p.Name == "append":
			keys, seen, withheld = append(keys, p.Arguments.Key), append(seen, p.Arguments.Key[:min(len(p.Arguments.Key), 5)]), append(withheld, m.ID)
		case p.Name == "count":
			text(m.ID, fmt.Sprint(len(keys)))
		case p.Name == "clear":
			for _, id := range withheld {
				text(id, "noted")
			}
			keys, withheld = nil, nil
			text(m.ID, "cleared")
		case p.Name == "seen":
			text(m.ID, strings.Join(seen, " "))
		case p.Name == "stall":
			if addr, err := os.ReadFile(filepath.Join(dir, "gate")); err == nil {
				faultyserver.WaitAtGate(string(addr))
			}
			text(m.ID, "reading again")
		case p.Name == "ask":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"really?"}}`+"\n")
			for said := next(); ; said = next() {
				if string(said.ID) == `"q"` && said.Method == "" {
					text(m.ID, string(said.Result)+string(said.Error))
					break
				}
				seen = append(seen, said.Method)
			}
		}
	}
}

// beginJournal starts a session in front of it.
func beginJournal(t *testing.T, o Options) (s *story, open func()) {
	t.Helper()
	dir := t.TempDir()
	g := newGate(t)
	if err := os.WriteFile(filepath.Join(dir, "gate"), []byte(g.Addr()), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Spec = plainServer("journal", dir)
	return begin(t, o).initialize(), func() { g.open(t) }
}

// unhurried are the default options, except that a restart is immediate.
func unhurried() Options {
	o := Options{}
	o.Restart.Backoff = time.Millisecond
	return o
}

// wantOrder sends six appends, a count and a clear in one breath.
func (s *story) wantOrder() {
	s.t.Helper()
	var appends []string
	for n := range 6 {
		appends = append(appends, s.start("append", fmt.Sprintf(`{"key":"k%d"}`, n)))
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/testN"}`)
	count, clear := s.start("count", ""), s.start("clear", "")
	if got := s.text(s.answer(count)); got != "6" {
		s.t.Errorf("%s keys were there to be counted, want 6", got)
	}
	s.text(s.answer(clear))
	for _, id := range appends {
		s.text(s.answer(id))
	}
	if got := s.call("seen", ""); got != "k0 k1 k2 k3 k4 k5 N" {
		s.t.Errorf("the server saw %s", got)
	}
	if got := s.call("count", ""); got != "0" {
		s.t.Errorf("%s keys are left after clear", got)
	}
}

func TestOrderInIsOrderOut(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	s.wantOrder()
}

func TestOrderInIsOrderOutAfterACrash(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	s.kill()
	s.await(event.Restored, 1)
	s.wantOrder()
}

// A server that has not crashed gets calls with side effects as they come.
func TestAHealthyServerHasNoWindow(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	var ids []string
	for range 200 {
		ids = append(ids, s.start("append", `{"key":"k"}`))
	}
	s.taken()
	held := s.session.Inside().Queued
	if held != 0 {
		t.Errorf("%d calls are held", held)
	}
	s.call("clear", "")
	for _, id := range ids {
		s.text(s.answer(id))
	}
}

// later lets the session believe that this time has passed.
func (s *story) later(after time.Duration) {
	s.session.Tick(time.Now().Add(after))
}

func TestALongCallOfALivingServerHasNoDeadline(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	id := s.start("append", `{"key":"k"}`)
	s.taken()
	for _, after := range []time.Duration{61 * time.Second, time.Hour, 24 * time.Hour} {
		s.later(after)
	}
	s.call("clear", "")
	s.text(s.answer(id))
	s.want(event.TimedOut, 0)
	s.want(event.Died, 0)
}

func TestTheClocksStandStillWhileTheUserIsAsked(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unprobed())
	id := s.start("ask", "")
	question := s.notice("elicitation/create", 1)
	for n := range 10 {
		s.later(time.Duration(n) * time.Hour)
	}
	s.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept"}}`)
	if got := s.text(s.answer(id)); got != `{"action":"accept"}` {
		t.Errorf("the server was answered %s", got)
	}
	s.want(event.ProbeMissed, 0)
	s.want(event.TimedOut, 0)
	s.want(event.Hung, 0)
}

// A server that handles one call at a time may wait for something without using
// its CPU or answering probes. As long as the client waits, so do we.
func TestASilentServerIsKeptWhileTheClientWaits(t *testing.T) {
	t.Parallel()
	o := watchful()
	o.Timing.Timeout, o.Timing.HangWait = 0, time.Nanosecond
	s, open := beginJournal(t, o)
	pid := s.pid()
	id := s.start("stall", "")
	s.await(event.ProbeMissed, 2*kernel.MissesToKill)
	open()
	s.text(s.answer(id))
	if s.pid() != pid {
		t.Error("the server was replaced")
	}
	s.want(event.Hung, 0)
}

// A server that sleeps, answers no probe and keeps a call waiting after the
// client gave up on another one is hung, and its calls are judged as after any
// death.
func TestAHungServerIsReplacedWithoutATimeout(t *testing.T) {
	t.Parallel()
	o := watchful()
	probes := o.Timing.ProbeInterval
	o.Timing.Timeout, o.Timing.HangWait, o.Timing.ProbeInterval = 0, 400*time.Millisecond, time.Hour
	s, _ := beginJournal(t, o)
	stalled := s.start("stall", "")
	s.taken()
	s.withdraw(stalled)
	read := s.start("count", "")
	s.taken()
	s.hurry(func(o *Options) { o.Timing.ProbeInterval = probes }) // now that no answer to an earlier one is on its way
	s.await(event.Hung, 1)
	if got := s.text(s.answer(read)); got != "0" {
		t.Errorf("counted %s", got)
	}
}

// How long a call waits for the next server does not depend on how long the
// last one worked on it.
func TestALongCallIsRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	o := unhurried()
	gate := newGate(t)
	s := begin(t, o, gate.flag())
	gate.open(t)
	s.initialize()
	id := s.start("hang", "")
	s.taken()
	s.session.EachInFlight(func(c *kernel.Call) { c.Age(time.Hour) })
	s.kill()
	s.later(0)
	gate.open(t)
	s.await(event.Replayed, 1)
	if n := s.answers(id); n != 0 {
		t.Errorf("%d answers to a call the next server has", n)
	}
	s.withdraw(id)
}

// A session that nobody uses does nothing.
func TestAnIdleSessionDozes(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	dozes := func() bool {
		return s.session.Inside().Dozing
	}
	for range 3 {
		s.until("nothing is due", dozes)
		id := s.start("append", `{"key":"k"}`)
		s.taken()
		if dozes() {
			t.Error("asleep while a call is in flight")
		}
		s.call("clear", "")
		s.text(s.answer(id))
	}
}

// A call that is cancelled takes its question with it: the client closes the
// dialog, and a server that waits for the answer goes on.
func TestACancelledCallWithdrawsItsQuestion(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	id := s.start("ask", "")
	question := s.notice("elicitation/create", 1)
	s.withdraw(id)
	if m := s.notice("notifications/cancelled", 1); !strings.Contains(m.raw, `"requestId":`+string(question.ID)) {
		t.Errorf("withdrawn: %s", m.raw)
	}
	if got := s.call("count", ""); got != "0" {
		t.Errorf("counted %s", got)
	}
	if n := s.answers(id); n != 0 {
		t.Errorf("%d answers to a call that was cancelled", n)
	}
}

// A question that belongs to no call outlives every call.
func TestAQuestionOfNoCallStays(t *testing.T) {
	t.Parallel()
	o := unhurried()
	o.Spec = plainServer("parrot", t.TempDir())
	s := begin(t, o).initialize()
	before, _ := json.Marshal(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	s.answer(s.start("say", `{"before":`+string(before)+`,"answer":"\"result\":{\"content\":[]}"}`))
	s.answer(s.start("say", `{"answer":"\"result\":{\"content\":[]}"}`))
	s.notice("roots/list", 1)
	if n := s.notices("notifications/cancelled"); n != 0 {
		t.Errorf("%d questions were withdrawn", n)
	}
}

// What a busy server does not read for long waits, and so does the client; none
// of it is refused, dropped or reordered.
func TestABusyServerGetsEverythingInOrder(t *testing.T) {
	t.Parallel()
	o := unhurried()
	o.Limits.MaxQueued = 2 << 20
	s, open := beginJournal(t, o)
	stall := s.start("stall", "")
	var ids, want []string
	note := func(key string, size int) {
		want = append(want, key)
		ids = append(ids, s.start("append", `{"key":"`+key+strings.Repeat("x", size)+`"}`))
	}
	for n := range 3 {
		note(fmt.Sprintf("b%04d", n), 1<<20)
	}
	for n := range 1100 {
		note(fmt.Sprintf("s%04d", n), 0)
		if n%2 == 0 {
			want = append(want, fmt.Sprint("n", n))
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/testn%d"}`, n))
		}
	}
	go open()
	for n := range 2 {
		note(fmt.Sprintf("c%04d", n), 1<<20)
	}
	s.call("clear", "")
	s.text(s.answer(stall))
	for _, id := range ids {
		s.text(s.answer(id))
	}
	if got := s.call("seen", ""); got != strings.Join(want, " ") {
		t.Errorf("the server saw %.2000s", got)
	}
	s.want(event.Failed, 0)
	s.want(event.Died, 0)
}

// A success proves that a call does not kill the server.
func TestASuccessLiftsTheQuarantine(t *testing.T) {
	t.Parallel()
	s, _ := beginJournal(t, unhurried())
	id := s.start("append", `{"key":"k"}`)
	s.taken()
	s.session.EachInFlight(func(c *kernel.Call) { s.session.Bar(c, time.Now().Add(time.Hour)) })
	s.call("clear", "")
	s.text(s.answer(id))
	again := s.start("append", `{"key":"k"}`)
	s.call("clear", "")
	s.text(s.answer(again))
}

func TestEveryListChangedIsPassedOn(t *testing.T) {
	t.Parallel()
	o := unhurried()
	o.Spec = plainServer("parrot", t.TempDir())
	s := begin(t, o).initialize()
	change := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	before, _ := json.Marshal(strings.Join([]string{change, change, change, change}, "\n"))
	s.answer(s.start("say", `{"before":`+string(before)+`,"answer":"\"result\":{\"content\":[]}"}`))
	if n := s.notices("notifications/tools/list_changed"); n != 4 {
		t.Errorf("the client was told %d times", n)
	}
}

// Of a flood, the client is told once more when it is over, also if nothing else happens.
func TestTheLastListChangedOfAFloodIsPassedOn(t *testing.T) {
	t.Parallel()
	o := unhurried()
	o.Spec = plainServer("parrot", t.TempDir())
	s := begin(t, o).initialize()
	const method = "notifications/prompts/list_changed"
	change := `{"jsonrpc":"2.0","method":"` + method + `"}`
	before, _ := json.Marshal(change + strings.Repeat("\n"+change, kernel.FloodAfter+20))
	s.answer(s.start("say", `{"before":`+string(before)+`,"answer":"\"result\":{\"content\":[]}"}`))
	s.notice(method, kernel.FloodAfter+1)
}

// Clients that write every member of a message send notifications with a null
// id. Servers accept them, so they arrive as they were sent.
func TestANotificationWithANullIDArrives(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	s.send(`{"jsonrpc":"2.0","id":null,"method":"notifications/test"}`)
	s.call("echo", "")
	if got := s.state().methods(); !strings.Contains(got, "notifications/test") {
		t.Errorf("the server was sent %s", got)
	}
	s.want(event.Failed, 0)
}
