package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/modelconfig"
	"github.com/gauze-mcp/gauze/internal/verdict"
	"github.com/gauze-mcp/gauze/internal/verdict/situations"
	"github.com/gauze-mcp/gauze/llm"
)

// minRightVerdicts is the share of the table that the rules alone must decide right.
const minRightVerdicts = 0.95

// verdictsRow is how one way to decide did on the whole table.
type verdictsRow struct {
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
	Rows       []verdictsRow `json:"rows"`
	Pass       bool          `json:"pass"`
}

// runVerdicts decides the table of situations by rules alone, and with the configured model.
func runVerdicts(args []string) error {
	flags := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	withModel := flags.Bool("model", false, "also decide with the configured model ($GAUZE_MODEL and so on, or model.yaml)")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := situations.All()
	if err != nil {
		return err
	}
	var model llm.Model
	if *withModel {
		config, ok, err := modelconfig.Load("")
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("-model requires a model: set GAUZE_MODEL")
		}
		if model, err = config.Open(); err != nil {
			return err
		}
	}
	rep, err := judgeVerdicts(context.Background(), all, model)
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

// judgeVerdicts decides every situation by rules alone and, unless model is nil, with the model. It
// passes if the rules are right often enough and the model is not worse.
func judgeVerdicts(ctx context.Context, all []situations.Situation, model llm.Model) (rep verdictsReport, err error) {
	rules, err := decideAll(ctx, all, nil)
	rep = verdictsReport{Situations: len(all), Rows: []verdictsRow{rules}, Pass: float64(rules.Right) >= minRightVerdicts*float64(len(all))}
	if err != nil || model == nil {
		return rep, err
	}
	both, err := decideAll(ctx, all, model)
	rep.Rows, rep.Pass = append(rep.Rows, both), rep.Pass && both.Right >= rules.Right
	return rep, err
}

func decideAll(ctx context.Context, all []situations.Situation, model llm.Model) (row verdictsRow, err error) {
	row.By = "rules"
	if model != nil {
		row.By = "rules and model"
	}
	var took []float64
	for _, s := range all {
		situation := s.Facts.Situation(doctor.Permanent)
		alone, err := verdict.Evaluate(ctx, situation, nil)
		if err != nil {
			return row, fmt.Errorf("%s: %w", s.Name, err)
		}
		start := time.Now()
		v, err := verdict.Evaluate(ctx, situation, model)
		if err != nil {
			return row, fmt.Errorf("%s: %w", s.Name, err)
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
	fmt.Fprintln(t, "decided by\tright\twrong\tquestions\toverruled\tdeviated\tmedian s\ttokens\t")
	for _, r := range rep.Rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t\n", r.By, r.Right, len(r.Wrong), r.Questions, r.Overruled, r.Deviated, r.Median, r.Tokens)
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
	fmt.Fprintf(w, "\n\n%s  %d situations\n", mark(rep.Pass), rep.Situations)
}
