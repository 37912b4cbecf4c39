package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict/situations"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/llm"
)

// minRightVerdicts is the share of the situations in which rules decide that they must decide right.
const minRightVerdicts = 0.95

// verdictsRow is how one way to decide did on a table.
type verdictsRow struct {
	Table     string   `json:"table"`
	By        string   `json:"by"`
	Right     int      `json:"right"`
	Wrong     []string `json:"wrong"`
	Questions int      `json:"questions"`
	Overruled int      `json:"overruled"` // answers that were outside of the bounds, or failed
	Deviated  int      `json:"deviated"`  // answers that counted and differ from the rules
	Median    float64  `json:"median_seconds"`
	Tokens    int      `json:"tokens"`
	Notes     []string `json:"notes,omitempty"`
}

type verdictsReport struct {
	Situations int           `json:"situations"`
	Choices    int           `json:"choices"`
	Rows       []verdictsRow `json:"rows"`
	Pass       bool          `json:"pass"`
}

// The tables.
const (
	ruledTable  = "rules decide"
	choiceTable = "rules leave a choice"
)

// adviser returns the model that is asked about a situation, or nil.
type adviser func(situations.Situation) llm.Model

// runVerdicts decides the tables of situations by rules alone, and with the configured model or with
// recorded answers.
func runVerdicts(args []string) error {
	flags := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	withModel := flags.Bool("model", false, "also decide with the configured model ($GAUZE_MODEL and so on, or model.yaml)")
	answers := flags.String("answers", "", "also decide with the recorded answers in this `FILE`: lines of {\"name\", \"action\", \"reason\", \"confidence\"}")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *withModel && *answers != "" {
		return errors.New("-model and -answers exclude each other")
	}
	var ask adviser
	var err error
	switch {
	case *answers != "":
		ask, err = recordedVerdicts(*answers)
	case *withModel:
		ask, err = configuredModel()
	}
	if err != nil {
		return err
	}
	rep, err := judgeVerdicts(context.Background(), ask)
	if err != nil {
		return err
	}
	rep.print(os.Stdout)
	if err := writeJSON(*jsonTo, rep); err != nil {
		return err
	}
	if !rep.Pass {
		return errors.New("the rules are right too rarely, or the model made it worse")
	}
	return nil
}

func configuredModel() (adviser, error) {
	config, ok, err := modelconfig.Load("")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("-model requires a model: set GAUZE_MODEL")
	}
	model, err := config.Open()
	return func(situations.Situation) llm.Model { return model }, err
}

// recordedVerdict is the answer of a reader to the question about a situation.
type recordedVerdict struct {
	Name       string  `json:"name"`
	Action     string  `json:"action"`
	Reason     string  `json:"reason"`
	Confidence float64 `json:"confidence"`
}

func (v recordedVerdict) Ask(context.Context, llm.Question) (llm.Answer, error) {
	if v.Name == "" {
		return llm.Answer{}, errors.New("no answer is recorded")
	}
	text, err := json.Marshal(v)
	return llm.Answer{JSON: text, Model: "recorded"}, err
}

// recordedVerdicts reads answers by the names of situations. A situation without one is a model that
// does not answer.
func recordedVerdicts(file string) (adviser, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	byName := map[string]recordedVerdict{}
	for line := range bytes.Lines(data) {
		var v recordedVerdict
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		byName[v.Name] = v
	}
	return func(s situations.Situation) llm.Model { return byName[s.Name] }, nil
}

// judgeVerdicts decides every situation by rules alone and, unless ask is nil, with a model. It passes
// if the rules are right often enough where they decide, and the model is not worse than they are.
func judgeVerdicts(ctx context.Context, ask adviser) (rep verdictsReport, err error) {
	ruled, err := situations.All()
	if err != nil {
		return rep, err
	}
	choices, err := situations.Choices()
	if err != nil {
		return rep, err
	}
	rep.Situations, rep.Choices = len(ruled), len(choices)
	gained := 0
	for _, table := range []struct {
		name string
		all  []situations.Situation
	}{{ruledTable, ruled}, {choiceTable, choices}} {
		rules, err := decideAll(ctx, table.name, table.all, nil)
		if err != nil {
			return rep, err
		}
		rep.Rows = append(rep.Rows, rules)
		if ask == nil {
			continue
		}
		both, err := decideAll(ctx, table.name, table.all, ask)
		if err != nil {
			return rep, err
		}
		rep.Rows = append(rep.Rows, both)
		gained += both.Right - rules.Right
	}
	rep.Pass = gained >= 0 && float64(rep.row(ruledTable, "rules").Right) >= minRightVerdicts*float64(len(ruled))
	return rep, nil
}

// row returns how one way to decide did on a table.
func (rep *verdictsReport) row(table, by string) verdictsRow {
	for _, r := range rep.Rows {
		if r.Table == table && r.By == by {
			return r
		}
	}
	return verdictsRow{}
}

func decideAll(ctx context.Context, table string, all []situations.Situation, ask adviser) (row verdictsRow, err error) {
	row.Table, row.By = table, "rules"
	if ask != nil {
		row.By = "rules and model"
	}
	var took []float64
	for _, s := range all {
		situation := s.Facts.Situation(doctor.Permanent)
		alone, err := verdict.Evaluate(ctx, situation, nil)
		if err != nil {
			return row, fmt.Errorf("%s: %w", s.Name, err)
		}
		start, v := time.Now(), alone
		if ask != nil {
			if v, err = verdict.Evaluate(ctx, situation, ask(s)); err != nil {
				return row, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		right := slices.Contains(s.Right, v.Action)
		if right {
			row.Right++
		} else {
			row.Wrong = append(row.Wrong, s.Name)
		}
		c := v.Consulted
		if c == nil {
			continue
		}
		row.Questions++
		row.Tokens += c.Usage.InputTokens + c.Usage.OutputTokens
		took = append(took, time.Since(start).Seconds())
		if c.Rejected != "" {
			row.Overruled++
		} else if v.Action != alone.Action {
			row.Deviated++
		}
		row.Notes = append(row.Notes, fmt.Sprintf("%s: rules %s, model %s, verdict %s (%s) %s", s.Name, alone.Action, c.Answer, v.Action, mark(right), c.Rejected))
	}
	if len(took) > 0 {
		row.Median = median(took)
	}
	return row, nil
}

func (rep *verdictsReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "situations in which\tdecided by\tright\twrong\tquestions\toverruled\tdeviated\tmedian s\ttokens\t")
	for _, r := range rep.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t\n", r.Table, r.By, r.Right, len(r.Wrong), r.Questions, r.Overruled, r.Deviated, r.Median, r.Tokens)
	}
	t.Flush()
	for _, r := range rep.Rows {
		for _, name := range r.Wrong {
			fmt.Fprintf(w, "\nwrong by %s: %s", r.By, name)
		}
		for _, note := range r.Notes {
			fmt.Fprintf(w, "\n%s", note)
		}
	}
	fmt.Fprintf(w, "\n\n%s  %d situations in which rules decide, %d in which they leave a choice\n", mark(rep.Pass), rep.Situations, rep.Choices)
}
