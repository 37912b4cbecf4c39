package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
)

// costRow compares the CPU time of a call on one route with that on wrap.
type costRow struct {
	Situation string  `json:"situation"`
	Route     route   `json:"route"`
	Processes int     `json:"processes"`
	CPU       float64 `json:"cpu_us"`       // median of the processes
	More      float64 `json:"more_percent"` // median of the trios
	Low       float64 `json:"low_percent"`  // of the 95 % confidence interval of More
	High      float64 `json:"high_percent"`
}

// noise returns how far two measurements of the same differ, or can be expected to, in percent.
func (r costRow) noise() float64 { return max(math.Abs(r.More), (r.High-r.Low)/2) }

// costReport is what a route costs compared with wrap.
type costReport struct {
	Rows    []costRow     `json:"rows"`
	Memory  map[route]int `json:"private_memory_kb"` // median of some processes
	Look    float64       `json:"look_ms,omitempty"` // CPU time of gauze each time it is asked about itself
	Targets []target      `json:"targets"`
	Notes   []string      `json:"notes,omitempty"`
	Pass    bool          `json:"pass"`

	of        route   // of is the route whose cost it is.
	without   string  // without is what wrap lacks.
	maxCost   float64 // maxCost is in percent of the CPU time of a call.
	maxMemory int     // maxMemory is in kB.
	maxLook   float64 // maxLook is in milliseconds; 0: it is not asked.
}

// compare adds the rows of one situation.
func (rep *costReport) compare(situation string, trios []trio) {
	for _, r := range []route{wrap, again, rep.of} {
		var cpu, more []float64
		for _, t := range trios {
			cpu = append(cpu, t[r])
			more = append(more, 100*(t[r]/t[wrap]-1))
		}
		low, high := medianInterval(more)
		rep.Rows = append(rep.Rows, costRow{situation, r, len(trios), median(cpu), median(more), low, high})
	}
}

// medianInterval returns the 95 % confidence interval of the median: what the median is of samples
// drawn from the values, with repetition.
func medianInterval(values []float64) (low, high float64) {
	const samples = 2000
	random := rand.New(rand.NewPCG(1, 2)) // the same result for the same values
	medians := make([]float64, samples)
	sample := make([]float64, len(values))
	for n := range medians {
		for i := range sample {
			sample[i] = values[random.IntN(len(values))]
		}
		medians[n] = median(sample)
	}
	return quantile(medians, 0.025), quantile(medians, 0.975)
}

// maxNoise returns the noise with which a cost at the limit can still be seen, in percent.
func (rep *costReport) maxNoise() float64 { return rep.maxCost * 2 / 3 }

// judge compares the measurements with the targets. A cost is low enough if the whole interval is below
// the limit. It does not count if gauze differs too much from itself.
func (rep *costReport) judge() {
	rep.Pass = true
	for i, row := range rep.Rows {
		if row.Route != rep.of {
			continue
		}
		noise := rep.Rows[i-1].noise()
		rep.add(target{Name: "noise, " + row.Situation, Seen: noise, Limit: rep.maxNoise(), Unit: "%", Pass: noise <= rep.maxNoise()})
		if noise > rep.maxNoise() {
			rep.Notes = append(rep.Notes, fmt.Sprintf("%s does not count: gauze without %s differs by %.1f %% from itself, so repeat this on a quiet machine", row.Situation, rep.without, noise))
			continue
		}
		rep.add(target{Name: "CPU time of a call, at most, " + row.Situation, Seen: row.High, Limit: rep.maxCost, Unit: "%", Pass: row.High <= rep.maxCost})
	}
	if rep.maxLook > 0 {
		rep.add(target{Name: "CPU time each time it is asked", Seen: rep.Look, Limit: rep.maxLook, Unit: "ms", Pass: rep.Look <= rep.maxLook})
	}
	more := float64(rep.Memory[rep.of] - rep.Memory[wrap])
	rep.add(target{Name: "more private memory", Seen: more, Limit: float64(rep.maxMemory), Unit: "kB", Pass: more <= float64(rep.maxMemory)})
}

// failure returns an error unless all targets are met.
func (rep *costReport) failure() error {
	switch {
	case rep.Pass:
		return nil
	case len(rep.Notes) > 0:
		return errors.New("the run does not count, because of its noise")
	}
	return errors.New("a target was missed")
}

func (rep *costReport) add(t target) {
	rep.Targets = append(rep.Targets, t)
	rep.Pass = rep.Pass && t.Pass
}

func (rep *costReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "healthy calls\troute\tprocesses\tCPU us\tmore than wrap\t95 % interval\t")
	for _, row := range rep.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%.1f\t", row.Situation, row.Route, row.Processes, row.CPU)
		if row.Route != wrap {
			fmt.Fprintf(t, "%+.1f %%\t%+.1f to %+.1f %%\t\n", row.More, row.Low, row.High)
		} else {
			fmt.Fprint(t, "\t\t\n")
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\nwrap and again are without %s: they show the noise\nprivate memory: %d kB without, %d kB in a second measurement, %d kB with\n\n", rep.without, rep.Memory[wrap], rep.Memory[again], rep.Memory[rep.of])
	printTargets(w, rep.Targets)
	for _, note := range rep.Notes {
		fmt.Fprintln(w, note)
	}
}
