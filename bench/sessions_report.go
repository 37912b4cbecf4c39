package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// sceneResult is one scene, told.
type sceneResult struct {
	scene
	Empty     memory   `json:"memory_without_clients"`
	Full      memory   `json:"memory_with_idle_clients"`
	IdleKB    float64  `json:"kb_per_idle_client"`
	Calls     int      `json:"calls"`
	P50       float64  `json:"p50_us"`
	P99       float64  `json:"p99_us"`
	StuckP50  float64  `json:"p50_us_with_stuck_client"`
	StuckP99  float64  `json:"p99_us_with_stuck_client"`
	Change    float64  `json:"p99_change_percent"`        // median over the pairs of rounds
	ChangeMid float64  `json:"p50_change_percent"`        // likewise
	Pooled    float64  `json:"p99_change_percent_pooled"` // over all calls together
	Problems  []string `json:"problems"`
	Pass      bool     `json:"pass"`
}

// compare lets the healthy clients call, in pairs of rounds without and with a
// stuck client right after one another: whatever else the machine does hits
// both alike. Who goes first alternates.
func (s *sessionsRun) compare(ctx context.Context, crowd *crowd, r *sceneResult) error {
	if _, err := crowd.call(ctx, s.rate, s.length, 0); err != nil { // untimed
		return err
	}
	var without, with, change, changeMid []float64
	for n := range s.rounds {
		seen := map[bool][]float64{}
		for _, isStuck := range []bool{n%2 == 1, n%2 == 0} {
			took, err := s.round(ctx, crowd, isStuck, n)
			if err != nil {
				return fmt.Errorf("round %d, with a stuck client %v: %w", n, isStuck, err)
			}
			seen[isStuck] = took
		}
		without, with = append(without, seen[false]...), append(with, seen[true]...)
		change = append(change, percent(quantile(seen[true], 0.99), quantile(seen[false], 0.99)))
		changeMid = append(changeMid, percent(median(seen[true]), median(seen[false])))
	}
	r.Calls = len(without) + len(with)
	r.P50, r.P99 = median(without), quantile(without, 0.99)
	r.StuckP50, r.StuckP99 = median(with), quantile(with, 0.99)
	r.Change, r.ChangeMid, r.Pooled = median(change), median(changeMid), percent(r.StuckP99, r.P99)
	return nil
}

func percent(now, before float64) float64 { return (now/before - 1) * 100 }

func (s *sessionsRun) round(ctx context.Context, crowd *crowd, isStuck bool, n int) ([]float64, error) {
	if isStuck {
		ctx, cancel := context.WithCancel(ctx)
		st, err := getStuck(ctx, crowd.dialect, crowd.url)
		if err != nil {
			cancel()
			return nil, err
		}
		var wg sync.WaitGroup
		wg.Go(func() { st.goOn(ctx) })
		defer func() { cancel(); wg.Wait(); st.leave(); time.Sleep(calmDown) }()
		time.Sleep(4 * calmDown) // until everything it wanted is stuck
	} else {
		time.Sleep(calmDown)
		defer time.Sleep(calmDown)
	}
	return crowd.call(ctx, s.rate, s.length, n*s.rate)
}

// calmDown is what coming and going may take: neither is measured.
const calmDown = 250 * time.Millisecond

func (r *sceneResult) judge() {
	r.IdleKB = float64(r.Full.RSS-r.Empty.RSS) / float64(r.Clients)
	if r.IdleKB > maxIdleKB {
		r.Problems = append(r.Problems, fmt.Sprintf("an idle client costs %.1f KB, allowed are %g", r.IdleKB, maxIdleKB))
	}
	if r.Change >= maxStuckChange {
		r.Problems = append(r.Problems, fmt.Sprintf("a stuck client changes the p99 of the others by %.1f %%, allowed are less than %g", r.Change, maxStuckChange))
	}
	r.Pass = len(r.Problems) == 0
}

// printScenes shows the scenes side by side.
func printScenes(w io.Writer, results []*sceneResult) {
	row, flush := columns(w, results)
	us := func(v float64) string { return fmt.Sprintf("%.0f us", v) }
	change := func(v float64) string { return fmt.Sprintf("%+.1f %%", v) }
	mb := func(m memory) string { return fmt.Sprintf("%.1f MB", float64(m.RSS)/1000) }
	row("clients", func(r *sceneResult) string { return fmt.Sprintf("%d %s", r.Clients, r.Era) })
	row("server", func(r *sceneResult) string {
		return map[bool]string{true: "a child each", false: "one, by URL"}[r.child]
	})
	row("memory without clients", func(r *sceneResult) string { return mb(r.Empty) })
	row("memory with all of them idle", func(r *sceneResult) string { return mb(r.Full) })
	row(fmt.Sprintf("memory per idle client (at most %g KB)", maxIdleKB), func(r *sceneResult) string { return fmt.Sprintf("%.1f KB", r.IdleKB) })
	row("calls", func(r *sceneResult) string { return fmt.Sprint(r.Calls) })
	row("p50", func(r *sceneResult) string { return us(r.P50) })
	row("p50 beside a stuck client", func(r *sceneResult) string { return us(r.StuckP50) })
	row("change of p50", func(r *sceneResult) string { return change(r.ChangeMid) })
	row("p99", func(r *sceneResult) string { return us(r.P99) })
	row("p99 beside a stuck client", func(r *sceneResult) string { return us(r.StuckP99) })
	row("change of p99 over all calls", func(r *sceneResult) string { return change(r.Pooled) })
	row(fmt.Sprintf("change of p99, median of the pairs (below %g %%)", maxStuckChange), func(r *sceneResult) string { return change(r.Change) })
	row("limits", func(r *sceneResult) string { return mark(r.Pass) })
	flush()
	for _, r := range results {
		for _, problem := range r.Problems {
			fmt.Fprintf(w, "%s: %s\n", r.Name, problem)
		}
	}
}
