package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// Sizes of the plot in pixels.
const (
	plotWidth, plotLeft  = 800, 8
	panelHeight, barArea = 190, 130
	plotTop              = 34
)

// panel is a part of the plot: bars of every route in some groups, on a logarithmic scale.
type panel struct {
	title  string
	groups []plotGroup
}

// plotGroup is a figure in a situation.
type plotGroup struct{ situation, figure, label string }

func plotPanels() []panel {
	loads := func(figure string) (all []plotGroup) {
		for _, c := range (&costTable{}).cells() {
			label := fmt.Sprintf("%d callers, %s", c.Callers, size(c.Payload))
			if c.Callers == 1 {
				label = "1 caller, " + size(c.Payload)
			}
			all = append(all, plotGroup{c.load(), figure, label})
		}
		return all
	}
	return []panel{
		{"CPU time per call (direct: of the server itself)", loads(cpuFigure)},
		{"Latency of a call, median", loads(p50Figure)},
		{"A process", []plotGroup{{startSituation, startFigure, "until the first response"},
			{idleSituation, privateFigure, "private memory, idle"}, {"1 x 100 B", privateFigure, "private memory, under load"}}},
	}
}

const plotStyle = `<style>
text { font: 11px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 13px } .value { font-size: 9px; text-anchor: middle }
line { stroke: #d0d7de } .r0 { fill: #8c959f } .r1 { fill: #54aeff } .r2 { fill: #1a7f37 } .r3 { fill: #d4a72c } .r4 { fill: #cf5d4e }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } line { stroke: #30363d } .r0 { fill: #7d8590 } .r1 { fill: #388bfd } .r2 { fill: #3fb950 } .r3 { fill: #d29922 } .r4 { fill: #f47067 }
}
</style>
`

// plot writes the plot to a file, unless its name is empty.
func (rep *tableReport) plot(file string) error {
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(rep.svg()), 0o644)
}

// svg returns the plot. Its colors are those of the reader's color scheme.
func (rep *tableReport) svg() string {
	var b strings.Builder
	panels := plotPanels()
	height := plotTop + panelHeight*len(panels)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n"+
		"<title>What a proxy costs: %s</title>\n%s", plotWidth, height, plotWidth, height, strings.Join(rep.names(), ", "), plotStyle)
	for i, name := range rep.names() {
		x := plotLeft + i*130
		fmt.Fprintf(&b, `<rect class="r%d" x="%d" y="8" width="12" height="12"/><text x="%d" y="18">%s</text>`+"\n", i, x, x+18, name)
	}
	for i, p := range panels {
		rep.drawPanel(&b, p, plotTop+i*panelHeight)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// names returns the names of the routes for readers.
func (rep *tableReport) names() (all []string) {
	for _, r := range rep.routes() {
		switch r {
		case pump:
			all = append(all, "byte pump")
		case wrap:
			all = append(all, "Gauze")
		default:
			all = append(all, string(r))
		}
	}
	return all
}

func (rep *tableReport) drawPanel(b *strings.Builder, p panel, top int) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, g := range p.groups {
		for _, v := range rep.plotted(g) {
			low, high = min(low, v), max(high, v)
		}
	}
	low, base := low/3, top+24+barArea
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s, logarithmic</text><line x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", plotLeft, top+12, p.title, plotLeft, plotWidth-plotLeft, base, base)
	width := (plotWidth - 2*plotLeft) / len(p.groups)
	bar := min(44, (width-6)/len(rep.routes()))
	for i, g := range p.groups {
		left := plotLeft + i*width
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", left, base+16, g.label)
		values := rep.plotted(g)
		for n, r := range rep.routes() {
			v, measured := values[r]
			if !measured {
				continue
			}
			tall := int((barArea - 14) * math.Log(v/low) / math.Log(high/low))
			x := left + n*bar
			fmt.Fprintf(b, `<rect class="r%d" x="%d" y="%d" width="%d" height="%d"/><text class="value" x="%d" y="%d">%s</text>`+"\n", n, x, base-tall, bar-3, tall, x+bar/2-1, base-tall-3, plotLabel(v, g.figure))
		}
	}
}

// plotted returns the values of a group that a logarithmic scale can show.
func (rep *tableReport) plotted(g plotGroup) map[route]float64 {
	all := map[route]float64{}
	for _, row := range rep.Rows {
		for r, v := range row.Values {
			if row.Situation == g.situation && row.Figure == g.figure && v > 0 {
				all[r] = v
			}
		}
	}
	return all
}

// plotLabel returns a value that fits above its bar.
func plotLabel(v float64, figure string) string {
	unit := figure[strings.LastIndex(figure, " ")+1:]
	switch {
	case strings.HasPrefix(unit, "us") && v >= 1000:
		v, unit = v/1000, "ms"
	case strings.HasPrefix(unit, "us"):
		unit = "µs"
	}
	if v < 10 {
		return fmt.Sprintf("%.1f%s", v, unit)
	}
	return fmt.Sprintf("%.0f%s", v, unit)
}
