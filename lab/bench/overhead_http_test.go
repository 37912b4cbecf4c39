package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
)

func TestWebOverheadTargets(t *testing.T) {
	for name, test := range map[string]struct {
		server string
		seen   routeSummary
		pass   bool
	}{
		"near enough":            {"go-sdk modern", routeSummary{P50Ratio: 1.15, CPURatio: 1.15, ThroughputRatio: 0.8}, true},
		"slow":                   {"go-sdk modern", routeSummary{P50Ratio: 1.2, CPURatio: 1.1, ThroughputRatio: 0.8}, false},
		"busy":                   {"go-sdk modern", routeSummary{P50Ratio: 1.1, CPURatio: 1.2, ThroughputRatio: 0.8}, false},
		"narrow":                 {"go-sdk legacy", routeSummary{P50Ratio: 1.1, CPURatio: 1.1, ThroughputRatio: 0.7}, false},
		"not measured":           {"go-sdk legacy", routeSummary{}, false},
		"slow beside a fast one": {"fast modern", routeSummary{P50Ratio: 2, CPURatio: 3, ThroughputRatio: 0.5}, true},
	} {
		for _, r := range []route{wrap, fromStdio, fromLines} {
			rep := &webOverheadReport{Cells: []cellSummary{{cell{test.server, 1, 100}, map[route]routeSummary{r: test.seen}}}}
			if rep.judge(); rep.Pass != test.pass {
				t.Errorf("%s, %s: pass is %v", name, r, rep.Pass)
			}
		}
	}
}

// The proxy must not change anything: what is timed through it is the server's response, as JSON
// and as a stream.
func TestProxyPassesOn(t *testing.T) {
	for _, form := range []faultyhttp.Answers{faultyhttp.JSON, faultyhttp.SSE} {
		server := faultyhttp.New(faultyhttp.Config{Stateful: true, Answers: form})
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		proxy := httptest.NewServer(newWebProxy(server.URL()))
		defer proxy.Close()
		for _, era := range []string{"legacy", "modern"} {
			callers, err := newWebCallers(webServer{era: era}, cell{Callers: 2, Payload: 10_000}, proxy.URL)
			if err != nil {
				t.Fatal(era, form, err)
			}
			if _, err := callers.call(context.Background(), 7); err != nil {
				t.Error(era, form, err)
			}
			callers.close()
		}
	}
}
