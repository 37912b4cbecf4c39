package kernel_test

import (
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// watchful asks a silent server soon and often, and lets a call run for long
// enough that three probes can be missed before its end.
func watchful() Options {
	o := quick()
	o.Timing.ProbeInterval, o.Timing.ProbeTimeout = 60*time.Millisecond, 40*time.Millisecond
	o.Timing.HangGrace = 100 * time.Millisecond
	o.Timing.Timeout = 500 * time.Millisecond
	return o
}

func TestFaultH01NeverAnswersInitialize(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-ignore-initialize", "-stray=banner")
	id := s.request("initialize", initializeParams)
	s.await(event.Stray, 1) // its banner
	s.until("the request is sent", func() bool {
		return s.session.Inside().Flight == 1
	})
	s.later(time.Hour)
	m := s.wantFault(id, fault.StartTimeout)
	if !strings.Contains(m.raw, "Server started") {
		t.Errorf("what it said instead is missing: %s", m.raw)
	}
	if m.Error == nil || !strings.Contains(m.Error.Message, "[gauze: start-timeout]") {
		t.Errorf("told %s", m.raw)
	}
	first := s.await(event.Started, 1)
	s.await(event.Died, 1)
	s.await(event.Started, 2) // the next one may do better
	s.wantGone(first.PID)
	if n := s.answers(id); n != 1 {
		t.Errorf("%d answers", n)
	}
}

func TestFaultH01NeverAnswersDiscover(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timing.DiscoverWait = 100 * time.Millisecond
	s := begin(t, o, "-ignore-discover", "-era=legacy")
	id := s.request("server/discover", "{"+modernMeta+"}")
	if m := s.wantFault(id, fault.DiscoverUnanswered); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("told %s, want what makes a client go on with initialize", m.raw)
	}
	s.initialize()
	s.wantOneAnswer(id)
	s.want(event.Died, 0)
}

func TestFaultH02SlowToInitialize(t *testing.T) {
	t.Parallel()
	// Everything but the start is impatient.
	o := watchful()
	o.Timing.Timeout = 50 * time.Millisecond
	o.Tools = map[string]Policy{"echo": {Timeout: time.Minute}}
	s := begin(t, o, "-late-initialize=after=150ms")
	id := s.request("initialize", initializeParams)
	if m := s.answer(id); m.Error != nil {
		t.Fatalf("initialize: %s", m.raw)
	}
	s.want(event.Died, 0)
	s.kill()
	s.call("echo", "") // waits for the second start, as slow as the first
	if took := s.await(event.Restored, 1).Took; took < 150*time.Millisecond {
		t.Errorf("the slow start is on record as %v", took)
	}
	s.want(event.Died, 1)
	s.wantOneAnswer(id)
}

func TestFaultH03OneCallNeverAnswers(t *testing.T) {
	t.Parallel()
	o := quick()
	limit := Policy{Timeout: 100 * time.Millisecond}
	o.Tools = map[string]Policy{"hang": limit, "hang_unsafe": limit}
	s := begin(t, o).initialize()
	pid := s.pid()
	safe, unsafe := s.start("hang", ""), s.start("hang_unsafe", `{"key":"k"}`)
	other := s.start("sleep", `{"ms":200}`)
	for _, id := range []string{safe, unsafe} {
		m := s.wantFault(id, fault.CallTimeout)
		if _, delivery := s.faultOf(m); delivery != "unknown" {
			t.Errorf("delivery %q", delivery)
		}
	}
	s.text(s.answer(other))
	// The server was told, under the ids it knows.
	state := s.state()
	var hanging []string
	for _, seen := range state.Seen {
		if strings.Contains(string(seen.Params), `"hang`) && seen.Method == "tools/call" {
			hanging = append(hanging, string(seen.ID))
		}
	}
	slices.Sort(hanging)
	slices.Sort(state.Cancelled)
	if len(hanging) != 2 || !slices.Equal(hanging, state.Cancelled) {
		t.Errorf("cancelled %v, want %v", state.Cancelled, hanging)
	}
	if state.PID != pid {
		t.Error("the server was restarted")
	}
	s.wantEffect("k", 1)
	s.want(event.Died, 0)
	s.want(event.TimedOut, 2)
	s.wantOneAnswer(safe, unsafe, other)
}

