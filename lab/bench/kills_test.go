package main

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// Read-only calls survive every kill, and each kill costs one restart.
func TestNoReadFailsWhenTheServerIsKilled(t *testing.T) {
	windowstest.Skip(t)
	b, gauze := buildWithBugs(t)
	r, err := steady{calls: 100, kills: 8}.run(b, gauze)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK != r.Calls || r.Kills != 8 || r.Restarts != r.Kills {
		t.Errorf("%d of %d calls succeeded, failed %v; %d kills, %d restarts", r.OK, r.Calls, r.Failed, r.Kills, r.Restarts)
	}
}
