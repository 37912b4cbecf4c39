package upstream

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestEffortTellsWorkFromTimers(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		says string
		cpu  func(second int) time.Duration
		want int // the last second of 60 in which it was seen working
	}{
		{"asleep", func(int) time.Duration { return 0 }, 0},
		{"timers: half a percent", func(s int) time.Duration { return time.Duration(s) * 5 * time.Millisecond }, 0},
		{"always busy", func(s int) time.Duration { return time.Duration(s) * time.Second }, 60},
		{"imports for 20 s, then waits", func(s int) time.Duration { return time.Duration(min(s, 20)) * time.Second }, 20},
		{"a helper that worked ends, then it works on", func(s int) time.Duration {
			if s < 30 {
				return time.Duration(s) * time.Second
			}
			return time.Duration(s-30) * time.Second / 2
		}, 60},
	} {
		e := effort{seen: start}
		var last time.Time
		for s := 1; s <= 60; s++ {
			e.look = func() Vitals { return Vitals{Known: true, CPU: c.cpu(s)} }
			last = e.last(start.Add(time.Duration(s)*time.Second), time.Second)
		}
		if want := start.Add(time.Duration(c.want) * time.Second); !last.Equal(want) {
			t.Errorf("%s: last seen working at %v, want %v", c.says, last.Sub(start), want.Sub(start))
		}
	}
}

func TestOverdueIsSilenceNotSlowness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = time.Minute
		// first returns after how many seconds a server is overdue that uses CPU for a while. A request
		// was sent after asked, and writes is called 50 s after the start.
		first := func(cpu, asked time.Duration, writes func(*Conn)) int {
			c := newConn(1, nil, nil)
			c.begin()
			time.Sleep(50 * time.Second)
			writes(c)
			for s := range 3600 {
				now := c.Started.Add(time.Duration(s) * time.Second)
				c.effort.look = func() Vitals { return Vitals{Known: true, CPU: min(now.Sub(c.Started), cpu)} }
				if c.Overdue(c.Started.Add(asked), now, patience) {
					return s
				}
			}
			return -1
		}
		nothing := func(*Conn) {}
		logs := func(c *Conn) { c.rec.Stderr.Write([]byte("x")) }
		if s := first(0, 0, nothing); s != 61 {
			t.Errorf("a silent server is overdue after %d s, want 61", s)
		}
		if s := first(100*time.Second, 0, nothing); s < 160 || s > 165 {
			t.Errorf("a server that imports for 100 s is overdue after %d s, want about 161", s)
		}
		if s := first(time.Hour, 0, nothing); s != int(maxStart/time.Second)+1 {
			t.Errorf("a server that is always busy is overdue after %d s, want %v", s, maxStart)
		}
		if s := first(0, 0, func(c *Conn) { c.rec.NoteByte() }); s != 111 {
			t.Errorf("a server that wrote at 50 s is overdue after %d s, want 111", s)
		}
		if s := first(0, 0, logs); s != 111 {
			t.Errorf("a server that logged at 50 s is overdue after %d s, want 111", s)
		}
		if s := first(0, 100*time.Second, logs); s != 161 {
			t.Errorf("what was logged before the question counts: overdue after %d s, want 161", s)
		}
	})
}

func TestStartPatienceIsLearned(t *testing.T) {
	t.Parallel()
	u := New(Options{Spec: launch.Spec{Command: "server"}}, nil)
	if got := u.StartPatience(); got != time.Minute {
		t.Errorf("at first %v, want 1m", got)
	}
	u.StartOverdue()
	if got := u.StartPatience(); got != 2*time.Minute {
		t.Errorf("after a start that was overdue %v, want 2m", got)
	}
	for range 10 {
		u.StartOverdue()
	}
	if got := u.StartPatience(); got != maxStart {
		t.Errorf("at last %v, want %v", got, maxStart)
	}
	u = New(Options{Spec: launch.Spec{Command: "server"}}, nil)
	synctest.Test(t, func(t *testing.T) {
		c := newConn(1, nil, nil)
		time.Sleep(40 * time.Second)
		c.rec.NoteMessage()
		u.connected(c)
	})
	if got := u.StartPatience(); got != 2*time.Minute {
		t.Errorf("after a start of 40 s %v, want 2m", got)
	}
}
