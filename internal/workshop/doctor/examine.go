package doctor

import (
	"cmp"
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/llm"
)

// ExamineOptions configures Examine. The zero value only diagnoses.
type ExamineOptions struct {
	Heal    bool          // try fixes that only change how the same server is started or reached
	Hurry   bool          // do not wait longer than Timeout for a silent server
	Timeout time.Duration // for one response without progress; the default depends on the command
	Version string        // gauze's version, sent to the server
	// Agree asks a person about a fix, see Treatment. It is used with Heal only.
	Agree func(Fix, launch.Spec) bool
	// Model ranks possible causes of a failure that no rule explains, see Rank. It is asked once; nil
	// is not.
	Model llm.Model
	// Secrets are values that Model must not see, besides those of the Spec and the environment.
	Secrets redact.Secrets
	Tell    func(string) // receives progress messages for people; may be nil
}

// Examine tests a server as a client would, diagnoses a failure and, with Heal, treats it. It
// returns the last attempt with the report.
func Examine(ctx context.Context, m *Machine, spec launch.Spec, o ExamineOptions) (last probe.Result, report Report) {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	t := Treatment{
		Allow: Runtime, Fixes: Fixes(m), Agree: o.Agree, Tell: func(what string) { o.Tell("trying: " + what) },
		Probe: func(ctx context.Context, spec launch.Spec, wait time.Duration) Seen {
			wait = cmp.Or(wait, o.Timeout)
			limit := time.Duration(0) // the default
			if o.Timeout > 0 {
				limit = wait
			}
			if s := last.Served; s != nil && s.URL == spec.URL { // the command that serves it no longer runs
				last = s.Result
			} else {
				last = probe.Run(ctx, spec, probe.Options{Timeout: wait, MaxWait: limit, Version: o.Version, Progress: o.Tell, Dir: m.Dir,
					Allow: m.allow})
			}
			seen := Seen{Case: m.seen(spec, last.Evidence), Healthy: last.OK()}
			if !seen.Healthy {
				seen.Case.Required = m.required(ctx, spec, seen.Case)
			}
			last = last.Hidden(seen.Case.Secrets.Redact) // a fix may have set secrets that are not in the entry
			return seen
		},
	}
	if !o.Heal {
		t.Attempts = -1 // diagnose only
	}
	if !o.Hurry {
		t.Waits = waitsAfter(cmp.Or(o.Timeout, spec.StartTimeout()))
	}
	report = Treat(ctx, spec, t)
	if report.Diagnosis != nil && ctx.Err() == nil {
		report.seen.Secrets = redact.JoinSecrets(report.seen.Secrets, o.Secrets)
		d := Rank(ctx, o.Model, report.seen, *report.Diagnosis)
		report.Diagnosis = &d
	}
	return last, report
}
