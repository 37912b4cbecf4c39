package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/metrics"
)

// wraps are the wraps that a Collector sees.
type wraps []live.Server

func (w *wraps) collector() *metrics.Collector {
	return metrics.New("v1.2.3", func(context.Context) ([]live.Server, error) { return *w, nil })
}

// line is a sample of the text format.
var line = regexp.MustCompile(`^([a-z_]+\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\}) ([0-9.]+)$`)

// scrape returns all samples, each once.
func scrape(t *testing.T, c *metrics.Collector) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v: %s", w.Code, w.Header(), w.Body)
	}
	samples := map[string]float64{}
	for text := range strings.Lines(w.Body.String()) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "# ") {
			continue
		}
		parts := line.FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("not a sample: %q", text)
		}
		if _, seen := samples[parts[1]]; seen {
			t.Errorf("%s occurs twice", parts[1])
		}
		samples[parts[1]], _ = strconv.ParseFloat(parts[2], 64)
	}
	return samples
}

func check(t *testing.T, samples map[string]float64, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		if got, found := samples[name]; !found || got != n {
			t.Errorf("%s: %v (found %v), want %v", name, got, found, n)
		}
	}
}

// busy returns a wrap with calls.
func busy(id, name, client string) live.Server {
	s := live.Server{ID: id, Name: name, Client: client, State: "healthy", Since: time.Unix(1, 0), Sessions: 2, Restarts: 5, Counts: live.Counts{ToolCount: 3,
		Calls: 10, Failed: 3, Unknown: 1, Cancelled: 2, Open: 1, Healed: 4, Replayed: 6, Repaired: 7, Corrected: 8, Saved: 9, Unrecorded: 11, Verdicts: map[string]uint64{"stop_task": 2},
		Closures: map[string]uint64{"exit": 4, "hung": 1}, Rules: map[string]uint64{"string to number": 7}, Faults: map[string]uint64{"outcome-unknown": 1, "call-timeout": 2}}}
	for _, d := range []time.Duration{500 * time.Microsecond, 15 * time.Millisecond, 15 * time.Millisecond, time.Hour} {
		s.Counts.Latency.Add(d)
	}
	s.Counts.Recovery.Add(2 * time.Second)
	return s
}

func TestEveryNumberOfAWrapIsExported(t *testing.T) {
	all := wraps{busy("1-1", "files", "cursor")}
	samples := scrape(t, all.collector())
	check(t, samples, map[string]float64{
		`gauze_build_info{version="v1.2.3"}`:                                                                                  1,
		`gauze_server_state{server="files",client="cursor",state="healthy"}`:                                                  1,
		`gauze_server_state{server="files",client="cursor",state="dead"}`:                                                     0,
		`gauze_sessions{server="files",client="cursor"}`:                                                                      2,
		`gauze_tools{server="files",client="cursor"}`:                                                                         3,
		`gauze_open_calls{server="files",client="cursor"}`:                                                                    1,
		`gauze_calls_total{server="files",client="cursor",outcome="answered"}`:                                                4,
		`gauze_calls_total{server="files",client="cursor",outcome="failed"}`:                                                  3,
		`gauze_calls_total{server="files",client="cursor",outcome="cancelled"}`:                                               2,
		`gauze_faults_total{server="files",client="cursor",code="outcome-unknown"}`:                                           1,
		`gauze_restarts_total{server="files",client="cursor"}`:                                                                5,
		`gauze_closures_total{server="files",client="cursor",reason="exit"}`:                                                  4,
		`gauze_closures_total{server="files",client="cursor",reason="signal"}`:                                                0,
		`gauze_healed_total{server="files",client="cursor"}`:                                                                  4,
		`gauze_replayed_total{server="files",client="cursor"}`:                                                                6,
		`gauze_repaired_total{server="files",client="cursor"}`:                                                                7,
		`gauze_repairs_total{server="files",client="cursor",rule="string to number"}`:                                         7,
		`gauze_corrected_total{server="files",client="cursor"}`:                                                               8,
		`gauze_saved_total{server="files",client="cursor"}`:                                                                   9,
		`gauze_verdicts_total{server="files",client="cursor",verdict="stop_task"}`:                                            2,
		`gauze_verdicts_total{server="files",client="cursor",verdict="continue"}`:                                             0,
		`gauze_unrecorded_events_total{server="files",client="cursor"}`:                                                       11,
		`gauze_recovery_duration_seconds_count{server="files",client="cursor"}`:                                               1,
		`gauze_recovery_duration_seconds_sum{server="files",client="cursor"}`:                                                 2,
		`gauze_recovery_duration_seconds_bucket{server="files",client="cursor",le="1"}`:                                       0,
		`gauze_recovery_duration_seconds_bucket{server="files",client="cursor",le="2"}`:                                       1,
		`mcp_server_operation_duration_seconds_count{server="files",client="cursor",mcp_method_name="tools/call"}`:            4,
		`mcp_server_operation_duration_seconds_sum{server="files",client="cursor",mcp_method_name="tools/call"}`:              3600.0305,
		`mcp_server_operation_duration_seconds_bucket{server="files",client="cursor",mcp_method_name="tools/call",le="0.02"}`: 3,
		`mcp_server_operation_duration_seconds_bucket{server="files",client="cursor",mcp_method_name="tools/call",le="300"}`:  3,
		`mcp_server_operation_duration_seconds_bucket{server="files",client="cursor",mcp_method_name="tools/call",le="+Inf"}`: 4,
	})
}

