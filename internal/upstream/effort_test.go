package upstream

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
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
			last = e.last(func() Vitals { return Vitals{Known: true, CPU: c.cpu(s)} }, start.Add(time.Duration(s)*time.Second), time.Second)
		}
		if want := start.Add(time.Duration(c.want) * time.Second); !last.Equal(want) {
			t.Errorf("%s: last seen working at %v, want %v", c.says, last.Sub(start), want.Sub(start))
		}
	}
}

func TestOverdueIsSilenceNotSlowness(t *testing.T) {
	t.Parallel()
	const patience = time.Minute
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	conn := func(cpuUntil int) *Conn {
		c := newConn(1, start, nil, nil)
		c.link = &stillLink{cpu: func(now time.Time) time.Duration { return min(now.Sub(start), time.Duration(cpuUntil)*time.Second) }}
		return c
	}
	first := func(c *Conn, asked time.Time) int {
		for s := 0; s < 3600; s++ {
			c.link.(*stillLink).now = at(s)
			if c.Overdue(asked, at(s), patience) {
				return s
			}
		}
		return -1
	}
	if s := first(conn(0), start); s != 61 {
		t.Errorf("a silent server is overdue after %d s, want 61", s)
	}
	if s := first(conn(100), start); s < 160 || s > 165 {
		t.Errorf("a server that imports for 100 s is overdue after %d s, want about 161", s)
	}
	if s := first(conn(3600), start); s != int(maxStart/time.Second)+1 {
		t.Errorf("a server that is always busy is overdue after %d s, want %v", s, maxStart)
	}
	wrote := conn(0)
	wrote.lastByte.Store(int64(50 * time.Second))
	if s := first(wrote, start); s != 111 {
		t.Errorf("a server that wrote at 50 s is overdue after %d s, want 111", s)
	}
	logged := conn(0)
	logged.stderr.last = at(50)
	if s := first(logged, start); s != 111 {
		t.Errorf("a server that logged at 50 s is overdue after %d s, want 111", s)
	}
	before := conn(0)
	before.stderr.last = at(50)
	if s := first(before, at(100)); s != 161 {
		t.Errorf("what was logged before the question counts: overdue after %d s, want 161", s)
	}
}

// stillLink is a link to a process that says nothing.
type stillLink struct {
	link
	now time.Time
	cpu func(time.Time) time.Duration
}

func (l *stillLink) vitals() Vitals { return Vitals{Known: true, CPU: l.cpu(l.now)} }

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
	c := newConn(1, time.Now(), nil, nil)
	c.firstMessage.Store(int64(40 * time.Second))
	u.connected(c)
	if got := u.StartPatience(); got != 2*time.Minute {
		t.Errorf("after a start of 40 s %v, want 2m", got)
	}
}
