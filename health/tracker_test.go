package health_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

var noon = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

// story plays one letter per second: C connects the next generation, X closes the current one, R renews it, Z lets it rest, F is a start that fails, h is a hit, s a slow
// hit, m a miss, b a broken answer, e an excluded outcome, o a late hit and O a late miss of the generation before.
func story(tr *health.Tracker, script string) {
	gen := tr.Snapshot().Generation
	at := noon
	for _, c := range script {
		at = at.Add(time.Second)
		switch c {
		case 'C':
			gen++
			tr.Connected(gen, at)
		case 'X':
			tr.Closed(gen, at)
		case 'R':
			tr.Renew()
		case 'Z':
			tr.Rested(at)
		case 'F':
			tr.Failed(health.Failure{At: at, Kind: health.Exited})
		case 'h':
			tr.Record(gen, health.Answered, time.Millisecond, at)
		case 's':
			tr.Record(gen, health.Answered, time.Minute, at)
		case 'm':
			tr.Record(gen, health.NoAnswer, 0, at)
		case 'b':
			tr.Record(gen, health.Broken, 0, at)
		case 'e':
			tr.Record(gen, health.Excluded, 0, at)
		case 'o':
			tr.Record(gen-1, health.Answered, time.Millisecond, at)
		case 'O':
			tr.Record(gen-1, health.NoAnswer, 0, at)
		default:
			panic("no such letter: " + string(c))
		}
	}
}

func TestOutcomesMoveTheState(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         health.State
	}{
		{"a server that never connected is dead", "", health.Dead},
		{"the first connection is healthy at once", "C", health.Healthy},
		{"a closed connection is dead", "CX", health.Dead},
		{"a reconnected server is degraded", "CXC", health.Degraded},
		{"a renewed server is healthy", "CXRC", health.Healthy},
		{"a server is renewed once", "CXRCXC", health.Degraded},
		{"a server that was not needed yet is healthy", "Z", health.Healthy},
		{"a server that rests is healthy", "CZ", health.Healthy},
		{"however it was before", "CmmmZ", health.Healthy},
		{"a server that is needed again is healthy", "CXCZC", health.Healthy},
		{"a server rests once", "CZCXC", health.Degraded},
		{"a server whose first start fails is dead", "ZF", health.Dead},
		{"a server that does not start again is dead", "CZF", health.Dead},
		{"a server that starts after that is degraded", "CZFC", health.Degraded},
		{"one hit is not enough to trust a reconnected server", "CXCh", health.Degraded},
		{"two hits make a reconnected server healthy", "CXChh", health.Healthy},
		{"a miss between two hits starts the count again", "CXChmh", health.Degraded},
		{"two misses change nothing", "Cmm", health.Healthy},
		{"three misses in a row make it unresponsive", "Cmmm", health.Unresponsive},
		{"a hit between misses starts the count again", "Cmmhmm", health.Healthy},
		{"a degraded server falls as fast as a healthy one", "CXCmmm", health.Unresponsive},
		{"one hit does not bring an unresponsive server back", "Cmmmh", health.Unresponsive},
		{"two hits bring an unresponsive server back", "Cmmmhh", health.Healthy},
		{"an unresponsive server stays so while it misses", "Cmmmmmmhm", health.Unresponsive},
		{"two slow answers are chance", "Css", health.Healthy},
		{"three slow answers in a row degrade", "Csss", health.Degraded},
		{"a fast answer between slow ones starts the count again", "Csshss", health.Healthy},
		{"a slow server does not become healthy by slow answers", "Csssss", health.Degraded},
		{"a slow server becomes healthy by fast answers", "Cssshh", health.Healthy},
		{"an unresponsive server that answers slowly is degraded", "Cmmmss", health.Degraded},
		{"a slow and a fast answer show life, but not health", "Cmmmsh", health.Degraded},
		{"broken answers degrade: it lives, but fails", "Cbbb", health.Degraded},
		{"broken answers alone never mean silence", "Cbbbbbbbb", health.Degraded},
		{"a broken answer ends a silence", "Cmmbmm", health.Degraded},
		{"misses after broken answers still count as silence", "Cbbbmmm", health.Unresponsive},
		{"a broken answer does not bring an unresponsive server back", "Cmmmb", health.Unresponsive},
		{"excluded outcomes change nothing", "Ceeeeeee", health.Healthy},
		{"excluded outcomes do not end a run of misses", "Cmemem", health.Unresponsive},
		{"excluded outcomes do not end a run of hits", "CXCheh", health.Healthy},
		{"late misses of an old generation change nothing", "CXChhOOOOO", health.Healthy},
		{"late hits of an old generation prove nothing", "CXCoooo", health.Degraded},
		{"late hits do not end a run of misses", "CXChhmmom", health.Unresponsive},
		{"nothing brings a closed connection back but a new one", "CXhhhh", health.Dead},
		{"misses of the old connection do not count in the new one", "CmmXCm", health.Degraded},
		{"hits of the old connection do not count in the new one", "CmmmhXCh", health.Degraded},
		{"an unresponsive server that is replaced is degraded", "CmmmXC", health.Degraded},
		{"a connection may be replaced before its end is known", "CmmmC", health.Degraded},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := health.New(health.Config{})
			story(tr, c.script)
			if got := tr.State(); got != c.want {
				t.Errorf("%q ends %s, want %s", c.script, got, c.want)
			}
		})
	}
}

