package kernel_test

import (
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"slices"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

// followed is a Tracer that remembers what it was told.
type followed struct {
	mu     sync.Mutex
	skip   bool
	begun  []TracedCall
	events []event.Kind
	ended  []EndedCall
}

func (f *followed) Begin(c TracedCall) Trace {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, c)
	if f.skip {
		return nil
	}
	return (*followedCall)(f)
}

type followedCall followed

func (f *followedCall) Traceparent() string { return "00-NEW" }

func (f *followedCall) Event(e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e.Kind)
}

func (f *followedCall) End(c EndedCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, c)
}

func TestTheServerLearnsItsTraceAndEveryOtherByteStays(t *testing.T) {
	t.Parallel()
	f := &followed{}
	o := quick()
	o.Tracer, o.Repair = f, "off"
	s := begin(t, o).initializeAs("2025-06-18")
	for _, c := range [][2]string{
		{`{ "name":"echo_raw_params" ,"arguments":{"b":-0.0}}`, `{"_meta":{"traceparent":"00-NEW"}, "name":"echo_raw_params" ,"arguments":{"b":-0.0}}`},
		{`{"name":"echo_raw_params","_meta":{}}`, `{"name":"echo_raw_params","_meta":{"traceparent":"00-NEW"}}`},
		{`{"name":"echo_raw_params","_meta":{ "x/y":[ 1 ]}}`, `{"name":"echo_raw_params","_meta":{"traceparent":"00-NEW", "x/y":[ 1 ]}}`},
		{`{"_meta":{"traceparent" : "00-OLD","tracestate":"v=1","baggage":"k=v"},"name":"echo_raw_params"}`,
			`{"_meta":{"traceparent" : "00-NEW","tracestate":"v=1","baggage":"k=v"},"name":"echo_raw_params"}`},
	} {
		if got := s.text(s.answer(s.request("tools/call", c[0]))); got != c[1] {
			t.Errorf("%s became %s, want %s", c[0], got, c[1])
		}
	}
	f.mu.Lock()
	if last := f.begun[3]; last.Traceparent != "00-OLD" || last.Tracestate != "v=1" || len(f.ended) != 4 || f.ended[3].Tool != "echo_raw_params" || f.ended[3].Outcome != kernel.OutcomeOK {
		t.Errorf("%+v, %+v", f.begun, f.ended)
	}
	f.skip = true
	f.mu.Unlock()
	const same = `{"_meta":{"traceparent" : "00-OLD"},"name":"echo_raw_params"}`
	if got := s.text(s.answer(s.request("tools/call", same))); got != same {
		t.Errorf("a call that is not followed became %s", got)
	}
}

func TestEveryFollowedCallEndsOnce(t *testing.T) {
	t.Parallel()
	f := &followed{}
	o := quick()
	o.Tracer = f
	s := begin(t, o).initializeAs("2025-06-18")
	s.answer(s.start("die_read", `{"key":"a","times":1}`)) // sent again
	s.answer(s.start("die", `{"key":"b"}`))                // its outcome is unknown
	s.answer(s.start("echo", `{"text":"x"}`))
	s.answer(s.request("tools/call", `{"name":"echo","_meta":null}`)) // as the server has to see it
	s.answer(s.request("ping", ""))
	f.mu.Lock()
	defer f.mu.Unlock()
	var outcomes []string
	for _, e := range f.ended {
		outcomes = append(outcomes, e.Outcome)
	}
	if len(f.begun) != 4 || len(outcomes) != 4 || !slices.Equal(outcomes[:3], []string{kernel.OutcomeOK, "outcome-unknown", kernel.OutcomeOK}) || f.ended[0].Saved != kernel.SavedReplayed {
		t.Errorf("%+v, %v", f.begun, outcomes)
	}
	if !slices.Contains(f.events, event.Replayed) || !slices.Contains(f.events, event.Unknown) {
		t.Errorf("%v", f.events)
	}
}
