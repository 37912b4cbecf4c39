package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSampling(t *testing.T) {
	text := func(s string) string {
		quoted, _ := json.Marshal(s) // cannot fail for a string
		return `{"role":"assistant","model":"theirs","content":{"type":"text","text":` + string(quoted) + `}}`
	}
	for name, tc := range map[string]struct {
		result string
		err    error
		kind   Kind
	}{
		"answer":       {text(right), nil, ""},
		"code fence":   {text("```json\n" + right + "\n```"), nil, ""},
		"list":         {`{"model":"theirs","content":[{"type":"image","data":""},{"type":"text","text":"{\"answer\":42}"}]}`, nil, ""},
		"wrong JSON":   {text(`{"answer":"x"}`), nil, InvalidAnswer},
		"no message":   {`[]`, nil, InvalidAnswer},
		"no content":   {`{}`, nil, InvalidAnswer},
		"limit":        {`{"content":{"type":"text","text":"{"},"stopReason":"maxTokens"}`, nil, CutShort},
		"refusal":      {`{"content":{"type":"text","text":"no"},"stopReason":"refusal"}`, nil, Refused},
		"client error": {"", errors.New("the user\x1b[2J declined"), Refused},
	} {
		t.Run(name, func(t *testing.T) {
			var asked struct {
				SystemPrompt string
				MaxTokens    int
				Messages     []struct{ Content struct{ Type, Text string } }
			}
			calls := 0
			model := Sampling(func(_ context.Context, request json.RawMessage) (json.RawMessage, error) {
				calls++
				if err := json.Unmarshal(request, &asked); err != nil {
					t.Fatal(err)
				}
				return json.RawMessage(tc.result), tc.err
			})
			answer, err := model.Ask(t.Context(), question)
			if KindOf(err) != tc.kind || (err == nil) != (tc.kind == "") || calls != 1 {
				t.Fatalf("got %+v, %v after %d calls", answer, err, calls)
			}
			if err == nil && (string(answer.JSON) != right || answer.Model != "theirs") {
				t.Errorf("got %+v", answer)
			}
			if err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %q", err)
			}
			if asked.MaxTokens != DefaultMaxTokens || !strings.Contains(asked.SystemPrompt, `"answer"`) || asked.Messages[0].Content.Text != question.Text {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

func TestSamplingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	model := Sampling(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, err := model.Ask(ctx, question); !errors.Is(err, context.Canceled) || KindOf(err) != Canceled {
		t.Errorf("got %v", err)
	}
}

// counter is a model that counts its questions.
type counter int

func (c *counter) Ask(context.Context, Question) (Answer, error) { *c++; return Answer{}, nil }

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked counter
		model := Limit(&asked, 3, 200)
		ask := func(q Question) Kind {
			_, err := model.Ask(t.Context(), q)
			return KindOf(err)
		}
		long := question
		long.Text = strings.Repeat("x", 200)
		if ask(long) != OverBudget || asked != 0 {
			t.Error("a question that is too long was asked")
		}
		for range 3 {
			if kind := ask(question); kind != "" {
				t.Error(kind)
			}
			time.Sleep(10 * time.Second)
		}
		if ask(question) != OverBudget || asked != 3 {
			t.Error("a fourth question was asked within a minute")
		}
		time.Sleep(30 * time.Second)
		if ask(question) != "" || ask(question) != OverBudget || asked != 4 {
			t.Error("the first question was not forgotten after a minute, or more than that was")
		}
	})
}

func TestNoLimit(t *testing.T) {
	var asked counter
	model := Limit(&asked, 0, 0)
	for range 100 {
		if _, err := model.Ask(t.Context(), question); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 100 {
		t.Errorf("%d questions", asked)
	}
}
