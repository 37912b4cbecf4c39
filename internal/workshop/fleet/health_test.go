package fleet

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

func TestEveryServerIsCountedOnce(t *testing.T) {
	h := newHome(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {
    "works": {"command": "x"}, "warned": {"command": "x", "env": {"A_KEY": "your_key_here"}},
    "untried-and-warned": {"command": "x", "env": {"A_KEY": "your_key_here"}}, "untried": {"command": "x"},
    "fails": {"command": "x"}, "invalid": {"command": "x", "args": "a b"}
  }}`)
	var all []*Checked
	for _, s := range h.fleet.Look().Servers {
		if s.Client.ID != "cursor" {
			continue
		}
		c := &Checked{Server: s, Not: "a reason"}
		switch s.Name {
		case "works", "warned", "invalid":
			c.Tried, c.Report = true, doctor.Report{Healthy: true}
		case "fails":
			c.Tried, c.Attempt = true, probe.Result{}
		}
		all = append(all, c)
	}
	health := h.fleet.Look().Health(all, true)
	n := health.Totals()
	if sum := n.Working + n.Broken + n.Untried + n.Off; sum != len(all) {
		t.Errorf("%+v adds up to %d of %d", n, sum, len(all))
	}
	if n.Working != 2 || n.Broken != 2 || n.Untried != 2 {
		t.Errorf("%+v", n)
	}
	if n.Broken != health.Count()[Broken] || n.Working != health.Working() {
		t.Errorf("%+v contradicts %v, %d working", n, health.Count(), health.Working())
	}
}

func TestAnEntryThatIsKnownToBeBrokenGetsNoTimeToDownload(t *testing.T) {
	h := newHome(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"good": {"command": "npx", "args": ["-y", "x"]}, "invalid": {"command": "npx", "args": ["-y", "x"], "env": ["A=1"]}}}`)
	for _, s := range h.fleet.Look().Servers {
		given := s.timeout(0)
		switch s.ID() {
		case "cursor/good":
			if given != 0 {
				t.Errorf("a good entry gets %v instead of the default", given)
			}
		case "cursor/invalid":
			if len(s.Errors()) == 0 {
				t.Fatal("the entry has no error")
			}
			if given <= 0 || given >= s.Real().StartTimeout() {
				t.Errorf("a broken entry gets %v, the default is %v", given, s.Real().StartTimeout())
			}
			if asked := 90 * time.Second; s.timeout(asked) != asked {
				t.Error("the timeout that the user asked for does not count")
			}
		}
	}
}

// The result of a short test must not stand for a server whose entry is good.
func TestABrokenEntryIsNotTestedForAGoodOne(t *testing.T) {
	h := newHome(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"good": {"command": "npx", "args": ["-y", "x"]}, "invalid": {"command": "npx", "args": ["-y", "x"], "headers": {"A": 1}}, "same": {"command": "npx", "args": ["-y", "x"]}}}`)
	keys := map[string]string{}
	for _, s := range h.fleet.Look().Servers {
		if s.Client.ID == "cursor" {
			keys[s.Name] = s.key()
			if s.Name == "invalid" && len(s.Errors()) == 0 {
				t.Fatal("the entry has no error")
			}
		}
	}
	if keys["good"] != keys["same"] || keys["good"] == keys["invalid"] {
		t.Errorf("%v", keys)
	}
}

func TestAPlanKnowsWhetherASkippedServerStillNeedsAChange(t *testing.T) {
	h := newHome(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"cmd": "npx"}}}`)
	view := h.fleet.Look()
	servers, err := view.Choose(Choice{Names: []string{"cursor/notes"}})
	if err != nil {
		t.Fatal(err)
	}
	if plan := view.Mend(servers, false, view.WithoutReview); !plan.Empty() || !plan.Pending() {
		t.Errorf("a fix that needs a review is not pending: %+v", plan.Skipped)
	}
	if plan := view.Unwrap(servers); !plan.Empty() || plan.Pending() {
		t.Errorf("a server that is not wrapped needs no change: %+v", plan.Skipped)
	}
}
