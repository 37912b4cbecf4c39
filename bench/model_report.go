package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// rulesTally is what the rules do with a corpus on their own.
type rulesTally struct {
	Calls   int `json:"calls"`
	Healed  int `json:"healed"`
	Altered int `json:"altered"`
	Refused int `json:"refused"`
}

// modelRow is the outcome of one model.
type modelRow struct {
	Model    string         `json:"model"`
	Calls    int            `json:"calls"`
	Asked    int            `json:"questions"`
	Outcomes map[string]int `json:"outcomes"`
	Why      map[string]int `json:"rejected_because,omitempty"`
	// Passed are the lies that would be sent, by kind. A call of swapped values is one, although
	// each of them is the caller's.
	Passed map[string]int `json:"lies_sent,omitempty"`
	Told   map[string]int `json:"lies_told,omitempty"`

	MedianSeconds float64 `json:"median_seconds"`
	MaxSeconds    float64 `json:"max_seconds"`
	MedianInput   int     `json:"median_input_tokens"`
	MedianOutput  int     `json:"median_output_tokens"`
	// Healed is the percentage of all core calls that rules and the model heal, extrapolated if
	// only a sample was asked about.
	Healed float64 `json:"rules_and_model_healed_percent,omitempty"`
}

type modelReport struct {
	Seed  uint64     `json:"seed"`
	Rules rulesTally `json:"rules"`
	Rows  []modelRow `json:"models"`
}

// add summarizes the answers of one model.
func (r *modelReport) add(name string, calls int, tries []modelTry) {
	row := modelRow{Model: name, Calls: calls, Asked: len(tries), Outcomes: map[string]int{}, Why: map[string]int{}, Passed: map[string]int{}, Told: map[string]int{}}
	var seconds []float64
	var input, output []int
	for _, try := range tries {
		row.Outcomes[try.Outcome]++
		if try.Outcome == rejected || try.Outcome == failed {
			row.Why[try.Why]++
		}
		if try.Lie != "" {
			row.Told[try.Lie]++
			if slices.Contains([]string{string(healed), string(carried), string(altered), string(unfit)}, try.Outcome) {
				row.Passed[try.Lie]++
			}
		}
		seconds, input, output = append(seconds, try.Seconds), append(input, try.Input), append(output, try.Output)
	}
	row.MedianSeconds, row.MaxSeconds = median(seconds), quantile(seconds, 1)
	row.MedianInput, row.MedianOutput = median(input), median(output)
	if calls > 0 && len(row.Told) == 0 {
		more := float64(row.Outcomes[string(healed)]) / float64(calls) * float64(r.Rules.Refused)
		row.Healed = 100 * (float64(r.Rules.Healed) + more) / float64(r.Rules.Calls)
	}
	r.Rows = append(r.Rows, row)
}

func (r *modelReport) print(w io.Writer) {
	fmt.Fprintf(w, "core calls with a known answer: %d; rules heal %d (%.1f %%), refuse %d, alter %d; seed %d\n\n", r.Rules.Calls, r.Rules.Healed,
		100*float64(r.Rules.Healed)/float64(r.Rules.Calls), r.Rules.Refused, r.Rules.Altered, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "model\tcalls\tquestions\thealed\toffered right\toffered wrong\tcarried\taltered\tdeclined\trejected\tfailed\tmedian s\tmax s\ttokens in\tout\t")
	for _, row := range r.Rows {
		o := row.Outcomes
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t%d\t\n", row.Model, row.Calls, row.Asked, o[string(healed)],
			o[offeredRight], o[offeredWrong], o[string(carried)], o[string(altered)], o[declined], o[rejected], o[failed],
			row.MedianSeconds, row.MaxSeconds, row.MedianInput, row.MedianOutput)
	}
	t.Flush()
	for _, row := range r.Rows {
		if row.Healed > 0 {
			fmt.Fprintf(w, "\n%s: rules and model heal %.1f %% of all core calls", row.Model, row.Healed)
		}
		printCounts(w, row.Model+": why answers were rejected or missing", row.Why, nil)
		printCounts(w, row.Model+": lies sent, of those told", row.Passed, row.Told)
	}
	fmt.Fprintln(w)
}

// printCounts prints counts, the largest first, and what they are a part of.
func printCounts(w io.Writer, title string, counts, of map[string]int) {
	names := slices.Sorted(maps.Keys(counts))
	if of != nil {
		names = slices.Sorted(maps.Keys(of))
	}
	if len(names) == 0 {
		return
	}
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	fmt.Fprintf(w, "\n%s\n", title)
	for _, name := range names {
		total := ""
		if of != nil {
			total = fmt.Sprintf(" of %d", of[name])
		}
		fmt.Fprintf(w, "  %5d%s  %s\n", counts[name], total, name)
	}
}

// check returns an error if a call would have been sent with values that are not the caller's.
func (r *modelReport) check() error {
	for _, row := range r.Rows {
		if n := row.Outcomes[string(altered)] + row.Outcomes[string(unfit)]; n > 0 {
			return fmt.Errorf("%s: %d calls would be sent with altered values", row.Model, n)
		}
	}
	if r.Rules.Altered > 0 {
		return errors.New("the rules alter calls")
	}
	return nil
}