func TestFaultH04WholeServerWedged(t *testing.T) {
	t.Parallel()
	type start = func(tool, arguments string) string
	for name, meet := range map[string]func(s *story) start{
		"legacy": func(s *story) start { return s.initialize().start },
		"modern": func(s *story) start { return s.discover().startModern },
	} {
		t.Run(name, func(t *testing.T) {
			o := watchful()
			// To read the probes must not look like work.
			o.Timing.HangGrace, o.Timing.ProbeInterval = 400*time.Millisecond, time.Hour
			o.Timing.Timeout, o.Timing.HangWait = time.Hour, time.Hour
			s := begin(t, o, "-serial")
			start := meet(s)
			wedge := start("wedge", "")
			s.withdraw(wedge)
			safe, unsafe := start("echo", `{"text":"at last"}`), start("append", `{"key":"k"}`)
			s.taken()
			s.hurry(func(o *Options) { o.Timing.ProbeInterval = 200 * time.Millisecond }) // now that no answer to an earlier one is on its way
			s.until("it looks hung", s.looksHung)
			s.want(event.Hung, 0) // its calls have time
			s.later(time.Hour)
			hung := s.await(event.Hung, 1)
			if got := s.text(s.answer(safe)); got != "at last" {
				t.Errorf("answered %s", got)
			}
			s.wantFault(unsafe, fault.OutcomeUnknown)
			s.wantEffect("k", 1) // it was read, and nobody knew
			missed := 0
			for _, e := range s.timeline() {
				if e.Kind == event.ProbeMissed && e.Seq < hung.Seq {
					missed++
				}
			}
			if missed < 3 {
				t.Errorf("replaced after %d missed probes", missed)
			}
			s.answer(start("echo", ""))
			s.want(event.Died, 1)
			s.wantReplays("echo", 1)
			for id, want := range map[string]int{safe: 1, unsafe: 1, wedge: 0} {
				if n := s.answers(id); n != want {
					t.Errorf("%d answers to %s, want %d", n, id, want)
				}
			}
		})
	}
}

// looksHung reports whether the server has missed enough probes, and used no CPU for long enough, to
// be replaced.
func (s *story) looksHung() bool {
	now := s.session.Inside()
	return now.Misses >= kernel.MissesToKill && now.Idle > 0 && now.Idle >= s.session.Options.Timing.HangGrace
}

func TestFaultH05BusyIsNotHung(t *testing.T) {
	t.Parallel()
	t.Run("within its time", func(t *testing.T) {
		o := watchful()
		o.Timing.Timeout, o.Timing.HangWait = 0, time.Hour
		s, open := beginJournal(t, o)
		pid := s.pid()
		id := s.start("stall", "") // it sleeps, and answers no probe
		s.await(event.ProbeMissed, 5)
		open()
		s.text(s.answer(id))
		if s.pid() != pid {
			t.Error("the server was restarted")
		}
		s.want(event.Hung, 0)
		s.want(event.Died, 0)
	})
	t.Run("past its time, at work", func(t *testing.T) {
		windowstest.Skip(t)
		o := watchful()
		o.Timing.HangGrace = time.Second // a hundredth of it is work, which a busy server does on a busy machine, too
		o.Timing.Timeout = patience.Limit()
		o.Tools = map[string]Policy{"busy": {Timeout: 150 * time.Millisecond}}
		s := begin(t, o, "-serial").initialize()
		pid := s.pid()
		id := s.outlasts("busy", 1500)
		s.call("echo", "") // answered when it is done
		for ms := 3000; s.happened(event.ProbeMissed) < 3; ms *= 2 {
			s.outlasts("busy", ms)
			s.call("echo", "")
		}
		if s.state().PID != pid { // answered when it is done
			t.Error("the server was restarted")
		}
		s.want(event.Hung, 0)
		s.want(event.Died, 0)
		s.wantOneAnswer(id)
	})
}

