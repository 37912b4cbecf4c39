package upstream

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/fault"
)

func TestTroubleIsToldByItsCause(t *testing.T) {
	for want, trouble := range map[string]Trouble{
		"it ended":              {Detail: "it ended"},
		"X is not set.":         {Detail: "it ended", Cause: fault.Cause{Explanation: "X is not set."}},
		"X is not set. Set X.":  {Detail: "it ended", Cause: fault.Cause{Explanation: "X is not set.", Remedy: "Set X."}},
		"it ended, as it is so": {Detail: "it ended, as it is so", Cause: fault.Cause{Changes: []string{"starts it with node"}}},
	} {
		if got := trouble.sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
