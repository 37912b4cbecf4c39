package correct

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/llm"
)

const searchSchema = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["query","limit"],"additionalProperties":false}`

func searchCall() Call {
	return Call{Tool: "search", Schema: repair.Compile([]byte(searchSchema)), Arguments: []byte(`{"query":"tea","limit":"2 + 3"}`),
		Rejection: Rejection{Text: "ValueError: limit"}, Safe: true}
}

const searchAnswer = `{"arguments":{"query":"tea","limit":5},"reason":"limit is a number"}`

func ask(t *testing.T, answer string, c Call, p Policy) (Proposal, Consultation, int, error) {
	t.Helper()
	asked := 0
	proposal, cost, err := Ask(context.Background(), modelFunc(func(llm.Question) (string, error) { asked++; return answer, nil }), c, p)
	return proposal, cost, asked, err
}

func TestCorrectableFailureIsCorrected(t *testing.T) {
	p, cost, asked, err := ask(t, searchAnswer, searchCall(), Policy{})
	if err != nil || asked != 1 || !p.Send || string(p.Arguments) != `{"query":"tea","limit":5}` || p.Reason != "limit is a number" {
		t.Fatalf("%s, send %v, %d questions, %v", p.Arguments, p.Send, asked, err)
	}
	if cost.Model != "fake" || cost.Usage.InputTokens != 7 || string(cost.After) != `{"query":"tea","limit":5}` || !strings.Contains(string(cost.Before), "2 + 3") {
		t.Errorf("%+v", cost)
	}
	if len(p.Changes) != 1 || p.Changes[0].Rule != repair.RuleModel || p.Changes[0].Path != "limit" {
		t.Errorf("%v", p.Changes)
	}
}

func TestNothingIsAsked(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    func(*Call)
		p    Policy
		want error
	}{
		{"off", nil, Policy{Off: true}, ErrOff},
		{"without a model", nil, Policy{NoModel: true}, ErrNoModel},
		{"unknown", func(c *Call) { c.Rejection.Text = "ProfileError" }, Policy{}, ErrNotCorrectable},
		{"security", func(c *Call) { c.Rejection.Text = "PathTraversalError" }, Policy{}, ErrNotCorrectable},
		{"internal", func(c *Call) { c.Rejection.Text = "TypeError" }, Policy{}, ErrNotCorrectable},
		// The original retried these with a model; a different call does not help, and recovery handles them.
		{"timeout", func(c *Call) { c.Rejection.Text = "TimeoutError" }, Policy{}, ErrNotCorrectable},
		{"connection", func(c *Call) { c.Rejection.Text = "ConnectionError" }, Policy{}, ErrNotCorrectable},
		{"narrowed", nil, Policy{Correctable: []Kind{WrongType}}, ErrNotCorrectable},
		{"huge", func(c *Call) { c.Arguments = []byte(`{"query":"` + strings.Repeat("x", maxArguments) + `"}`) }, Policy{}, ErrNotCorrectable},
		{"a key is a secret", func(c *Call) { c.Arguments = []byte(`{"` + secretKey + `":1}`) }, Policy{}, ErrNotCorrectable},
	} {
		c := searchCall()
		if tt.c != nil {
			tt.c(&c)
		}
		if _, cost, asked, err := ask(t, searchAnswer, c, tt.p); !errors.Is(err, tt.want) || asked != 0 || cost.Before != nil {
			t.Errorf("%s: %d questions, %v", tt.name, asked, err)
		}
	}
	if _, _, err := Ask(context.Background(), nil, searchCall(), Policy{}); !errors.Is(err, ErrNoModel) {
		t.Errorf("nil model: %v", err)
	}
}

func TestAnswersOfAModel(t *testing.T) {
	for _, tt := range []struct {
		answer string
		want   error
	}{
		{searchAnswer, nil},
		{"```json\n" + searchAnswer + "\n```", nil},        // the original rejected a code fence
		{"Here you go: " + searchAnswer, nil},              // and text before the JSON
		{`{"arguments":{"query":"tea","limit":"5"}}`, nil}, // the rules repair the rest
		{"this is not json", ErrDeclined},
		{`{"corrected": false, "reason": "unfixable"}`, ErrDeclined},
		{`{"corrected": false, "arguments":{"query":"tea","limit":5}}`, ErrDeclined}, // a contradiction is not a correction
		{`{"corrected": true, "arguments":{"query":"tea","limit":5}}`, nil},
		{`{"corrected": true}`, ErrDeclined},
		{`{"arguments":[1]}`, ErrUnfit},
		{`{"args":{}}`, ErrDeclined},
		{`{"arguments":{}}`, ErrUnfit},
		{`{"arguments":{"query":"tea","limit":"2 + 3"}}`, ErrUnfit},
		{`{"arguments":{"query":"fixed","limit":5}}`, ErrInvented}, // the original sent any value of the model
		{`{"arguments":{"query":"tea","limit":6}}`, ErrInvented},
	} {
		if _, _, asked, err := ask(t, tt.answer, searchCall(), Policy{}); !errors.Is(err, tt.want) || asked != 1 {
			t.Errorf("%s: %d questions, %v", tt.answer, asked, err)
		}
	}
}

// Arguments that are not JSON are a question of punctuation.
func TestTextIsCorrected(t *testing.T) {
	c := searchCall()
	c.Arguments = []byte(`{'query': 'Bo's tea', 'limit': 5}`)
	p, cost, asked, err := ask(t, `{"arguments":{"query":"Bo's tea","limit":5}}`, c, Policy{})
	if err != nil || asked != 1 || !p.Send || string(p.Arguments) != `{"limit":5,"query":"Bo's tea"}` || string(cost.Before) != `"{'query': 'Bo's tea', 'limit': 5}"` {
		t.Errorf("%+v, %s, %v", p, cost.Before, err)
	}
	for _, lie := range []string{`{"arguments":{"query":"Bos tea","limit":5}}`, `{"arguments":{"query":"Bo's tea","limit":50}}`, `{"arguments":{"query":"tea","limit":5}}`} {
		if p, _, _, err := ask(t, lie, c, Policy{}); !errors.Is(err, ErrInvented) {
			t.Errorf("%s: %s, %v", lie, p.Arguments, err)
		}
	}
	c.Arguments = []byte(`{'query': 'Bo's tea', 'password': 'hunter2'}`)
	if _, _, asked, err := ask(t, `{"corrected":false}`, c, Policy{}); !errors.Is(err, ErrNotCorrectable) || asked != 0 {
		t.Errorf("%d questions about a secret, %v", asked, err)
	}
}