func TestFaultH06Stopped(t *testing.T) {
	windowstest.Skip(t)
	t.Parallel()
	o := quick()
	o.Timing.HangGrace, o.Timing.HangWait = 100*time.Millisecond, time.Hour
	t.Run("with calls", func(t *testing.T) {
		s := begin(t, o).initialize()
		conn := s.conn()
		s.stop()
		safe, unsafe := s.start("echo", `{"text":"x"}`), s.start("append", `{"key":"k"}`)
		s.await(event.Died, 1)
		detail, exit := "paused", "signal: terminated"
		if runtime.GOOS == "windows" { // does not tell a stopped process, and cannot ask one to end
			detail, exit = "is not responding", "exit status 1"
		}
		if e := s.await(event.Hung, 1); !strings.Contains(e.Detail, detail) {
			t.Errorf("hung: %s", e.Detail)
		}
		// SIGTERM alone would stay pending: the server must be continued as well.
		if got := conn.Evidence().Exit; got != exit {
			t.Errorf("ended with %s, want %s", got, exit)
		}
		s.text(s.answer(safe))
		// It may have come to the call before it ended; nobody runs it twice.
		m := s.answer(unsafe)
		code, _ := s.faultOf(m)
		done := s.effects()["k"]
		if code == "" && done != 1 || code != "" && (code != fault.OutcomeUnknown || done > 1) {
			t.Errorf("done %d times, told %s", done, m.raw)
		}
		s.want(event.Died, 1)
		s.wantOneAnswer(safe, unsafe)
		s.wantGone(conn.PID())
	})
	t.Run("idle", func(t *testing.T) {
		o, probes := o, o.Timing.ProbeInterval
		o.Timing.ProbeInterval = time.Hour
		s := begin(t, o).initialize()
		s.hurry(func(o *Options) { o.Timing.ProbeInterval = probes }) // the handshake may have taken longer
		s.stop()
		// Nobody waits for it: it is left alone until somebody does.
		s.until("nothing is due", func() bool {
			return s.session.Inside().Dozing
		})
		s.want(event.ProbeMissed, 0)
		s.call("echo", "")
		if s.state().Generation != 2 {
			t.Error("not replaced")
		}
	})
}

func TestFaultH07StoppedAndContinued(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timing.HangGrace = time.Hour
	s := begin(t, o).initialize()
	pid := s.pid()
	s.stop()
	safe, unsafe := s.start("echo", `{"text":"x"}`), s.start("append", `{"key":"k"}`)
	s.await(event.ProbeMissed, 3)
	s.resume()
	s.text(s.answer(safe))
	s.text(s.answer(unsafe))
	s.wantEffect("k", 1)
	if s.state().PID != pid {
		t.Error("the server was restarted")
	}
	s.want(event.Died, 0)
	s.want(event.Hung, 0)
	s.want(event.Failed, 0)
	s.wantOneAnswer(safe, unsafe)
	if n := s.session.Counters(); n.Foreign != 0 {
		t.Errorf("%d answers belonged to nobody: the late ones are known", n.Foreign)
	}
}

// untimed is for tests whose server may take as long as the machine takes.
func untimed() Options {
	o := unprobed()
	o.Timing.Timeout, o.Timing.MaxTime, o.Timing.Patience = 0, 0, patience.Limit()
	return o
}

func TestFaultH08StopsReading(t *testing.T) {
	t.Parallel()
	s := begin(t, untimed(), "-stop-reading=1,n=4").initialize()
	talks := s.request("tools/call", `{"name":"progress","arguments":{"n":-1,"interval_ms":5},"_meta":{"progressToken":"tok"}}`)
	s.notice("notifications/progress", 1)
	// Much more than a pipe holds waits; nobody is turned away.
	var waiting []string
	text := strings.Repeat("x", 400)
	for range 1000 {
		waiting = append(waiting, s.start("pid", `{"text":"`+text+`"}`))
	}
	s.taken()
	// What the server says is heard all the time.
	s.notice("notifications/progress", s.notices("notifications/progress")+3)
	s.withdraw(talks)
	s.kill()
	s.wantOneAnswer(waiting...)
	s.want(event.Failed, 0)
}

