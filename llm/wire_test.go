package llm

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

// TestRequests pins the path, the header of the key and the body that each provider gets.
func TestRequests(t *testing.T) {
	schema := `{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`
	for format, want := range map[modeltest.Format]struct{ path, header, key, body string }{
		modeltest.OpenAIFormat: {"/v1/chat/completions", "Authorization", "Bearer " + canary, `{"model":"m","stream":false,"max_tokens":1024,"temperature":0,
			"messages":[{"role":"system","content":"Say the answer."},{"role":"user","content":"What is it?"}],
			"response_format":{"type":"json_schema","json_schema":{"name":"the_answer","strict":true,"schema":` + schema + `}}}`},
		modeltest.AnthropicFormat: {"/v1/messages", "X-Api-Key", canary, `{"model":"m","max_tokens":1024,"system":"Say the answer.",
			"messages":[{"role":"user","content":"What is it?"}],
			"tools":[{"name":"the_answer","description":"Receives the answer.","input_schema":` + schema + `}],"tool_choice":{"type":"tool","name":"the_answer"}}`},
		modeltest.GeminiFormat: {"/v1beta/models/m:generateContent", "X-Goog-Api-Key", canary, `{"systemInstruction":{"parts":[{"text":"Say the answer."}]},
			"contents":[{"role":"user","parts":[{"text":"What is it?"}]}],
			"generationConfig":{"responseMimeType":"application/json","maxOutputTokens":5120,"temperature":0,
			"responseSchema":{"type":"OBJECT","properties":{"answer":{"type":"INTEGER"}},"required":["answer"]}}}`},
	} {
		t.Run(string(format), func(t *testing.T) {
			s := modeltest.Start(t, format, modeltest.Says(right))
			model, _ := open(t, format, s, Options{})
			answer, err := model.Ask(t.Context(), question)
			if err != nil || !answer.Enforced {
				t.Fatalf("got %+v, %v", answer, err)
			}
			r := s.Requests()[0]
			if r.Path != want.path || r.Header.Get(want.header) != want.key || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("got %s, %v", r.Path, r.Header)
			}
			var got, wanted any
			if err := json.Unmarshal([]byte(r.Body), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(want.body), &wanted); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, wanted) {
				t.Errorf("\ngot  %v\nwant %v", got, wanted)
			}
		})
	}
}

func TestOpenAIsOwnServerGetsItsNewerFields(t *testing.T) {
	model, err := OpenAI(Options{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	body := model.(*client).request(question.withDefaults(), false).body.(map[string]any)
	if body["max_completion_tokens"] != DefaultMaxTokens+thinkingTokens || body["max_tokens"] != nil || body["temperature"] != nil {
		t.Errorf("got %v", body)
	}
}

func TestAVersionInTheURLIsNotRepeated(t *testing.T) {
	for format, path := range map[modeltest.Format]string{modeltest.AnthropicFormat: "/v1/messages", modeltest.GeminiFormat: "/v1/models/m%2Fx:generateContent"} {
		var got string
		catch := roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.URL.EscapedPath()
			return nil, http.ErrHandlerTimeout
		})
		model, err := formats[format](Options{URL: "http://127.0.0.1:1/v1/", Model: "m/x", HTTPClient: &http.Client{Transport: catch}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Ask(t.Context(), question); KindOf(err) != Unreachable || got != path {
			t.Errorf("%s: asked at %s: %v", format, got, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
