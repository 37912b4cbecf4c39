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
	Offered int `json:"offered_right"` // of the refused ones: the message offers an accepted answer
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
	Passed  map[string]int `json:"lies_sent,omitempty"`
	Offered map[string]int `json:"lies_offered,omitempty"`
	Told    map[string]int `json:"lies_told,omitempty"`

	MedianSeconds float64 `json:"median_seconds"`
	MaxSeconds    float64 `json:"max_seconds"`
	MedianInput   int     `json:"median_input_tokens"`
	MedianOutput  int     `json:"median_output_tokens"`
	// The percentages of all core calls that rules and the model heal, and that they heal or offer
	// right, extrapolated if only a sample was asked about.
	Healed          float64 `json:"rules_and_model_healed_percent,omitempty"`
	HealedOrOffered float64 `json:"rules_and_model_healed_or_offered_percent,omitempty"`
}

type modelReport struct {
	Seed  uint64     `json:"seed"`
	Rules rulesTally `json:"rules"`
	Rows  []modelRow `json:"models"`
}

// add summarizes the answers of one model.
func (r *modelReport) add(name string, calls int, tries []modelTry) {
	row := modelRow{Model: name, Calls: calls, Asked: len(tries), Outcomes: map[string]int{}, Why: map[string]int{},
		Passed: map[string]int{}, Offered: map[string]int{}, Told: map[string]int{}}
	var seconds []float64
	var input, output []int
	offers := 0 // the caller gets the model's offer, or that of the rules if the model makes none
	for _, try := range tries {
		row.Outcomes[try.Outcome]++
		if try.Why != "" && try.Outcome != declined {
			row.Why[try.Why]++
		}
		if try.Lie != "" {
			row.Told[try.Lie]++
			if slices.Contains([]string{string(healed), string(carried), string(altered), string(unfit)}, try.Outcome) {
				row.Passed[try.Lie]++
			}
			if try.Outcome == offeredWrong {
				row.Offered[try.Lie]++
			}
		}
		if o := try.Outcome; o == offeredRight || try.ByRules && slices.Contains([]string{declined, rejected, unasked, unanswered, failed}, o) {
			offers++
		}
		seconds, input, output = append(seconds, try.Seconds), append(input, try.Input), append(output, try.Output)
	}
	row.MedianSeconds, row.MaxSeconds = median(seconds), quantile(seconds, 1)
	row.MedianInput, row.MedianOutput = median(input), median(output)
	if calls > 0 && len(row.Told) == 0 {
		percent := func(more int) float64 {
			return 100 * (float64(r.Rules.Healed) + float64(more)/float64(calls)*float64(r.Rules.Refused)) / float64(r.Rules.Calls)
		}
		row.Healed, row.HealedOrOffered = percent(row.Outcomes[string(healed)]), percent(row.Outcomes[string(healed)]+offers)
	}
	r.Rows = append(r.Rows, row)
}

func (r *modelReport) print(w io.Writer) {
	share := func(n int) float64 { return 100 * float64(n) / float64(r.Rules.Calls) }
	fmt.Fprintf(w, "core calls with a known answer: %d; rules heal %d (%.1f %%), heal or offer right %.1f %%, refuse %d, alter %d; seed %d\n\n", r.Rules.Calls,
		r.Rules.Healed, share(r.Rules.Healed), share(r.Rules.Healed+r.Rules.Offered), r.Rules.Refused, r.Rules.Altered, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "model\tcalls\tquestions\thealed\toffered right\toffered wrong\tcarried\taltered\tdeclined\trejected\tnot asked\tunanswered\tfailed\tmedian s\tmax s\ttokens in\tout\t")
	for _, row := range r.Rows {
		o := row.Outcomes
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t%d\t\n", row.Model, row.Calls, row.Asked, o[string(healed)],
			o[offeredRight], o[offeredWrong], o[string(carried)], o[string(altered)], o[declined], o[rejected], o[unasked], o[unanswered], o[failed],
			row.MedianSeconds, row.MaxSeconds, row.MedianInput, row.MedianOutput)
	}
	t.Flush()
	for _, row := range r.Rows {
		if row.Healed > 0 {
			fmt.Fprintf(w, "\n%s: rules and model heal %.1f %% of all core calls, and heal or offer right %.1f %%\n", row.Model, row.Healed, row.HealedOrOffered)
		}
		row.printWhy(w)
		row.printLies(w)
	}
}

// printWhy prints why questions came to nothing, the most frequent reason first.
func (row *modelRow) printWhy(w io.Writer) {
	if len(row.Why) > 0 {
		fmt.Fprintf(w, "\n%s: questions without a correction\n", row.Model)
	}
	reasons := slices.Sorted(maps.Keys(row.Why))
	slices.SortStableFunc(reasons, func(a, b string) int { return row.Why[b] - row.Why[a] })
	for _, why := range reasons {
		fmt.Fprintf(w, "  %5d  %s\n", row.Why[why], why)
	}
}

// printLies prints what became of each kind of lie.
func (row *modelRow) printLies(w io.Writer) {
	if len(row.Told) > 0 {
		fmt.Fprintf(w, "\n%s: lies\n", row.Model)
	}
	for _, kind := range slices.Sorted(maps.Keys(row.Told)) {
		fmt.Fprintf(w, "  %5d sent, %d offered, of %d  %s\n", row.Passed[kind], row.Offered[kind], row.Told[kind], kind)
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