func TestTheSameArgumentsAreNoCorrection(t *testing.T) {
	c := searchCall()
	c.Arguments = []byte(`{"query":"tea","limit":5}`)
	if _, _, _, err := ask(t, searchAnswer, c, Policy{}); !errors.Is(err, ErrUnchanged) {
		t.Error(err)
	}
}

func TestAFailingModelKeepsItsError(t *testing.T) {
	failure := errors.New("no route")
	_, cost, err := Ask(context.Background(), modelFunc(func(llm.Question) (string, error) { return "", failure }), searchCall(), Policy{})
	if !errors.Is(err, failure) || cost.Before == nil || cost.After != nil {
		t.Errorf("%v, %+v", err, cost)
	}
}

// waiting is a model that never answers.
type waiting struct{}

func (waiting) Ask(ctx context.Context, _ llm.Question) (llm.Answer, error) {
	<-ctx.Done()
	return llm.Answer{}, ctx.Err()
}

func TestAPolicyLimitsTheWait(t *testing.T) {
	if _, _, err := Ask(context.Background(), waiting{}, searchCall(), Policy{Timeout: time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A path that the caller did not send is not sent to a tool that writes: the original checked its
// policy only for the first arguments.
func TestAPathOfTheModelIsNotSent(t *testing.T) {
	c := Call{Tool: "vault_write", Schema: repair.Compile([]byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)),
		Arguments: []byte(`{"path":"allowed/a.md"}`), Rejection: Rejection{Text: "ValueError: path must be below denied/"}, Class: Class{Kind: InvalidValue, Correctable: true, NoEffect: true}}
	if p, _, _, err := ask(t, `{"arguments":{"path":"denied/b.md"}}`, c, Policy{}); err != nil || p.Send || !p.Opened {
		t.Errorf("send %v, opened %v, %v", p.Send, p.Opened, err)
	}
}

func TestWhatIsSent(t *testing.T) {
	validated := Rejection{Text: "Invalid arguments for tool search: limit must be an integer", BeforeRun: true}
	for _, tt := range []struct {
		name   string
		change func(*Call, *Policy)
		answer string
		send   bool
	}{
		{"a read-only tool that ran", func(c *Call, p *Policy) {}, searchAnswer, true},
		{"a tool that writes and may have run", func(c *Call, p *Policy) { c.Safe = false }, searchAnswer, false},
		{"a tool that writes, not sent", func(c *Call, p *Policy) { c.Safe, c.Rejection = false, Rejection{Unsent: true} }, searchAnswer, true},
		{"a tool that writes, rejected by validation", func(c *Call, p *Policy) { c.Safe, c.Rejection = false, validated }, searchAnswer, true},
		{"max_retries 0", func(c *Call, p *Policy) { p.OfferOnly = true }, searchAnswer, false},
		{"a value of the model's own, read-only", severalTeas, `{"arguments":{"query":"tea","limit":7}}`, true},
		{"open: false", func(c *Call, p *Policy) { severalTeas(c, p); p.Closed = true }, `{"arguments":{"query":"tea","limit":7}}`, false},
		{"a value of the model's own, a tool that writes", func(c *Call, p *Policy) { severalTeas(c, p); c.Safe, c.Rejection = false, Rejection{Unsent: true} }, `{"arguments":{"query":"tea","limit":7}}`, false},
	} {
		c, p := searchCall(), Policy{}
		tt.change(&c, &p)
		if got, _, _, err := ask(t, tt.answer, c, p); err != nil || got.Send != tt.send {
			t.Errorf("%s: send %v, %v", tt.name, got.Send, err)
		}
	}
}

// severalTeas makes the limit of a call one that has no certain reading.
func severalTeas(c *Call, _ *Policy) { c.Arguments = []byte(`{"query":"tea","limit":"several"}`) }

// A choice that a model thinks is misspelled is sent to a tool that writes only if its letters and
// digits are those of the caller. A read-only tool may get a misspelled one, and the caller is told.
func TestWhichChoicesAreSent(t *testing.T) {
	for _, tt := range []struct {
		choices, sent, proposed string
		writes, reads           bool
	}{
		{`"in_progress","done"`, "In Progress", "in_progress", true, true},
		{`"read_only","full_access"`, "Full Access", "full_access", true, true},
		{`"keep","delete"`, "DELETE", "delete", true, true},
		{`"high","low"`, "high ", "high", true, true},

		{`"celsius","kelvin"`, "celcius", "celsius", false, true},
		{`"Sci-fi","Drama"`, "Science fiction", "Sci-fi", false, true},
		{`"six_months","one_year"`, "the last 6 months", "six_months", false, true},
		{`"high","low"`, "high?", "high", false, true},

		{`"us-west-1","eu-west-1"`, "us-east-1", "us-west-1", false, false},
		{`"us-east-2","eu-west-1"`, "us-east-1", "us-east-2", false, false},
		{`"v1.2.4","v2.0.0"`, "v1.2.3", "v1.2.4", false, false},
		{`"v1.2.3","v2.0.0"`, "v1.23", "v1.2.3", false, false},
		{`"agent 007","agent 7"`, "agent  008", "agent 007", false, false},
		{`"optin","unset"`, "optout", "optin", false, false},
		{`"max_size","name"`, "minsize", "max_size", false, false},
		{`"download","list"`, "upload", "download", false, false},
		{`"prod","dev"`, "prod2", "prod", false, false},
		{`"prod","dev"`, "prd", "prod", false, false},
		{`"keep","delete"`, "delete?", "delete", false, false},
		{`"keep","delete"`, "(delete)", "delete", false, false},
		{`"keep","delete"`, "delet", "delete", false, false},
		{`"keep","delete"`, "de-lete", "delete", false, false},
		{`"viewer","admin"`, "admn", "admin", false, false},
	} {
		for _, several := range []bool{false, true} {
			property, sent, proposed := `{"enum":[`+tt.choices+`]}`, `"`+tt.sent+`"`, `"`+tt.proposed+`"`
			if several { // the same in an array, sent as text
				property, sent, proposed = `{"type":"array","items":`+property+`}`, `"`+tt.sent+`, `+tt.sent+`"`, `[`+proposed+`,`+proposed+`]`
			}
			call := Call{Tool: "set_state", Schema: repair.Compile([]byte(`{"type":"object","properties":{"state":` + property + `},"required":["state"]}`)),
				Arguments: []byte(`{"state":` + sent + `}`), Rejection: Rejection{Text: "ValueError: state", Unsent: true}}
			for _, call.Safe = range []bool{false, true} {
				p, _, _, _ := ask(t, `{"arguments":{"state":`+proposed+`}}`, call, Policy{}) // what is not sent may also be rejected
				if want := call.Safe && tt.reads || tt.writes; p.Send != want {
					t.Errorf("%s to %s, read-only %v: sent %v", sent, proposed, call.Safe, p.Send)
				}
			}
		}
	}
}

func TestReasonIsCleanedAndBounded(t *testing.T) {
	p, _, _, err := ask(t, `{"arguments":{"query":"tea","limit":5},"reason":"a\n\u001b[31mred `+secretKey+strings.Repeat(" long", 100)+`"}`, searchCall(), Policy{})
	if err != nil || len([]rune(p.Reason)) > maxReason+1 || strings.ContainsAny(p.Reason, "\n\x1b") || strings.Contains(p.Reason, secretKey) {
		t.Errorf("%q, %v", p.Reason, err)
	}
}

func TestOfferReplacesTheExample(t *testing.T) {
	p := Proposal{Proposal: repair.Proposal{Shown: []byte(`{"limit":5}`), Dropped: []string{"colour"}}}
	text, report := Offer("The call was not run.\nIn the call below, limit is a guess: replace it.\nCall that would pass: {\"limit\":1}\nArguments:", []byte(`{"type":"invalid_arguments","validExample":{"limit":1}}`), p)
	if strings.Count(text, "Call that would pass: ") != 1 || !strings.Contains(text, "\nCall that would pass: {\"limit\":5}\nArguments:") || !strings.Contains(text, "colour") || strings.Contains(text, "guess") {
		t.Error(text)
	}
	if !strings.Contains(string(report), `"validExample":{"limit":5}`) {
		t.Errorf("%s", report)
	}
	if text, _ := Offer("boom", nil, p); !strings.HasPrefix(text, "boom\n") || !strings.HasSuffix(text, `Call that would pass: {"limit":5}`) {
		t.Error(text)
	}
}

func TestBothFailuresAreWorded(t *testing.T) {
	text := BothFailed("first\nline", []repair.Change{{Path: "limit", After: []byte("5"), Rule: repair.RuleModel}}, "second")
	for _, part := range []string{`"first line"`, `"second"`, "limit was set to 5"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
}

// A small model that reads about placeholders uses one, even if there is no secret.
func TestPlaceholdersAreMentionedOnlyIfThereAreAny(t *testing.T) {
	schema := repair.Compile([]byte(`{"properties":{"days":{"type":"integer"},"api_key":{"type":"string"}}}`))
	for arguments, want := range map[string]bool{`{"days":"2 + 3"}`: false, `{"days":"2 + 3","api_key":"hunter2-hunter2"}`: true} {
		masked, err := schema.Mask([]byte(arguments), nil)
		if err != nil {
			t.Fatal(err)
		}
		c := Call{Tool: "book", Schema: schema, Arguments: []byte(arguments)}
		if got := strings.Contains(c.question(masked, Policy{}).Instructions, "<secret-1>"); got != want {
			t.Errorf("%s: mentioned: %v", arguments, got)
		}
	}
}
