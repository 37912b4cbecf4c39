package faultyhttp

import (
	"net/http"
	"strings"
	"testing"
)

// oldPeer opens a stream of the old transport and uses the endpoint it received as its URL.
func oldPeer(t *testing.T, s *Server) (p *peer, post func(body string) outcome, stream *eventReader) {
	t.Helper()
	p = newPeer(t, s)
	stream = newEventReader(p.open(p.newGet("")).Body)
	first, err := stream.next()
	if err != nil || first.name != "endpoint" {
		t.Fatal(first, err)
	}
	return p, func(body string) outcome {
		r, err := http.NewRequestWithContext(p.ctx, http.MethodPost, s.origin()+first.data, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		p.web = connections(t)
		return p.do(r)
	}, stream
}

func oldCall(key, fault string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"append","arguments":{"key":"` + key + `","fault":"` + fault + `"}}}`
}

// A broken POST of the old transport does not break the response; a broken stream does.
func TestFaultsOfTheOldTransport(t *testing.T) {
	for _, tt := range []struct {
		fault          Fault
		post           func(outcome) bool
		executed       int
		answered, lost bool
	}{
		{"", func(o outcome) bool { return o.status == 202 }, 1, true, false},
		{RSTBeforeEffect, func(o outcome) bool { return reset(o.err) }, 0, false, false},
		{RSTAfterEffect, func(o outcome) bool { return reset(o.err) }, 1, true, false},
		{Status503, func(o outcome) bool { return o.status == 503 }, 0, false, false},
		{Status502AfterEffect, func(o outcome) bool { return o.status == 502 }, 1, true, false},
		{SSEOdd, func(o outcome) bool { return o.status == 202 }, 1, true, false},
		{CutSSE, func(o outcome) bool { return o.status == 202 }, 1, false, true},
		{CutBody, func(o outcome) bool { return o.status == 202 }, 1, false, true},
	} {
		t.Run(string(tt.fault), func(t *testing.T) {
			s := start(t, Config{Transport: OldSSE, Era: Legacy})
			_, post, stream := oldPeer(t, s)
			if got := post(oldCall("k", string(tt.fault))); !tt.post(got) {
				t.Errorf("post: %v", got)
			}
			if tt.answered {
				got, err := stream.next()
				if err != nil || !strings.Contains(got.data, "appended k") {
					t.Errorf("answer: %v %v", got, err)
				}
			}
			for tt.lost {
				got, err := stream.next()
				if tt.lost = err == nil; err != nil && !reset(err) || strings.Contains(got.data, "appended") {
					t.Errorf("the stream is not cut: %v %v", got, err)
				}
			}
			if got := s.Effects()["k"]; got != tt.executed {
				t.Errorf("%d effects", got)
			}
		})
	}
}

func TestOldSessionLivesAsLongAsItsStream(t *testing.T) {
	s := start(t, Config{Transport: OldSSE, Era: Legacy})
	_, post, stream := oldPeer(t, s)
	if len(s.Sessions()) != 1 {
		t.Errorf("sessions: %v", s.Sessions())
	}
	s.ExpireSessions()
	if got := post(oldCall("k", "")); got.status != 404 {
		t.Errorf("expired: %v", got)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.next(); !reset(err) {
		t.Errorf("killed: %v", err)
	}
}
