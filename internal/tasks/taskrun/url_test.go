package taskrun

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// beginURL is begin with a server at a URL.
func beginURL(t *testing.T, steps string) (*bench, *faultyhttp.Server) {
	t.Helper()
	b := begin(t, steps)
	s := faultyhttp.New(faultyhttp.Config{Ledger: b.ledger()})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b.plan.Servers["s"] = task.Server{URL: s.URL()}
	return b, s
}

// at calls do after the outcome of a call.
func at(call int, do func()) func(*task.Runner, *Servers) {
	return func(r *task.Runner, servers *Servers) {
		servers.Wrap.Timing.Patience = 2 * time.Second
		r.Tell = func(s *task.State, e task.Entry) {
			if e.Kind == task.KindOutcome && len(s.Calls) == call {
				do()
			}
		}
	}
}

// A token that expires at step thirty needs a person. The call that met it was sent, so the person
// also decides about it, and the task finishes once the token was renewed.
func TestTokenExpiresAtStepThirty(t *testing.T) {
	steps, keys := forty()
	b, server := beginURL(t, steps)
	s := b.run(at(30, func() { server.Arm(faultyhttp.Status401, 1000, faultyhttp.Match{Method: "*"}) }))
	b.wantOnce(keys[:29]...)
	if report := s.Report(taskID, time.Now()); !strings.Contains(report, "log in") || !strings.Contains(report, "Done: 30 of 40 steps") {
		t.Error(report)
	}
	server.Disarm()
	if s.Status() == string(task.NeedsPerson) { // a request of gauze's own met the 401 first: the call was not sent
		b.want(b.run(nil), "done", 0)
		b.wantOnce(keys...)
		return
	}
	b.want(s, "needs-decision", 4)
	b.want(b.run(nil), "needs-decision", 4)
	b.wantOnce(keys[:29]...)
	if _, err := task.Decide(t.Context(), b.log, taskID, "repeat"); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(nil), "done", 0)
	b.wantOnce(keys...)
}

// A server at a URL that goes away at step thirty.
func TestURLGoesAwayAtStepThirty(t *testing.T) {
	steps, keys := forty()
	b, server := beginURL(t, steps)
	s := b.run(at(30, server.Stop))
	b.want(s, "server-dead", 3)
	b.wantOnce(keys[:29]...)
	if err := server.StartAgain(); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(nil), "done", 0)
	b.wantOnce(keys...)
}

// A server at a URL that cannot be reached from the start is judged as well, within the
// patience of the session.
func TestURLThatIsNotThere(t *testing.T) {
	b, server := beginURL(t, "steps: [{id: a, server: s, tool: echo}]")
	server.Stop()
	s := b.runIn(patience.Context(t), func(_ *task.Runner, servers *Servers) { servers.Wrap.Timing.Patience = 100 * time.Millisecond })
	b.want(s, "server-dead", 3)
	if err := server.StartAgain(); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(nil), "done", 0)
}