// What waits for a server that is down is bounded: beyond that the client waits,
// too, and nothing is refused.
func TestFaultH08QueueIsBoundedWhileItIsDown(t *testing.T) {
	t.Parallel()
	gate := newGate(t)
	const size, maxQueued = 128 << 10, 512 << 10
	o := untimed()
	o.Limits.MaxQueued = maxQueued
	s := begin(t, o, gate.flag())
	gate.open(t)
	s.initialize()
	s.kill()
	text := strings.Repeat("x", size)
	ids := make(chan string, 100)
	go func() {
		defer close(ids)
		for range 3 * maxQueued / size {
			ids <- s.start("pid", `{"text":"`+text+`"}`)
		}
	}()
	queued := func() int {
		return s.session.Inside().QueuedBytes
	}
	s.until("the queue is full", func() bool { return queued() > maxQueued })
	gate.open(t)
	n := 0
	for id := range ids {
		s.text(s.answer(id))
		if n++; queued() > maxQueued+kernel.CheckRoom+2*size {
			t.Errorf("%d bytes wait", queued())
		}
	}
	s.want(event.Failed, 0)
}

func TestFaultH09ClientStopsReading(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timing.ProbeTimeout = 20 * time.Millisecond
	s := begin(t, o).initialize()
	pid := s.pid()
	read := s.stopReading()
	const steps = 3_000
	flood := s.request("tools/call", fmt.Sprintf(`{"name":"progress","arguments":{"n":%d},"_meta":{"progressToken":"tok"}}`, steps))
	// The flood stops, though it is not at its end: the server is read from no
	// faster than the client reads.
	s.untilSilent()
	// The other direction is open.
	call := s.start("append", `{"key":"k"}`)
	s.untilEffect("k")
	if n := s.notices("notifications/progress"); n != 0 {
		t.Errorf("%d notifications came through", n)
	}
	read()
	s.text(s.answer(flood))
	s.text(s.answer(call))
	s.wantProgressUp(flood, steps)
	if s.state().PID != pid {
		t.Error("the server was restarted")
	}
	s.want(event.Died, 0)
	s.want(event.TimedOut, 0)
	s.wantEffect("k", 1)
	s.wantOneAnswer(flood, call)
}

func TestFaultH10AnswerDrips(t *testing.T) {
	t.Parallel()
	t.Run("to its end", func(t *testing.T) {
		const limit = time.Hour
		o := unprobed()
		o.Timing.Timeout, o.Timing.MaxTime = limit, 0
		s := begin(t, o).initialize()
		text := strings.Repeat("drop ", 8)
		for ms, looked := 5, false; !looked; ms *= 2 { // slower, if the answer was complete too soon
			id := s.start("drip", fmt.Sprintf(`{"text":%q,"interval_ms":%d}`, text, ms))
			s.taken()
			sent := time.Now()
			s.until("a part of the answer is there", func() bool {
				looked = s.conn().MidLine() && s.conn().LastHeard().After(sent)
				return looked || s.answers(id) > 0
			})
			s.session.Tick(sent.Add(limit)) // when its time is over, if nothing was heard
			if got := s.text(s.answer(id)); got != text {
				t.Errorf("answered %q", got)
			}
			s.wantOneAnswer(id)
		}
		s.want(event.TimedOut, 0)
		s.want(event.Stray, 0)
		s.want(event.Died, 0)
	})
	t.Run("for longer than anyone waits", func(t *testing.T) {
		const limit = 400 * time.Millisecond
		s := begin(t, quick()).initialize()
		s.hurry(func(o *Options) { o.Timing.Timeout, o.Timing.MaxTime = 0, limit })
		began := time.Now()
		id := s.start("drip", `{"text":"`+strings.Repeat("drop ", 1000)+`","interval_ms":5}`)
		s.wantFault(id, fault.CallTimeout)
		if waited := time.Since(began); waited < limit {
			t.Errorf("given up after %v, with bytes coming", waited)
		}
		s.want(event.Died, 0)
	})
}

