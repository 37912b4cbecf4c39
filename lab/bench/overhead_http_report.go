package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Limits of gauze compared with a reverse proxy.
const (
	maxProxyP50        = 1.15
	maxProxyCPU        = 1.15
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
		for _, r := range webRoutes[slices.Index(webRoutes, wrap):] {
			if s, measured := c.Routes[r]; measured {
				rep.compare(fmt.Sprintf("%s, %d x %s, %s", c.Server, c.Callers, size(c.Payload), r), s)
			}
		}
	}
}

// compare compares the measurements of one route through gauze with the targets.
func (rep *webOverheadReport) compare(situation string, s routeSummary) {
	below := func(seen, limit float64) bool { return seen > 0 && seen <= limit }
	for _, t := range []target{
		{Name: "p50 / proxy, " + situation, Seen: s.P50Ratio, Limit: maxProxyP50, Pass: below(s.P50Ratio, maxProxyP50)},
		{Name: "CPU / proxy, " + situation, Seen: s.CPURatio, Limit: maxProxyCPU, Pass: below(s.CPURatio, maxProxyCPU)},
		{Name: "throughput / proxy, " + situation, Seen: s.ThroughputRatio, Limit: minProxyThroughput, Pass: s.ThroughputRatio >= minProxyThroughput},
	} {
		t.Unit = "x"
		rep.Targets = append(rep.Targets, t)
		rep.Pass = rep.Pass && t.Pass
	}
}

func (rep *webOverheadReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tcallers\tpayload\troute\tp50 us\tp90 us\tp99 us\tcalls/s\tCPU us/call\tp50 / proxy\tthroughput / proxy\tCPU / proxy\t")
	for _, c := range rep.Cells {
		for _, r := range webRoutes {
			s, measured := c.Routes[r]
			if !measured {
				continue
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t\n", c.Server, c.Callers, size(c.Payload), r,
				s.P50, s.P90, s.P99, s.PerSecond, s.CPU, s.P50Ratio, s.ThroughputRatio, s.CPURatio)
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
