package deploytest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/otlp"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// export returns what a collector receives about one wrap and its calls.
func export(t *testing.T, s live.Server, calls func(proxy.Tracer)) (*collecttraces.ExportTraceServiceRequest, *collectmetrics.ExportMetricsServiceRequest) {
	t.Helper()
	var mu sync.Mutex
	spans, numbers := &collecttraces.ExportTraceServiceRequest{}, &collectmetrics.ExportMetricsServiceRequest{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		var m proto.Message = spans
		if r.URL.Path == "/v1/metrics" {
			m = numbers
		}
		if err := proto.Unmarshal(body, m); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		known(t, m.ProtoReflect())
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_RESOURCE_ATTRIBUTES": "team=a%20b,service.name=ignored", "OTEL_SERVICE_NAME": "mine"}
	e, err := otlp.New(func(name string) string { return env[name] }, func() otlp.About { return otlp.About{Version: "v1", Transport: "pipe"} })
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	e.Watch(func() live.Server { return s })
	calls(e.Tracer())
	e.Close(time.Minute)
	mu.Lock()
	defer mu.Unlock()
	return spans, numbers
}

// known reports fields that OpenTelemetry's definitions do not have.
func known(t *testing.T, m protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		t.Errorf("%s has unknown fields: %x", m.Descriptor().FullName(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				known(t, v.List().Get(i).Message())
			}
		case !f.IsList() && f.Message() != nil:
			known(t, v.Message())
		}
		return true
	})
}

func attributes(all []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range all {
		m[a.Key] = a.Value.GetStringValue()
	}
	return m
}

func want(t *testing.T, got map[string]string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got[pairs[i]] != pairs[i+1] {
			t.Errorf("%s is %q, want %q", pairs[i], got[pairs[i]], pairs[i+1])
		}
	}
}

func TestSpansAreThoseOfTheConventions(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	began := time.Unix(1_700_000_000, 5)
	server := ""
	request, _ := export(t, live.Server{}, func(tracer proxy.Tracer) {
		one := tracer.Begin(proxy.TracedCall{ID: `"a\u0041"`, Server: "files", Session: "s1", Time: began, Traceparent: parent, Tracestate: "v=1"})
		server = one.Traceparent()
		one.Event(event.Event{Kind: event.Replayed, Detail: "not exported"})
		one.Event(event.Event{Kind: event.Repaired, Changes: []event.Change{{Rule: "renamed key", Before: "secret"}, {Rule: "unwrapped"}}})
		one.End(proxy.EndedCall{Tool: "read", Client: "cursor", Outcome: "ok", Took: time.Second, Saved: "replayed"})
		one.Event(event.Event{Kind: event.Saved})
		tracer.Begin(proxy.TracedCall{ID: "7", Time: began}).End(proxy.EndedCall{Tool: "write", Outcome: "outcome-unknown"})
		tracer.Begin(proxy.TracedCall{ID: "8", Time: began}).End(proxy.EndedCall{Tool: "write", Outcome: "error"})
	})
	if len(request.ResourceSpans) != 1 || len(request.ResourceSpans[0].ScopeSpans) != 1 || len(request.ResourceSpans[0].ScopeSpans[0].Spans) != 3 {
		t.Fatal(request)
	}
	want(t, attributes(request.ResourceSpans[0].Resource.Attributes), "service.name", "mine", "team", "a b", "service.version", "v1")
	spans := request.ResourceSpans[0].ScopeSpans[0].Spans
	one := spans[0]
	if one.Name != "tools/call read" || one.Kind != trace.Span_SPAN_KIND_SERVER || hex.EncodeToString(one.TraceId) != parent[3:35] || hex.EncodeToString(one.ParentSpanId) != parent[36:52] ||
		hex.EncodeToString(one.SpanId) != server[36:52] || one.TraceState != "v=1" || one.StartTimeUnixNano != uint64(began.UnixNano()) ||
		one.EndTimeUnixNano-one.StartTimeUnixNano != uint64(time.Second) || one.Status.GetCode() != trace.Status_STATUS_CODE_UNSET {
		t.Error(one)
	}
	want(t, attributes(one.Attributes), "mcp.method.name", "tools/call", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "read", "jsonrpc.request.id", "aA",
		"mcp.session.id", "s1", "network.transport", "pipe", "error.type", "", "gauze.server.name", "files", "gauze.client.name", "cursor", "gauze.saved", "replayed")
	if len(one.Events) != 2 || one.Events[0].Name != "gauze.replayed" || len(one.Events[0].Attributes) != 0 || len(one.Events[1].Attributes) != 1 {
		t.Fatal(one.Events)
	}
	want(t, attributes(one.Events[1].Attributes), "gauze.rules", "renamed key, unwrapped")
	for i, code := range map[int]string{1: "outcome-unknown", 2: "tool_error"} {
		if s := spans[i]; s.Status.GetCode() != trace.Status_STATUS_CODE_ERROR || len(s.ParentSpanId) != 0 || len(s.TraceId) != 16 || attributes(s.Attributes)["error.type"] != code {
			t.Error(s)
		}
	}
}

func TestExportedMetricsAreThoseOfPrometheus(t *testing.T) {
	s := live.Server{Name: "files", Client: "cursor", State: "healthy", Since: time.Unix(1_700_000_000, 0), Counts: live.Counts{Calls: 5, Failed: 2, Saved: 9}}
	s.Counts.Latency.Add(time.Second)
	_, request := export(t, s, func(proxy.Tracer) {})
	if len(request.ResourceMetrics) != 1 || len(request.ResourceMetrics[0].ScopeMetrics) != 1 {
		t.Fatal(request)
	}
	found := map[string]bool{}
	for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		found[m.Name] = true
		switch m.Name {
		case "gauze.saved":
			p := m.GetSum().GetDataPoints()
			if !m.GetSum().GetIsMonotonic() || len(p) != 1 || p[0].GetAsDouble() != 9 || p[0].StartTimeUnixNano != uint64(s.Since.UnixNano()) {
				t.Error(m)
			}
			want(t, attributes(p[0].Attributes), "gauze.server.name", "files", "gauze.client.name", "cursor")
		case "gauze.calls":
			for _, p := range m.GetSum().GetDataPoints() {
				if n := map[string]float64{"answered": 3, "failed": 2}[attributes(p.Attributes)["outcome"]]; p.GetAsDouble() != n {
					t.Error(p)
				}
			}
		case "mcp.server.operation.duration":
			p := m.GetHistogram().GetDataPoints()
			if m.Unit != "s" || len(p) != 1 || p[0].Count != 1 || p[0].GetSum() != 1 || len(p[0].BucketCounts) != len(p[0].ExplicitBounds)+1 {
				t.Fatal(m)
			}
			want(t, attributes(p[0].Attributes), "mcp.method.name", "tools/call")
		case "gauze.server.state":
			if len(m.GetGauge().GetDataPoints()) < 5 {
				t.Error(m)
			}
		}
	}
	if len(found) < 15 || !found["gauze.saved"] || !found["mcp.server.operation.duration"] || !found["gauze.calls"] || !found["gauze.server.state"] {
		t.Error(found)
	}
}
