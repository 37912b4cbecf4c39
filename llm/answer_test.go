package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestOneObjectIsFound(t *testing.T) {
	schema, err := compileSchema(question.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		right,
		"\n  {\n  \"answer\" : 42 }\n",
		"```json\n" + right + "\n```",
		"```\n" + right + "```",
		"Here you go: " + right,
		"Sure, " + right + "\nHope this helps!",
		right + "\n\n```json\n{\"answer\": 42}\n```",
		"Perhaps [1] {\"answer\": 41}?\n</think>\n" + right,
		"<think>perhaps {\"answer\": 41}? [no]</think>\n" + right,
	} {
		if got, err := schema.read(text); err != nil || string(got) != right {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}

func TestOtherAnswersAreRejected(t *testing.T) {
	schema, err := compileSchema(question.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                  "does not contain a JSON object",
		"42":                                "does not contain a JSON object",
		"null":                              "does not contain a JSON object",
		`["answer", 42]`:                    "does not contain a JSON object",
		"[" + right + "]":                   "is not a JSON object",
		"Here: [ " + right + ", 1]":         "is not a JSON object",
		`{"answer":1e1000000}`:              "too large",
		`{"answer":1e-1000000}`:             "too large",
		`{"answer":1e99999999999999999999}`: "too large",
		`{"answer":` + strings.Repeat("1", 5000) + `}`:        "too long",
		`{"answer":"` + strings.Repeat("1", maxAnswer) + `"}`: "longer than 262144 bytes",
		"[1, " + right + "]":                                  "is not a JSON object",
		`{"answer":42} {"answer":43}`:                         "more than one",
		`{"answer":42`:                                        "is not valid JSON",
		`{"reply":{"answer":42}`:                              "is not valid JSON",
		`{answer: 42}`:                                        "is not valid JSON",
		`{x} {"answer":42}`:                                   "is not valid JSON",
		`{"answer":42}}`:                                      "is not a JSON object",
		`{"answr":42}`:                                        "does not match the schema",
		`{"answer":"42"}`:                                     "does not match the schema",
		`{"answer":42,"also":1}`:                              "does not match the schema",
		`{"answer":42,"answer":43}`:                           "twice",
		`{"answer":42,"Answer":43}`:                           "twice",
		`{"answer":42,"\u0061nswer":43}`:                      "twice",
		strings.Repeat("word ", 200) + right:                  "mostly text, not JSON",
		"{\"answer\":42,\"\xff\":1}":                          "UTF-8",
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): "levels deep",
	} {
		if got, err := schema.read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %s, %v; want %q", text, got, err, want)
		}
	}
}

func TestAnInnerKeyMayDifferInCase(t *testing.T) {
	schema, err := compileSchema(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.read(`{"arguments":{"x":1,"X":2}}`); err != nil {
		t.Error(err)
	}
	if _, err := schema.read(`{"arguments":{"x":1,"x":2}}`); err == nil {
		t.Error("a key that occurs twice was accepted")
	}
}

func TestAnInvalidSchemaIsAnError(t *testing.T) {
	for _, schema := range []string{"", "[]", `{"type":"objekt"}`, `{"$ref":"https://example.com/x"}`, `{"$ref":"file:///etc/passwd"}`, `{"pattern":"("}`} {
		if _, err := compileSchema(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), "invalid answer schema") {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}

func FuzzOneObject(f *testing.F) {
	for _, text := range sample.Corpus(f, "Here you go: "+right, "```json\n{}\n``` [{]}", `{"a":"}"} {`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := oneObject(text); err == nil && (!json.Valid(got) || got[0] != '{') {
			t.Errorf("%q: got %q", text, got)
		}
	})
}
