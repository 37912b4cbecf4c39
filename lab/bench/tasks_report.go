package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// maxBookkeeping limits the p99 of what the journal adds to a step, in milliseconds: the intent
// before the call and the outcome after it, each on disk.
const maxBookkeeping = 5.0

// tasksPart is one part of the benchmark.
type tasksPart struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Steps   int     `json:"steps"`
	Rate    float64 `json:"steps_per_second"`
	Timed   int     `json:"steps_timed"`        // those that began while all tasks were at work, if there are any
	P50     float64 `json:"bookkeeping_p50_ms"` // of a step
	P99     float64 `json:"bookkeeping_p99_ms"`
	AllP99  float64 `json:"bookkeeping_p99_all_steps_ms"` // also of steps while tasks start and end
	SyncP50 float64 `json:"disk_sync_p50_ms"`             // of the disk alone, at the same time
	SyncP99 float64 `json:"disk_sync_p99_ms"`
	Empty   memory  `json:"memory_without_tasks"`
	Full    memory  `json:"memory_peak"`
	Twice   int     `json:"effects_twice"`
	Missing int     `json:"effects_missing"`
}

// tasksReport is the result of the benchmark. The last part is the one with a limit: in the first,
// every step waits for the steps of all other tasks.
type tasksReport struct {
	Tasks   int         `json:"tasks"`
	Steps   int         `json:"steps_per_task"`
	Parts   []tasksPart `json:"parts"`
	Targets []target    `json:"targets"`
	Notes   []string    `json:"notes,omitempty"`
	Pass    bool        `json:"pass"`
}

func newTasksPart(name string, elapsed time.Duration, logs []*timedLog) *tasksPart {
	var all, timed []float64
	for _, l := range logs {
		all, timed = append(all, l.steps...), append(timed, l.settled...)
	}
	if len(timed) == 0 {
		timed = all // the first tasks end before the last begins
	}
	return &tasksPart{Name: name, Seconds: elapsed.Seconds(), Steps: len(all), Rate: float64(len(all)) / elapsed.Seconds(),
		Timed: len(timed), P50: quantile(timed, 0.5), P99: quantile(timed, 0.99), AllP99: quantile(all, 0.99)}
}

// perTask returns the memory of one task in kB.
func (rep *tasksReport) perTask(p tasksPart) float64 {
	return float64(p.Full.RSS-p.Empty.RSS) / float64(rep.Tasks)
}

func (rep *tasksReport) judge() {
	for _, p := range rep.Parts {
		rep.Targets = append(rep.Targets,
			target{Name: "effects that are missing, " + p.Name, Seen: float64(p.Missing), Pass: p.Missing == 0},
			target{Name: "effects that happened twice, " + p.Name, Seen: float64(p.Twice), Pass: p.Twice == 0})
	}
	last := rep.Parts[len(rep.Parts)-1]
	rep.Targets = append(rep.Targets, target{Name: "bookkeeping of a step, p99, " + last.Name, Seen: last.P99, Limit: maxBookkeeping, Unit: "ms", Pass: last.P99 < maxBookkeeping})
	// A step has two writes that must be on disk.
	if floor := 2 * last.SyncP99; last.P99 >= maxBookkeeping && floor >= maxBookkeeping {
		rep.Notes = append(rep.Notes, fmt.Sprintf("two writes without the journal took %.1f ms at p99 in the same run: repeat this on a quiet machine", floor))
	}
	rep.Pass = true
	for _, t := range rep.Targets {
		rep.Pass = rep.Pass && t.Pass
	}
}

func (rep *tasksReport) print(w io.Writer) {
	fmt.Fprintf(w, "%d tasks at the same time, %d steps each, every step in one journal\n\n", rep.Tasks, rep.Steps)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tsteps\tsteps/s\tbookkeeping p50 ms\tp99 ms\tp99 of all ms\tdisk alone p50 ms\tp99 ms\tmemory MB\tper task kB\t")
	for _, p := range rep.Parts {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t\n", p.Name, p.Steps, p.Rate, p.P50, p.P99, p.AllP99, p.SyncP50, p.SyncP99, float64(p.Full.RSS)/1000, rep.perTask(p))
	}
	t.Flush()
	fmt.Fprintln(w)
	printTargets(w, rep.Targets)
	for _, note := range rep.Notes {
		fmt.Fprintln(w, note)
	}
}
