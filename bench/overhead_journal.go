package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// recorded is the route of gauze with its journal. The others have none.
const recorded route = "journal"

// Limits of what the journal may cost.
const (
	maxJournalP50    = 1.03  // compared with gauze without a journal
	maxJournalMemory = 1_000 // kB of private memory
)

type journalReport struct {
	Rows    []silentRow   `json:"rows"`
	Memory  map[route]int `json:"private_memory_kb"` // median of some processes
	Targets []target      `json:"targets"`
	Pass    bool          `json:"pass"`
}

// runJournalOverhead compares gauze with and without its journal, and gauze without a journal with
// itself, which is how much the measurement varies.
func runJournalOverhead(o overhead, gauze, jsonTo string) error {
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	off := []string{"GAUZE_JOURNAL=off"}
	o.routes, o.env = []route{wrap, again, recorded}, map[route][]string{wrap: off, again: off}
	if err := o.prepare(b, gauze); err != nil {
		return err
	}
	rep := &journalReport{}
	for _, c := range []cell{{"go-sdk", 1, 100}, {"go-sdk", 32, 100}, {"minimal", 1, 100}} {
		rounds, err := o.measureCell(c)
		if err != nil {
			return err
		}
		rep.Rows = append(rep.Rows, compareRoutes(fmt.Sprintf("%s, %d x %s", c.Server, c.Callers, size(c.Payload)), rounds, o.routes...)...)
	}
	if rep.Memory, err = o.privateMemory(); err != nil {
		return err
	}
	rep.judge()
	rep.print(os.Stdout)
	if err := writeJSON(jsonTo, rep); err != nil {
		return err
	}
	if !rep.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

// privateMemory returns the private memory of gauze after some calls on each route, in kB. A system
// that does not report it has none.
func (o *overhead) privateMemory() (map[route]int, error) {
	const processes, calls = 9, 2000
	all := map[route][]int{}
	for n := range processes {
		for _, r := range rotated(o.routes, n) {
			c, err := dial(o.command("minimal", r), o.env[r]...)
			if err != nil {
				return nil, err
			}
			_, _, err = c.burst(1, calls, []byte("x"))
			m, _ := memoryOf(c.cmd.Process.Pid)
			c.close()
			if err != nil {
				return nil, err
			}
			all[r] = append(all[r], m.Anonymous)
		}
	}
	medians := map[route]int{}
	for r, values := range all {
		medians[r] = median(values)
	}
	return medians, nil
}

// judge compares the measurements with the targets. The variation of the measurement itself is
// allowed in addition.
func (rep *journalReport) judge() {
	rep.Pass = true
	for i, row := range rep.Rows {
		if row.Route != recorded {
			continue
		}
		noise := rep.Rows[i-1].P50Ratio
		limit := maxJournalP50 * max(noise, 1/noise)
		rep.add(target{Name: "p50 / without a journal, " + row.Situation, Seen: row.P50Ratio, Limit: limit, Unit: "x", Pass: row.P50Ratio <= limit})
	}
	more := float64(rep.Memory[recorded] - rep.Memory[wrap])
	rep.add(target{Name: "more private memory", Seen: more, Limit: maxJournalMemory, Unit: "kB", Pass: more <= maxJournalMemory})
}

func (rep *journalReport) add(t target) {
	rep.Targets = append(rep.Targets, t)
	rep.Pass = rep.Pass && t.Pass
}

func (rep *journalReport) print(w io.Writer) {
	printRows(w, rep.Rows)
	fmt.Fprintf(w, "\nprivate memory: %d kB without a journal, %d kB in a second measurement, %d kB with one\n\n", rep.Memory[wrap], rep.Memory[again], rep.Memory[recorded])
	printTargets(w, rep.Targets)
}
