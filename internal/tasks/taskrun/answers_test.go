package taskrun

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Which answers count as a result, which as a failure of the call, and which as no answer at all. The
// server's own words do not decide: a result that talks about errors is a result.
func TestWhichAnswersAreFailures(t *testing.T) {
	text := func(s string) string {
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return `{"content":[{"type":"text","text":` + string(encoded) + `}]}`
	}
	for name, test := range map[string]struct {
		tool, result string
		status       task.Status
	}{
		"a result":                           {"raw", `{"content":[],"structuredContent":{"status":"success","data":"x"}}`, task.OK},
		"a result without a status":          {"raw", text(`{"data":"x"}`), task.OK},
		"a result that reports an error":     {"raw", text(`{"status":"error","error":"type checking found 5 errors"}`), task.OK},
		"JSON in a string":                   {"raw", text(`"{\"status\": \"success\"}"`), task.OK},
		"a failure of the tool":              {"raw", `{"isError":true,"content":[{"type":"text","text":"Validation failed: file not found"}]}`, task.Failed},
		"a failure that mentions the server": {"raw", `{"isError":true,"content":[{"type":"text","text":"MCP error -32000: Connection closed"}]}`, task.Failed},
		"null":                               {"raw", `null`, task.Lost},
		"a string":                           {"raw", `"done"`, task.Lost},
		"neither a result nor an error":      {"neither", "", task.Lost},
		"a result and an error":              {"both", "", task.Lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arguments, err := json.Marshal(map[string]string{"result": test.result})
			if err != nil {
				t.Fatal(err)
			}
			b := begin(t, "budget: {steps: 1}\nsteps: [{id: a, server: s, tool: "+test.tool+", arguments: "+string(arguments)+", on-error: continue}]")
			s := b.run(nil)
			if o := s.Calls[0].Outcome; o == nil || o.Status != test.status {
				t.Errorf("%+v, want %s", o, test.status)
			} else if o.Status == task.Lost && o.Delivery != task.Answered {
				t.Errorf("%+v, want %s", o, task.Answered)
			}
		})
	}
}

// The text of a result is also that of the resources in it.
func TestTextOfAResource(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"found"},` +
		`{"type":"resource","resource":{"uri":"file:///a","text":"inside"}},{"type":"resource","resource":{"uri":"file:///b","blob":"AAAA"}}]}`
	b := begin(t, "steps: [{id: a, server: s, tool: raw, arguments: {result: '"+result+"'}}]")
	if o := b.run(nil).Calls[0].Outcome; o == nil || o.Text != "found\ninside" {
		t.Errorf("%+v", o)
	}
}

// A call that takes too long ends, and its outcome says how long it was waited for.
func TestTimeoutSaysHowLong(t *testing.T) {
	b := begin(t, "steps: [{id: a, server: s, tool: hang_unsafe, arguments: {key: one}}]")
	s := b.run(func(_ *task.Runner, servers *Servers) {
		servers.Wrap.Tools = map[string]proxy.Policy{"hang_unsafe": {Timeout: 100 * time.Millisecond}}
	})
	b.want(s, "needs-decision", 4)
	for _, text := range []string{s.Calls[0].Outcome.Text, s.Calls[0].Outcome.Report} {
		if !regexp.MustCompile(`waited \d`).MatchString(text) {
			t.Errorf("%q", text)
		}
	}
	if report := s.Calls[0].Outcome.Report; strings.Contains(report, "Check") {
		t.Errorf("a person reads what a model should do: %q", report)
	}
	b.wantOnce("one")
}
