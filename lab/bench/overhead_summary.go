package main

import "time"

// burst is the measurement of one route in one round.
type burst struct {
	latencies []float64 // microseconds, sorted
	p50       float64
	perSecond float64
	cpu       float64 // microseconds per call, of the route's first process
	transfers float64 // reads and writes per call, likewise
	switches  float64 // context switches per call, likewise
}

// with adds what the route's first process did.
func (b burst) with(a activity) burst {
	calls := float64(len(b.latencies))
	b.cpu, b.transfers = float64(a.cpu.Nanoseconds())/1000/calls, float64(a.transfers)/calls
	b.switches = float64(a.waits+a.preempted) / calls
	return b
}

// round holds the bursts of one round, which run directly after one another.
type round map[route]burst

func newBurst(latencies []time.Duration, elapsed time.Duration) burst {
	b := burst{perSecond: float64(len(latencies)) / elapsed.Seconds()}
	for _, l := range latencies {
		b.latencies = append(b.latencies, float64(l.Nanoseconds())/1000)
	}
	b.p50 = median(b.latencies)
	return b
}

// routeSummary summarizes one route in one situation over all rounds.
type routeSummary struct {
	P50       float64 `json:"p50_us"`
	P90       float64 `json:"p90_us"`
	P99       float64 `json:"p99_us"`
	PerSecond float64 `json:"calls_per_second"`
	// The following are medians over the rounds of each round's own value: when the machine was
	// busy in a round, it was busy for every route.
	P50Ratio        float64 `json:"p50_ratio"`
	ThroughputRatio float64 `json:"throughput_ratio"`
	OverPump        float64 `json:"p50_over_pump_us"`
	CPU             float64 `json:"cpu_us_per_call"` // of the server itself if the route is direct
	CPURatio        float64 `json:"cpu_ratio"`
}

type cellSummary struct {
	cell
	Routes map[route]routeSummary `json:"routes"`
}

// summarize summarizes the rounds of one situation. Ratios are relative to base.
func summarize(c cell, rounds []round, base route) cellSummary {
	s := cellSummary{cell: c, Routes: map[route]routeSummary{}}
	if len(rounds) == 0 {
		return s
	}
	for r := range rounds[0] {
		var latencies, perSecond, p50Ratio, throughputRatio, overPump, cpu, cpuRatio []float64
		for _, one := range rounds {
			latencies = append(latencies, one[r].latencies...)
			perSecond = append(perSecond, one[r].perSecond)
			cpu = append(cpu, one[r].cpu)
			if to, ok := one[base]; ok {
				p50Ratio = append(p50Ratio, one[r].p50/to.p50)
				throughputRatio = append(throughputRatio, one[r].perSecond/to.perSecond)
				cpuRatio = append(cpuRatio, one[r].cpu/to.cpu)
			}
			if to, ok := one[pump]; ok {
				overPump = append(overPump, one[r].p50-to.p50)
			}
		}
		s.Routes[r] = routeSummary{
			P50: quantile(latencies, 0.5), P90: quantile(latencies, 0.9), P99: quantile(latencies, 0.99),
			PerSecond: median(perSecond), P50Ratio: median(p50Ratio),
			ThroughputRatio: median(throughputRatio), OverPump: median(overPump), CPU: median(cpu), CPURatio: median(cpuRatio),
		}
	}
	return s
}
