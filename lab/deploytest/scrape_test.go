package deploytest

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/metrics"
)

// scrape announces a wrap, as gauze run does, and returns what /metrics says about it.
func scrape(t *testing.T) []byte {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := live.Server{Name: "files \"and\" \\ more", Client: "cursor", State: "healthy", Counts: live.Counts{Calls: 3, Failed: 1, Closures: map[string]uint64{"exit": 1}, Rules: map[string]uint64{"string to number": 1}, Faults: map[string]uint64{"outcome-unknown": 1}}}
	s.Counts.Latency.Add(time.Second)
	s.Counts.Latency.Add(time.Hour)
	s.Counts.Recovery.Add(time.Second)
	wrap, err := live.Announce(dir, s.Name, live.Source{Server: func() live.Server { return s }})
	if err != nil {
		t.Fatal(err)
	}
	defer wrap.Close()
	listener := httptest.NewServer(metrics.New("v1.0.0", func(ctx context.Context) ([]live.Server, error) { return live.All(ctx, dir) }))
	defer listener.Close()
	response, err := listener.Client().Get(listener.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Contains(text, []byte(`client="cursor"`)) {
		t.Fatalf("%s, %v", text, err)
	}
	return text
}

// promtool check metrics runs the same linter.
func TestMetricsPassTheLinter(t *testing.T) {
	problems, err := promlint.New(bytes.NewReader(scrape(t))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// exported are the series of a scrape: the names of their labels by the name in queries.
type exported map[string][]string

func exports(t *testing.T) exported {
	t.Helper()
	decoder := expfmt.NewTextParser(model.UTF8Validation)
	families, err := decoder.TextToMetricFamilies(bytes.NewReader(scrape(t)))
	if err != nil {
		t.Fatal(err)
	}
	names := exported{}
	for name, f := range families {
		if len(f.Metric) == 0 {
			t.Errorf("%s has no samples", name)
			continue
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		if f.GetType() != dto.MetricType_HISTOGRAM {
			names[name] = labels
			continue
		}
		names[name+"_count"], names[name+"_sum"], names[name+"_bucket"] = labels, labels, append(slices.Clone(labels), "le")
	}
	return names
}

// check parses a query and reports series and labels that gauze does not export.
func (e exported) check(t *testing.T, where, query string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %q: %v", where, query, err)
		return
	}
	found := 0
	parser.Inspect(parsed, func(n parser.Node, path []parser.Node) error {
		s, isSelector := n.(*parser.VectorSelector)
		if !isSelector {
			return nil
		}
		found++
		labels, known := e[s.Name]
		if !known {
			t.Errorf("%s: gauze does not export %s", where, s.Name)
			return nil
		}
		grouped := []string{}
		for _, parent := range path {
			if a, isAggregate := parent.(*parser.AggregateExpr); isAggregate {
				grouped = append(grouped, a.Grouping...)
			}
		}
		for _, m := range s.LabelMatchers {
			if m.Name != model.MetricNameLabel {
				grouped = append(grouped, m.Name)
			}
		}
		for _, name := range grouped {
			if !slices.Contains(labels, name) {
				t.Errorf("%s: %s has no label %s, only %s", where, s.Name, name, strings.Join(labels, ", "))
			}
		}
		return nil
	})
	if found == 0 {
		t.Errorf("%s: %q reads no metric", where, query)
	}
}
