package kernel_test

import (
	"bufio"
	"context"
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
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

func init() { plainServers["mortal"] = serveMortal }

// serveMortal exits at the first call of each key, and answers the next ones: with an error if the
// key is bad.
func serveMortal(in io.Reader, out io.Writer, dir string) {
	eachLine(in, func(_ []byte, m plainMessage) {
		answer := func(result string) { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"mortal","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		case "ping":
			answer(`{}`)
		case "tools/call":
			var p struct{ Arguments struct{ Key string } }
			json.Unmarshal(m.Params, &p)
			if f, err := os.OpenFile(filepath.Join(dir, p.Arguments.Key), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				os.Exit(1)
			}
			answer(fmt.Sprintf(`{"content":[{"type":"text","text":"done"}],"isError":%v}`, p.Arguments.Key == "bad"))
		}
	})
}

// saved checks how many calls count as saved, and returns the last event.
func (s *story) saved(n int) (last event.Event) {
	s.t.Helper()
	for i := range n {
		last = s.await(event.Saved, i+1)
	}
	if got, seen := s.happened(event.Saved), s.session.Observe(false).Saved; got != n || seen != uint64(n) {
		s.t.Errorf("%d events and %d calls saved, want %d\n%s", got, seen, n, s.told())
	}
	return last
}

// A call that succeeds is counted, and wakes nobody: the journal and the views have nothing to read.
func TestAHealthyCallIsNoEvent(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timing.ProbeInterval = time.Hour // on a busy machine the answer to a probe may be late, which is an event
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "good"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Spec = plainServer("mortal", dir)
	s := (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
	for range 5 { // until it is healthy
		s.call("read", `{"key":"good"}`)
	}
	before := len(s.timeline())
	for range 50 {
		s.call("read", `{"key":"good"}`)
	}
	if after := s.timeline(); len(after) != before {
		t.Errorf("50 calls: %v", after[before:])
	}
	if seen := s.session.Observe(false); seen.Calls != 55 || seen.Latency.Count() != 55 || seen.Open != 0 {
		t.Errorf("%+v", seen)
	}
}

func TestAReplayedCallIsSavedIfItSucceeds(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Spec = plainServer("mortal", t.TempDir())
	s := (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
	s.answer(s.start("read", `{"key":"bad"}`))
	s.await(event.Replayed, 1)
	s.saved(0)
	s.call("read", `{"key":"good"}`)
	e := s.saved(1)
	if e.Detail != "replayed" || e.Tool != "read" || e.Client != "test" || e.Without <= 0 || e.Took < e.Without {
		t.Errorf("%+v", e)
	}
	if again := s.await(event.Replayed, 2); again.Call == 0 || again.Call != e.Call || again.Call == s.await(event.Replayed, 1).Call || again.Client != "test" {
		t.Errorf("%v and %v", again, e)
	}
	seen := s.session.Observe(true)
	for n := range 2 {
		// On a busy machine, a process may need longer for its exit than gauze waits once its pipes are closed.
		died := s.await(event.Died, n+1)
		if slow := died.Reason == upstream.ReasonHung && strings.Contains(died.Detail, "it closed its std"); died.Reason != upstream.ReasonExit && !slow || died.Client != "test" {
			t.Errorf("%+v", died)
		}
	}
	if seen.Healed != 2 || seen.Replayed != 2 || seen.Restarts != 2 || seen.Closures[upstream.ReasonExit]+seen.Closures[upstream.ReasonHung] != 2 ||
		seen.LastReason != s.await(event.Died, 2).Reason || seen.Recovery.Count() != 2 || seen.LastDeath.IsZero() {
		t.Errorf("%+v", seen)
	}
	if r := seen.Recent; len(r) != 2 || r[0].Outcome != "error" || r[0].Saved != "" || r[1].Outcome != "ok" || r[1].Saved != "replayed" || r[1].ID != e.Call {
		t.Errorf("%+v", r)
	}
}

func TestACallThatWaitedForTheServerIsSaved(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := begin(t, quick(), g.flag())
	go g.Open()
	s.initialize()
	s.kill()
	id := s.start("echo", `{"text":"x"}`)
	s.taken()
	g.open(t)
	s.text(s.answer(id))
	if e := s.saved(1); e.Detail != "waited" || e.Without <= 0 {
		t.Errorf("%+v", e)
	}
	s.call("echo", `{"text":"y"}`)
	s.saved(1)
	if seen := s.session.Observe(false); seen.Closures[upstream.ReasonSignal]+seen.Closures[upstream.ReasonExit] != 1 || seen.Healed != 1 {
		t.Errorf("%+v", seen)
	}
}

func TestARepairIsSavedOnlyIfTheServerEnforcesIt(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	s.answer(s.start("book", `{"city":"Oslo","days":"5"}`))
	e := s.await(event.Repaired, 1)
	if len(e.Changes) != 1 || e.Call == 0 || e.Client != "test" {
		t.Fatalf("%+v", e)
	}
	if c := e.Changes[0]; c.Path != "days" || c.Rule == "" || c.Reason == "" || c.Before != `"5"` || c.After != "5" {
		t.Errorf("%+v", c)
	}
	s.saved(0)
	seen := s.session.Observe(true)
	if seen.Repaired != 1 || seen.Rules[e.Changes[0].Rule] != 1 || len(seen.Recent[0].Changes) != 1 || seen.Recent[0].ID != e.Call {
		t.Errorf("%+v", seen)
	}

	s = beginListed(t, "checking", quick())
	const single = `{"city":"zod","tags":"a"}`
	s.answer(s.start("read", single)) // rejected, which proves that the schema counts
	if e := s.await(event.Explained, 1); e.Call == 0 || !strings.Contains(e.Told, "rejected") {
		t.Errorf("%+v", e)
	}
	s.answer(s.start("read", single))
	if e := s.saved(1); e.Detail != "repaired" || len(e.Changes) != 1 {
		t.Errorf("%+v", e)
	}
	if e := s.await(event.Repaired, 1); !strings.Contains(e.Told, "tags") {
		t.Errorf("%+v", e)
	}
	s.answer(s.start("read", `{"city":"zod","days":"5"}`)) // many servers convert it
	s.await(event.Repaired, 2)
	s.saved(1)
	recent := s.session.Observe(true).Recent
	if len(recent) != 3 || !strings.Contains(recent[0].Told, "rejected") || !strings.Contains(recent[1].Told, "tags") || recent[0].Outcome != "error" {
		t.Errorf("%+v", recent)
	}
}

func TestACorrectedCallIsSavedIfItSucceeds(t *testing.T) {
	t.Parallel()
	i := openInn(t, &scripted{json: rightDays}, quick())
	i.call("find", threeDays)
	e := i.saved(1)
	if corrected := i.await(event.Corrected, 1); e.Detail != "corrected" || e.Without <= 0 || corrected.Call != e.Call || corrected.Call == 0 ||
		len(corrected.Changes) != 1 || strings.Contains(corrected.Detail, "1 + 2") || corrected.Client != "test" {
		t.Errorf("%+v\n%+v", e, corrected)
	}
	if seen := i.session.Observe(true); seen.Corrected != 1 || seen.Calls != 1 || seen.Open != 0 || len(seen.Recent) != 1 || seen.Recent[0].Took < e.Without {
		t.Errorf("%+v", seen)
	}
}

func TestACorrectedCallThatFailsIsNotSaved(t *testing.T) {
	t.Parallel()
	i := openInn(t, &scripted{json: `{"arguments":{"city":"full","days":3}}`}, quick())
	i.answer(i.start("book", `{"city":"full","days":"1 + 2"}`))
	i.await(event.Corrected, 1)
	i.saved(0)
}

func TestEveryToolCallIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	s.call("echo", `{"text":"x"}`)
	s.answer(s.start("raw", `{"result":"{\"content\":[],\"isError\":true}"}`))
	s.wantFault(s.start("both", ""), fault.ResponseInvalid)
	cancelled := s.start("hang", "")
	s.until("it is open", func() bool { return s.session.Observe(false).Open == 1 })
	s.withdraw(cancelled)
	if e := s.await(event.Cancelled, 1); e.Call == 0 || e.Tool != "hang" || e.Client != "test" {
		t.Errorf("%+v", e)
	}
	failed := s.start("die", "")
	s.wantFault(failed, fault.OutcomeUnknown)
	s.call("echo", `{"text":"y"}`)
	seen := s.session.Observe(true)
	if seen.Calls != 6 || seen.Failed != 2 || seen.Unknown != 1 || seen.Cancelled != 1 || seen.Open != 0 || seen.Latency.Count() != 3 {
		t.Errorf("%+v", seen)
	}
	if seen.Faults[string(fault.ResponseInvalid)] != 1 || seen.Faults[string(fault.OutcomeUnknown)] != 1 || len(seen.Faults) != 2 {
		t.Errorf("%v", seen.Faults)
	}
	var outcomes []string
	for _, c := range seen.Recent {
		outcomes = append(outcomes, c.Tool+" "+c.Outcome)
	}
	if got := strings.Join(outcomes, ", "); got != "echo ok, raw error, both response-invalid, hang cancelled, die outcome-unknown, echo ok" {
		t.Errorf("%s", got)
	}
	for _, tool := range seen.Tools {
		if tool.Name == "echo" && (tool.Calls != 2 || tool.Class != ReadOnly || tool.Latency.Count() != 2) || tool.Name == "die" && (tool.Failed != 1 || tool.Class != Unsafe) {
			t.Errorf("%+v", tool)
		}
	}
	if seen.State == StateStarting || seen.PID != s.pid() || seen.Up.IsZero() || seen.ToolCount == 0 || seen.Client != "test" {
		t.Errorf("%+v", seen)
	}
	if e := s.await(event.Unknown, 1); e.Call == 0 || e.Client != "test" {
		t.Errorf("%+v", e)
	}
}

func TestTheUserRestartsAServer(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	pid := s.pid()
	id := s.start("ask_read", `{"method":"roots/list"}`)
	question := s.notice("roots/list", 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.session.Restart(over); err == nil || !strings.Contains(err.Error(), "in flight") {
		t.Errorf("with a call in flight: %v", err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- s.session.Restart(t.Context()) }()
	s.until("the restart is asked for", func() bool {
		return s.session.Inside().Restarting
	})
	if s.happened(event.Died) != 0 {
		t.Error("the server was ended with a call in flight")
	}
	s.reply(question, `"result":{"roots":[]}`)
	s.text(s.answer(id))
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	if seen := s.session.Observe(false); seen.State != health.Healthy.String() || seen.PID == 0 || seen.PID == pid {
		t.Errorf("after the restart: %+v", seen)
	}
	s.call("echo", `{"text":"x"}`)
	if e := s.await(event.Died, 1); e.Reason != upstream.ReasonRestart || !strings.Contains(e.Detail, "the user asked") || e.PID != pid {
		t.Errorf("%+v", e)
	}
	seen := s.session.Observe(false)
	if s.pid() == pid || seen.State != health.Healthy.String() || seen.Restarts != 1 || seen.Healed != 0 || seen.Saved != 0 || seen.Closures[upstream.ReasonRestart] != 1 || seen.Recovery.Count() != 0 {
		t.Errorf("%+v", seen)
	}
	if n := s.happened(event.Restored) + s.happened(event.Waiting) + s.happened(event.Saved); n != 0 {
		t.Errorf("a restart counts as healing\n%s", s.told())
	}
	s.kill()
	s.call("echo", `{"text":"y"}`)
	s.await(event.Restored, 1)
	if seen := s.session.Observe(false); seen.Healed != 1 || seen.Recovery.Count() != 1 {
		t.Errorf("%+v", seen)
	}
}

func TestARestartFailsIfTheServerDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "server.exe")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, program); err != nil {
		t.Fatal(err)
	}
	o := quick()
	o.Spec = plainServer("mortal", t.TempDir())
	o.Spec.Command = program
	s := (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
	pid := s.conn().PID()
	if err := os.Rename(program, program+".old"); err != nil {
		t.Fatal(err)
	}
	if err := s.session.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("%v", err)
	}
	if err := s.session.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "the server was stopped, and the new one is not available") {
		t.Errorf("%v", err) // it was tried again
	}
	s.wantGone(pid)
	if err := os.Rename(program+".old", program); err != nil {
		t.Fatal(err)
	}
	if err := s.session.Restart(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
	if s.conn().PID() == pid {
		t.Error("it is the same process")
	}
}

// A restart that the user asks for ends a pause of the restarts.
func TestARestartEndsAPauseOfTheRestarts(t *testing.T) {
	t.Parallel()
	s, _ := crashLoop(t, unprobed(), time.Hour)
	pauses := func(generation int) {
		t.Helper()
		s.until("the session knows that the restarts pause", func() bool {
			now := s.session.Trouble()
			return now != nil && now.Open && now.Generation == generation
		})
	}
	pauses(6)
	if err := s.session.Restart(t.Context()); err != nil && !strings.Contains(err.Error(), "it failed 7 times") {
		t.Errorf("%v", err) // it crashes once it is restored, or a moment before that
	}
	pauses(7)
	if err := s.session.Restart(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
	s.call("append", `{"key":"k"}`)
	s.wantEffect("k", 1)
	s.want(event.Started, 8)
}

func TestAServerThatCannotBeStartedIsDead(t *testing.T) {
	t.Parallel()
	s := New(Options{Spec: launch.Spec{Command: "no-such-program-of-gauze"}})
	in, client := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), in, out) }()
	defer func() { client.Close(); <-ended }()
	go io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if _, err := bufio.NewReader(answers).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if got := s.Observe(false).State; got != health.Dead.String() {
		t.Errorf("the state is %s", got)
	}
}

func TestTheClientIntroducesItself(t *testing.T) {
	t.Parallel()
	m := begin(t, quick()).discover()
	m.text(m.answer(m.startModern("echo", `{"text":"x"}`)))
	if seen := m.session.Observe(true); seen.Client != "test" || seen.Recent[0].Client != "test" {
		t.Errorf("%+v", seen)
	}
	long := begin(t, quick())
	long.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+strings.Repeat("long ", 50)+`\u001b[31m","version":"1"}}`)
	long.until("it has introduced itself", func() bool { return long.session.Observe(false).Client != "" })
	if got := long.session.Observe(false).Client; len([]rune(got)) > 80 || strings.ContainsRune(got, '\x1b') {
		t.Errorf("%q", got)
	}
}
