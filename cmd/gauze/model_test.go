package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

// scriptedModels are the servers that scripts can start.
var scriptedModels = map[string][]modeltest.Reply{
	"answers":      {modeltest.Says(`{"sum": 5}`)},
	"miscounts":    {modeltest.Says(`{"sum": 6}`)},
	"fenced":       {modeltest.WithoutSchema("Here you go:\n```json\n{\"sum\": 5}\n```")},
	"busy-once":    {modeltest.RetryAfter(429, "0"), modeltest.Says(`{"sum": 5}`)},
	"busy":         {modeltest.RetryAfter(429, "3600")},
	"unauthorized": {modeltest.Fails(401, "wrong key", "")},
	"no-model":     {modeltest.Fails(404, "there is no such model", "")},
	"refuses":      {modeltest.Refuses()},
	"wrong":        {modeltest.Says(`{"total": 5}`)},
	"cut":          {modeltest.AtLimit(`{"su`)},
	"silent":       {modeltest.Silence()},
	"agent": {
		modeltest.Says(`{"action":"call","server":"s","tool":"echo","arguments":"{\"text\":\"hello\"}","reason":"look"}`),
		modeltest.Says(`{"action":"call","server":"s","tool":"append","arguments":"{\"key\":\"one\"}","reason":"write it down"}`),
		modeltest.Says(`{"action":"done","server":"","tool":"","arguments":"","reason":"It is written down."}`),
	},
}

// modelServer is a command of the scripts: modelserver VARIABLE FORMAT BEHAVIOR starts a server and
// sets a variable to its URL.
func modelServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || scriptedModels[args[2]] == nil {
		ts.Fatalf("usage: modelserver VARIABLE FORMAT BEHAVIOR")
	}
	s, err := modeltest.Serve("127.0.0.1:0", modeltest.Format(args[1]), scriptedModels[args[2]]...)
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

func TestModelHelpFitsEightyColumns(t *testing.T) {
	for _, page := range []string{helpOf(t, "model"), helpOf(t, "model", "check", "--help"), howToConfigure()} {
		for line := range strings.Lines(page) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 && !strings.Contains(line, "model.yaml") {
				t.Errorf("wider than 80 columns: %s", line)
			}
		}
	}
	if page := helpOf(t, "model"); !strings.Contains(page, "check      Test the model with one small question") || !strings.Contains(page, "gauze model COMMAND --help") {
		t.Errorf("got %s", page)
	}
}
