package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// A pause of the restarts that ends within a call's patience is waited out.
func TestACallWaitsOutAPauseOfTheRestarts(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.Patience = time.Hour
	s, _ := crashLoop(t, o, 150*time.Millisecond)
	s.await(event.Opened, 1)
	id := s.start("append", `{"key":"k"}`)
	s.text(s.answer(id))
	s.wantEffect("k", 1)
	s.want(event.Failed, 0)
	s.wantOneAnswer(id)
}

// A server that failed again and again, and whose next try is later than a restart is likely to take, is not
// waited for, whatever the patience.
func TestACallToADeadServerIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.Patience = time.Hour
	s, _ := crashLoop(t, o, time.Minute)
	s.await(event.Opened, 1)
	for range 3 {
		s.wantFault(s.start("append", `{"key":"k"}`), fault.CrashLoop)
	}
	s.wantEffect("k", 0)
	s.want(event.Started, 6)
}

// Calls that fail together because their server died share one restart, and are repeated on the new
// generation.
func TestCallsThatFailTogetherShareOneRestart(t *testing.T) {
	t.Parallel()
	const calls = 8
	s := begin(t, unprobed()).initialize()
	var ids []string
	for range calls {
		ids = append(ids, s.start("hang", ""))
	}
	s.taken()
	s.kill()
	s.await(event.Replayed, calls)
	s.want(event.Started, 2)
	s.want(event.Failed, 0)
	for _, id := range ids {
		s.withdraw(id)
	}
}

// Tools that the client never listed are read in the background, once, and then
// a read-only one is repeated like any other.
func TestToolsTheClientNeverListedAreReadOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed())
	if m := s.answer(s.request("initialize", initializeParams)); m.Error != nil {
		t.Fatalf("initialize: %s", m.raw)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for range 5 {
		s.call("echo", `{"text":"x"}`)
	}
	s.until("the tools are known", func() bool {
		return s.session.Inside().Listed && !s.session.Inside().Asking
	})
	for range 5 {
		s.call("echo", `{"text":"x"}`)
	}
	lists := 0
	for _, seen := range s.state().Seen {
		if seen.Method == "tools/list" {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("the server was asked %d times for its tools, want once", lists)
	}
	id := s.start("die_read", `{"key":"k","times":1}`)
	s.text(s.answer(id))
	s.wantReplays("die_read", 1)
	s.wantOneAnswer(id)
}

// A client that closes its side before the server answers, as in `printf ... | gauze run -- server`,
// gets the answer.
func TestAClientThatClosesFirstIsAnswered(t *testing.T) {
	t.Parallel()
	gate := newGate(t)
	o := unprobed()
	o.Timing.FinishGrace = patience.Limit()
	s := begin(t, o, gate.flag())
	id := s.request("initialize", initializeParams)
	s.taken()
	s.in.Close()
	gate.open(t)
	if m := s.answer(id); m.Error != nil {
		t.Errorf("initialize: %s", m.raw)
	}
}

// A server that waits for a login is announced again when the next attempt begins. That is not the result
// of the attempt.
func TestARestartEndsWithItsOwnAttempt(t *testing.T) {
	t.Parallel()
	s := New(Options{Spec: launch.Spec{Command: "none"}})
	down := upstream.Trouble{Code: fault.AuthRequired, Detail: "log in", Permanent: true, Generation: 1}
	s.Unreachable(down)
	result := make(chan error, 1)
	s.RestartInto(result)
	down.Permanent, down.NextTry = false, time.Now()
	s.Unreachable(down)
	if len(result) > 0 {
		t.Fatalf("ended before the attempt: %v", <-result)
	}
	s.Unreachable(upstream.Trouble{Code: fault.AuthRequired, Detail: "still not logged in", Permanent: true, Generation: 2})
	if len(result) == 0 || !strings.Contains((<-result).Error(), "still not logged in") {
		t.Error("the result of the attempt was not reported")
	}
}
