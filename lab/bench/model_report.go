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

// sideTally is what the callers of tools that read, or of those that write, get.
type sideTally struct {
	Calls        int `json:"calls"`
	Healed       int `json:"sent_healed"`
	Carried      int `json:"sent_carried"`
	Contradicted int `json:"sent_contradicted"`
	Altered      int `json:"sent_altered"`
	OfferedRight int `json:"offered_right"`
	OfferedWrong int `json:"offered_wrong"`
	// The model proposes nothing: the message has the example of the rules.
	ExampleRight    int `json:"example_right"`
	ExampleInvented int `json:"example_invented"`
	ExampleWrong    int `json:"example_wrong"`
	Nothing         int `json:"nothing"`
}

// count adds what came of one question.
func (s *sideTally) count(try modelTry) {
	s.Calls++
	switch try.Outcome {
	case string(healed):
		s.Healed++
	case string(carried):
		s.Carried++
	case string(contradicted):
		s.Contradicted++
	case string(altered), string(unfit):
		s.Altered++
	case offeredRight:
		s.OfferedRight++
	case offeredWrong:
		s.OfferedWrong++
	default:
		s.countExample(try.Example)
	}
}

func (s *sideTally) countExample(example string) {
	switch example {
	case exampleRight:
		s.ExampleRight++
	case exampleInvented:
		s.ExampleInvented++
	case exampleWrong:
		s.ExampleWrong++
	default:
		s.Nothing++
	}
}

// modelRow is the outcome of one model.
type modelRow struct {
	Model    string         `json:"model"`
	Calls    int            `json:"calls"`
	Asked    int            `json:"questions"`
	Outcomes map[string]int `json:"outcomes"`
	Reads    sideTally      `json:"reads"`
	Writes   sideTally      `json:"writes"`
	Why      map[string]int `json:"rejected_because,omitempty"`
	// Passed are the lies that would be sent, by kind. A call of swapped values is one, although
	// each of them is the caller's. Trusted are those about a rejected or missing value of a tool that
	// only reads: there a model is believed, and the caller is told.
	Passed  map[string]int `json:"lies_sent,omitempty"`
	Trusted map[string]int `json:"lies_sent_to_readers,omitempty"`
	Offered map[string]int `json:"lies_offered,omitempty"`
	Told    map[string]int `json:"lies_told,omitempty"`
	// Doubtful are the calls of tools that read which would be sent with an answer that is not
	// accepted. They are not listed for lies.
	Doubtful []modelTry `json:"sent_not_accepted,omitempty"`

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
		Passed: map[string]int{}, Trusted: map[string]int{}, Offered: map[string]int{}, Told: map[string]int{}}
	var seconds []float64
	var input, output []int
	for _, try := range tries {
		row.Outcomes[try.Outcome]++
		row.side(try).count(try)
		if try.Why != "" && try.Outcome != declined {
			row.Why[try.Why]++
		}
		if try.Lie != "" {
			row.Told[try.Lie]++
			switch {
			case try.Outcome == string(contradicted):
				row.Trusted[try.Lie]++
			case try.sent():
				row.Passed[try.Lie]++
			case try.Outcome == offeredWrong:
				row.Offered[try.Lie]++
			}
		}
		if try.Reads && try.Lie == "" && try.sent() && try.Outcome != string(healed) {
			row.Doubtful = append(row.Doubtful, try)
		}
		seconds, input, output = append(seconds, try.Seconds), append(input, try.Input), append(output, try.Output)
	}
	row.MedianSeconds, row.MaxSeconds = median(seconds), quantile(seconds, 1)
	row.MedianInput, row.MedianOutput = median(input), median(output)
	if calls > 0 && len(row.Told) == 0 {
		percent := func(more int) float64 {
			return 100 * (float64(r.Rules.Healed) + float64(more)/float64(calls)*float64(r.Rules.Refused)) / float64(r.Rules.Calls)
		}
		healing, offers := row.Reads.Healed+row.Writes.Healed, row.Reads.offers()+row.Writes.offers()
		row.Healed, row.HealedOrOffered = percent(healing), percent(healing+offers)
	}
	r.Rows = append(r.Rows, row)
}

