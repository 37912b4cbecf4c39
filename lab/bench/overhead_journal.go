package main

// recorded is the route of gauze with its journal. The others have none.
const recorded route = "journal"

// Limits of what the journal may cost.
const (
	maxJournalCost   = 3.0   // percent of the CPU time of a call without a journal
	maxJournalMemory = 1_000 // kB of private memory
)

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
	return o.measureCost(newJournalReport(), jsonTo)
}

func newJournalReport() *costReport {
	return &costReport{of: recorded, without: "a journal", maxCost: maxJournalCost, maxMemory: maxJournalMemory}
}
