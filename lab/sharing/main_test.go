package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTheProductSharesWhatIsProven(t *testing.T) {
	list, err := os.ReadFile("../../internal/hub/shared/proven.txt")
	if err != nil {
		t.Fatal(err)
	}
	evidence, err := os.ReadFile("EVIDENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	var proven []string
	for line := range strings.Lines(string(evidence)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.TrimSuffix(cells[len(cells)-1], " |") == "proven" {
			proven = append(proven, strings.TrimPrefix(cells[0], "| "))
		}
	}
	slices.Sort(proven)
	proven = slices.Compact(proven)
	if got := strings.Fields(string(list)); len(got) == 0 || !slices.Equal(got, proven) {
		t.Errorf("the product shares %v, and the evidence is for %v", got, proven)
	}
}

func TestVerdict(t *testing.T) {
	enough := row{compared: minCompared, results: minResults}
	for want, change := range map[string]func(*row){
		"proven":                       func(*row) {},
		"too few results here":         func(r *row) { r.results-- },
		"answers differ":               func(r *row) { r.differences = []string{"x"} },
		"asks its client (roots/list)": func(r *row) { r.asked = "roots/list" },
		"not compared: x":              func(r *row) { r.failed = "x" },
		"state: a browser":             func(r *row) { r.Package = "npm:@playwright/mcp" },
	} {
		r := enough
		if change(&r); r.verdict() != want {
			t.Errorf("got %q, want %q", r.verdict(), want)
		}
	}
}

func TestCompare(t *testing.T) {
	const inWords = `"result":{"content":[{"type":"text","text":"{\"ok\":false,\"error\":\"not_authed\"}"}]}`
	apart := [2]transcript{{answers: map[string]string{"words": inWords, "same": `"result":{}`, "differs": `"result":{"n":1}`, "random": "1", "error": `"result":{"isError":true}`}},
		{answers: map[string]string{"words": inWords, "same": `"result":{}`, "differs": `"result":{"n":1}`, "random": "2", "error": `"result":{"isError":true}`}}}
	together := transcript{answers: map[string]string{"words": inWords, "same": `"result":{}`, "differs": `"result":{"n":2}`, "random": "3", "error": `"result":{"isError":true}`}}
	var r row
	r.compare(apart, together)
	if r.compared != 4 || r.results != 2 || r.random != 1 || len(r.differences) != 1 || !strings.HasPrefix(r.differences[0], "differs") {
		t.Errorf("got %+v", r)
	}
}
