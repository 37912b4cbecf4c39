package fault

import (
	"strings"
	"testing"
)

// A cause is a reading of what the server said, and may be wrong: people and models also get what was
// seen, such as the HTTP status.
func TestACauseDoesNotHideTheDetail(t *testing.T) {
	f := &Fault{Code: AuthDenied, Server: "http://localhost/mcp", Method: "initialize", Detail: "HTTP 403: over quota",
		Cause: Cause{Code: "rate_limit", Explanation: "The service's rate limit has been reached.", Remedy: "Wait."}}
	for name, text := range map[string]string{"people": f.Terminal(false), "models": f.Model()} {
		if !strings.Contains(text, f.Detail) || !strings.Contains(text, f.Cause.Explanation) {
			t.Errorf("%s are told:\n%s", name, text)
		}
	}
}
