package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// A pause of the restarts that ends within a call's patience is waited out.
func TestACallWaitsOutAPauseOfTheRestarts(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Patience = time.Hour
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
	o.Patience = time.Hour
	s, _ := crashLoop(t, o, time.Minute)
	s.await(event.Opened, 1)
	for range 3 {
		s.wantFault(s.start("append", `{"key":"k"}`), fault.CrashLoop)
	}
	s.wantEffect("k", 0)
	s.want(event.Started, 6)
}

// How long a call is held depends on what is known about the next restart.
func TestACallIsHeldAsLongAsARestartIsLikelyToTake(t *testing.T) {
	const most = 30 * time.Second
	died := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return died.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		name         string
		t            upstream.Trouble
		arrived, now time.Time
		until        time.Time
	}{
		{"the first restart has all the patience", upstream.Trouble{Since: died, Attempts: 1, NextTry: died, Likely: 5 * time.Second}, at(0), at(7), at(30)},
		{"a later call waits for it as well", upstream.Trouble{Since: died, Attempts: 1, NextTry: died, Likely: 5 * time.Second}, at(20), at(20), at(50)},
		{"a restart has failed, and the next is due", upstream.Trouble{Since: died, Attempts: 2, NextTry: at(3), Likely: 5 * time.Second}, at(0), at(2), at(5)},
		{"the next one is in progress", upstream.Trouble{Since: died, Attempts: 2, NextTry: at(3), Likely: 5 * time.Second}, at(0), at(4), at(8)},
		{"it takes longer than likely", upstream.Trouble{Since: died, Attempts: 2, NextTry: at(3), Likely: 5 * time.Second}, at(9), at(9), at(8)},
		{"a slow starter gets more", upstream.Trouble{Since: died, Attempts: 3, NextTry: at(12), Likely: 24 * time.Second}, at(0), at(11), at(24)},
		{"but not more than the patience", upstream.Trouble{Since: died, Attempts: 3, NextTry: at(12), Likely: time.Hour}, at(0), at(11), at(30)},
		{"restarts are paused", upstream.Trouble{Since: died, Attempts: 1, NextTry: at(16), Open: true, Likely: 5 * time.Second}, at(1), at(1), at(5)},
		{"the doctor tries something", upstream.Trouble{Since: died, Attempts: 3, Likely: 5 * time.Second}, at(1), at(9), at(31)},
		{"a server at a URL has all the patience since it went down", upstream.Trouble{Since: died, Attempts: 7, NextTry: at(21)}, at(20), at(20), at(30)},
		{"and none after that", upstream.Trouble{Since: died, Attempts: 20, NextTry: at(64)}, at(60), at(60), at(30)},
	} {
		s := &Session{Options: Options{Patience: most}, trouble: &c.t}
		if got := s.holdUntil(&call{arrived: c.arrived}, c.now); !got.Equal(c.until) {
			t.Errorf("%s: held until %v after the loss, want %v", c.name, got.Sub(died), c.until.Sub(died))
		}
	}
	if got := (&Session{Options: Options{Patience: most}}).holdUntil(&call{arrived: died}, died); !got.Equal(at(30)) {
		t.Errorf("a server that is starting: %v", got)
	}
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
		s.session.mu.Lock()
		defer s.session.mu.Unlock()
		return s.session.catalog.listed && !s.session.asking
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
	o.FinishGrace = patience.Limit()
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
	s.update(func() { s.restart = result })
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
