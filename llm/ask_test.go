package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

const (
	canary = "sk-canary-5f2b9c71d8e64a03"
	right  = `{"answer":42}`
)

var question = Question{
	Name:         "the_answer",
	Instructions: "Say the answer.",
	Text:         "What is it?",
	Schema:       json.RawMessage(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`),
}

// formats has the adapter of each format.
var formats = map[modeltest.Format]func(Options) (Model, error){
	modeltest.OpenAIFormat: OpenAI, modeltest.AnthropicFormat: Anthropic, modeltest.GeminiFormat: Gemini,
}

// waits records how long a model slept, without sleeping.
type waits struct{ list []time.Duration }

func (w *waits) sleep(ctx context.Context, d time.Duration) error {
	w.list = append(w.list, d)
	return ctx.Err()
}

// open returns the model of a scripted server.
func open(t *testing.T, format modeltest.Format, s *modeltest.Server, o Options) (*client, *waits) {
	t.Helper()
	o.URL, o.Key, o.Model = s.URL, canary, "m"
	o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	model, err := formats[format](o)
	if err != nil {
		t.Fatal(err)
	}
	c, w := model.(*client), &waits{}
	c.sleep = w.sleep
	return c, w
}

func TestEveryFailureIsTyped(t *testing.T) {
	cases := []struct {
		name     string
		replies  []modeltest.Reply
		kind     Kind // empty: answered
		requests int
	}{
		{"answers", []modeltest.Reply{modeltest.Says(right)}, "", 1},
		{"code fence", []modeltest.Reply{modeltest.Fenced(right)}, "", 1},
		{"sentence", []modeltest.Reply{modeltest.Says("Here you go: " + right)}, "", 1},
		{"429, then answers", []modeltest.Reply{modeltest.RetryAfter(429, "1"), modeltest.Says(right)}, "", 2},
		{"500 twice, then answers", []modeltest.Reply{modeltest.Status(500), modeltest.Status(502), modeltest.Says(right)}, "", 3},
		{"reset, then answers", []modeltest.Reply{modeltest.Reset(), modeltest.Says(right)}, "", 2},
		{"cut, then answers", []modeltest.Reply{modeltest.Cut(right), modeltest.Says(right)}, "", 2},
		{"no schemas", []modeltest.Reply{modeltest.WithoutSchema(right)}, "", 2},
		{"no schemas, code fence", []modeltest.Reply{modeltest.WithoutSchema("```\n" + right + "\n```")}, "", 2},

		{"429", []modeltest.Reply{modeltest.Status(429)}, RateLimited, 3},
		{"429, too long", []modeltest.Reply{modeltest.RetryAfter(429, "3600")}, RateLimited, 1},
		{"500", []modeltest.Reply{modeltest.Status(500)}, Overloaded, 3},
		{"529", []modeltest.Reply{modeltest.Status(529)}, Overloaded, 3},
		{"401", []modeltest.Reply{modeltest.Fails(401, "invalid key "+canary, "")}, Unauthorized, 1},
		{"403", []modeltest.Reply{modeltest.Status(403)}, Unauthorized, 1},
		{"404", []modeltest.Reply{modeltest.Fails(404, "model m does not exist", "")}, NotFound, 1},
		{"413", []modeltest.Reply{modeltest.Status(413)}, Rejected, 1},
		{"reset", []modeltest.Reply{modeltest.Reset()}, Unreachable, 3},
		{"cut", []modeltest.Reply{modeltest.Cut(right)}, CutShort, 3},
		{"cut stream", []modeltest.Reply{modeltest.CutStream(right)}, CutShort, 1},
		{"limit of tokens", []modeltest.Reply{modeltest.AtLimit(right)}, CutShort, 1},
		{"refusal", []modeltest.Reply{modeltest.Refuses()}, Refused, 1},
		{"not JSON", []modeltest.Reply{modeltest.Says("42")}, InvalidAnswer, 1},
		{"wrong key", []modeltest.Reply{modeltest.Says(`{"answr":42}`)}, InvalidAnswer, 1},
		{"wrong type", []modeltest.Reply{modeltest.Says(`{"answer":"` + canary + `"}`)}, InvalidAnswer, 1},
		{"two objects", []modeltest.Reply{modeltest.Says(right + ` or {"answer":43}`)}, InvalidAnswer, 1},
		{"array", []modeltest.Reply{modeltest.Says(`[` + right + `]`)}, InvalidAnswer, 1},
		{"redirect", []modeltest.Reply{modeltest.Redirects("http://127.0.0.1:1/" + canary)}, NotAPI, 1},
		{"login page", []modeltest.Reply{modeltest.Page(200, "<html>Please log in</html>")}, NotAPI, 1},
		{"page of a proxy", []modeltest.Reply{modeltest.Page(403, "<html>Blocked</html>")}, NotAPI, 1},
		{"wrong path", []modeltest.Reply{modeltest.Page(404, "404 page not found")}, NotAPI, 1},
		{"proxy requires a login", []modeltest.Reply{modeltest.Page(407, "<html></html>")}, NotAPI, 1},
		{"response of something else", []modeltest.Reply{modeltest.Page(200, "{}")}, NotAPI, 1},
	}
	for format := range formats {
		for _, tc := range cases {
			t.Run(string(format)+"/"+tc.name, func(t *testing.T) {
				s := modeltest.Start(t, format, tc.replies...)
				model, _ := open(t, format, s, Options{})
				answer, err := model.Ask(t.Context(), question)
				if n := len(s.Requests()); n != tc.requests {
					t.Errorf("%d requests, want %d", n, tc.requests)
				}
				if tc.kind == "" {
					if err != nil || string(answer.JSON) != right || answer.Model != "scripted-1" || answer.Usage.InputTokens != 100 || answer.Usage.OutputTokens != 20 {
						t.Errorf("got %+v, %v", answer, err)
					}
					return
				}
				if KindOf(err) != tc.kind || answer.JSON != nil {
					t.Fatalf("got %s, %v; want %s", answer.JSON, err, tc.kind)
				}
				for _, shown := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
					if strings.Contains(shown, canary) {
						t.Errorf("the error contains the key: %s", shown)
					}
				}
				if !strings.Contains(err.Error(), ": ") || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Errorf("not one sentence with what to do: %v", err)
				}
			})
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		reply modeltest.Reply
		want  string
	}{
		{modeltest.Fails(404, "no such model", ""), "HOST does not have the model m: check its name (status 404: no such model)"},
		{modeltest.Fails(401, "expired", ""), "HOST rejected the key: check that it is valid and may use the model m (status 401: expired)"},
		{modeltest.Page(403, "<html>Blocked</html>"), "HOST did not respond like a model API: check the URL, and the proxy if you use one (status 403: an HTML page)"},
		{modeltest.Says(`{"answr":42}`), "the model m at HOST sent an answer that is not the requested JSON: use a more capable model (it does not match the schema: missing property 'answer')"},
		{modeltest.Says(`{"answer":"x"}`), "the model m at HOST sent an answer that is not the requested JSON: use a more capable model (it does not match the schema: at '/answer': got string, want integer)"},
	} {
		s := modeltest.Start(t, modeltest.OpenAIFormat, tc.reply)
		model, _ := open(t, modeltest.OpenAIFormat, s, Options{})
		_, err := model.Ask(t.Context(), question)
		if want := strings.ReplaceAll(tc.want, "HOST", model.base.Host); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestSilenceEndsWithTheTimeout(t *testing.T) {
	for format := range formats {
		for name, reply := range map[string]modeltest.Reply{"silence": modeltest.Silence(), "headers only": modeltest.Slow()} {
			t.Run(string(format)+"/"+name, func(t *testing.T) {
				s := modeltest.Start(t, format, reply)
				model, _ := open(t, format, s, Options{Timeout: 100 * time.Millisecond})
				_, err := model.Ask(t.Context(), question)
				if KindOf(err) != TimedOut || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if n := len(s.Requests()); n > 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

func TestCancelEndsTheQuestion(t *testing.T) {
	for format := range formats {
		t.Run(string(format), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := modeltest.Start(t, format, modeltest.Answers(func(modeltest.Question) string { cancel(); return "" }), modeltest.Silence())
			model, _ := open(t, format, s, Options{})
			_, err := model.Ask(ctx, question)
			if KindOf(err) != Canceled || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCancelWhileWaitingForTheNextAttempt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := modeltest.OpenAI(t, modeltest.Status(500))
	model, _ := open(t, modeltest.OpenAIFormat, s, Options{})
	model.sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return sleep(ctx, time.Hour) }
	if _, err := model.Ask(ctx, question); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestWaitsBetweenAttempts(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for name, tc := range map[string]struct {
		reply    modeltest.Reply
		min, max [2]time.Duration
	}{
		"backoff": {modeltest.Status(503), [2]time.Duration{time.Second / 2, time.Second}, [2]time.Duration{time.Second, 2 * time.Second}},
		"seconds": {modeltest.RetryAfter(503, "4"), [2]time.Duration{4 * time.Second, 4 * time.Second}, [2]time.Duration{4 * time.Second, 4 * time.Second}},
		"zero":    {modeltest.RetryAfter(429, "0"), [2]time.Duration{}, [2]time.Duration{}},
		"date":    {modeltest.RetryAfter(429, now.Add(3*time.Second).Format(http.TimeFormat)), [2]time.Duration{3 * time.Second, 3 * time.Second}, [2]time.Duration{3 * time.Second, 3 * time.Second}},
		"past":    {modeltest.RetryAfter(429, now.Add(-time.Hour).Format(http.TimeFormat)), [2]time.Duration{}, [2]time.Duration{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.OpenAI(t, tc.reply)
			model, waited := open(t, modeltest.OpenAIFormat, s, Options{})
			model.now = func() time.Time { return now }
			if _, err := model.Ask(t.Context(), question); err == nil {
				t.Fatal("no error")
			}
			if len(waited.list) != 2 {
				t.Fatalf("waited %v", waited.list)
			}
			for i, bounds := range [][2]time.Duration{tc.min, tc.max} {
				if waited.list[i] < bounds[0] || waited.list[i] > bounds[1] {
					t.Errorf("waited %v, want between %v", waited.list[i], bounds)
				}
			}
		})
	}
}

func TestAKeyIsNotSentToAnotherHost(t *testing.T) {
	for format := range formats {
		t.Run(string(format), func(t *testing.T) {
			other := modeltest.Start(t, format, modeltest.Says(right))
			s := modeltest.Start(t, format, modeltest.Redirects(other.URL+"/chat/completions"))
			model, _ := open(t, format, s, Options{})
			_, err := model.Ask(t.Context(), question)
			if KindOf(err) != NotAPI || !strings.Contains(err.Error(), "redirect") {
				t.Errorf("got %v", err)
			}
			if n := len(other.Requests()); n != 0 {
				t.Errorf("%d requests reached the other server: %s", n, other.Sent())
			}
			if sent := s.Requests()[0]; strings.Contains(sent.Body, canary) || strings.Contains(sent.Path, canary) || strings.Count(s.Sent(), canary) != 1 {
				t.Errorf("the key is not only in a header: %s", s.Sent())
			}
		})
	}
}

func TestAServerWithoutSchemasIsRemembered(t *testing.T) {
	for format := range formats {
		t.Run(string(format), func(t *testing.T) {
			s := modeltest.Start(t, format, modeltest.WithoutSchema(right))
			model, _ := open(t, format, s, Options{})
			for range 2 {
				if answer, err := model.Ask(t.Context(), question); err != nil || answer.Enforced {
					t.Fatalf("got %+v, %v", answer, err)
				}
			}
			if n := len(s.Requests()); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
			if last := s.Requests()[2]; last.Schema != nil || !strings.Contains(last.Instructions, `"answer"`) {
				t.Errorf("the prompt has no schema: %+v", last.Question)
			}
		})
	}
}

func TestAnErrorWithAndWithoutSchemaIsNotRemembered(t *testing.T) {
	s := modeltest.OpenAI(t, modeltest.Status(400), modeltest.Status(400), modeltest.Says(right))
	model, _ := open(t, modeltest.OpenAIFormat, s, Options{})
	if _, err := model.Ask(t.Context(), question); KindOf(err) != Rejected {
		t.Errorf("got %v", err)
	}
	if answer, err := model.Ask(t.Context(), question); err != nil || !answer.Enforced {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestPricesGiveACost(t *testing.T) {
	s := modeltest.Anthropic(t, modeltest.Says(right), modeltest.Says("no"))
	model, _ := open(t, modeltest.AnthropicFormat, s, Options{Prices: Prices{Input: 1000, Output: 10_000}})
	for range 2 { // an invalid answer also costs
		if answer, _ := model.Ask(t.Context(), question); answer.Usage.Cost != 0.3 {
			t.Errorf("cost %v", answer.Usage.Cost)
		}
	}
}

func TestAHugeResponseIsNotRead(t *testing.T) {
	s := modeltest.OpenAI(t, modeltest.Says(strings.Repeat("x", maxBody)))
	model, _ := open(t, modeltest.OpenAIFormat, s, Options{})
	if _, err := model.Ask(t.Context(), question); KindOf(err) != InvalidAnswer || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

func TestServerTextIsCleaned(t *testing.T) {
	s := modeltest.OpenAI(t, modeltest.Fails(401, "bad\x1b[31m key\nBearer "+canary+strings.Repeat(" long", 500), ""))
	model, _ := open(t, modeltest.OpenAIFormat, s, Options{})
	_, err := model.Ask(t.Context(), question)
	if text := err.Error(); len(text) > 600 || strings.ContainsAny(text, "\x1b\n") || strings.Contains(text, canary) {
		t.Errorf("got %q", text)
	}
}

func TestInvalidOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"model name is missing": {},
		"invalid model URL":     {Model: "m", URL: "ftp://x"},
		"must be a URL such as": {Model: "m", URL: "http://user:" + canary + "@x/v1"},
		"invalid model key":     {Model: "m", Key: "a\nb"},
	} {
		for _, open := range formats {
			if model, err := open(o); model != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: got %v, %v", want, model, err)
			}
		}
	}
}
