package doctor

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/probe"
)

// ExamineOptions of Examine; the zero value looks and leaves alone.
type ExamineOptions struct {
	Heal    bool          // try what only changes how the same server is started or reached
	Timeout time.Duration // for one answer without a sign of progress; default by the command
	Version string        // of ours, told to the server
	Tell    func(string)  // what is going on, for people; nil: nobody
}

// Examine tries a server as a client would, names what is wrong, and treats it
// if it may. What is returned beside the report is the last attempt.
func Examine(ctx context.Context, m *Machine, spec launch.Spec, o ExamineOptions) (last probe.Result, report Report) {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	t := Treatment{
		Allow: Runtime, Fixes: Fixes(m), Tell: func(what string) { o.Tell("trying: " + what) },
		Probe: func(ctx context.Context, spec launch.Spec) Seen {
			last = probe.Run(ctx, spec, probe.Options{Timeout: o.Timeout, MaxWait: o.Timeout, Version: o.Version, Progress: o.Tell, Dir: m.Dir, Allow: m.allow})
			seen := Seen{Case: FromEvidence(spec, last.Evidence), Healthy: last.OK()}
			last = last.Hidden(seen.Case.Secrets.Redact) // a fix may have given it values that the entry does not have
			return seen
		},
	}
	if !o.Heal {
		t.Attempts = -1 // it is diagnosed and left alone
	}
	report = Treat(ctx, spec, t)
	return last, report
}
