package llm

import (
	"encoding/json"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

func TestGeminiSchema(t *testing.T) {
	for from, want := range map[string]string{
		string(question.Schema): `{"properties":{"answer":{"type":"INTEGER"}},"required":["answer"],"type":"OBJECT"}`,
		`{"type":["string","null"],"enum":["a","b"],"pattern":"^a"}`:                                       `{"enum":["a","b"],"nullable":true,"type":"STRING"}`,
		`{"type":"string","const":"x"}`:                                                                    `{"enum":["x"],"type":"STRING"}`,
		`{"type":"integer","enum":[1,2],"minimum":1}`:                                                      `{"minimum":1,"type":"INTEGER"}`,
		`{"oneOf":[{"type":"string"},{"type":"number"}]}`:                                                  `{"anyOf":[{"type":"STRING"},{"type":"NUMBER"}]}`,
		`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"boolean","description":"d"}}}`: `{"items":{"description":"d","type":"BOOLEAN"},"type":"ARRAY"}`,
		`{"type":"object"}`: "", // any keys
		`{"type":"object","properties":{"arguments":{"type":"object"}}}`: "",
		`{"type":"array"}`:             "",
		`{"type":["string","number"]}`: "",
		`{}`:                           "",
		`{"$ref":"#"}`:                 "",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`: "",
	} {
		schema, ok := geminiSchema(json.RawMessage(from))
		got := ""
		if ok {
			text, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			got = string(text)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", from, got, want)
		}
	}
}

func TestGeminiGetsAnOpenSchemaInThePrompt(t *testing.T) {
	s := modeltest.Gemini(t, modeltest.Says(`{"arguments":{"x":1}}`))
	model, _ := open(t, modeltest.GeminiFormat, s, Options{})
	q := question
	q.Schema = json.RawMessage(`{"type":"object","properties":{"arguments":{"type":"object"}}}`)
	answer, err := model.Ask(t.Context(), q)
	if err != nil || answer.Enforced || string(answer.JSON) != `{"arguments":{"x":1}}` {
		t.Errorf("got %+v, %v", answer, err)
	}
	if model.plain.Load() {
		t.Error("later questions would go without a schema")
	}
}

func TestStrictMode(t *testing.T) {
	for schema, want := range map[string]bool{
		string(question.Schema): true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                           false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                          false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{},"required":[],"additionalProperties":{}}`:                                                     false,
		`{"anyOf":[{"type":"string"}]}`:   false,
		`{"type":"string","pattern":"x"}`: false,
	} {
		if got := isStrict(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
