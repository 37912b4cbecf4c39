package main

import (
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
