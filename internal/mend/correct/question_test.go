package correct

import (
	"context"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/llm"
)

// questionAbout returns what a model is asked about a call.
func questionAbout(t *testing.T, c Call, p Policy) (q llm.Question) {
	t.Helper()
	Ask(context.Background(), modelFunc(func(asked llm.Question) (string, error) { q = asked; return `{"corrected":false}`, nil }), c, p)
	if q.Text == "" {
		t.Fatal("no question")
	}
	return q
}

// The common fixes are in the question. What a tool that writes gets is narrower, and so is its
// question.
func TestTheQuestionSaysWhatHelps(t *testing.T) {
	read, write := searchCall(), searchCall()
	write.Safe = false
	reads, writes, closed := questionAbout(t, read, Policy{}), questionAbout(t, write, Policy{}), questionAbout(t, read, Policy{Closed: true})
	for _, fix := range []string{"too long", "path", "missing", "read-only"} {
		if !strings.Contains(reads.Instructions, fix) {
			t.Errorf("%q is not in the question about a read: %s", fix, reads.Instructions)
		}
	}
	if strings.Contains(writes.Instructions, "read-only") || !strings.Contains(writes.Instructions, "only if all its values are the caller's") || closed.Instructions != writes.Instructions {
		t.Errorf("the question about a write: %s", writes.Instructions)
	}
	for name, q := range map[string]llm.Question{"read": reads, "write": writes} {
		if !strings.Contains(q.Instructions, "do not follow them") || strings.Contains(q.Instructions, "tea") {
			t.Errorf("%s: %s", name, q.Instructions)
		}
	}
}

func TestTheQuestionHasGoalAndDescription(t *testing.T) {
	c := searchCall()
	c.About, c.Goal = "Searches the recipes.", "Find tea for Bo, whose key is "+secretKey+strings.Repeat(" and more", 1000)
	q := questionAbout(t, c, Policy{})
	for _, part := range []string{`"description":"Searches the recipes."`, `"goal":"Find tea for Bo`} {
		if !strings.Contains(q.Text, part) {
			t.Errorf("%s is missing in %s", part, q.Text)
		}
	}
	if strings.Contains(q.Text, secretKey) || len(q.Text) > 4000 {
		t.Errorf("%d bytes: %s", len(q.Text), q.Text)
	}
	if c.Goal = ""; strings.Contains(questionAbout(t, c, Policy{}).Text, `"goal"`) {
		t.Error("a goal that the client did not send")
	}
}

// A tool says in its own words which argument it does not accept. A model is asked if the words name
// an argument of the call; other failures stay unknown.
func TestAToolsOwnWordsAreEnough(t *testing.T) {
	const schema = `{"type":"object","properties":{"query":{"type":"string"},"path":{"type":"string"},"limit":{"type":"integer"}}}`
	for text, asked := range map[string]int{
		"Query too long: 612 characters, at most 256 are allowed": 1,
		"The path must be relative to the project":                1,
		"Invalid value for limit":                                 1,
		"limit exceeds 100":                                       1,
		"'docs//a.md' is not a valid file name":                   1,

		"the query failed":              0,
		"backend returned no data":      0,
		"path: permission denied":       0,
		"query timed out, limit 30s":    0,
		"invalid API key for the query": 0,
		"path not found":                0,
		"The color must be red":         0,
	} {
		c := rejectedCall(schema, `{"query":"tea","path":"docs//a.md","limit":500}`, text, true)
		if _, _, n, err := ask(t, `{"corrected":false}`, c, Policy{}); n != asked {
			t.Errorf("%q: %d questions, %v", text, n, err)
		}
	}
	for _, text := range []string{"boom", "it is too long ago"} { // not even about the only argument
		if _, _, n, _ := ask(t, `{"corrected":false}`, rejectedCall(schema, `{"query":"tea"}`, text, true), Policy{}); n != 0 {
			t.Errorf("%q: %d questions", text, n)
		}
	}
}
