package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// A question stays on the terminal while other servers are tested.
func TestNoProgressReplacesAQuestion(t *testing.T) {
	var lines []string
	var show func(string)
	show, agree := aroundQuestions(func(line string) { lines = append(lines, line) }, func(*fleet.Server, fleet.Offer) bool {
		show("during")
		return true
	})
	show("before")
	if !agree(nil, fleet.Offer{}) {
		t.Error("the answer is lost")
	}
	show("after")
	if got := strings.Join(lines, ","); got != "before,,after" {
		t.Error(got)
	}
}

// The line says how many checks are done, and what the first one that is not does.
func TestChecklistSaysHowFarItIs(t *testing.T) {
	var lines []string
	c := newChecklist(func(line string) { lines = append(lines, line) }, []string{"cursor/notes", "cursor/time", "codex/files"})
	c.finish(1)
	c.say(0, "it is downloading: npm")
	c.finish(0)
	c.say(2, "it is busy")
	c.finish(2)
	want := []string{"0 of 3 checked; waiting for cursor/notes", "1 of 3 checked; waiting for cursor/notes", "1 of 3 checked; cursor/notes: it is downloading: npm",
		"2 of 3 checked; waiting for codex/files", "2 of 3 checked; codex/files: it is busy"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}
