package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// maxNoise is how far gauze may differ from itself in a figure that counts, in percent.
const maxNoise = 2.0

// Situations of figures that are not of calls.
const (
	startSituation = "start"
	idleSituation  = "idle"
	manySituation  = "100 idle wraps"
)

// limit is what gauze may cost.
type limit struct {
	Value float64 `json:"value"`
	Kind  string  `json:"kind"`
}

// Kinds of limits.
const (
	atMostPump  = "x pump" // at most this multiple of the pump's
	atLeastPump = "x pump, at least"
	overPump    = "over pump" // at most this much more than the pump's
	absolute    = "at most"
)

// limitOf returns the limit of a figure in a situation, or nil.
func limitOf(situation, figure string) *limit {
	small, medium, large := strings.HasSuffix(situation, " x 100 B"), strings.HasSuffix(situation, " x 10 kB"), strings.HasSuffix(situation, " x 1 MB")
	switch {
	case figure == cpuFigure && situation == "1 x 100 B":
		return &limit{1.4, atMostPump}
	case figure == cpuFigure && (small || medium):
		return &limit{1.3, atMostPump}
	case figure == p50Figure && large:
		return &limit{1.25, atMostPump}
	case figure == p50Figure:
		return &limit{1.05, atMostPump}
	case figure == rateFigure:
		return &limit{0.97, atLeastPump}
	case figure == privateFigure && (small || medium): // more than a large message itself needs
		return &limit{7, absolute}
	case figure == startFigure:
		return &limit{5, overPump}
	case figure == wakeFigure:
		return &limit{2, absolute}
	case figure == privateFigure && situation == idleSituation:
		return &limit{5, absolute}
	case figure == pssFigure:
		return &limit{500, absolute}
	}
	return nil
}

// Verdicts about a limit.
const (
	passed     = "pass"
	missed     = "MISSED"
	notCounted = "not counted"
)

// tableRow is one figure in one situation.
type tableRow struct {
	Situation string            `json:"situation"`
	Figure    string            `json:"figure"`
	Values    map[route]float64 `json:"values"`          // medians
	Ratio     float64           `json:"ratio,omitempty"` // of gauze to the pump: median of the sets
	More      float64           `json:"more,omitempty"`  // of gauze than the pump, likewise
	Noise     float64           `json:"noise_percent"`   // by which gauze differs from itself
	Limit     *limit            `json:"limit,omitempty"`
	Verdict   string            `json:"verdict,omitempty"`
}

// tableReport is one run of the benchmark.
type tableReport struct {
	Rows    []tableRow `json:"rows"`
	Peers   []peer     `json:"peers,omitempty"`
	Seconds float64    `json:"seconds"`
	limited bool       // limited is true if the limits apply to the server.
}

// add adds a figure. Routes are compared within each set, and gauze with itself, which shows the noise.
func (rep *tableReport) add(situation, figure string, sets []set) {
	row := tableRow{Situation: situation, Figure: figure, Values: map[route]float64{}}
	if rep.limited {
		row.Limit = limitOf(situation, figure)
	}
	all := map[route][]float64{}
	var ratio, more, differs []float64
	for _, s := range sets {
		for r, f := range s {
			if v, measured := f[figure]; measured {
				all[r] = append(all[r], v)
			}
		}
		w, p, a := s[wrap][figure], s[pump][figure], s[again][figure]
		if p > 0 {
			ratio, more = append(ratio, w/p), append(more, w-p)
		}
		if whole := row.whole(w, p); s[again] != nil && whole > 0 {
			differs = append(differs, 100*(a-w)/whole)
		}
	}
	for r, values := range all {
		row.Values[r] = median(values)
	}
	row.Ratio, row.More = median(ratio), median(more)
	if len(differs) > 0 {
		low, high := medianInterval(differs)
		row.Noise = max(math.Abs(median(differs)), (high-low)/2)
	}
	row.judge()
	rep.Rows = append(rep.Rows, row)
}

// whole returns what noise is a part of: the limit if that is an amount, or else the figure of gauze.
func (r *tableRow) whole(gauze, pumps float64) float64 {
	switch {
	case r.Limit != nil && r.Limit.Kind == absolute:
		return r.Limit.Value
	case r.Limit != nil && r.Limit.Kind == overPump:
		return pumps + r.Limit.Value
	}
	return gauze
}

