package deploytest

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

const alertsFile = "../../deploy/prometheus/alerts.yml"

func alerts(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	groups, problems := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	all := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
		}
	}
	return all
}

// promtool check rules parses with the same library.
func TestAlertsReadWhatGauzeExports(t *testing.T) {
	names := exports(t)
	for name, r := range alerts(t) {
		names.check(t, name, r.Expr)
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s lacks a severity, a summary or a description", name)
		}
	}
}

// Each alert is evaluated after half an hour of samples, one a minute.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	const labels = `server="files",client="cursor"`
	cases := map[string]struct{ fires, quiet string }{
		"GauzeServerDown": {
			`gauze_server_state{` + labels + `,state="dead"} 1x40`,
			`gauze_server_state{` + labels + `,state="dead"} 0x40
			 gauze_server_state{` + labels + `,state="healthy"} 1x40`},
		"GauzeWrapNotResponding": {
			`gauze_server_state{` + labels + `,state="not responding"} 1x40`,
			`gauze_server_state{` + labels + `,state="starting"} 1x40`},
		"GauzeRestartLoop": {
			`gauze_closures_total{` + labels + `,reason="exit"} 0+1x40`,
			`gauze_closures_total{` + labels + `,reason="stopped"} 0+1x40
			 gauze_closures_total{` + labels + `,reason="exit"} 0x20 1x20`},
		"GauzeCallsFailing": {
			`gauze_calls_total{` + labels + `,outcome="failed"} 0+2x40
			 gauze_calls_total{` + labels + `,outcome="answered"} 0+8x40`,
			`gauze_calls_total{` + labels + `,outcome="failed"} 0+1x40
			 gauze_calls_total{` + labels + `,outcome="answered"} 0+100x40`},
		"GauzeOutcomeUnknown": {
			`gauze_faults_total{` + labels + `,code="outcome-unknown"} 0x20 1x20`,
			`gauze_faults_total{` + labels + `,code="call-timeout"} 0+1x40`},
		"GauzeCallsSlow": {
			`mcp_server_operation_duration_seconds_bucket{` + labels + `,le="30"} 0x40
			 mcp_server_operation_duration_seconds_bucket{` + labels + `,le="60"} 0+9x40
			 mcp_server_operation_duration_seconds_bucket{` + labels + `,le="+Inf"} 0+9x40`,
			`mcp_server_operation_duration_seconds_bucket{` + labels + `,le="30"} 0+9x40
			 mcp_server_operation_duration_seconds_bucket{` + labels + `,le="60"} 0+9x40
			 mcp_server_operation_duration_seconds_bucket{` + labels + `,le="+Inf"} 0+9x40`},
		"GauzeEventsNotRecorded": {
			`gauze_unrecorded_events_total{` + labels + `} 0x25 7x15`,
			`gauze_unrecorded_events_total{` + labels + `} 7x40`},
	}
	all := alerts(t)
	for name := range all {
		if _, tested := cases[name]; !tested {
			t.Errorf("%s is not tested", name)
		}
	}
	for name, c := range cases {
		for series, want := range map[string]int{c.fires: 1, c.quiet: 0} {
			engine := promqltest.NewTestEngine(t, false, 0, 10000)
			storage := promqltest.LoadedStorage(t, "load 1m\n"+series)
			query, err := engine.NewInstantQuery(t.Context(), storage, nil, all[name].Expr, time.Unix(0, 0).Add(30*time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			vector, err := query.Exec(t.Context()).Vector()
			if err != nil || len(vector) != want {
				t.Errorf("%s with %s: %v, %v", name, series, vector, err)
			}
			for _, sample := range vector {
				if sample.Metric.Get("server") != "files" {
					t.Errorf("%s does not say which server: %v", name, sample.Metric)
				}
			}
			query.Close()
			storage.Close()
		}
	}
}
