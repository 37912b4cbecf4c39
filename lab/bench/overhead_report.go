package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Limits of what gauze may cost.
const (
	maxP50Ratio        = 1.15    // compared with a direct connection to a go-sdk server
	minThroughputRatio = 0.9     // likewise
	maxOverPump        = 30.0    // microseconds more than the pump, with the minimal server
	maxMemory          = 15_000  // kB of VmHWM
	maxStart           = 10.0    // milliseconds more than direct
	maxCPURatio        = 1.6     // CPU time per call compared with the pump
	maxAnonymous       = 8_000   // kB of private memory
	maxTenPSS          = 100_000 // kB of ten gauze processes together
)

// target is a limit and the measured value.
type target struct {
	Name  string  `json:"name"`
	Seen  float64 `json:"seen"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
	Pass  bool    `json:"pass"`
	// Pump is the same measurement of the byte pump, or 0 if it was not measured. No process in
	// between can be expected to do better.
	Pump float64 `json:"pump,omitempty"`
}

type overheadReport struct {
	Cells   []cellSummary     `json:"cells"`
	Starts  map[route]float64 `json:"start_ms"`
	Memory  memory            `json:"wrap_memory"`
	TenPSS  int               `json:"ten_wraps_pss_kb"`
	Targets []target          `json:"targets"`
	Pass    bool              `json:"pass"`
	Seconds float64           `json:"seconds"`
}

// judge compares the measurements with the targets. Without measurements of gauze no target passes.
func (rep *overheadReport) judge() {
	for _, c := range rep.Cells {
		w, measured := c.Routes[wrap]
		if !measured {
			return
		}
		situation := fmt.Sprintf("%s, %d x %s", c.Server, c.Callers, size(c.Payload))
		// With many callers the pump copies many messages at a time, which a process that reads
		// them cannot do.
		if p := c.Routes[pump]; p.CPU > 0 && c.Callers == 1 && c.Payload <= 100 {
			rep.add(target{Name: "CPU per call / pump, " + situation, Seen: w.CPU / p.CPU, Limit: maxCPURatio,
				Unit: "x", Pass: w.CPU <= maxCPURatio*p.CPU})
		}
		if c.Server == "go-sdk" {
			p := c.Routes[pump]
			rep.add(target{Name: "p50 / direct, " + situation, Seen: w.P50Ratio, Limit: maxP50Ratio,
				Unit: "x", Pass: w.P50Ratio <= maxP50Ratio, Pump: p.P50Ratio})
			rep.add(target{Name: "throughput / direct, " + situation, Seen: w.ThroughputRatio, Limit: minThroughputRatio,
				Unit: "x", Pass: w.ThroughputRatio >= minThroughputRatio, Pump: p.ThroughputRatio})
		} else if c.Callers == 1 {
			rep.add(target{Name: "p50 over the pump, " + situation, Seen: w.OverPump, Limit: maxOverPump,
				Unit: "us", Pass: w.OverPump <= maxOverPump})
		}
	}
	peak := float64(rep.Memory.Peak)
	rep.add(target{Name: "peak memory of gauze", Seen: peak, Limit: maxMemory, Unit: "kB", Pass: peak <= maxMemory})
	anonymous, ten := float64(rep.Memory.Anonymous), float64(rep.TenPSS)
	rep.add(target{Name: "private memory of gauze", Seen: anonymous, Limit: maxAnonymous, Unit: "kB", Pass: anonymous <= maxAnonymous})
	rep.add(target{Name: "PSS of ten gauze processes", Seen: ten, Limit: maxTenPSS, Unit: "kB", Pass: ten <= maxTenPSS})
	start := rep.Starts[wrap] - rep.Starts[direct]
	rep.add(target{Name: "start over direct", Seen: start, Limit: maxStart, Unit: "ms", Pass: start <= maxStart,
		Pump: max(0, rep.Starts[pump]-rep.Starts[direct])})
	rep.Pass = true
	for _, t := range rep.Targets {
		rep.Pass = rep.Pass && t.Pass
	}
}

func (rep *overheadReport) add(t target) { rep.Targets = append(rep.Targets, t) }

func (rep *overheadReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tcallers\tpayload\troute\tp50 us\tp90 us\tp99 us\tcalls/s\tCPU us\tp50 ratio\tthroughput ratio\tover pump us\t")
	for _, c := range rep.Cells {
		for _, r := range []route{direct, pump, wrap} {
			s, ok := c.Routes[r]
			if !ok {
				continue
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.1f\t%.2f\t%.2f\t%+.1f\t\n", c.Server, c.Callers, size(c.Payload), r,
				s.P50, s.P90, s.P99, s.PerSecond, s.CPU, s.P50Ratio, s.ThroughputRatio, s.OverPump)
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\nmedian time from start to initialize response:")
	for _, r := range []route{direct, pump, wrap} {
		if ms, ok := rep.Starts[r]; ok {
			fmt.Fprintf(w, "  %s %.1f ms", r, ms)
		}
	}
	if rep.Memory.Peak > 0 {
		fmt.Fprintf(w, "\nmemory of gauze under load: %.1f MB, peak %.1f MB", float64(rep.Memory.RSS)/1000, float64(rep.Memory.Peak)/1000)
	}
	fmt.Fprintf(w, "\nmeasured in %.0f s\n\n", rep.Seconds)
	printTargets(w, rep.Targets)
}

func printTargets(w io.Writer, targets []target) {
	if len(targets) == 0 {
		fmt.Fprintln(w, "gauze was not measured, so no target was checked")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range targets {
		fmt.Fprintf(t, "%s\t%s\t%.2f %s\tlimit %.6g %s", mark(g.Pass), g.Name, g.Seen, g.Unit, g.Limit, g.Unit)
		if g.Pump > 0 {
			fmt.Fprintf(t, "\t(byte pump %.2f %s)", g.Pump, g.Unit)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func mark(pass bool) string {
	if pass {
		return "pass"
	}
	return "FAIL"
}

func size(bytes int) string {
	if bytes >= 1000 {
		return fmt.Sprintf("%d kB", bytes/1000)
	}
	return fmt.Sprintf("%d B", bytes)
}
