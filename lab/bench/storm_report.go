package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// maxBeyondStart is the p99 limit of a recovery beyond the server's own start, in milliseconds.
const maxBeyondStart = 25.0

// stormResult is the result of one storm.
type stormResult struct {
	Era    string `json:"era"`
	Window int    `json:"window"`
	Bug    string `json:"bug,omitempty"`
	Seed   uint64 `json:"seed"`
	*history.Verdict
	UnknownPerKill float64   `json:"unknown_per_kill"`
	UnknownLimit   float64   `json:"unknown_per_kill_limit"`
	KillsPlanned   int       `json:"kills_planned"`
	Restarts       int       `json:"restarts"`
	Recovery       *recovery `json:"recovery"` // nil if gauze wrote no status
	OutageP50      float64   `json:"outage_p50_ms"`
	OutageP99      float64   `json:"outage_p99_ms"`
	Seconds        float64   `json:"seconds"`
	CallsPerSecond float64   `json:"calls_per_second"`
	Problems       []string  `json:"problems"`
	Pass           bool      `json:"pass"`
	lastOutput     string
}

func (s *storm) result(v *history.Verdict, k *killer, status *wrapStatus, seconds float64) *stormResult {
	r := &stormResult{
		Era: s.dialect.era, Window: s.window, Bug: s.bug, Seed: s.seed,
		Verdict: v, UnknownPerKill: v.UnknownPerKill(), UnknownLimit: s.unknownPerKill, KillsPlanned: s.kills,
		Recovery:  status.recovery(),
		OutageP50: quantile(k.outages, 0.5), OutageP99: quantile(k.outages, 0.99),
		Seconds: seconds, CallsPerSecond: float64(v.Calls) / seconds,
	}
	if s.fast {
		r.UnknownLimit = 0
	}
	if status != nil {
		r.Restarts = status.Restarts
	}
	r.Pass = true
	for _, rule := range v.Rules() {
		r.broke("%s: %d", rule, v.Broken[rule])
	}
	if v.Kills < s.kills {
		r.broke("only %d of %d kills", v.Kills, s.kills)
	}
	if n := v.Failed[string(fault.CrashLoop)]; n > 0 && !s.fast {
		r.broke("%d calls failed because of a crash loop; the limit is 0", n)
	}
	if r.Recovery != nil && r.Recovery.BeyondP99 > maxBeyondStart && !s.fast {
		r.broke("recovery p99 is %.1f ms beyond the server's start; the limit is %g", r.Recovery.BeyondP99, maxBeyondStart)
	}
	return r
}

// unknownPerKill formats the number with its limit, if it has one.
func (r *stormResult) unknownPerKill() string {
	if r.UnknownLimit == 0 {
		return fmt.Sprintf("%.2f", r.UnknownPerKill)
	}
	return fmt.Sprintf("%.2f (limit %g)", r.UnknownPerKill, r.UnknownLimit)
}

func windowName(window int) string {
	if window == 0 {
		return "default"
	}
	return fmt.Sprint(window)
}

func (r *stormResult) broke(format string, args ...any) {
	r.Pass = false
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// printStorms prints the storms as columns of a table.
func printStorms(w io.Writer, results []*stormResult) {
	row, flush := columns(w, results)
	count := func(n int) string { return fmt.Sprint(n) }
	ms := func(v float64) string { return fmt.Sprintf("%.1f ms", v) }
	row("era", func(r *stormResult) string { return r.Era })
	row("window", func(r *stormResult) string { return windowName(r.Window) })
	row("calls", func(r *stormResult) string { return count(r.Calls) })
	row("answers", func(r *stormResult) string { return count(r.Answers) })
	row("ok", func(r *stormResult) string { return count(r.OK) })
	for _, code := range faultCodes(results, func(r *stormResult) map[string]int { return r.Failed }) {
		row(code, func(r *stormResult) string { return count(r.Failed[code]) })
	}
	row("unknown", func(r *stormResult) string { return count(r.Unknown) })
	row("unknown per kill", func(r *stormResult) string { return r.unknownPerKill() })
	row("effects in the ledger", func(r *stormResult) string { return count(r.Effects) })
	row("duplicated effects", func(r *stormResult) string { return count(r.Duplicates) })
	row("kills", func(r *stormResult) string { return count(r.Kills) })
	row("settled kills", func(r *stormResult) string { return count(r.Settled) })
	row("restarts", func(r *stormResult) string { return count(r.Restarts) })
	row("recovery p50", func(r *stormResult) string { return r.recovered(func(x *recovery) float64 { return x.P50 }) })
	row("recovery p99", func(r *stormResult) string { return r.recovered(func(x *recovery) float64 { return x.P99 }) })
	row("p99 beyond the server's start", func(r *stormResult) string { return r.recovered(func(x *recovery) float64 { return x.BeyondP99 }) })
	row("outage for callers p50", func(r *stormResult) string { return ms(r.OutageP50) })
	row("outage for callers p99", func(r *stormResult) string { return ms(r.OutageP99) })
	row("seconds", func(r *stormResult) string { return fmt.Sprintf("%.1f", r.Seconds) })
	row("calls/s", func(r *stormResult) string { return fmt.Sprintf("%.0f", r.CallsPerSecond) })
	row("guarantees", func(r *stormResult) string { return map[bool]string{true: "kept", false: "BROKEN"}[r.Pass] })
	flush()
	for _, r := range results {
		r.explain(w)
	}
}

// columns starts a table with one result per column. row adds a row.
func columns[T any](w io.Writer, results []T) (row func(name string, value func(T) string), flush func() error) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	return func(name string, value func(T) string) {
		fmt.Fprint(t, name)
		for _, r := range results {
			fmt.Fprint(t, "\t", value(r))
		}
		fmt.Fprintln(t, "\t")
	}, t.Flush
}

func (r *stormResult) recovered(value func(*recovery) float64) string {
	if r.Recovery == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f ms", value(r.Recovery))
}

// explain prints what went wrong, if anything did.
func (r *stormResult) explain(w io.Writer) {
	if r.Pass {
		return
	}
	fmt.Fprintf(w, "\n%s, window %s, seed %d:\n", r.Era, windowName(r.Window), r.Seed)
	for _, line := range append(r.Problems, r.Examples...) {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if output := strings.TrimSpace(r.lastOutput); output != "" {
		fmt.Fprintf(w, "  last output of gauze:\n    %s\n", strings.ReplaceAll(output, "\n", "\n    "))
	}
}

// faultCodes returns all fault codes that occurred, sorted.
func faultCodes[T any](results []T, failed func(T) map[string]int) []string {
	codes := map[string]bool{}
	for _, r := range results {
		for code := range failed(r) {
			codes[code] = true
		}
	}
	return slices.Sorted(maps.Keys(codes))
}