// judge compares the figure with its limit, if its noise allows that.
func (r *tableRow) judge() {
	if r.Limit == nil {
		return
	}
	seen, measured := r.Values[wrap]
	within := measured && map[string]bool{
		atMostPump:  r.Ratio > 0 && r.Ratio <= r.Limit.Value,
		atLeastPump: r.Ratio >= r.Limit.Value,
		overPump:    r.Values[pump] > 0 && r.More <= r.Limit.Value,
		absolute:    seen <= r.Limit.Value,
	}[r.Limit.Kind]
	switch {
	case r.Noise > maxNoise:
		r.Verdict = fmt.Sprintf("%s: noise %.1f %%", notCounted, r.Noise)
	case within:
		r.Verdict = passed
	default:
		r.Verdict = missed
	}
}

// failure returns an error if a limit is missed, or a figure with a limit does not count.
func (rep *tableReport) failure() error {
	var limits, misses, noisy int
	for _, r := range rep.Rows {
		switch {
		case r.Limit == nil:
			continue
		case r.Verdict == missed:
			misses++
		case r.Verdict != passed:
			noisy++
		}
		limits++
	}
	switch {
	case limits == 0:
		return errors.New("no figure with a limit was measured")
	case misses+noisy > 0:
		return fmt.Errorf("of %d limits, %d are missed, and %d figures do not count because their noise is over %g %%: repeat this on a quiet machine", limits, misses, noisy, maxNoise)
	}
	return nil
}

// routes returns the routes of the report in the order of its columns.
func (rep *tableReport) routes() []route {
	all := []route{direct, pump, wrap}
	for _, p := range rep.Peers {
		all = append(all, p.Name)
	}
	return all
}

func (rep *tableReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "callers x payload\tfigure")
	for _, r := range rep.routes() {
		fmt.Fprintf(t, "\t%s", r)
	}
	fmt.Fprintln(t, "\twrap / pump\tnoise\tlimit\t")
	for _, row := range rep.Rows {
		fmt.Fprintf(t, "%s\t%s", row.Situation, row.Figure)
		for _, r := range rep.routes() {
			fmt.Fprintf(t, "\t%s", amount(row.Values, r))
		}
		ratio, noise, limit := "", "", ""
		if row.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", row.Ratio)
		}
		if row.Noise > 0 {
			noise = fmt.Sprintf("%.1f %%", row.Noise)
		}
		if row.Limit != nil {
			limit = fmt.Sprintf("%s %g", row.Limit.Kind, row.Limit.Value)
		}
		fmt.Fprintf(t, "\t%s\t%s\t%s\t%s\n", ratio, noise, limit, row.Verdict)
	}
	t.Flush()
	fmt.Fprintln(w, "\nCPU, reads, writes, switches and memory are those of the process in between; direct: of the server.")
	for _, p := range rep.Peers {
		fmt.Fprintf(w, "%s: %s\n", p.Name, p.About)
	}
	fmt.Fprintf(w, "measured in %.0f s\n", rep.Seconds)
	if err := rep.failure(); err != nil {
		fmt.Fprintln(w, err)
	}
}

// amount returns a value with three digits, or nothing if it was not measured.
func amount(values map[route]float64, r route) string {
	v, measured := values[r]
	switch {
	case !measured:
		return ""
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// target is a limit and the measured value.
type target struct {
	Name  string  `json:"name"`
	Seen  float64 `json:"seen"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
	Pass  bool    `json:"pass"`
}

func printTargets(w io.Writer, targets []target) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range targets {
		fmt.Fprintf(t, "%s\t%s\t%.2f %s\tlimit %.6g %s\n", mark(g.Pass), g.Name, g.Seen, g.Unit, g.Limit, g.Unit)
	}
	t.Flush()
}

func mark(pass bool) string {
	if pass {
		return "pass"
	}
	return "FAIL"
}

func (c cell) load() string { return fmt.Sprintf("%d x %s", c.Callers, size(c.Payload)) }

func size(bytes int) string {
	switch {
	case bytes >= 1_000_000:
		return fmt.Sprintf("%d MB", bytes/1_000_000)
	case bytes >= 1000:
		return fmt.Sprintf("%d kB", bytes/1000)
	}
	return fmt.Sprintf("%d B", bytes)
}
