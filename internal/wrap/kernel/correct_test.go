package kernel_test

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/llm"
)

// scripted is a model that gives the same answer to every question.
type scripted struct {
	json string
	err  error
	wait chan struct{} // if not nil, it answers once this is closed

	mu    sync.Mutex
	asked []llm.Question
}

func (m *scripted) Ask(ctx context.Context, q llm.Question) (llm.Answer, error) {
	m.mu.Lock()
	m.asked = append(m.asked, q)
	m.mu.Unlock()
	if m.wait != nil {
		select {
		case <-m.wait:
		case <-ctx.Done():
			return llm.Answer{}, ctx.Err()
		}
	}
	return llm.Answer{JSON: json.RawMessage(m.json), Model: "oracle", Usage: llm.Usage{InputTokens: 300, OutputTokens: 20, Cost: 0.01}}, m.err
}

func (m *scripted) questions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// inn is a story with the booking server and a model.
type inn struct {
	*story
	dir   string
	model *scripted
}

func openInn(t *testing.T, model *scripted, o Options) *inn {
	t.Helper()
	dir := t.TempDir()
	o.Spec = plainServer("booking", dir)
	if o.Models == nil {
		o.Models = func(string, Sampler) llm.Model { return model }
	}
	return &inn{(&story{t: t, ended: make(chan error, 1)}).run(o).initialize(), dir, model}
}

// ran returns the calls that had an effect.
func (i *inn) ran() string {
	ledger, _ := os.ReadFile(filepath.Join(i.dir, "ledger"))
	return strings.Join(strings.Split(strings.TrimSpace(string(ledger)), "\n"), ", ")
}

const (
	threeDays  = `{"city":"Oslo","days":"1 + 2"}`
	rightDays  = `{"arguments":{"city":"Oslo","days":3},"reason":"days is a number"}`
	rejectedBy = "unable to parse string as an integer"
)

func TestARejectedCallIsCorrectedAndSentOnce(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"find", "book"} {
		t.Run(tool, func(t *testing.T) { correctedOnce(t, tool, quick()) })
	}
}

func correctedOnce(t *testing.T, tool string, o Options) {
	t.Helper()
	i := openInn(t, &scripted{json: rightDays}, o)
	got := i.answer(i.start(tool, threeDays))
	if i.text(got) != "done" || i.ran() != tool+" Oslo" || i.model.questions() != 1 {
		t.Errorf("%s: %s\nran %q after %d questions", tool, got.raw, i.ran(), i.model.questions())
	}
	for _, part := range []string{"The arguments were adjusted: days", "Use this form next time.", `"model":"oracle"`, `"reason":"days is a number"`, "corrected by a model"} {
		if !strings.Contains(got.raw, part) {
			t.Errorf("no %q in %s", part, got.raw)
		}
	}
	e := i.await(event.Corrected, 1)
	if m := e.Model; m == nil || m.Model != "oracle" || m.InputTokens != 300 || m.OutputTokens != 20 || m.Cost != 0.01 ||
		string(m.Before) != threeDays || !strings.Contains(string(m.After), `"days":3`) || m.Reason != "days is a number" {
		t.Errorf("%+v", e.Model)
	}
	if n := i.session.Counters(); n.Corrected != 1 || n.Answered != 3 || n.ModelInputTokens != 300 || n.ModelOutputTokens != 20 || n.ModelCost != 0.01 {
		t.Errorf("%+v", n)
	}
}

// A tool that only reads gets a value of the model's own, and the result says so in every mode. Any
// other tool, and open: false, only gets an offer.
func TestAReadGetsAValueOfTheModel(t *testing.T) {
	t.Parallel()
	closed := map[string]Policy{AllTools: {Correct: correct.Policy{Closed: true}}}
	for name, tt := range map[string]struct {
		tool string
		mode string
		o    map[string]Policy
		ran  string
	}{
		"read":         {"find", "", nil, "find Oslo"},
		"silent read":  {"find", "silent", nil, "find Oslo"},
		"strict read":  {"find", "strict", nil, "find Oslo"},
		"closed read":  {"find", "", closed, ""},
		"write":        {"book", "", nil, ""},
		"strict write": {"book", "strict", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.Repair, o.Tools = tt.mode, tt.o
			i := openInn(t, &scripted{json: `{"arguments":{"city":"Oslo","days":4}}`}, o)
			got := i.answer(i.start(tt.tool, `{"city":"Oslo","days":"a few"}`)).raw
			if i.ran() != tt.ran {
				t.Errorf("ran %q: %s", i.ran(), got)
			}
			parts := []string{"A model proposed the call below.", "You did not send these values; the model oracle proposed them: days: 4.", `{\"city\":\"Oslo\",\"days\":4}`}
			if tt.ran != "" {
				parts = []string{"The call was run with values that you did not send. The model oracle proposed them: days: 4. ", `"rule":"proposed by a model, not in the call"`, `"model":"oracle"`}
			}
			for _, part := range parts {
				if !strings.Contains(got, part) {
					t.Errorf("no %q in %s", part, got)
				}
			}
		})
	}
}

