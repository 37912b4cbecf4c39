package metrics

import (
	"strings"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// Reading is what one metric says about one wrap, as OpenTelemetry names it.
type Reading struct {
	Name, Unit, Help string
	Counts           bool   // it only increases
	Label            string // a further attribute; empty: none

	Numbers   map[string]float64 // by the value of Label, or under ""
	Histogram *health.Histogram  // set instead of Numbers, with one value of Label: Word
	Word      string
}

// Read returns every metric of one wrap.
func Read(s *live.Server) (all []Reading) {
	for i := range families {
		f := &families[i]
		r := Reading{Help: f.help, Counts: f.kind != gauge, Label: f.label}
		name, inSeconds := strings.CutSuffix(strings.TrimSuffix(f.name, "_total"), "_seconds")
		if inSeconds {
			r.Unit = "s"
		}
		r.Name = strings.ReplaceAll(name, "_", ".")
		if f.histogram == nil {
			r.Numbers = f.numbers(s)
		} else {
			h := f.histogram(s)
			r.Histogram = &h
			label, word, _ := strings.Cut(f.fixed, "=")
			r.Label, r.Word = strings.ReplaceAll(label, "_", "."), strings.Trim(word, `"`)
		}
		all = append(all, r)
	}
	return all
}
