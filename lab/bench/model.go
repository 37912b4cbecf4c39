package main

import (
	"context"
	_ "embed" // the built-in calls
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/llm"
)

// modelRun is one run of the benchmark: who answers, about which calls.
type modelRun struct {
	name   string
	writes bool // all tools count as tools that write
	policy correct.Policy
	// answers returns the models to ask about a call, one question each.
	answers func(wrongCall) []answerer
}

// answerer is a model and what kind of answer it gives.
type answerer struct {
	kind  string // of lie; empty for others
	model llm.Model
}

// modelTry is what came of one question.
type modelTry struct {
	ID      string          `json:"id"`
	Class   string          `json:"error_class"`
	Tool    string          `json:"tool"`
	Reads   bool            `json:"read_only"`
	Lie     string          `json:"lie,omitempty"`
	Outcome string          `json:"outcome"`
	Why     string          `json:"why,omitempty"`     // a class of reasons
	Detail  string          `json:"detail,omitempty"`  // the reason
	Example string          `json:"example,omitempty"` // what the message of the rules offers
	Sent    string          `json:"sent"`
	After   json.RawMessage `json:"after,omitempty"`
	Seconds float64         `json:"seconds"`
	Input   int             `json:"input_tokens"`
	Output  int             `json:"output_tokens"`
}

// Outcomes of a question besides the fates of calls that are sent.
const (
	offeredRight = "offered right" // shown to the caller, not sent: an accepted answer
	offeredWrong = "offered wrong"
	declined     = "declined"
	rejected     = "rejected"   // by the checks of gauze
	unasked      = "not asked"  // gauze did not ask the model
	unanswered   = "unanswered" // no answer is recorded
	failed       = "failed"     // no answer, or not JSON that fits
)