// The goal that a client sends with a call is for the model.
func TestTheModelReadsTheGoal(t *testing.T) {
	t.Parallel()
	i := openInn(t, &scripted{json: rightDays}, quick())
	i.text(i.answer(i.request("tools/call", `{"name":"find","arguments":`+threeDays+`,"_meta":{"io.github.gauze-mcp/goal":"Plan a trip"}}`)))
	i.answer(i.request("tools/call", `{"name":"find","arguments":{"city":"Rome","days":"three"},"_meta":{"io.github.gauze-mcp/goal":7}}`))
	if text := i.model.asked[0].Text; !strings.Contains(text, `"goal":"Plan a trip"`) {
		t.Error(text)
	}
	if text := i.model.asked[1].Text; strings.Contains(text, `"goal"`) {
		t.Error(text)
	}
}

// uncorrected returns the answer to threeDays if there is no model.
func uncorrected(t *testing.T, o Options) (raw string) {
	t.Run("without a model", func(t *testing.T) {
		s := beginListed(t, "booking", o)
		raw = s.answer(s.start("book", threeDays)).raw
	})
	return raw
}

func TestWithoutACorrectionTheAnswerIsTheSame(t *testing.T) {
	t.Parallel()
	want := uncorrected(t, quick())
	if !strings.Contains(want, rejectedBy) {
		t.Fatal(want)
	}
	for name, model := range map[string]*scripted{
		"declines":  {json: `{"corrected":false,"reason":"no idea"}`},
		"fails":     {err: errors.New("connection refused")},
		"lies":      {json: `{"arguments":{"city":"Paris","days":7}}`},
		"is silent": {wait: make(chan struct{})},
		"nonsense":  {json: `[]`},
		"same":      {json: `{"arguments":` + threeDays + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			if model.wait != nil {
				o.Waits.Model = 1
			}
			i := openInn(t, model, o)
			if got := i.answer(i.start("book", threeDays)).raw; got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
			if e := i.await(event.Uncorrected, 1); e.Detail == "" || e.Model == nil || i.ran() != "" {
				t.Errorf("%+v, ran %q", e, i.ran())
			}
			if i.answer(i.start("book", threeDays)); i.model.questions() != 1 {
				t.Errorf("%d questions about the same call", i.model.questions())
			}
		})
	}
}

