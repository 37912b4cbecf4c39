package proxy

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
)

func TestFaultP01CommandNotFound(t *testing.T) {
	s := beginCommand(t, quick(), "no-such-bin-xyz")
	id := s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	s.wantFault(id, fault.CommandNotFound)
	if n := s.happened(event.Started) + s.happened(event.Waiting); n != 0 {
		t.Errorf("%d starts or waits, want none", n)
	}
}

func TestFaultP16UnsafeCallConsumed(t *testing.T) {
	for _, when := range []string{"before-effect", "after-effect"} {
		t.Run(when, func(t *testing.T) {
			s := begin(t, quick()).initialize()
			id := s.start("die", `{"key":"k","when":"`+when+`"}`)
			s.wantFault(id, fault.OutcomeUnknown)
			s.call("pid", "")
			want := map[string]int{"before-effect": 0, "after-effect": 1}[when]
			if got := s.effects()["k"]; got != want {
				t.Errorf("effect happened %d times, want %d", got, want)
			}
			if n := s.answers(id); n != 1 {
				t.Errorf("%d answers", n)
			}
		})
	}
}

func TestFaultP17ReadOnlyCallConsumed(t *testing.T) {
	s := begin(t, quick()).initialize()
	s.text(s.answer(s.start("die_read", `{"times":1}`)))
	if n := s.happened(event.Replayed); n != 1 {
		t.Errorf("replayed %d times, want once", n)
	}
}
