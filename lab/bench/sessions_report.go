package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"
)

// sceneResult is the result of one scene.
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
	Change    float64  `json:"p99_change_percent"` // of the medians of the rounds
	ChangeMid float64  `json:"p50_change_percent"` // likewise
	Noise     float64  `json:"p99_change_percent_between_equal_rounds"`
	Pooled    float64  `json:"p99_change_percent_pooled"` // over all calls together
	Problems  []string `json:"problems"`
	Pass      bool     `json:"pass"`
}

// arm is a variant of a round. control repeats without and shows how much the p99 varies by itself.
type arm int

const (
	without arm = iota
	control
	beside
)

// compare lets the healthy clients call in rounds without, without and with a stuck client,
// directly after one another, so that other load on the machine affects all of them equally. Their
// order rotates. The result compares the medians of the rounds.
func (s *sessionsRun) compare(ctx context.Context, pool *clientPool, r *sceneResult) error {
	if _, err := pool.call(ctx, s.rate, s.length, 0); err != nil { // not timed
		return err
	}
	var all, p50, p99 [3][]float64
	for n := range s.rounds {
		for k := range all {
			a := arm((n + k) % len(all))
			took, err := s.round(ctx, pool, a == beside, n)
			if err != nil {
				return fmt.Errorf("round %d, arm %d: %w", n, a, err)
			}
			all[a] = append(all[a], took...)
			p50[a], p99[a] = append(p50[a], median(took)), append(p99[a], quantile(took, 0.99))
			r.Calls += len(took)
		}
	}
	calm := slices.Concat(p99[without], p99[control])
	r.P50, r.P99 = median(slices.Concat(p50[without], p50[control])), median(calm)
	r.StuckP50, r.StuckP99 = median(p50[beside]), median(p99[beside])
	r.Change, r.ChangeMid = percent(r.StuckP99, r.P99), percent(r.StuckP50, r.P50)
	r.Noise = percent(median(p99[control]), median(p99[without]))
	r.Pooled = percent(quantile(all[beside], 0.99), quantile(slices.Concat(all[without], all[control]), 0.99))
	return nil
}

func percent(now, before float64) float64 { return (now/before - 1) * 100 }

func (s *sessionsRun) round(ctx context.Context, pool *clientPool, isStuck bool, n int) ([]float64, error) {
	if isStuck {
		ctx, cancel := context.WithCancel(ctx)
		st, err := newStuckClient(ctx, pool.dialect, pool.url)
		if err != nil {
			cancel()
			return nil, err
		}
		var wg sync.WaitGroup
		wg.Go(func() { st.keepAsking(ctx) })
		defer func() { cancel(); wg.Wait(); st.leave(); time.Sleep(settleTime) }()
		time.Sleep(4 * settleTime) // until everything it requested is stuck
	} else {
		time.Sleep(settleTime)
		defer time.Sleep(settleTime)
	}
	return pool.call(ctx, s.rate, s.length, n*s.rate)
}

// settleTime is the time allowed for connecting and disconnecting, which are not measured.
const settleTime = 250 * time.Millisecond

func (r *sceneResult) judge() {
	r.IdleKB = float64(r.Full.RSS-r.Empty.RSS) / float64(r.Clients)
	if r.IdleKB > maxIdleKB {
		r.Problems = append(r.Problems, fmt.Sprintf("an idle client costs %.1f KB; the limit is %g", r.IdleKB, maxIdleKB))
	}
	if r.Change >= maxStuckChange {
		r.Problems = append(r.Problems, fmt.Sprintf("a stuck client changes the p99 of the others by %.1f %%; it must be less than %g", r.Change, maxStuckChange))
	}
	if math.Abs(r.Noise) >= maxStuckChange {
		// If a violation could not have been detected, the limit does not count as met.
		r.Problems = append(r.Problems, fmt.Sprintf("too noisy: identical rounds differ by %.1f %%", r.Noise))
	}
	r.Pass = len(r.Problems) == 0
}

// printScenes prints the scenes as columns of a table.
func printScenes(w io.Writer, results []*sceneResult) {
	row, flush := columns(w, results)
	us := func(v float64) string { return fmt.Sprintf("%.0f us", v) }
	change := func(v float64) string { return fmt.Sprintf("%+.1f %%", v) }
	mb := func(m memory) string { return fmt.Sprintf("%.1f MB", float64(m.RSS)/1000) }
	row("clients", func(r *sceneResult) string { return fmt.Sprintf("%d %s", r.Clients, r.Era) })
	row("server", func(r *sceneResult) string {
		return map[bool]string{true: "one child each", false: "one over HTTP"}[r.child]
	})
	row("memory without clients", func(r *sceneResult) string { return mb(r.Empty) })
	row("memory with all clients idle", func(r *sceneResult) string { return mb(r.Full) })
	row(fmt.Sprintf("memory per idle client (at most %g KB)", maxIdleKB), func(r *sceneResult) string { return fmt.Sprintf("%.1f KB", r.IdleKB) })
	row("calls", func(r *sceneResult) string { return fmt.Sprint(r.Calls) })
	row("p50, median of the rounds", func(r *sceneResult) string { return us(r.P50) })
	row("p50 with a stuck client", func(r *sceneResult) string { return us(r.StuckP50) })
	row("change in p50", func(r *sceneResult) string { return change(r.ChangeMid) })
	row("p99, median of the rounds", func(r *sceneResult) string { return us(r.P99) })
	row("p99 with a stuck client", func(r *sceneResult) string { return us(r.StuckP99) })
	row(fmt.Sprintf("change in p99 (below %g %%)", maxStuckChange), func(r *sceneResult) string { return change(r.Change) })
	row("change in p99 without a stuck client", func(r *sceneResult) string { return change(r.Noise) })
	row("change in p99 over all calls", func(r *sceneResult) string { return change(r.Pooled) })
	row("limits", func(r *sceneResult) string { return mark(r.Pass) })
	flush()
	for _, r := range results {
		for _, problem := range r.Problems {
			fmt.Fprintf(w, "%s: %s\n", r.Name, problem)
		}
	}
}
