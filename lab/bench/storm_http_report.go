package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// webResult is the result of one storm over HTTP.
type webResult struct {
	Way      string `json:"way"`
	Era      string `json:"era"`
	EventIDs bool   `json:"event_ids"`
	Window   int    `json:"window"`
	Bug      string `json:"bug,omitempty"`
	Seed     uint64 `json:"seed"`
	*history.Verdict
	Faults          int                      `json:"faults"` // of calls and of the server, without those that did not occur
	UnknownPerFault float64                  `json:"unknown_per_fault"`
	ServerFaults    map[string]int           `json:"blows"`
	ByFault         map[string]outcomeCounts `json:"by_fault"`
	Replays         int                      `json:"replays"` // -1 if gauze wrote no status
	Seconds         float64                  `json:"seconds"`
	CallsPerSecond  float64                  `json:"calls_per_second"`
	Problems        []string                 `json:"problems"`
	Pass            bool                     `json:"pass"`
	name            string
	lastOutput      string
}

// outcomeCounts counts the results of the calls that carried the same fault.
type outcomeCounts struct {
	Calls   int `json:"calls"`
	OK      int `json:"ok"`
	Unknown int `json:"unknown"`
	Failed  int `json:"failed"`
}

func (s *webStorm) result(v *history.Verdict, c *callerPool, f *faultInjector, status *wrapStatus, took time.Duration) *webResult {
	r := &webResult{
		Way: s.way, Era: s.dialect.era, EventIDs: s.eventIDs, Window: s.window, Bug: s.bug, Seed: s.seed, name: s.String(),
		Verdict: v, Faults: v.Kills + v.Injected, UnknownPerFault: v.UnknownPerKill(), ServerFaults: f.injected, ByFault: c.outcomes(),
		Replays: -1, Seconds: took.Seconds(), CallsPerSecond: float64(v.Calls) / took.Seconds(), Pass: true,
	}
	if status != nil {
		r.Replays = status.Replays
	}
	for _, rule := range v.Rules() {
		r.broke("%s: %d", rule, v.Broken[rule])
	}
	if f.err != nil {
		r.broke("the server did not restart: %v", f.err)
	}
	r.Problems = append(r.Problems, c.losses...)
	return r
}

func (r *webResult) broke(format string, args ...any) {
	r.Pass = false
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// noFault is the key for calls without a fault of their own. A fault of the server may have
// affected them.
const noFault = "(none)"

// outcomes counts the first response to every call by the fault it carried.
func (c *callerPool) outcomes() map[string]outcomeCounts {
	all := map[string]outcomeCounts{}
	asked := map[string]bool{}
	for _, e := range c.log.Events() {
		name := string(c.faults[e.ID])
		if name == "" {
			name = noFault
		}
		f := all[name]
		switch {
		case e.Kind == history.Invoke:
			f.Calls++
			asked[e.ID] = true
		case !asked[e.ID]:
			continue
		case e.Kind == history.OK:
			f.OK++
		case e.Kind == history.Unknown:
			f.Unknown++
		default:
			f.Failed++
		}
		all[name] = f
	}
	return all
}

// printWebStorms prints the storms as columns of a table, then the results of the calls by fault.
func printWebStorms(w io.Writer, results []*webResult) {
	row, flush := columns(w, results)
	count := func(n int) string { return fmt.Sprint(n) }
	row("way", func(r *webResult) string { return r.Way })
	row("era", func(r *webResult) string { return r.Era })
	row("event ids", func(r *webResult) string { return map[bool]string{true: "yes", false: "no"}[r.EventIDs] })
	row("calls", func(r *webResult) string { return count(r.Calls) })
	row("answers", func(r *webResult) string { return count(r.Answers) })
	row("ok", func(r *webResult) string { return count(r.OK) })
	for _, code := range faultCodes(results, func(r *webResult) map[string]int { return r.Failed }) {
		row(code, func(r *webResult) string { return count(r.Failed[code]) })
	}
	row("unknown", func(r *webResult) string { return count(r.Unknown) })
	row("faults", func(r *webResult) string { return count(r.Faults) })
	row("unknown per fault", func(r *webResult) string { return fmt.Sprintf("%.2f", r.UnknownPerFault) })
	for i := range serverFaults {
		row("  "+serverFaults[i].name, func(r *webResult) string { return count(r.ServerFaults[serverFaults[i].name]) })
	}
	row("effects in the ledger", func(r *webResult) string { return count(r.Effects) })
	row("duplicated effects", func(r *webResult) string { return count(r.Duplicates) })
	row("idempotent effects repeated", func(r *webResult) string { return count(r.Repeated) })
	row("replays", func(r *webResult) string { return count(r.Replays) })
	row("seconds", func(r *webResult) string { return fmt.Sprintf("%.1f", r.Seconds) })
	row("calls/s", func(r *webResult) string { return fmt.Sprintf("%.0f", r.CallsPerSecond) })
	row("guarantees", func(r *webResult) string { return map[bool]string{true: "kept", false: "BROKEN"}[r.Pass] })
	flush()

	fmt.Fprintln(w, "\ncalls by fault: ok / unknown / failed")
	row, flush = columns(w, results)
	for _, name := range faultNames(results) {
		row(name, func(r *webResult) string {
			f := r.ByFault[name]
			return fmt.Sprintf("%d / %d / %d", f.OK, f.Unknown, f.Failed)
		})
	}
	flush()
	for _, r := range results {
		r.explain(w)
	}
}

func faultNames(results []*webResult) []string {
	names := map[string]bool{}
	for _, r := range results {
		for name := range r.ByFault {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// explain prints what went wrong, if anything did.
func (r *webResult) explain(w io.Writer) {
	if r.Pass {
		return
	}
	fmt.Fprintf(w, "\n%s, seed %d:\n", r.name, r.Seed)
	for _, line := range append(r.Problems, r.Examples...) {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if output := strings.TrimSpace(r.lastOutput); output != "" {
		fmt.Fprintf(w, "  last output of gauze:\n    %s\n", strings.ReplaceAll(output, "\n", "\n    "))
	}
}