func TestWrapsOfTheSameServerAreAddedUp(t *testing.T) {
	all := wraps{busy("1-1", "files", "cursor"), busy("2-1", "files", "cursor"), busy("3-1", "files", "zed")}
	all[1].State = "dead"
	check(t, scrape(t, all.collector()), map[string]float64{
		`gauze_restarts_total{server="files",client="cursor"}`:                                                     10,
		`gauze_restarts_total{server="files",client="zed"}`:                                                        5,
		`gauze_server_state{server="files",client="cursor",state="healthy"}`:                                       1,
		`gauze_server_state{server="files",client="cursor",state="dead"}`:                                          1,
		`mcp_server_operation_duration_seconds_count{server="files",client="cursor",mcp_method_name="tools/call"}`: 8,
	})
}

// A counter that goes back looks to Prometheus like a restart, after which everything is counted again.
func TestCountersNeverGoBack(t *testing.T) {
	all := wraps{busy("1-1", "files", ""), busy("2-1", "files", "cursor")}
	c := all.collector()
	highest := scrape(t, c)
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"nothing happened", func() {}},
		{"the client introduced itself", func() { all[0].Client, all[0].Restarts = "cursor", 6 }},
		{"a wrap is silent", func() { all[1] = live.Server{ID: "2-1", Name: "files", State: live.StateSilent} }},
		{"a wrap ended", func() { all = all[:1] }},
		{"a different process has its number", func() {
			all = wraps{busy("1-1", "files", "cursor")}
			all[0].Since, all[0].Restarts = time.Unix(2, 0), 1
		}},
		{"every wrap ended", func() { all = nil }},
	} {
		step.change()
		now := scrape(t, c)
		for series, n := range highest {
			counts := strings.Contains(series, "_total{") || strings.Contains(series, "_seconds_")
			if got := now[series]; counts && got < n {
				t.Errorf("%s: %s fell from %v to %v", step.name, series, n, got)
			}
		}
		highest = now
	}
}

func TestAWrapThatEndedIsCountedOnce(t *testing.T) {
	all := wraps{busy("1-1", "files", "cursor"), busy("2-1", "files", "cursor")}
	c := all.collector()
	scrape(t, c)
	all[0].Restarts = 7
	scrape(t, c)
	all = all[1:]
	all[0] = live.Server{ID: "2-1", Name: "files", State: live.StateSilent}
	check(t, scrape(t, c), map[string]float64{
		`gauze_restarts_total{server="files",client="cursor"}`:                      12,
		`gauze_server_state{server="files",client="cursor",state="healthy"}`:        0,
		`gauze_server_state{server="files",client="cursor",state="not responding"}`: 1,
		`gauze_sessions{server="files",client="cursor"}`:                            2,
	})
	all = wraps{busy("2-1", "files", "cursor")}
	all[0].Since, all[0].Restarts = time.Unix(9, 0), 2 // a different wrap
	check(t, scrape(t, c), map[string]float64{`gauze_restarts_total{server="files",client="cursor"}`: 14})
}

func TestLabelsAreBounded(t *testing.T) {
	const numWraps, maxServers = 700, 500
	var all wraps
	for n := range numWraps {
		s := busy(fmt.Sprint(n), fmt.Sprintf("%d\" } evil 1\n\x1b[31m\xff\\%s", n, strings.Repeat("é", 500)), fmt.Sprintf("client\\%d\n", n%7))
		s.Counts.Rules = map[string]uint64{fmt.Sprintf("rule %d\"\n", n): 1}
		all = append(all, s)
	}
	c := all.collector()
	for range 2 { // nothing is counted twice
		samples := scrape(t, c)
		servers, rules, calls, repairs := 0, map[string]bool{}, 0.0, 0.0
		for name, n := range samples {
			if len(name) > 500 {
				t.Fatalf("a series of %d bytes: %.100s", len(name), name)
			}
			switch {
			case strings.HasPrefix(name, "gauze_restarts_total{"):
				servers++
				calls += n
			case strings.HasPrefix(name, "gauze_repairs_total{"):
				rules[name[strings.Index(name, ",rule="):]] = true
				repairs += n
			}
		}
		if servers > maxServers+1 || len(rules) > 65 || calls != numWraps*5 || repairs != numWraps {
			t.Errorf("%d servers, %d rules, %v restarts, %v repairs", servers, len(rules), calls, repairs)
		}
		if samples[`gauze_restarts_total{server="other",client="other"}`] != (numWraps-maxServers)*5 {
			t.Errorf("other: %v", samples[`gauze_restarts_total{server="other",client="other"}`])
		}
	}
}

func TestOnlyGETIsAnswered(t *testing.T) {
	asked := 0
	c := metrics.New("", func(context.Context) ([]live.Server, error) { asked++; return nil, errors.New("no such disk") })
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		if w.Code != http.StatusMethodNotAllowed || asked != 0 {
			t.Errorf("%s: %d, asked %d times", method, w.Code, asked)
		}
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no such disk") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestBucketsAreThoseOfTheHistogram(t *testing.T) {
	all := wraps{busy("1-1", "files", "cursor")}
	samples := scrape(t, all.collector())
	for _, bound := range health.Bounds {
		name := fmt.Sprintf(`gauze_recovery_duration_seconds_bucket{server="files",client="cursor",le="%s"}`, strconv.FormatFloat(bound, 'f', -1, 64))
		if _, found := samples[name]; !found {
			t.Errorf("no %s", name)
		}
	}
}
