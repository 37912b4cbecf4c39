package gateway

import (
	"testing"
	"time"
)

// A gateway whose clients are silent has nothing to do until the first of its
// sessions expires.
func TestTheHouseRestsWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	g := New(Options{MaxSessions: 2, Tokens: []string{"a"}, Idle: 2 * time.Minute}, addr{})
	var tidy tidier
	now := time.Now()
	look := func(want time.Duration, resting bool) {
		t.Helper()
		if got := g.look(&tidy, now); got != want || g.housekeeper.resting.Load() != resting {
			t.Fatalf("rests for %v (%v), want %v (%v)", got, g.housekeeper.resting.Load(), want, resting)
		}
	}
	look(never, true)

	s := newSession("s", g.guard.tokens.Load().All[0], &g.Options)
	s.open, s.ready, s.stop = 1, true, func() {}
	g.table.sessions[s.id] = s
	g.table.places.add(s.who, 1)
	look(keepTimeout, true) // in use

	g.requests.Add(1)
	g.housekeeper.wakeUp()
	select {
	case <-g.housekeeper.woken:
	default:
		t.Fatal("a request does not wake the house")
	}
	look(checkInterval, false)
	for range idleChecks {
		now = now.Add(checkInterval)
		g.look(&tidy, now)
	}

	g.table.leave(&s.life)
	select {
	case <-g.housekeeper.woken:
	default:
		t.Fatal("the end of a stream does not wake the house")
	}
	s.used = now
	look(g.Idle, true)
	now = now.Add(g.Idle - time.Second)
	look(time.Second, true)
	now = now.Add(time.Second)
	look(never, true)
	if len(g.table.sessions) != 0 {
		t.Error("the session has not expired")
	}
}

// A session with an answer due stays, and is looked at again.
func TestABusySessionOutlivesItsTime(t *testing.T) {
	t.Parallel()
	g := New(Options{MaxSessions: 2, Tokens: []string{"a"}, Idle: time.Minute}, addr{})
	s := newSession("s", g.guard.tokens.Load().All[0], &g.Options)
	s.ready, s.used = true, time.Now()
	s.due["1"] = s.listen
	g.table.sessions[s.id] = s
	if got := g.table.reap(s.used.Add(time.Hour)); got != busyRecheck || len(g.table.sessions) != 1 {
		t.Errorf("looked at again after %v, %d sessions", got, len(g.table.sessions))
	}
}
