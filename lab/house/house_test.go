// Package house contains only tests: what the binary that users get is made of.
package house

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// The laboratory and what unit tests use are not part of the product.
func TestGauzeContainsNothingForTests(t *testing.T) {
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", gauze).Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/gauze-mcp/gauze/"
	if !strings.Contains(string(symbols), module+"internal/wrap/proxy.") {
		t.Fatal("the symbols of gauze do not contain its own: is the binary stripped?")
	}
	for line := range strings.Lines(string(symbols)) {
		for _, foreign := range []string{module + "lab/", module + "internal/testonly/", " testing."} {
			if strings.Contains(line, foreign) {
				t.Errorf("gauze contains %s", strings.TrimSpace(line))
			}
		}
	}
}
