package task

import (
	"slices"
	"strings"
)

// Within returns an outcome without its result if that is longer than limit bytes.
func (o Outcome) Within(limit int) Outcome {
	if size := len(o.Text) + len(o.JSON); size > limit {
		o.Text, o.JSON, o.TooLarge, o.Limit = "", nil, size, limit
	}
	return o
}

// keptOutcomes is how many of the latest outcomes are never forgotten: the next decision may compare
// them.
const keptOutcomes = 2 * stuckAfter

// Forget returns the entries of a state without the results and arguments that no later decision
// depends on, for a log that is limited in size. If that is not enough, the largest results are
// removed until the entries have at most size bytes: a step that refers to one of them fails with
// the reason. Entries are never removed.
func (s *State) Forget(entries []Entry, size int) []Entry {
	entries = slices.Clone(entries)
	needed := s.needed()
	outcomes := map[int]int{} // the length of results that are still there, by index
	total := 0
	for i, e := range entries {
		switch e.Kind {
		case KindIntent:
			if data, err := read[Intent](e); err == nil && data.Call <= len(s.Calls)-keptOutcomes {
				data.Arguments = nil
				entries[i] = e.with(data)
			}
		case KindOutcome:
			data, err := read[Outcome](e)
			if err != nil || data.Call > len(s.Calls)-keptOutcomes {
				break
			}
			limit := 0
			if step := s.Calls[data.Call-1].Step; needed[step] || step == "" && data.Call > len(s.Calls)-maxShownCalls {
				limit = maxResult
			}
			entries[i] = e.with(data.Within(limit))
			outcomes[i] = len(entries[i].Data)
		}
		total += len(entries[i].Data) + 100
	}
	for total > size && len(outcomes) > 0 {
		largest := -1
		for i, n := range outcomes {
			if largest < 0 || n > outcomes[largest] || n == outcomes[largest] && i < largest {
				largest = i
			}
		}
		data, _ := read[Outcome](entries[largest]) // it was read before
		entries[largest] = entries[largest].with(data.Within(0))
		total -= outcomes[largest] - len(entries[largest].Data)
		delete(outcomes, largest)
	}
	return entries
}

// needed returns the steps whose results the rest of the plan may refer to.
func (s *State) needed() map[string]bool {
	rest := ""
	for _, step := range s.Plan.Steps[min(s.doneSteps(), len(s.Plan.Steps)):] {
		rest += string(step.Arguments) + "\n" + step.For + "\n" + strings.Join(step.When, "\n") + "\n"
	}
	needed := map[string]bool{}
	for _, step := range s.Plan.Steps {
		needed[step.ID] = strings.Contains(rest, step.ID)
	}
	return needed
}

// with returns an entry with different data.
func (e Entry) with(data any) Entry {
	e.Data = entry(e.Kind, data, e.Time).Data
	return e
}
