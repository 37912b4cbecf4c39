package kernel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// lazy are settings with which a server is started when it is needed, and stopped when the test lets the time pass.
func lazy() Options {
	o := unprobed()
	o.Lazy, o.Idle = true, time.Hour
	return o
}

// beginKnown is begin with a server that was used before: it is on the shelf.
func beginKnown(t *testing.T, o Options, modern bool, flags ...string) *story {
	t.Helper()
	dir := t.TempDir()
	path, args, env := faultyserver.Command(append(flags, "-ledger", filepath.Join(dir, "ledger"), "-state", filepath.Join(dir, "state"))...)
	o.Spec, o.Known.Shelf = launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}, &shelf{}
	first := o
	first.Lazy = false
	if s := begin(t, first); modern {
		s.discover().end()
	} else {
		s.initialize().end()
	}
	s := begin(t, o)
	s.ledger = filepath.Join(dir, "ledger")
	return s
}

// fallAsleep lets the idle time pass, until the server has stopped.
func (s *story) fallAsleep() {
	s.t.Helper()
	n := s.happened(event.Died)
	if !s.session.PassIdle() {
		s.t.Fatalf("it does not sleep\n%s", s.told())
	}
	if e := s.await(event.Died, n+1); e.Reason != upstream.ReasonIdle {
		s.t.Errorf("the server ended for the reason %q", e.Reason)
	}
}

// wantAsleep checks how a server that sleeps is seen.
func (s *story) wantAsleep() {
	s.t.Helper()
	o, now := s.session.Observe(false), s.session.Upstream().Snapshot()
	if o.State != kernel.StateAsleep || !now.Asleep || now.State != health.Healthy || o.PID != 0 || !o.Up.IsZero() {
		s.t.Errorf("%s, pid %d, up %v, %+v", o.State, o.PID, o.Up, now)
	}
}

// wantUntroubled checks that nothing counts as a failure.
func (s *story) wantUntroubled() {
	s.t.Helper()
	o, past := s.session.Observe(false), s.session.Upstream().Past()
	if o.Restarts+o.Healed+o.Failed+o.Saved != 0 || o.LastReason != "" || past.Recovery.Count() != 0 || o.Health.ConsecutiveFailures != 0 {
		s.t.Errorf("%+v", o)
	}
	for _, kind := range []event.Kind{event.Restored, event.Waiting, event.GaveUp, event.Failed, event.Replayed, event.Diagnosed} {
		s.want(kind, 0)
	}
}

// What is known of a server answers for it until a call needs it.
func TestALazyServerStartsWithItsFirstCall(t *testing.T) {
	t.Parallel()
	for era, modern := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := beginKnown(t, lazy(), modern)
			call := s.start
			if modern {
				s.discover().discover() // another client of the same session
				call = s.startModern
			} else {
				s.initialize()
				s.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
				s.withdraw("99")
				if m := s.answer(s.request("ping", "")); string(m.Result) != "{}" {
					t.Error(m.raw)
				}
			}
			s.wantAsleep()
			s.want(event.Started, 0)
			if n := s.session.Observe(false).ToolCount; n == 0 {
				t.Error("it has no tools")
			}
			s.text(s.answer(call("append", `{"key":"k"}`)))
			s.wantEffect("k", 1)
			s.want(event.Started, 1)
			s.until("the tools are live", func() bool { return !s.remembers() })
			if o := s.session.Observe(false); o.State != health.Healthy.String() || o.PID == 0 {
				t.Errorf("%s, pid %d", o.State, o.PID)
			}
			s.wantUntroubled()
			s.want(event.ListChanged, 0)
			if n := s.notices("notifications/tools/list_changed"); n != 0 {
				t.Errorf("%d lists are said to have changed", n)
			}
			if !modern {
				if got := s.state().methods(); !strings.HasPrefix(got, "initialize notifications/initialized") {
					t.Errorf("the server was sent %s", got)
				}
			}
		})
	}
}

