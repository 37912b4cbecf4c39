package metrics

import (
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Kinds of metrics, as the text format names them.
const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
)

// family is one metric. All have the labels server and client.
type family struct {
	name, kind, help string

	label     string                                  // a further label; empty: none
	numbers   func(s *live.Server) map[string]float64 // by the value of label, or under ""
	fixed     string                                  // a further label with its value, as text
	histogram func(s *live.Server) health.Histogram
}

// states are the values of the label state.
var states = []string{health.Healthy.String(), health.Degraded.String(), health.Unresponsive.String(), health.Dead.String(),
	proxy.StateStarting, proxy.StateAsleep, live.StateSilent}

// reasons are the values of the label reason that are always shown, so that the first increase of each
// is seen.
var reasons = []string{upstream.ReasonExit, upstream.ReasonSignal, upstream.ReasonHung, upstream.ReasonConnection, upstream.ReasonSession,
	upstream.ReasonRefused, upstream.ReasonLogin, upstream.ReasonStartFailed, upstream.ReasonRestart, upstream.ReasonIdle, upstream.ReasonStopped}

// verdicts are the values of the label verdict.
var verdicts = []string{string(verdict.Continue), string(verdict.Retry), string(verdict.Stop)}

// verdictsName is the metric that Judged counts.
const verdictsName = "gauze_verdicts_total"

// families are all metrics. Names follow OpenTelemetry's rules for Prometheus; where its conventions
// for MCP have a name, it is used.
var families = [...]family{
	{name: "gauze_server_state", kind: gauge, help: "Running gauze processes for the server, by its state.", label: "state", numbers: func(s *live.Server) map[string]float64 {
		n := zeros(states)
		n[s.State] = 1
		return n
	}},
	{name: "gauze_sessions", kind: gauge, help: "Client sessions.", numbers: one(func(s *live.Server) float64 { return float64(s.Sessions) })},
	{name: "gauze_tools", kind: gauge, help: "Tools that the server lists.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.ToolCount) })},
	{name: "gauze_open_calls", kind: gauge, help: "Tool calls in progress.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Open) })},
	{name: "gauze_calls_total", kind: counter, help: "Finished tool calls, by outcome: answered by the server, failed with a fault, or cancelled by the client.", label: "outcome",
		numbers: func(s *live.Server) map[string]float64 {
			return map[string]float64{"answered": answered(s), "failed": float64(s.Counts.Failed), "cancelled": float64(s.Counts.Cancelled)}
		}},
	{name: "mcp_server_operation_duration_seconds", kind: histogram, help: "Duration of answered tool calls, as seen by the client.", fixed: `mcp_method_name="tools/call"`,
		histogram: func(s *live.Server) health.Histogram { return s.Counts.Latency }},
	{name: "gauze_faults_total", kind: counter, help: "Tool calls answered with a fault, by its code.", label: "code", numbers: words(func(s *live.Server) map[string]uint64 { return s.Counts.Faults })},
	{name: "gauze_restarts_total", kind: counter, help: "Restarts of the server.", numbers: one(func(s *live.Server) float64 { return float64(s.Restarts) })},
	{name: "gauze_closures_total", kind: counter, help: "Closed connections to the server, by reason.", label: "reason",
		numbers: words(func(s *live.Server) map[string]uint64 { return s.Counts.Closures }, reasons...)},
	{name: "gauze_recovery_duration_seconds", kind: histogram, help: "How long the server was unavailable.", histogram: func(s *live.Server) health.Histogram { return s.Counts.Recovery }},
	{name: "gauze_healed_total", kind: counter, help: "Crashes, hangs and lost connections after which the session was restored.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Healed) })},
	{name: "gauze_replayed_total", kind: counter, help: "Tool calls that were sent again.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Replayed) })},
	{name: "gauze_repaired_total", kind: counter, help: "Tool calls that rules repaired to match the tool's schema.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Repaired) })},
	{name: "gauze_repairs_total", kind: counter, help: "Changes to tool calls, by rule.", label: "rule", numbers: words(func(s *live.Server) map[string]uint64 { return s.Counts.Rules })},
	{name: "gauze_corrected_total", kind: counter, help: "Tool calls that were sent after a model corrected them.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Corrected) })},
	{name: "gauze_saved_total", kind: counter, help: "Tool calls that succeeded and would have failed without gauze.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Saved) })},
	{name: verdictsName, kind: counter, help: "Task decisions about failing servers, by verdict.", label: "verdict",
		numbers: words(func(s *live.Server) map[string]uint64 { return s.Counts.Verdicts }, verdicts...)},
	{name: "gauze_unrecorded_events_total", kind: counter, help: "Events that are missing from the journal.", numbers: one(func(s *live.Server) float64 { return float64(s.Counts.Unrecorded) })},
}

// answered returns how many calls the server answered.
func answered(s *live.Server) float64 {
	return float64(s.Counts.Calls) - float64(s.Counts.Failed) - float64(s.Counts.Cancelled) - float64(s.Counts.Open)
}

// one returns the numbers of a family without a further label.
func one(read func(s *live.Server) float64) func(*live.Server) map[string]float64 {
	return func(s *live.Server) map[string]float64 { return map[string]float64{"": read(s)} }
}

// words returns the numbers of a family whose label counts words. always are shown even if they are 0.
func words(read func(s *live.Server) map[string]uint64, always ...string) func(*live.Server) map[string]float64 {
	return func(s *live.Server) map[string]float64 {
		numbers := zeros(always)
		for word, n := range read(s) {
			numbers[word] = float64(n)
		}
		return numbers
	}
}

func zeros(words []string) map[string]float64 {
	numbers := map[string]float64{}
	for _, word := range words {
		numbers[word] = 0
	}
	return numbers
}