// offers returns how often the caller reads an accepted answer: the model's, or that of the rules if
// the model proposes none.
func (s *sideTally) offers() int { return s.OfferedRight + s.ExampleRight }

func (row *modelRow) side(try modelTry) *sideTally {
	if try.Reads {
		return &row.Reads
	}
	return &row.Writes
}

// sent reports whether the corrected call would be sent.
func (t modelTry) sent() bool {
	return slices.Contains([]fate{healed, carried, contradicted, altered, unfit}, fate(t.Outcome))
}

func (r *modelReport) print(w io.Writer) {
	share := func(n int) float64 { return 100 * float64(n) / float64(r.Rules.Calls) }
	fmt.Fprintf(w, "core calls with a known answer: %d; rules heal %d (%.1f %%), heal or offer right %.1f %%, refuse %d, alter %d; seed %d\n\n", r.Rules.Calls,
		r.Rules.Healed, share(r.Rules.Healed), share(r.Rules.Healed+r.Rules.Offered), r.Rules.Refused, r.Rules.Altered, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "model\tcalls\tquestions\thealed\toffered right\toffered wrong\tcarried\tcontradicted\taltered\tdeclined\trejected\tnot asked\tunanswered\tfailed\tmedian s\tmax s\ttokens in\tout\t")
	for _, row := range r.Rows {
		o := row.Outcomes
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t%d\t\n", row.Model, row.Calls, row.Asked, o[string(healed)],
			o[offeredRight], o[offeredWrong], o[string(carried)], o[string(contradicted)], o[string(altered)], o[declined], o[rejected], o[unasked], o[unanswered], o[failed],
			row.MedianSeconds, row.MaxSeconds, row.MedianInput, row.MedianOutput)
	}
	t.Flush()
	r.printSides(w)
	for _, row := range r.Rows {
		if row.Healed > 0 {
			fmt.Fprintf(w, "\n%s: rules and model heal %.1f %% of all core calls, and heal or offer right %.1f %%\n", row.Model, row.Healed, row.HealedOrOffered)
		}
		row.printDoubtful(w)
		row.printWhy(w)
		row.printLies(w)
	}
}

// printSides prints what the callers of tools that read and of tools that write get.
func (r *modelReport) printSides(w io.Writer) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "model\ttools\tquestions\tsent: healed\tcarried\tcontradicted\taltered\toffered: right\twrong\texample: right\tinvented\twrong\tnothing\t")
	for _, row := range r.Rows {
		for _, side := range []struct {
			name string
			sideTally
		}{{"read", row.Reads}, {"write", row.Writes}} {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", row.Model, side.name, side.Calls, side.Healed, side.Carried, side.Contradicted,
				side.Altered, side.OfferedRight, side.OfferedWrong, side.ExampleRight, side.ExampleInvented, side.ExampleWrong, side.Nothing)
		}
	}
	t.Flush()
}

// printDoubtful prints the calls that would be sent with an answer that the corpus does not accept.
func (row *modelRow) printDoubtful(w io.Writer) {
	if len(row.Doubtful) > 0 {
		fmt.Fprintf(w, "\n%s: calls that would be sent with an answer that is not accepted\n", row.Model)
	}
	for _, try := range row.Doubtful {
		fmt.Fprintf(w, "  %s  %s %s: %s -> %s\n", try.Outcome, try.ID, try.Tool, try.Sent, try.After)
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
		fmt.Fprintf(w, "  %5d sent, %d sent to a read-only tool, %d offered, of %d  %s\n", row.Passed[kind], row.Trusted[kind], row.Offered[kind], row.Told[kind], kind)
	}
}

// check returns an error if a call would have been sent with values that are not the caller's, or,
// for a tool that only reads, with a change of what was valid.
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
