package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// sets returns sets in which gauze costs ratio times what the pump costs, and differs from itself by
// noise percent.
func setsWith(figure string, pumps, ratio, noise float64) (all []set) {
	for n := range 20 {
		slow := 1 + float64(n%4) // a busy machine is busy for all routes
		w := pumps * ratio * slow
		all = append(all, set{direct: {figure: slow}, pump: {figure: pumps * slow}, wrap: {figure: w}, again: {figure: w * (1 + noise/100)}})
	}
	return all
}

func TestLimitsAndNoise(t *testing.T) {
	for _, test := range []struct {
		situation, figure string
		pump, ratio       float64
		noise             float64
		want              string
	}{
		{"1 x 100 B", cpuFigure, 20, 1.39, 1, passed},
		{"1 x 100 B", cpuFigure, 20, 1.41, 1, missed},
		{"1 x 100 B", cpuFigure, 20, 1.39, 4.1, notCounted + ": noise 4.1 %"},
		{"1 x 100 B", cpuFigure, 20, 1.39, -4.1, notCounted + ": noise 4.1 %"},
		{"1 x 10 kB", cpuFigure, 20, 1.31, 1, missed},
		{"32 x 100 B", cpuFigure, 20, 1.31, 1, missed},
		{"32 x 10 kB", cpuFigure, 20, 1.29, 1, passed},
		{"1 x 1 MB", cpuFigure, 20, 3, 1, ""},
		{"1 x 10 kB", p50Figure, 100, 1.06, 1, missed},
		{"32 x 10 kB", p50Figure, 100, 1.04, 1, passed},
		{"1 x 1 MB", p50Figure, 100, 1.24, 1, passed},
		{"1 x 1 MB", p50Figure, 100, 1.26, 1, missed},
		{"32 x 100 B", rateFigure, 100, 0.96, 1, missed},
		{"1 x 1 MB", rateFigure, 100, 0.98, 1, passed},
		{"1 x 100 B", p99Figure, 100, 9, 9, ""},
	} {
		rep := &tableReport{limited: true}
		rep.add(test.situation, test.figure, setsWith(test.figure, test.pump, test.ratio, test.noise))
		if got := rep.Rows[0].Verdict; got != test.want {
			t.Errorf("%s, %s, %g x with %g %%: %q, want %q", test.situation, test.figure, test.ratio, test.noise, got, test.want)
		}
		if failed := rep.failure() != nil; failed != (test.want != passed) {
			t.Errorf("%s, %s: %v", test.situation, test.figure, rep.failure())
		}
	}
}

// Amounts are compared as they are, and their noise is a part of the limit.
func TestLimitsOfAmounts(t *testing.T) {
	for _, test := range []struct {
		situation, figure string
		pump, wrap, again float64
		want              string
	}{
		{startSituation, startFigure, 5, 9.9, 9.9, passed},
		{startSituation, startFigure, 5, 10.1, 10.1, missed},
		{startSituation, startFigure, 5, 9, 9.5, notCounted + ": noise 5.0 %"},
		{"1 x 100 B", privateFigure, 2, 6.9, 6.9, passed},
		{"32 x 10 kB", privateFigure, 2, 7.1, 7.1, missed},
		{"1 x 1 MB", privateFigure, 2, 12, 12, ""},
		{idleSituation, privateFigure, 2, 5.1, 5.1, missed},
		{idleSituation, wakeFigure, 0, 2, 2, passed},
		{idleSituation, wakeFigure, 0, 2.1, 2.1, missed},
		{manySituation, pssFigure, 0, 501, 501, missed},
	} {
		rep := &tableReport{limited: true}
		rep.add(test.situation, test.figure, []set{{pump: {test.figure: test.pump}, wrap: {test.figure: test.wrap}, again: {test.figure: test.again}}})
		if got := rep.Rows[0].Verdict; got != test.want {
			t.Errorf("%s, %s of %g: %q, want %q", test.situation, test.figure, test.wrap, got, test.want)
		}
	}
}

// One good set does not hide that the others differ.
func TestNoiseIsSeenInTheSpreadOfTheSets(t *testing.T) {
	sets := setsWith(cpuFigure, 20, 1.2, 0)
	for n := range sets {
		sets[n][again][cpuFigure] *= 1 + 0.3*float64(n%3-1)
	}
	rep := &tableReport{limited: true}
	rep.add("1 x 100 B", cpuFigure, sets)
	if row := rep.Rows[0]; !strings.HasPrefix(row.Verdict, notCounted) {
		t.Errorf("%+v", row)
	}
}

func TestNothingMeasuredIsNoPass(t *testing.T) {
	rep := &tableReport{limited: true}
	if rep.failure() == nil {
		t.Error("a run without figures passes")
	}
	rep.add("1 x 100 B", privateFigure, []set{{direct: {privateFigure: 1}, wrap: {}}})
	if rep.failure() == nil {
		t.Error("a run without gauze passes")
	}
}

// fullReport has every figure of every route.
func fullReport() *tableReport {
	rep := &tableReport{limited: true, Peers: []peer{{Name: "one", About: "a <proxy>"}, {Name: "two", About: "another"}}}
	add := func(situation string, names ...string) {
		for _, figure := range names {
			one := set{again: {figure: 300}}
			for i, r := range rep.routes() {
				one[r] = figures{figure: 100 * float64(i+1)}
			}
			rep.add(situation, figure, []set{one})
		}
	}
	for _, c := range (&costTable{}).cells() {
		add(c.load(), callFigures...)
	}
	add(startSituation, startFigure)
	add(idleSituation, wakeFigure, idleCPUFigure, privateFigure)
	return rep
}

func TestTableHasEveryRouteAndVerdict(t *testing.T) {
	var out strings.Builder
	fullReport().print(&out)
	for _, want := range []string{"direct", "pump", "wrap", "one", "two", "1 x 1 MB", "32 x 10 kB", "x pump 1.4", missed, "one: a <proxy>"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestPlotIsXMLWithEverySeries(t *testing.T) {
	rep := fullReport()
	text := rep.svg()
	bars, words := map[string]int{}, []string{}
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if token.Name.Local == "rect" && a.Name.Local == "class" {
					bars[a.Value]++
				}
				if token.Name.Local == "rect" && a.Name.Local == "height" && strings.HasPrefix(a.Value, "-") {
					t.Errorf("a bar is %s high", a.Value)
				}
			}
		case xml.CharData:
			words = append(words, string(token))
		}
	}
	groups := 0
	for _, p := range plotPanels() {
		groups += len(p.groups)
		for _, g := range p.groups {
			if !slices.Contains(words, g.label) {
				t.Errorf("group %q is not labeled", g.label)
			}
		}
	}
	for i, name := range rep.names() {
		if got := bars[fmt.Sprint("r", i)]; got != groups+1 || !slices.Contains(words, name) { // and the legend
			t.Errorf("%s has %d bars, want %d: %q", name, got, groups+1, words)
		}
	}
	if !strings.Contains(text, "prefers-color-scheme: dark") {
		t.Error("the plot has no dark colors")
	}
}