// The scenarios of two agents that keep such states. Where gauze differs, the row says why.
func TestStatesThatAgentsKeep(t *testing.T) {
	for _, c := range []struct {
		name, script, agent string
		want                health.State
		why                 string // it differs
	}{
		{"connected, no failure", "C", "healthy", health.Healthy, ""},
		{"1 failure in a row", "Cm", "degraded", health.Healthy, "one missing response is chance"},
		{"2 failures in a row", "Cmm", "degraded", health.Healthy, "two may be a pause of a garbage collector"},
		{"3 failures in a row", "Cmmm", "unresponsive", health.Unresponsive, ""},
		{"4 failures in a row", "Cmmmm", "unresponsive", health.Unresponsive, ""},
		{"5 failures in a row", "Cmmmmm", "dead", health.Unresponsive, "a connected server is not dead: a verdict decides whether it is waited for"},
		{"9 failures in a row", "Cmmmmmmmmm", "dead", health.Unresponsive, "as above"},
		{"not connected, no failure", "", "disconnected", health.Dead, "gauze has one name for all that is not connected"},
		{"not connected after 9 failures", "CmmmmmmmmmX", "dead", health.Dead, ""},
		{"session without a call", "", "unhealthy", health.Dead, ""},
		{"session, 3 of 4 succeeded", "Chmhh", "healthy", health.Healthy, ""},
		{"session, 3 of 6 succeeded, 2 failures in a row", "Chmhhmm", "unhealthy", health.Healthy, "a rate includes failures that are long over; only a run counts"},
		{"session, 9 of 12 succeeded, 3 failures in a row", "Chhhhhhhhhmmm", "unhealthy", health.Unresponsive, ""},
	} {
		tr := health.New(health.Config{})
		story(tr, c.script)
		if got := tr.State(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		passes := c.want == health.Healthy || c.want == health.Degraded
		if same := c.agent == c.want.String() || c.agent == "unhealthy" && !passes; same != (c.why == "") {
			t.Errorf("%s: the agent's state is %s, and gauze's %s: %s", c.name, c.agent, c.want, c.why)
		}
	}
}

func TestChangedIsToldExactlyWhenTheStateChanges(t *testing.T) {
	tr := health.New(health.Config{})
	steps := []struct {
		what string
		do   func() bool
		want bool
	}{
		{"first connection", func() bool { return tr.Connected(1, noon) }, true},
		{"the same connection again", func() bool { return tr.Connected(1, noon) }, false},
		{"miss 1", func() bool { return tr.Record(1, health.NoAnswer, 0, noon) }, false},
		{"miss 2", func() bool { return tr.Record(1, health.NoAnswer, 0, noon) }, false},
		{"miss 3", func() bool { return tr.Record(1, health.NoAnswer, 0, noon) }, true},
		{"miss 4", func() bool { return tr.Record(1, health.NoAnswer, 0, noon) }, false},
		{"close of another generation", func() bool { return tr.Closed(2, noon) }, false},
		{"close", func() bool { return tr.Closed(1, noon) }, true},
		{"close again", func() bool { return tr.Closed(1, noon) }, false},
		{"an old generation connects", func() bool { return tr.Connected(1, noon) }, false},
		{"generation 5", func() bool { return tr.Connected(5, noon) }, true},
		{"an older one connects late", func() bool { return tr.Connected(4, noon) }, false},
	}
	for _, s := range steps {
		if got := s.do(); got != s.want {
			t.Errorf("%s: changed is %v", s.what, got)
		}
	}
	if got := tr.State(); got != health.Degraded {
		t.Errorf("ends %s", got)
	}
}

func TestTheNumbersCanBeChosen(t *testing.T) {
	tr := health.New(health.Config{Down: 1, Up: 1, Slow: time.Microsecond})
	story(tr, "Cm")
	if tr.State() != health.Unresponsive {
		t.Error("one miss should be enough")
	}
	story(tr, "h") // a millisecond is slow here
	if tr.State() != health.Degraded {
		t.Error("one slow answer should show life")
	}
	never := health.New(health.Config{Slow: -1})
	story(never, "Cssssss")
	if never.State() != health.Healthy {
		t.Error("no answer should be slow")
	}
	edge := health.New(health.Config{Slow: time.Minute})
	story(edge, "Csssss")
	if edge.State() != health.Healthy {
		t.Error("an answer of exactly the limit is not slow")
	}
}

func TestTheSnapshotCounts(t *testing.T) {
	tr := health.New(health.Config{})
	story(tr, "ChmmmhhXoCbOhh") // a letter a second
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	want := health.Snapshot{
		State: health.Healthy, Since: at(14), Generation: 2, LastSuccess: at(14), LastFailure: at(11), LastCause: "it did not send a valid response",
		Restarts: 1, Closures: 1, Recoveries: 2, Answered: 5, Missed: 4, Late: 2,
	}
	if got := tr.Snapshot(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	story(tr, "mb")
	if got := tr.Snapshot().ConsecutiveFailures; got != 2 {
		t.Errorf("%d failures in a row, want 2", got)
	}
	story(tr, "X")
	if got := tr.Snapshot().ConsecutiveFailures; got != 2 {
		t.Errorf("%d failures in a row, want 2: nothing was answered since", got)
	}
	story(tr, "Ch")
	if got := tr.Snapshot().ConsecutiveFailures; got != 0 {
		t.Errorf("%d failures in a row after a response", got)
	}
}

// A server that cannot start has no calls that could fail, but its counters are filled.
func TestFailedStartsCountAndAreKept(t *testing.T) {
	tr := health.New(health.Config{})
	story(tr, "ChX")
	for i := range 20 {
		at := noon.Add(time.Duration(i) * time.Minute)
		tr.Failed(health.Failure{At: at, Kind: health.Exited, Detail: fmt.Sprint("exit status ", i)})
		tr.Retrying("port-in-use", at.Add(time.Second))
	}
	s, last := tr.Snapshot(), noon.Add(19*time.Minute)
	if s.State != health.Dead || s.ConsecutiveFailures != 20 || s.LastFailure != last || s.LastCause != "exit status 19" || s.NextTry != last.Add(time.Second) {
		t.Errorf("%+v", s)
	}
	all := tr.Failures()
	if n := len(all); n != 16 || all[n-1] != (health.Failure{At: last, Kind: health.Exited, Detail: "exit status 19", Cause: "port-in-use"}) || all[0].Detail != "exit status 4" {
		t.Errorf("%+v", all)
	}
	story(tr, "C")
	if s := tr.Snapshot(); !s.NextTry.IsZero() || s.ConsecutiveFailures != 20 || s.State != health.Degraded {
		t.Errorf("connected, but not answered: %+v", s)
	}
}

// Failures of earlier generations do not make a renewed one degraded.
func TestFailedStartsDoNotDegradeTheNextGeneration(t *testing.T) {
	tr := health.New(health.Config{})
	story(tr, "Cmm")
	tr.Failed(health.Failure{At: noon, Kind: health.Exited})
	story(tr, "XRCb")
	if got := tr.State(); got != health.Healthy {
		t.Errorf("%s", got)
	}
}

// A server that is stopped because nothing needs it is neither closed nor restarted.
func TestARestDoesNotCount(t *testing.T) {
	tr := health.New(health.Config{})
	story(tr, "ZChZCZCh")
	if s := tr.Snapshot(); s.Restarts != 0 || s.Closures != 0 || s.Recoveries != 0 || s.Generation != 3 {
		t.Errorf("%+v", s)
	}
}

// Any sequence of outcomes keeps the invariants that the gate relies on.
func TestAnySequenceKeepsTheInvariants(t *testing.T) {
	const letters = "CXhhhhsmmmmbeoO"
	for _, seed := range sample.Seeds(sample.Seed(t), 2000) {
		random := sample.Random(seed, 1)
		config := health.Config{Down: 1 + random.IntN(4), Up: 1 + random.IntN(3)}
		tr := health.New(config)
		script, connected := "", false
		misses, hits := 0, 0 // in a row, as an onlooker counts them
		for range 60 {
			c := letters[random.IntN(len(letters))]
			before := tr.Snapshot()
			script += string(c)
			story(tr, string(c))
			after := tr.Snapshot()

			switch c {
			case 'C':
				connected, misses, hits = true, 0, 0
			case 'X':
				connected, misses, hits = false, 0, 0
			case 'h', 's':
				if connected {
					hits, misses = hits+1, 0
				}
			case 'm':
				if connected {
					misses, hits = misses+1, 0
				}
			case 'b':
				if connected {
					misses, hits = 0, 0
				}
			}
			fail := func(what string) { t.Fatalf("seed %d, %+v, %q: %s: %+v", seed, config, script, what, after) }

			if (after.State == health.Dead) == connected {
				fail("dead if and only if not connected")
			}
			if tr.State() != after.State {
				fail("two answers about one state")
			}
			if after.State == health.Unresponsive && before.State != health.Unresponsive && misses < config.Down {
				fail("unresponsive without a run of misses")
			}
			if connected && misses >= config.Down && after.State != health.Unresponsive {
				fail("a run of misses without consequence")
			}
			if after.State > before.State && before.State != health.Dead && c != 'C' && hits < config.Up {
				fail("better without a run of hits")
			}
			if connected && hits >= config.Up && after.State == health.Unresponsive {
				fail("a run of hits without consequence")
			}
			if (c == 'e' || c == 'o' || c == 'O') && after.State != before.State {
				fail("moved by an outcome that does not count")
			}
			if after.State == before.State && after.Since != before.Since {
				fail("since changed without the state")
			}
			if after.Generation < before.Generation || after.Restarts > uint64(after.Generation) || after.Closures > after.Restarts+1 {
				fail("the counts of connections do not fit together")
			}
			if after.Answered+after.Missed+after.Late < before.Answered+before.Missed+before.Late {
				fail("a count went back")
			}
		}
	}
}

// Run with -race: the gate reads while the owner writes.
func TestAnybodyMayReadTheState(t *testing.T) {
	tr := health.New(health.Config{})
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if s := tr.State(); s < health.Dead || s > health.Healthy {
						t.Errorf("state %d", s)
						return
					}
				}
			}
		})
	}
	for range 2000 {
		story(tr, "CmmmhhX")
	}
	close(done)
	readers.Wait()
}

func TestStatesAndOutcomesNameThemselves(t *testing.T) {
	got := fmt.Sprint(health.Dead, health.Unresponsive, health.Degraded, health.Healthy, health.State(9),
		health.Excluded, health.Answered, health.NoAnswer, health.Broken, health.Outcome(9))
	if want := "dead unresponsive degraded healthy invalid excluded answered no-answer broken invalid"; got != want {
		t.Errorf("%s", got)
	}
}

func BenchmarkState(b *testing.B) {
	tr := health.New(health.Config{})
	tr.Connected(1, noon)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if tr.State() != health.Healthy {
				b.Fail()
			}
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	tr := health.New(health.Config{})
	tr.Connected(1, noon)
	b.ReportAllocs()
	for b.Loop() {
		tr.Record(1, health.Answered, time.Millisecond, noon)
	}
}