// The log level, which some clients set first of all, does not wake a server that has one. The server gets it at its start.
func TestALogLevelDoesNotWake(t *testing.T) {
	t.Parallel()
	s := beginKnown(t, lazy(), false).initialize()
	if m := s.answer(s.request("logging/setLevel", `{"level":"error"}`)); string(m.Result) != "{}" {
		t.Error(m.raw)
	}
	s.want(event.Started, 0)
	if got := s.state().LogLevel; got != "error" {
		t.Errorf("the server's level is %q", got)
	}
	s.fallAsleep()
	s.answer(s.request("logging/setLevel", `{"level":"loud"}`)) // that is the server's decision
	s.want(event.Started, 2)
}

// A server that nothing is known of is started for initialize.
func TestALazyServerThatIsNotKnownIsStarted(t *testing.T) {
	t.Parallel()
	o := lazy()
	o.Known.Shelf = &shelf{}
	s := begin(t, o)
	s.wantAsleep()
	s.initialize()
	s.want(event.Started, 1)
	s.wantUntroubled()
}

// A client that asks for the modern era first gets the answer that the server gave before.
func TestALazyServerOfAnotherEra(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, args, env := faultyserver.Command("-era=legacy", "-ledger", filepath.Join(dir, "ledger"))
	o := lazy()
	o.Spec, o.Known.Shelf = launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}, &shelf{}
	ask := func(s *story) *story {
		t.Helper()
		if m := s.answer(s.request("server/discover", "{"+modernMeta+"}")); m.Error == nil || m.Error.Code != -32601 {
			t.Error(m.raw)
		}
		return s.initialize()
	}
	first := o
	first.Lazy = false
	ask(begin(t, first)).end()
	s := ask(begin(t, o))
	s.want(event.Started, 0)
	s.wantUntroubled()
}

// A server that nothing uses is stopped, and started again by the next call. That is neither a failure nor an
// outage, however often it happens.
func TestAnUnusedServerIsStopped(t *testing.T) {
	t.Parallel()
	for era, modern := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			o := lazy()
			o.Restart.Limit = 2
			s, call := begin(t, o), (*story).start
			if modern {
				s.discover()
				call = (*story).startModern
			} else {
				s.initialize()
				s.answer(s.request("logging/setLevel", `{"level":"error"}`))
			}
			for i := range 5 {
				s.text(s.answer(call(s, "append", `{"key":"k"}`)))
				s.wantEffect("k", i+1)
				s.fallAsleep()
				s.wantAsleep()
				if m := s.answer(s.request("tools/list", "{"+modernMeta+"}")); m.Error != nil { // from the catalogue
					t.Error(m.raw)
				}
				s.want(event.Started, i+1)
			}
			s.text(s.answer(call(s, "echo", `{"text":"x"}`)))
			s.wantUntroubled()
			if !modern && s.state().LogLevel != "error" {
				t.Error("the log level is not restored")
			}
			if n := s.session.Upstream().Past().Closures[upstream.ReasonIdle]; n != 5 {
				t.Errorf("%d connections were closed because nothing used them", n)
			}
		})
	}
}

// The timer counts from the last use.
func TestTheTimerStopsAnUnusedServer(t *testing.T) {
	t.Parallel()
	o := lazy()
	o.Idle = time.Millisecond
	s := begin(t, o).initialize()
	for i := range 3 {
		if e := s.await(event.Died, i+1); e.Reason != upstream.ReasonIdle {
			t.Errorf("it ended for the reason %q", e.Reason)
		}
		s.call("append", `{"key":"k"}`)
		s.wantEffect("k", i+1)
	}
	s.wantUntroubled()
}

// The idle time counts from the end of the last call.
func TestAServerThatWasJustUsedIsNotStopped(t *testing.T) {
	t.Parallel()
	s := begin(t, lazy()).initialize()
	if s.call("echo", `{"text":"x"}`); s.session.Pass(time.Hour - time.Minute) {
		t.Fatal("it was stopped too early")
	}
	s.fallAsleep()
}

// A ping, or a line of the server's log, is not a use.
func TestAPingIsNotAUse(t *testing.T) {
	t.Parallel()
	s := begin(t, lazy()).initialize()
	s.call("echo", `{"text":"x"}`)
	before := s.session.Used()
	s.answer(s.request("ping", ""))
	if after := s.session.Used(); !after.Equal(before) {
		t.Error("it counts")
	}
	s.call("echo", `{"text":"x"}`)
	if after := s.session.Used(); !after.After(before) {
		t.Error("a call does not count")
	}
}

