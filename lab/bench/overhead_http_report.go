package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Limits of gauze compared with a reverse proxy.
const (
	maxProxyP50        = 1.3
	minProxyThroughput = 0.8
)

// webOverheadReport is the result of one run over HTTP.
type webOverheadReport struct {
	Cells   []cellSummary `json:"cells"`
	Targets []target      `json:"targets"`
	Pass    bool          `json:"pass"`
	Seconds float64       `json:"seconds"`
}

// judge compares the measurements of the typical server with the targets.
func (rep *webOverheadReport) judge() {
	rep.Pass = len(rep.Cells) > 0
	for _, c := range rep.Cells {
		if !strings.HasPrefix(c.Server, "go-sdk") {
			continue
		}
		w := c.Routes[wrap]
		situation := fmt.Sprintf("%s, %d x %s", c.Server, c.Callers, size(c.Payload))
		for _, t := range []target{
			{Name: "p50 / proxy, " + situation, Seen: w.P50Ratio, Limit: maxProxyP50, Pass: w.P50Ratio > 0 && w.P50Ratio <= maxProxyP50},
			{Name: "throughput / proxy, " + situation, Seen: w.ThroughputRatio, Limit: minProxyThroughput, Pass: w.ThroughputRatio >= minProxyThroughput},
		} {
			t.Unit = "x"
			rep.Targets = append(rep.Targets, t)
			rep.Pass = rep.Pass && t.Pass
		}
	}
}

func (rep *webOverheadReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tcallers\tpayload\troute\tp50 us\tp90 us\tp99 us\tcalls/s\tp50 / proxy\tthroughput / proxy\t")
	for _, c := range rep.Cells {
		for _, r := range webRoutes {
			s := c.Routes[r]
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.2f\t%.2f\t\n", c.Server, c.Callers, size(c.Payload), r,
				s.P50, s.P90, s.P99, s.PerSecond, s.P50Ratio, s.ThroughputRatio)
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\nmeasured in %.0f s\n\n", rep.Seconds)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range rep.Targets {
		fmt.Fprintf(t, "%s\t%s\t%.2f %s\tlimit %g %s\n", mark(g.Pass), g.Name, g.Seen, g.Unit, g.Limit, g.Unit)
	}
	t.Flush()
}
