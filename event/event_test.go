package event_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
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
		{event.Event{Kind: event.Corrected, Method: "tools/call", Tool: "book", Took: 2 * time.Second,
			Model: &event.Consultation{Model: "openai:small", InputTokens: 310, OutputTokens: 25, Cost: 0.0012, Reason: "the date\nwas in words"}},
			`12:00:00.250 corrected tools/call "book": the date was in words [openai:small, 310+25 tokens, $0.0012] (2s)`},
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

func TestQuotedHidesSecretsInEveryField(t *testing.T) {
	const secret = "password=hunter2"
	model := &event.Consultation{Model: secret, Reason: secret, Before: []byte(`{"note":["` + secret + `"],"password":"hunter2"}`), After: []byte(secret)}
	e := event.Event{Server: secret, Method: secret, Tool: secret, From: secret, To: secret, Detail: secret, Model: model}.Quoted()
	if got := fmt.Sprintf("%+v %s %s", *e.Model, e.Model.Before, e.Model.After); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
	if got := fmt.Sprintf("%+v", e); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

func TestEmitSetsTheTimeOnlyIfThereIsNone(t *testing.T) {
	s := event.New()
	events, stop := s.Subscribe(2)
	defer stop()
	s.Emit(event.Event{Time: noon})
	before := time.Now()
	s.Emit(event.Event{})
	if first, second := <-events, <-events; !first.Time.Equal(noon) || second.Time.Before(before) || second.Time.After(time.Now()) {
		t.Errorf("%v, %v", first.Time, second.Time)
	}
}

func TestASlowReaderLosesTheOldestAndHoldsUpNobody(t *testing.T) {
	s := event.New()
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
}

func TestASubscriptionEndsOnceAndForAll(t *testing.T) {
	s := event.New()
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

// Run with -race. Every subscriber sees rising numbers, and the one with a large buffer sees them all.
func TestManyWritersAndReadersAtOnce(t *testing.T) {
	const writers, each = 8, 500
	s := event.New()
	var reading, writing sync.WaitGroup
	var stops []func()
	for _, buffer := range []int{1, 2, 3, writers * each} {
		events, stop := s.Subscribe(buffer)
		stops = append(stops, stop)
		reading.Go(func() {
			var last, received uint64
			for e := range events {
				if e.Seq <= last {
					t.Errorf("%d after %d", e.Seq, last)
				}
				last = e.Seq
				received++
			}
			if last != writers*each {
				t.Errorf("buffer %d: the last event is %d, want %d", buffer, last, writers*each)
			}
			if buffer == writers*each && received != last {
				t.Errorf("%d events received, want %d", received, last)
			}
		})
	}
	for range writers {
		writing.Go(func() {
			for range each {
				s.Emit(event.Event{Kind: event.Replayed, Time: noon})
			}
		})
	}
	writing.Wait()
	for _, stop := range stops {
		stop()
	}
	reading.Wait()
}

func BenchmarkEmit(b *testing.B) {
	s := event.New()
	_, stop := s.Subscribe(16) // nobody reads: the worst case
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		s.Emit(event.Event{Kind: event.Replayed, Time: noon})
	}
}
