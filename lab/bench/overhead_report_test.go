package main

import "testing"

func reportWith(change func(*overheadReport)) *overheadReport {
	good := func(server string, callers int) cellSummary {
		return cellSummary{cell{server, callers, 100}, map[route]routeSummary{
			pump: {CPU: 20},
			wrap: {P50Ratio: 1.1, ThroughputRatio: 0.95, OverPump: 20, CPU: 30},
		}}
	}
	rep := &overheadReport{
		Cells:  []cellSummary{good("go-sdk", 1), good("minimal", 1)},
		Starts: map[route]float64{direct: 2, wrap: 7},
		Memory: memory{Peak: 12_000, Anonymous: 7_000},
		TenPSS: 90_000,
	}
	change(rep)
	rep.judge()
	return rep
}

func TestOverheadTargets(t *testing.T) {
	if rep := reportWith(func(*overheadReport) {}); !rep.Pass || len(rep.Targets) != 9 {
		t.Errorf("all targets are met, but pass is %v: %+v", rep.Pass, rep.Targets)
	}
	for name, spoil := range map[string]func(*overheadReport){
		"slow":           func(r *overheadReport) { r.Cells[0].Routes[wrap] = routeSummary{P50Ratio: 1.2, ThroughputRatio: 1} },
		"narrow":         func(r *overheadReport) { r.Cells[0].Routes[wrap] = routeSummary{P50Ratio: 1, ThroughputRatio: 0.8} },
		"heavier":        func(r *overheadReport) { r.Cells[1].Routes[wrap] = routeSummary{OverPump: 31} },
		"fat":            func(r *overheadReport) { r.Memory.Peak = 15_001 },
		"fat in private": func(r *overheadReport) { r.Memory.Anonymous = 8_001 },
		"fat in company": func(r *overheadReport) { r.TenPSS = 100_001 },
		"busy": func(r *overheadReport) {
			r.Cells[0].Routes[wrap] = routeSummary{P50Ratio: 1, ThroughputRatio: 1, CPU: 33}
		},
		"late":          func(r *overheadReport) { r.Starts[wrap] = 13 },
		"never started": func(r *overheadReport) { delete(r.Cells[0].Routes, wrap) },
	} {
		if reportWith(spoil).Pass {
			t.Errorf("a gauze that is %s passes", name)
		}
	}
}