func TestACallThatMayHaveActedIsOnlyOffered(t *testing.T) {
	t.Parallel()
	const sent, right = `{"city":"Oslo","days":3,"when":"March 5, 2026"}`, `{"city":"Oslo","days":3,"when":"2026-03-05"}`
	for tool, want := range map[string]string{"book": "book Oslo", "find": "find Oslo, find Oslo"} {
		t.Run(tool, func(t *testing.T) {
			i := openInn(t, &scripted{json: `{"arguments":` + right + `}`}, quick())
			id := i.start(tool, sent)
			got := i.answer(id).raw
			if i.ran() != want || i.answers(id) != 1 {
				t.Errorf("ran %q, want %q: %s", i.ran(), want, got)
			}
			if tool == "find" { // it is safe to repeat
				i.await(event.Corrected, 1)
				return
			}
			for _, part := range []string{"invalid character in year", "A model proposed the call below.", "Call that would pass: ", "2026-03-05"} {
				if !strings.Contains(got, part) {
					t.Errorf("no %q in %s", part, got)
				}
			}
			if e := i.await(event.Proposed, 1); e.Detail != "the rejected call may have had an effect" || i.session.Counters().Proposed != 1 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A tool that calls a different server may pass on the rejection of that call after it has acted.
func TestARejectionThatAToolPassesOnIsOnlyOffered(t *testing.T) {
	t.Parallel()
	for city := range relayed {
		t.Run(city, func(t *testing.T) {
			i := openInn(t, &scripted{json: `{"arguments":{"city":"` + city + `","days":3}}`}, quick())
			got := i.answer(i.start("book", `{"city":"`+city+`","days":"1 + 2"}`)).raw
			if i.ran() != "book "+city || !strings.Contains(got, "A model proposed the call below.") {
				t.Fatalf("ran %q: %s", i.ran(), got)
			}
			if e := i.await(event.Proposed, 1); e.Detail != "the rejected call may have had an effect" {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestBothFailuresAreInOneAnswer(t *testing.T) {
	t.Parallel()
	i := openInn(t, &scripted{json: `{"arguments":{"city":"full","days":3}}`}, quick())
	id := i.start("book", `{"city":"full","days":"1 + 2"}`)
	got := i.answer(id).raw
	for _, part := range []string{"so did the call with corrected arguments", "First failure: ", "Second failure: ", "Corrected by a model: days", `"isError":true`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in %s", part, got)
		}
	}
	if strings.Contains(got, "Use this form next time") || i.answers(id) != 1 || i.ran() != "" {
		t.Errorf("%s\nran %q", got, i.ran())
	}
	if e := i.await(event.Corrected, 1); !strings.Contains(e.Detail, "the corrected call also failed") {
		t.Errorf("%+v", e)
	}
	i.answer(i.start("book", `{"city":"full","days":"1 + 2"}`))
	if n := i.model.questions(); n != 1 {
		t.Errorf("%d questions about the same call", n)
	}
}

func TestStrictModeAsksBeforeItRefuses(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Repair = "strict"
	t.Run("corrected", func(t *testing.T) { correctedOnce(t, "book", o) })
	t.Run("refused", func(t *testing.T) {
		want := uncorrected(t, o)
		i := openInn(t, &scripted{json: `{"corrected":false}`}, o)
		if got := i.answer(i.start("book", threeDays)).raw; got != want || i.ran() != "" {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
	t.Run("offered", func(t *testing.T) {
		o.Tools = map[string]Policy{"book": {Correct: correct.Policy{OfferOnly: true}}}
		i := openInn(t, &scripted{json: rightDays}, o)
		got := i.wantFault(i.start("book", threeDays), fault.ArgumentsInvalid).raw
		if !strings.Contains(got, `A model proposed the call below.`) || !strings.Contains(got, `{\"city\":\"Oslo\",\"days\":3}`) || i.ran() != "" {
			t.Errorf("%s\nran %q", got, i.ran())
		}
	})
}

func TestThePolicyDecidesWhetherAModelIsAsked(t *testing.T) {
	t.Parallel()
	off, on := correct.Policy{Off: true}, correct.Policy{}
	if err := on.Set("enabled", "true"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tools map[string]Policy
		mode  string
		asked int
	}{
		"by default":         {nil, "", 1},
		"for one tool":       {map[string]Policy{"book": {Correct: off}}, "", 0},
		"for all":            {map[string]Policy{AllTools: {Correct: off}}, "", 0},
		"for all but one":    {map[string]Policy{AllTools: {Correct: off}, "book": {Correct: on}}, "", 1},
		"without a model":    {map[string]Policy{"book": {Correct: correct.Policy{NoModel: true}}}, "", 0},
		"of another kind":    {map[string]Policy{"book": {Correct: correct.Policy{Correctable: []correct.Kind{correct.MissingArgument}}}}, "", 0},
		"without any repair": {nil, "off", 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.Tools, o.Repair = c.tools, c.mode
			i := openInn(t, &scripted{json: rightDays}, o)
			if i.answer(i.start("book", threeDays)); i.model.questions() != c.asked {
				t.Errorf("%d questions", i.model.questions())
			}
		})
	}
}

func TestThePolicyNamesTheModel(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Tools = map[string]Policy{AllTools: {Correct: correct.Policy{Model: "openai:small"}}}
	o.Models = func(name string, client Sampler) llm.Model {
		if name != "openai:small" || client != nil {
			t.Errorf("name %q, client %v", name, client != nil)
		}
		return nil
	}
	i := openInn(t, nil, o)
	i.answer(i.start("book", threeDays))
	i.want(event.Uncorrected, 0)
}

func TestOtherFailuresAreNotCorrected(t *testing.T) {
	t.Parallel()
	i := openInn(t, &scripted{json: rightDays}, quick())
	i.answer(i.start("book", `{"city":"locked","days":"1 + 2"}`))
	i.answer(i.start("missing", `{"city":"Oslo","days":"1 + 2"}`))
	if n := i.model.questions(); n != 0 {
		t.Errorf("%d questions", n)
	}
}

func TestAPolicyAboutCorrectionsIsParsed(t *testing.T) {
	t.Parallel()
	tool, p, err := proxy.ParsePolicy("pay:replay=never,correct.max-retries=0,Correct.Timeout=5s,correct.open=false")
	if err != nil || tool != "pay" || p.Replay != "never" || !p.Correct.OfferOnly || p.Correct.Timeout != 5*time.Second || !p.Correct.Closed {
		t.Errorf("%q, %+v, %v", tool, p, err)
	}
	for text, want := range map[string]string{
		"pay:correct.max_retries=2": "max_retries",
		"pay:correct.colour=red":    `unknown key "colour"`,
		"*:repair=off":              "for one tool",
		"*:correct.timeout=never":   "timeout",
	} {
		if _, _, err := proxy.ParsePolicy(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
