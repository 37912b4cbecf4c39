package kernel

import (
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"strings"
	"testing"
	"time"
)

// Claude Code asks server/discover, a second later initialize, and does without tools that come after
// five.
func TestAClientThatAsksTwiceWaitsOnce(t *testing.T) {
	t.Parallel()
	failed := time.Now()
	d := &delay{since: failed}
	for arrived, want := range map[time.Duration]time.Duration{
		-time.Second:            3 * time.Second,
		1300 * time.Millisecond: 3 * time.Second,
		3 * time.Second:         6 * time.Second,
		time.Minute:             63 * time.Second,
	} {
		if got := d.end(failed.Add(arrived), 3*time.Second).Sub(failed); got != want {
			t.Errorf("what arrives %v after the first failure is held for %v, want %v", arrived, got, want)
		}
	}
}

// A server that took a minute to fail is not waited for another minute.
func TestASecondStartIsWaitedForIfTheFirstFailedSoon(t *testing.T) {
	t.Parallel()
	for ran, want := range map[time.Duration][]bool{0: {true, false}, time.Second: {true, false}, time.Minute: {false, false}} {
		for i, want := range want {
			d := &delay{trouble: upstream.Trouble{Attempts: i + 1, Evidence: upstream.Evidence{Ran: ran}}}
			if got := d.again(); got != want {
				t.Errorf("attempt %d failed after %v: waits %v, want %v", i+1, ran, got, want)
			}
		}
	}
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
		s := waiting(&c.t, most)
		if got := s.holdUntil(&Call{arrived: c.arrived}, c.now); !got.Equal(c.until) {
			t.Errorf("%s: held until %v after the loss, want %v", c.name, got.Sub(died), c.until.Sub(died))
		}
	}
	if got := waiting(nil, most).holdUntil(&Call{arrived: died}, died); !got.Equal(at(30)) {
		t.Errorf("a server that is starting: %v", got)
	}
}

func TestPagesAreKeptAsOne(t *testing.T) {
	t.Parallel()
	live := newCatalog()
	const a, b = `{"name": "a", "description": "a < b & c"}`, `{"name":"b","inputSchema":{}}`
	if got := live.complete(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	next := live.learn("tools/list", "", []byte(`{"_meta":{"x":1},"nextCursor":"2","tools":[`+a+`]}`))
	if got := live.complete(); len(got) != 0 {
		t.Errorf("half of a list: %q", got)
	}
	live.learn("tools/list", next, []byte(`{"tools":[`+b+`]}`))
	kept := live.complete()
	if want := `{"_meta":{"x":1},"tools":[` + a + "," + b + `]}`; kept["tools/list"] != want {
		t.Errorf("got  %s\nwant %s", kept["tools/list"], want)
	}
	recalled := newCatalog()
	recalled.recall(kept)
	if recalled.lists["tools/list"].differs(live.lists["tools/list"]) || !recalled.remembered || !recalled.listed {
		t.Errorf("%+v", recalled)
	}
	recalled.learn("tools/list", "", []byte(kept["tools/list"]))
	if recalled.remembered {
		t.Error("what was listed counts as remembered")
	}
}

// The wait happens once: a server that never lists its tools does not delay the second call.
func TestTheSecondCallDoesNotWait(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "none"})
	first, second := &Call{id: []byte("1"), tool: "look", modern: true}, &Call{id: []byte("2"), tool: "look", modern: true}
	for _, step := range []struct {
		c      *Call
		waited time.Duration
		waits  bool
	}{{first, 0, true}, {first, time.Second, true}, {first, 2 * time.Second, false}, {second, 3 * time.Second, false}} {
		if step.waited > 0 {
			s.listing.since = time.Now().Add(-step.waited)
		}
		if got := s.listing.awaitsList(step.c); got != step.waits {
			t.Errorf("call %s after %v: waits %v", step.c.id, step.waited, got)
		}
	}
}

// Calls wait once for each change of the tools, also if they are not listed any more.
func TestACallWaitsForToolsThatChanged(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "none"})
	list := func() {
		s.catalog.learn("tools/list", "", []byte(`{"tools":[{"name":"look"}]}`))
		s.catalog.stale = false
	}
	c := &Call{id: []byte("1"), tool: "look", modern: true}
	wants := func(when string, want bool) {
		t.Helper()
		if got := s.listing.awaitsList(c); got != want {
			t.Errorf("%s: waits %v", when, got)
		}
	}
	list()
	wants("the tools are listed", false)
	s.listing.change()
	wants("they changed", true)
	s.listing.since = time.Now().Add(-3 * time.Second)
	wants("a call has waited", false)
	s.listing.change()
	wants("they changed again and were not listed", false)
	list()
	wants("they are listed again", false)
	s.listing.change()
	wants("they changed after that", true)
}

// A client that exchanges messages gets held responses in any order.
func TestHeldResponsesAsMessages(t *testing.T) {
	t.Parallel()
	var told []string
	o := outlet{tell: func(m Told) { told = append(told, string(m.Line)) }}
	a, b := o.hold(nil), o.hold(nil)
	o.put(Told{Line: []byte("between")})
	o.fill(a, []byte("a\n"), Told{})
	o.fill(b, []byte("b\n"), Told{})
	if got := strings.Join(told, " "); got != "between a b" {
		t.Errorf("%q", got)
	}
}

// waiting returns the part of a session whose server is down that says how long calls wait.
func waiting(t *upstream.Trouble, patience time.Duration) *likeness {
	s := &Session{config: Options{Timing: Timing{Patience: patience}}, link: link{trouble: t}}
	return &likeness{s: s}
}
