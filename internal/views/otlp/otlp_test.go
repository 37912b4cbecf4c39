package otlp

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

func lookup(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, found := strings.CutPrefix(p, name+"="); found {
				return value
			}
		}
		return ""
	}
}

func TestVariablesOfOpenTelemetry(t *testing.T) {
	for _, test := range []struct {
		env             string
		traces, metrics string // URLs; empty: off
		wrong           string // part of the error
	}{
		{"", "", "", ""},
		{"OTEL_SERVICE_NAME=x", "", "", ""},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "http://c:4318/v1/traces", "http://c:4318/v1/metrics", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/base/", "https://c/base/v1/traces", "https://c/base/v1/metrics", ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://t/x", "http://t/x", "", ""},
		{"OTEL_TRACES_EXPORTER=otlp", "http://localhost:4318/v1/traces", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_METRICS_EXPORTER=none", "http://c/v1/traces", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=true", "", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", "", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=c:4318", "", "", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=file:///etc/passwd", "", "", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_HEADERS=key", "", "", "HEADERS"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_TIMEOUT=-1", "", "", "TIMEOUT"},
		{"OTEL_TRACES_EXPORTER=zipkin", "", "", "zipkin"},
	} {
		described := false
		e, err := New(lookup(strings.Fields(test.env)...), func() About { described = true; return About{} })
		if test.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), test.wrong) || e != nil {
				t.Errorf("%s: %v", test.env, err)
			}
			continue
		}
		traces, metrics := "", ""
		if e != nil && e.traces != nil {
			traces = e.traces.url
		}
		if e != nil && e.metrics != nil {
			metrics = e.metrics.url
		}
		if err != nil || traces != test.traces || metrics != test.metrics || (e.Tracer() != nil) != (test.traces != "") || described != (e != nil) {
			t.Errorf("%s: traces %q, metrics %q, %v", test.env, traces, metrics, err)
		}
	}
}

func TestTraceparent(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for text, want := range map[string][2]bool{
		"00-" + trace + "-" + span + "-01":                    {true, true},
		"00-" + trace + "-" + span + "-00":                    {false, true},
		"00-" + trace + "-" + span + "-03":                    {true, true},
		"cc-" + trace + "-" + span + "-01-what-comes-later":   {true, true},
		"00-" + trace + "-" + span + "-01-more":               {false, false},
		"ff-" + trace + "-" + span + "-01":                    {false, false},
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   {false, false},
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  {false, false},
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": {false, false},
		"00-" + trace[1:] + "-" + span + "-01":                {false, false},
		"00-" + trace + "-" + span:                            {false, false},
		"":                                                    {false, false},
	} {
		c, isSampled, valid := parseTraceparent(text)
		if valid != want[1] || valid && isSampled != want[0] {
			t.Errorf("%q: sampled %v, valid %v", text, isSampled, valid)
		}
		if valid && !strings.HasPrefix(c.String(), "00-"+trace+"-"+span+"-") {
			t.Errorf("%q became %s", text, c)
		}
	}
}

// A collector that never answers must not hold up a call, nor the end of the wrap for longer than
// its limit.
func TestNothingWaitsForACollector(t *testing.T) {
	silent := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(silent)
	e, err := New(lookup("OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL), func() About { return About{} })
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	e.Watch(func() live.Server { return live.Server{} })
	for range 3 * maxQueued {
		e.Tracer().Begin(proxy.TracedCall{Time: time.Now()}).End(proxy.EndedCall{Tool: "x", Outcome: "ok"})
	}
	e.Close(time.Millisecond)
}

func TestBusyCollectorsAreAskedAgainAndRedirectsAreNotFollowed(t *testing.T) {
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		text, _ := io.ReadAll(body)
		seen = append(seen, r.URL.Path+" "+r.Header.Get("X-Key")+" "+string(text))
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/bad":
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer s.Close()
	for path, again := range map[string]bool{"/busy": true, "/moved": false, "/bad": false, "/": false} {
		seen = nil
		g, err := configure(lookup("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.URL+path, "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"), "TRACES", "")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := g.post(t.Context(), []byte("body"))
		if got != again || len(seen) != 1 || seen[0] != path+" a b body" {
			t.Errorf("%s: again %v, %q", path, got, seen)
		}
	}
}

func TestSpansNameTheServerAndTheSession(t *testing.T) {
	e, err := New(lookup("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"), func() About { return About{} })
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]bool{"5f3a": true, "": false} {
		e.Tracer().Begin(proxy.TracedCall{Server: "notes", Session: session, Time: time.Now()}).End(proxy.EndedCall{Tool: "x", Outcome: "ok"})
		span := string(<-e.spans)
		if strings.Contains(span, "mcp.session.id") != want || !strings.Contains(span, session) || !strings.Contains(span, "notes") {
			t.Errorf("%q: %q", session, span)
		}
	}
}

// What a wrap counted last is exported although it has ended.
func TestNumbersOfEndedWrapsAreExported(t *testing.T) {
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		seen = append(seen, string(text))
	}))
	defer s.Close()
	e, err := New(lookup("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+s.URL), func() About { return About{} })
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	end := e.Watch(func() live.Server { return live.Server{Name: "first"} })
	e.Watch(func() live.Server { return live.Server{Name: "second"} })
	end()
	end()
	e.Close(time.Minute)
	if len(seen) != 2 || !strings.Contains(seen[0], "first") || !strings.Contains(seen[1], "second") {
		t.Errorf("%q", seen)
	}
}