// A server that is in use is not stopped, however long that takes.
func TestAServerInUseIsNotStopped(t *testing.T) {
	t.Parallel()
	task := func(s *story, status string) {
		s.answer(s.request("tasks/get", fmt.Sprintf(`{"taskId":"t","answer":"\"result\":{\"taskId\":\"t\",\"status\":\"%s\"}"}`, status)))
	}
	create := func(s *story, ttl string) {
		s.answer(s.request("tools/call", `{"name":"say","task":{},"arguments":{"answer":"\"result\":{\"task\":{\"taskId\":\"t\",\"status\":\"working\"`+ttl+`}}"}}`))
	}
	for says, x := range map[string]struct {
		parrot, modern bool
		use            func(s *story) (end func())
	}{
		"a call": {use: func(s *story) func() {
			id := s.start("hang", "")
			s.taken()
			return func() { s.withdraw(id); s.taken() }
		}},
		"a question": {parrot: true, use: func(s *story) func() {
			question, _ := json.Marshal(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
			s.answer(s.start("say", `{"before":`+string(question)+`,"answer":"\"result\":{\"content\":[]}"}`))
			asked := s.notice("roots/list", 1)
			return func() { s.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"roots":[]}}`); s.taken() }
		}},
		"a subscription": {use: func(s *story) func() {
			s.answer(s.request("resources/subscribe", `{"uri":"mem://1"}`))
			return func() { s.answer(s.request("resources/unsubscribe", `{"uri":"mem://1"}`)) }
		}},
		"a stream": {modern: true, use: func(s *story) func() {
			id := s.request("subscriptions/listen", `{"notifications":{"toolsListChanged":true},`+modernMeta+`}`)
			s.notice("notifications/subscriptions/acknowledged", 1)
			return func() { s.withdraw(id); s.taken() }
		}},
		"a task": {parrot: true, use: func(s *story) func() {
			create(s, "")
			task(s, "input_required")
			return func() { task(s, "completed") }
		}},
		"a task whose result is fetched": {parrot: true, use: func(s *story) func() {
			create(s, `,\"ttl\":86400000`)
			return func() {
				s.answer(s.request("tasks/result", `{"taskId":"t","answer":"\"result\":{}"}`))
			}
		}},
		"a task that is told to have ended": {parrot: true, use: func(s *story) func() {
			create(s, "")
			return func() {
				told, _ := json.Marshal(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t","status":"failed"}}`)
				s.answer(s.start("say", `{"before":`+string(told)+`,"answer":"\"result\":{\"content\":[]}"}`))
				s.notice("notifications/tasks/status", 1)
			}
		}},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			o := lazy()
			if x.parrot {
				o.Spec = plainServer("parrot", t.TempDir())
			}
			s := begin(t, o)
			if x.modern {
				s.discover()
			} else {
				s.initialize()
			}
			end := x.use(s)
			for range 3 {
				if s.session.PassIdle() {
					t.Fatal("it was stopped")
				}
			}
			end()
			s.fallAsleep()
			s.wantUntroubled()
		})
	}
}

// A server gets its new command after its tasks have ended, which the next one would not know.
func TestANewCommandWaitsForTasks(t *testing.T) {
	t.Parallel()
	o := lazy()
	o.Spec = plainServer("parrot", t.TempDir())
	s := begin(t, o).initialize()
	s.answer(s.request("tools/call", `{"name":"say","task":{},"arguments":{"answer":"\"result\":{\"task\":{\"taskId\":\"t\",\"status\":\"working\"}}"}}`))
	o.Spec.Env = append(slices.Clone(o.Spec.Env), "GAUZE_TEST_NEW=1")
	Renew(o.Spec, s.session)
	status := func(is string) {
		s.answer(s.request("tasks/get", fmt.Sprintf(`{"taskId":"t","answer":"\"result\":{\"taskId\":\"t\",\"status\":\"%s\"}"}`, is)))
	}
	status("working")
	if !s.session.Upstream().Outdated() {
		t.Error("the server was replaced while it had a task")
	}
	status("completed")
	s.answer(s.start("say", `{"answer":"\"result\":{\"content\":[]}"}`))
	if s.session.Upstream().Outdated() {
		t.Error("the server was not replaced")
	}
}

