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
			said, err := exec.CommandContext(t.Context(), suite, "-gauze", gauze, "-only", version).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			t.Logf("%s", said)
		})
	}
}
