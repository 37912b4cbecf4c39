package event_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
)

var noon = time.Date(2026, 11, 14, 12, 0, 0, 250e6, time.UTC)

func TestAnEventIsOneReadableLine(t *testing.T) {
	for _, c := range []struct {
		event event.Event
		want  string
	}{
		{event.Event{Kind: event.Died, Server: "filesystem", Generation: 2, PID: 4131, Detail: "signal: killed", Took: 3210 * time.Millisecond},
			"12:00:00.250 died filesystem g2 pid 4131: signal: killed (3.21s)"},
		{event.Event{Kind: event.HealthChanged, Server: "filesystem", Generation: 2, From: "degraded", To: "healthy"},
			"12:00:00.250 health-changed filesystem g2 degraded -> healthy"},
		{event.Event{Kind: event.Replayed, Method: "tools/call", Tool: "read_file", Count: 1},
			`12:00:00.250 replayed tools/call "read_file" x1`},
		{event.Event{Kind: event.Failed, Method: "tools/call", Tool: "pay", Code: fault.ServerBusy, Took: 1234567 * time.Nanosecond},
			`12:00:00.250 failed tools/call "pay" server-busy (1.23ms)`},
		{event.Event{Kind: event.Stray, Detail: "\x1b[31mtoken=hunter2\x1b[0m\nsecond"},
			"12:00:00.250 stray: token=«redacted» second"},
	} {
		c.event.Time = noon
		if got := c.event.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestForeignTextInAnyFieldStaysOnOneHarmlessLine(t *testing.T) {
	const nasty = "a\x1b]0;owned\x07b\nc\u202ed password=hunter2"
	e := event.Event{Kind: event.Stray, Server: nasty, Method: nasty, Tool: nasty, From: nasty, To: nasty, Detail: nasty}
	if got := e.String(); strings.ContainsAny(got, "\x1b\n\x07\u202e") || strings.Contains(got, "hunter2") || strings.Contains(got, "owned") {
		t.Errorf("%q", got)
	}
}

func seqs(events []event.Event) string {
	var s []string
	for _, e := range events {
		s = append(s, fmt.Sprint(e.Seq))
	}
	return strings.Join(s, " ")
}

func TestTheRingRemembersTheLatestInOrder(t *testing.T) {
	for emitted, want := range map[int]string{0: "", 2: "1 2", 3: "1 2 3", 4: "2 3 4", 8: "6 7 8"} {
		s := event.New(3)
		for range emitted {
			s.Emit(event.Event{Kind: event.Died})
		}
		if got := seqs(s.Recent()); got != want {
			t.Errorf("after %d: %q, want %q", emitted, got, want)
		}
		if got := s.Count(event.Died); got != uint64(emitted) {
			t.Errorf("after %d: the total is %d", emitted, got)
		}
	}
}

func TestRecentIsACopy(t *testing.T) {
	s := event.New(1)
	s.Emit(event.Event{Kind: event.Died})
	s.Recent()[0].Kind = event.Ready
	if s.Recent()[0].Kind != event.Died {
		t.Error("a reader can edit the past")
	}
}

func TestEmitSetsTheTimeOnlyIfThereIsNone(t *testing.T) {
	s := event.New(2)
	s.Emit(event.Event{Time: noon})
	before := time.Now()
	s.Emit(event.Event{})
	got := s.Recent()
	if !got[0].Time.Equal(noon) || got[1].Time.Before(before) || got[1].Time.After(time.Now()) {
		t.Errorf("%v, %v", got[0].Time, got[1].Time)
	}
}

func TestASlowReaderLosesTheOldestAndHoldsUpNobody(t *testing.T) {
	s := event.New(10)
	slow, stop := s.Subscribe(2)
	for range 5 {
		s.Emit(event.Event{Kind: event.Stray}) // would hang here if it waited for the reader
	}
	stop()
	var got []event.Event
	for e := range slow {
		got = append(got, e)
	}
	if seqs(got) != "4 5" {
		t.Errorf("the reader got %q, want the latest two", seqs(got))
	}
	if s.Lost() != 3 {
		t.Errorf("%d counted as lost, want 3", s.Lost())
	}
}

func TestASubscriptionEndsOnceAndForAll(t *testing.T) {
	s := event.New(10)
	events, stop := s.Subscribe(0)
	s.Emit(event.Event{Kind: event.Ready})
	if e := <-events; e.Kind != event.Ready {
		t.Errorf("got %s", e.Kind)
	}
	stop()
	stop()
	s.Emit(event.Event{Kind: event.Died})
	if e, open := <-events; open {
		t.Errorf("got %s after the end", e.Kind)
	}
}

func TestANilStreamIsUsable(t *testing.T) {
	var s *event.Stream
	s.Emit(event.Event{Kind: event.Died})
	if s.Recent() != nil || s.Count(event.Died) != 0 || s.Lost() != 0 {
		t.Error("a nil stream remembers something")
	}
	events, stop := s.Subscribe(1)
	select {
	case e, open := <-events:
		t.Errorf("got %v, open %v: a reader that selects would spin", e, open)
	default:
	}
	stop()
	stop()
	if _, open := <-events; open {
		t.Error("stop does not end a reader that ranges")
	}
}

// Run with -race: writers, readers and subscribers at once; every reader sees rising numbers, and what is missing was counted.
func TestManyWritersAndReadersAtOnce(t *testing.T) {
	const writers, each = 8, 500
	s := event.New(64)
	var readers, w sync.WaitGroup
	stops := make([]func(), 4)
	var mu sync.Mutex
	var received uint64
	for i := range stops {
		events, stop := s.Subscribe(i + 1)
		stops[i] = stop
		readers.Go(func() {
			var last uint64
			for e := range events {
				if e.Seq <= last {
					t.Errorf("%d after %d", e.Seq, last)
				}
				last = e.Seq
				mu.Lock()
				received++
				mu.Unlock()
			}
		})
	}
	for range writers {
		w.Go(func() {
			for range each {
				s.Emit(event.Event{Kind: event.Served, Time: noon})
				s.Recent()
			}
		})
	}
	w.Wait()
	for _, stop := range stops {
		stop()
	}
	readers.Wait()
	if got := s.Count(event.Served); got != writers*each {
		t.Errorf("%d counted", got)
	}
	if want := uint64(len(stops) * writers * each); received+s.Lost() != want {
		t.Errorf("%d received and %d lost, want %d together", received, s.Lost(), want)
	}
}

func BenchmarkEmit(b *testing.B) {
	s := event.New(256)
	_, stop := s.Subscribe(16) // nobody reads: the worst case
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		s.Emit(event.Event{Kind: event.Served, Time: noon})
	}
}
