//go:build linux

package main

import (
	"os/exec"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
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
	for _, l := range allLegs {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			said, err := exec.CommandContext(patience.Context(t), suite, "-gauze", gauze, "-only", l.String()).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			t.Logf("%s", said)
		})
	}
}
