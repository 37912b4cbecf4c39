package doctor

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A command to copy contains no secret, even if the secret looks like a word.
func TestCommandsToCopyAreMasked(t *testing.T) {
	spec := launch.Spec{Command: "npx", Args: []string{"-y", "srv", "-p", "sesame", "--bearer", "abc"}}
	x := &exam{Case: Case{Command: append([]string{spec.Command}, spec.Args...)}, cmd: commandOf(spec)}
	p := &plan{m: &Machine{OS: "linux"}, spec: spec}
	shown := []string{x.typed(), p.server().shownLine()}
	for _, fix := range retryFromCache(p) {
		shown = append(shown, fix.Next)
	}
	for _, line := range shown {
		if strings.Contains(line, "sesame") || strings.Contains(line, "abc") || !strings.Contains(line, "srv") {
			t.Errorf("shown: %s", line)
		}
	}
}
