package verdict

import (
	"context"
	"testing"

	"github.com/gauze-mcp/gauze/health"
)

// What an agent concludes from a ping, and what a task does about it. A connection that is not known
// to be lost is kept while a call runs on it; every other one is replaced.
func TestLivenessThatAgentsJudge(t *testing.T) {
	for _, c := range []struct {
		name, agent string
		s           Situation
		want        Action
		why         string // it differs
	}{
		{"the ping was answered", "alive", Situation{Health: "healthy"}, Continue, ""},
		{"the connection is being replaced", "resetting", Situation{Health: "dead", Reconnecting: true}, Continue, ""},
		{"not connected", "resetting", Situation{Health: "dead"}, Retry, "nothing reconnects by itself: the verdict says so"},
		{"1 ping failed, 2 calls are running", "resetting", Situation{Health: "unresponsive", Busy: true, Consecutive: 1}, Continue, ""},
		{"2 pings failed, 2 calls are running", "dead", Situation{Health: "unresponsive", Busy: true, Consecutive: 2}, Continue, "a busy server does not answer pings; its calls have a timeout of their own"},
		{"1 ping failed, no call is running", "dead", Situation{Health: "unresponsive", Consecutive: 1}, Retry, ""},
		{"a server at a URL that answers", "unknown", Situation{Health: "healthy"}, Continue, "health is observed over HTTP as well"},
		{"a server at a URL that does not", "unknown", Situation{Health: "dead", Failures: []Failure{{Kind: health.Refused}}}, Retry, "as above"},
	} {
		v, err := Evaluate(context.Background(), c.s, nil)
		if err != nil || v.Action != c.want {
			t.Errorf("%s: %s (%s), %v, want %s", c.name, v.Action, v.Reason, err, c.want)
		}
		agents := map[string]Action{"alive": Continue, "resetting": Continue, "dead": Retry}[c.agent]
		if (agents == c.want) != (c.why == "") {
			t.Errorf("%s: the agent says %s, and gauze %s: %q", c.name, c.agent, c.want, c.why)
		}
	}
}
