//go:build linux

package main

import (
	"os/exec"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Every check of the official suite has the same result directly and through gauze.
func TestOfficialSuite(t *testing.T) {
	t.Parallel()
	realparts.NeedConformance(t)
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	suite, err := programs.Conformance.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			// On a machine with many other tests a client of the suite may give up: what differs once is
			// looked at again.
			for again := range 2 {
				said, err := exec.CommandContext(t.Context(), suite, "-gauze", gauze, "-only", version, "-v").CombinedOutput()
				t.Logf("%s", said)
				switch {
				case err == nil:
					return
				case again > 0:
					t.Error(err)
				}
			}
		})
	}
}