func TestFaultH11ProgressForEver(t *testing.T) {
	t.Parallel()
	const limit = 400 * time.Millisecond
	s := begin(t, quick()).initialize()
	s.hurry(func(o *Options) { o.Timing.Timeout, o.Timing.MaxTime = 0, limit })
	began := time.Now()
	id := s.request("tools/call", `{"name":"progress","arguments":{"n":-1,"interval_ms":5},"_meta":{"progressToken":"tok"}}`)
	s.wantFault(id, fault.CallTimeout)
	if waited := time.Since(began); waited < limit {
		t.Errorf("given up after %v, in spite of its progress", waited)
	}
	s.hurry(func(o *Options) { o.Timing.MaxTime = 0 })
	if got := s.state().Cancelled; len(got) != 1 {
		t.Errorf("cancelled %v, want the one call", got)
	}
	s.want(event.Died, 0)
	s.wantOneAnswer(id)
	s.wantProgressUp(id, float64(s.notices("notifications/progress")))
}

func TestFaultH13AnswersAfterTheClientCancelled(t *testing.T) {
	t.Parallel()
	t.Run("the answer is dropped", func(t *testing.T) {
		s, open := beginJournal(t, unprobed())
		id := s.start("stall", "")
		s.withdraw(id)
		s.taken()
		open()
		if e := s.await(event.Dropped, 1); !strings.Contains(e.Detail, "too late") {
			t.Errorf("dropped: %s", e.Detail)
		}
		s.call("count", "")
		if n := s.answers(id); n != 0 {
			t.Errorf("%d answers to a call that was cancelled", n)
		}
		s.want(event.Failed, 0)
		s.want(event.Cancelled, 1)
	})
	t.Run("the server dies", func(t *testing.T) {
		s := begin(t, unprobed()).initialize()
		safe, unsafe := s.start("hang", ""), s.start("hang_unsafe", `{"key":"k"}`)
		s.untilEffect("k")
		s.withdraw(safe)
		s.withdraw(unsafe)
		s.taken()
		s.kill()
		state := s.state()
		if got := state.methods(); state.Generation != 2 || got != "initialize notifications/initialized tools/call" {
			t.Errorf("generation %d got %s, want nothing that was cancelled", state.Generation, got)
		}
		s.wantReplays("hang", 0)
		s.want(event.Unknown, 0)
		s.wantEffect("k", 1)
		for _, id := range []string{safe, unsafe} {
			if n := s.answers(id); n != 0 {
				t.Errorf("%d answers to a call that was cancelled", n)
			}
		}
	})
}

// outlasts starts a call that takes ms, which is longer than its tool may take, and returns its id
// when it has timed out. If gauze was too busy to notice in time, the next call takes longer.
func (s *story) outlasts(tool string, ms int) (id string) {
	s.t.Helper()
	for ; ; ms *= 2 {
		id = s.start(tool, fmt.Sprintf(`{"ms":%d}`, ms))
		m := s.answer(id)
		if code, _ := s.faultOf(m); code == fault.CallTimeout {
			return id
		}
		s.text(m)
	}
}

func TestFaultH14AnswersAfterItsTime(t *testing.T) {
	t.Parallel()
	o := unprobed() // on a busy machine, probes of a few milliseconds would find that it hangs
	o.Tools = map[string]Policy{"late": {Timeout: 50 * time.Millisecond}}
	s := begin(t, o).initialize()
	id := s.outlasts("late", 150)
	if e := s.await(event.Dropped, 1); !strings.Contains(e.Detail, "too late") {
		t.Errorf("dropped: %s", e.Detail)
	}
	if n := s.session.Counters(); n.Late == 0 || n.Foreign != 0 {
		t.Errorf("%d late answers and %d foreign ones, want late ones only", n.Late, n.Foreign)
	}
	s.want(event.Died, 0)
	s.wantOneAnswer(id)
}