// A task that its server does not keep any longer is not waited for.
func TestATaskIsKeptAsLongAsTheServerSays(t *testing.T) {
	t.Parallel()
	o := lazy()
	o.Spec = plainServer("parrot", t.TempDir())
	s := begin(t, o).initialize()
	s.answer(s.request("tools/call", `{"name":"say","task":{},"arguments":{"answer":"\"result\":{\"task\":{\"taskId\":\"t\",\"status\":\"working\",\"ttl\":60000}}"}}`))
	s.fallAsleep() // an hour later
}

func init() { plainServers["lingering"] = serveLingering }

// serveLingering notes each call, and the end of its input, and exits once the file "go" is there.
func serveLingering(in io.Reader, out io.Writer, dir string) {
	eachLine(in, func(_ []byte, m plainMessage) {
		switch m.Method {
		case "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case "tools/call":
			calls, _ := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			fmt.Fprintln(calls, "call")
			calls.Close()
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"worked"}]}}`+"\n", m.ID)
		}
	})
	os.WriteFile(filepath.Join(dir, "eof"), nil, 0o600)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A call that arrives while the server is being stopped waits for the next one: it is sent once.
func TestACallDuringTheStopIsForTheNextServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := lazy()
	o.Spec = plainServer("lingering", dir)
	s := begin(t, o).initialize()
	if !s.session.PassIdle() {
		t.Fatal("it does not sleep")
	}
	s.until("the server has read the end of its input", func() bool {
		_, err := os.Stat(filepath.Join(dir, "eof"))
		return err == nil
	})
	id := s.start("work", "")
	s.taken()
	if o := s.session.Observe(false); o.State != kernel.StateStarting {
		t.Errorf("it is %s", o.State)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.text(s.answer(id))
	s.wantOneAnswer(id)
	if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); strings.Count(string(calls), "call") != 2 { // wantOneAnswer makes one
		t.Errorf("the servers were called %q", calls)
	}
	s.wantUntroubled()
}

// The start of a server that was asleep takes as long as it takes: it is not an outage.
func TestAWakingServerIsNotLimitedByPatience(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	o := lazy()
	o.Timing.Patience = 10 * time.Millisecond
	o.Known.Shelf = &shelf{}
	s := begin(t, o, g.flag())
	id := s.request("initialize", helloParams)
	g.open(t)
	if m := s.answer(id); m.Error != nil {
		t.Fatal(m.raw)
	}
	s.answer(s.request("tools/list", ""))
	s.fallAsleep()
	id = s.start("echo", `{"text":"x"}`)
	s.taken()
	s.session.Tick(time.Now().Add(time.Minute))
	s.session.Tick(time.Now().Add(time.Hour))
	if n := s.answers(id); n != 0 {
		t.Fatalf("it was not waited for: %s", s.answer(id).raw)
	}
	g.open(t)
	s.text(s.answer(id))
	s.wantUntroubled()
}

// A server that cannot be started although it could before is an outage like any other.
func TestAWakingServerThatFailsIsAnOutage(t *testing.T) {
	t.Parallel()
	o := lazy()
	s := begin(t, o, "-exit-at-start=99,skip=1,code=3").initialize()
	s.fallAsleep()
	s.hurry(func(o *Options) { o.Timing.Patience = time.Millisecond })
	s.wantFault(s.start("append", `{"key":"k"}`), fault.ServerUnavailable)
	if now := s.session.Upstream().Snapshot(); now.State != health.Dead || now.Asleep || now.ConsecutiveFailures == 0 {
		t.Errorf("%+v", now)
	}
	s.wantEffect("k", 0)
}

// A server whose tools changed while it slept is compared with what the client was told.
func TestAChangedServerIsAnnouncedWhenItWakes(t *testing.T) {
	t.Parallel()
	s := beginKnown(t, lazy(), false, "-tools-change")
	s.initialize()
	s.want(event.Started, 0)
	s.call("echo", `{"text":"x"}`)
	s.notice("notifications/tools/list_changed", 1)
	if m := s.answer(s.request("tools/list", "")); !strings.Contains(m.raw, `"extra"`) {
		t.Error(m.raw)
	}
	s.wantUntroubled()
}

// A list that the server said has changed is not answered from the catalogue.
func TestAListThatChangedIsAskedFor(t *testing.T) {
	t.Parallel()
	s := begin(t, lazy()).initialize()
	s.call("change_tools", "")
	s.notice("notifications/tools/list_changed", 1)
	s.fallAsleep()
	if m := s.answer(s.request("tools/list", "")); m.Error != nil {
		t.Error(m.raw)
	}
	s.want(event.Started, 2)
}

// A tool that changed while the server slept is not called twice because of what it declared before.
func TestASleepLicensesNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, lazy(), "-tools-change=annotate").initialize()
	s.fallAsleep()
	m := s.answer(s.start("die_read", `{"key":"k","when":"after-effect","times":1}`))
	if code, _ := s.faultOf(m); code != fault.ToolChanged && code != fault.OutcomeUnknown {
		t.Errorf("%s", m.raw)
	}
	s.wantEffect("k", 1)
	s.wantReplays("die_read", 0)
}

// A server that was woken is healed as any other.
func TestAServerThatWokeIsHealed(t *testing.T) {
	t.Parallel()
	s := beginKnown(t, lazy(), false).initialize()
	for i := range 3 {
		s.call("append", `{"key":"k"}`)
		s.kill()
		s.call("echo", `{"text":"x"}`)
		s.await(event.Restored, i+1)
		s.fallAsleep()
	}
	s.call("die_read", `{"times":1}`) // wakes the server, and kills it
	s.await(event.Restored, 4)
	s.wantReplays("die_read", 1)
	if o := s.session.Observe(false); o.Healed != 4 || o.Restarts != 4 {
		t.Errorf("%d healed, %d restarts", o.Healed, o.Restarts)
	}
	s.wantEffect("k", 3)
}

// A restart that the user asks for wakes the server.
func TestARestartWakes(t *testing.T) {
	t.Parallel()
	s := beginKnown(t, lazy(), false).initialize()
	if err := s.session.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.want(event.Started, 1)
	s.fallAsleep()
	if err := s.session.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.want(event.Started, 2)
}

// A server at a URL is not reached before it is needed, and its session is ended when it is not used.
func TestALazyServerAtAURL(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]faultyhttp.Config{"legacy": stateful, "modern": {Era: faultyhttp.Modern}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web, kept := known(t, cfg, soon())
			if err := web.StartAgain(); err != nil {
				t.Fatal(err)
			}
			o := lazy()
			o.Known.Shelf = kept
			s := later(t, web, cfg.Era == faultyhttp.Modern, o)
			s.hello()
			s.listTools()
			s.wantAsleep()
			s.want(event.Started, 0)
			for i := range 3 {
				s.text(s.answer(s.start("append", `{"key":"k"}`)))
				s.wantDone("k", i+1)
				s.fallAsleep()
				s.wantAsleep()
			}
			s.want(event.Started, 3)
			s.wantUntroubled()
		})
	}
}

// However calls, idle stops and deaths follow each other, every call gets one answer, and acts once if that
// is known.
func TestCallsAndSleepsInAnyOrder(t *testing.T) {
	t.Parallel()
	s := beginKnown(t, lazy(), false).initialize()
	stop := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				s.session.PassIdle()
			}
		}
	})
	ids := map[string]string{} // by key
	for i := range 200 {
		key := fmt.Sprintf("k%d", i)
		ids[key] = s.start("append", `{"key":"`+key+`"}`)
		switch rand.IntN(6) {
		case 0:
			if pid := s.session.Observe(false).PID; pid != 0 {
				killPID(pid) // it may be gone
			}
		case 1:
			s.answer(ids[key])
			s.session.PassIdle()
		}
	}
	for _, id := range ids {
		s.answer(id)
	}
	close(stop)
	beside.Wait()
	s.wantOneAnswer(slices.Collect(maps.Values(ids))...)
	effects := s.effects()
	for key, id := range ids {
		switch code, _ := s.faultOf(s.answer(id)); {
		case code == "" && effects[key] != 1, code == fault.OutcomeUnknown && effects[key] > 1, code != "" && code != fault.OutcomeUnknown:
			t.Errorf("%s: fault %q, %d effects", key, code, effects[key])
		}
	}
	if !s.session.PassIdle() {
		t.Error("it does not sleep")
	}
	t.Logf("%d calls, ends of servers: %v", len(ids), s.session.Upstream().Past().Closures)
}