// runModel measures what a model does with the calls that rules refuse: those of a file, or the
// built-in ones.
func runModel(args []string) error {
	var file string
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		file, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("model", flag.ContinueOnError)
	oracle := flags.Bool("oracle", false, "a scripted model that always gives an accepted answer: what the checks let through")
	liar := flags.Bool("liar", false, "a scripted model that tells many kinds of lies about every call")
	answers := flags.String("answers", "", "a file of recorded answers, by tool and arguments")
	questions := flags.String("questions", "", "write the calls that have no recorded answer to this file")
	configured := flags.Bool("model", false, "the configured model (the default): GAUZE_MODEL, GAUZE_MODEL_URL")
	n := flags.Int("n", 0, "number of refused calls; 0 for all")
	seed := flags.Uint64("seed", 1, "seed of the sample")
	open := flags.Bool("open", true, "read-only tools may get values of the model's own; false closes the gate")
	writes := flags.Bool("writes", false, "treat all tools as tools that write, not only those that say so or are named so")
	log := flags.String("log", "", "write every answer as a line of JSON to this file")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if file == "" {
		file = flags.Arg(0)
	}
	calls, rules, err := readModelCalls(file)
	if err != nil {
		return err
	}
	asked := sampleCalls(calls, *seed, 0, *n)
	var runs []modelRun
	if *oracle {
		runs = append(runs, modelRun{name: "oracle", answers: oracleAnswers})
	}
	if *liar {
		runs = append(runs, modelRun{name: "liar", answers: liarAnswers})
	}
	if *answers != "" || *questions != "" {
		book, err := readAnswers(*answers)
		if err != nil {
			return err
		}
		if err := book.writeQuestions(*questions, asked); err != nil {
			return err
		}
		runs = append(runs, modelRun{name: "recorded", answers: book.answers})
	}
	if *configured || len(runs) == 0 {
		run, err := configuredRun()
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	record, done, err := openLog[modelTry](*log)
	if err != nil {
		return err
	}
	report := modelReport{Seed: *seed, Rules: rules}
	for _, run := range runs {
		run.writes, run.policy.Closed = *writes, !*open
		tries, err := run.ask(context.Background(), asked, record)
		if err != nil {
			return errors.Join(err, done())
		}
		report.add(run.name, len(asked), tries)
	}
	report.print(os.Stdout)
	if err := errors.Join(done(), writeJSON(*jsonTo, report)); err != nil {
		return err
	}
	return report.check()
}

// builtInCalls are used without a FILE: calls that rules refuse, for a first impression.
//
//go:embed modelcalls.jsonl
var builtInCalls string

// readModelCalls returns the calls of a file that rules refuse, and what the rules do with the
// others.
func readModelCalls(name string) (refused []wrongCall, rules rulesTally, err error) {
	corpus := io.Reader(strings.NewReader(builtInCalls))
	if name != "" {
		file, err := os.Open(name)
		if err != nil {
			return nil, rules, err
		}
		defer file.Close()
		corpus = file
	}
	calls, err := coreCalls(corpus)
	if err != nil {
		return nil, rules, err
	}
	if len(calls) == 0 {
		return nil, rules, fmt.Errorf("%s has no core call with a known answer: each line must be a JSON object with core, schema, args and accept", name)
	}
	rules.Calls = len(calls)
	for _, c := range calls {
		d := c.admitted()
		if d.Verdict == repair.Refused {
			refused = append(refused, c)
			if c.example() == exampleRight {
				rules.Offered++
			}
			continue
		}
		switch c.judge(d.Arguments) {
		case healed:
			rules.Healed++
		case altered:
			rules.Altered++
		}
	}
	rules.Refused = len(refused)
	return refused, rules, nil
}

// configuredRun asks the user's model.
func configuredRun() (run modelRun, err error) {
	config, ok, err := modelconfig.Load("")
	if err != nil {
		return run, err
	}
	if !ok {
		return run, errors.New("no model is configured: set GAUZE_MODEL, such as openai:NAME, and GAUZE_MODEL_URL, or use -oracle or -liar")
	}
	config.PerMinute = 0 // no limit
	model, err := config.Open()
	if err != nil {
		return run, err
	}
	return modelRun{name: config.String(), answers: func(wrongCall) []answerer { return []answerer{{model: model}} }}, nil
}

// scripted is a model that gives one answer.
type scripted json.RawMessage

// Ask returns the answer.
func (s scripted) Ask(context.Context, llm.Question) (llm.Answer, error) {
	return llm.Answer{JSON: json.RawMessage(s), Model: "scripted"}, nil
}

func scriptedArguments(args map[string]any) scripted {
	text, _ := json.Marshal(map[string]any{"arguments": args}) // decoded from JSON: cannot fail
	return scripted(text)
}

func oracleAnswers(c wrongCall) []answerer {
	return []answerer{{model: scriptedArguments(c.oracle())}}
}

// liarAnswers tells every lie about a call: each is an accepted answer with one thing changed.
func liarAnswers(c wrongCall) (all []answerer) {
	schema, _ := parsed(c.Schema).(map[string]any)
	for _, l := range lies {
		for _, args := range l.tell(c.oracle(), schema) {
			if !accepts(parsed(c.Accept), args) {
				all = append(all, answerer{l.name, scriptedArguments(args)})
			}
		}
	}
	return all
}

// ask asks about every call and judges what may be sent.
func (m modelRun) ask(ctx context.Context, calls []wrongCall, record func(modelTry) error) (tries []modelTry, err error) {
	for _, c := range calls {
		for _, a := range m.answers(c) {
			try := m.one(ctx, c, a)
			tries = append(tries, try)
			if err := record(try); err != nil {
				return nil, err
			}
		}
	}
	return tries, nil
}

func (m modelRun) one(ctx context.Context, c wrongCall, a answerer) modelTry {
	reads := c.readOnly() && !m.writes
	call := c.rejected(reads)
	begin := time.Now()
	proposal, cost, err := correct.Ask(ctx, a.model, call, m.policy)
	try := modelTry{ID: c.ID, Class: c.ErrorClass, Tool: c.Tool, Reads: reads, Lie: a.kind, Sent: c.sent(), After: cost.After, Example: c.example(),
		Seconds: time.Since(begin).Seconds(), Input: cost.Usage.InputTokens, Output: cost.Usage.OutputTokens}
	switch {
	case err != nil:
		try.Outcome, try.Why, try.Detail = reasonOf(err)
	case proposal.Send:
		try.Outcome = string(c.judgeSent(proposal.Arguments, reads))
	default:
		try.Outcome = offeredWrong
		if c.judge(proposal.Arguments) == healed {
			try.Outcome = offeredRight
		}
	}
	return try
}

// reasonOf returns the outcome of a question without a proposal, and why.
func reasonOf(err error) (outcome, why, detail string) {
	for _, known := range []struct {
		err     error
		outcome string
	}{
		{correct.ErrDeclined, declined}, {correct.ErrUnfit, rejected}, {correct.ErrInvented, rejected}, {correct.ErrUnchanged, rejected},
		{correct.ErrNotCorrectable, unasked}, {correct.ErrOff, unasked}, {correct.ErrNoModel, unasked}, {errUnrecorded, unanswered},
	} {
		if errors.Is(err, known.err) {
			return known.outcome, known.err.Error(), err.Error()
		}
	}
	return failed, err.Error(), err.Error()
}

// What the message of the rules offers as a call that would pass.
const (
	exampleRight    = "right"    // an accepted answer
	exampleInvented = "invented" // it contains a value that is neither the caller's nor a default
	exampleWrong    = "wrong"
)

// example judges the call that the rules' message offers; empty if there is none.
func (c wrongCall) example() string {
	_, offer, ok := strings.Cut(c.message(), "\n"+exampleLabel)
	if !ok {
		return ""
	}
	offer, partly := strings.CutPrefix(offer, "the same with ")
	args := map[string]any{}
	if sent, ok := container(c.sent()).(map[string]any); partly && ok {
		args = sent
	}
	offered, _ := parsed([]byte(offer)).(map[string]any)
	maps.Copy(args, offered)
	switch {
	case offered != nil && accepts(parsed(c.Accept), args):
		return exampleRight
	case c.invents(args):
		return exampleInvented
	}
	return exampleWrong
}

// rejected returns the call as gauze has it when the rules have refused it and it was not sent.
func (c wrongCall) rejected(safe bool) correct.Call {
	d := c.admitted()
	r := correct.Rejection{Text: d.Refusal().Message, Unsent: true}
	return correct.Call{Tool: c.Tool, About: c.Description, Schema: repair.Compile(c.Schema), Arguments: []byte(c.sent()), Safe: safe,
		Tried: d.Receipt.Changes, Rejection: r, Class: correct.Classify(r)}
}
