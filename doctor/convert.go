package doctor

// This file converts between the types of this package and the internal ones.

import (
	"errors"
	"runtime/debug"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// Apply writes the changes that Diff shows. A file that was modified meanwhile is not written, and
// does not keep the others from being written; the error then matches [ErrChanged].
func (p *Plan) Apply() ([]Change, error) {
	made, err := p.fleet.Apply(p.plan, p.plan.Consent())
	changes := make([]Change, len(made))
	for i, m := range made {
		changes[i] = Change{ID: m.ID, File: m.Path, About: m.About}
	}
	if errors.Is(err, backup.ErrConflict) {
		err = errors.Join(ErrChanged, err)
	}
	return changes, err
}

func newPlan(f *fleet.Fleet, plan fleet.Plan) *Plan {
	p := &Plan{fleet: f, plan: plan}
	for _, c := range plan.Changes {
		p.Files = append(p.Files, c.Path)
	}
	for _, s := range plan.Skipped {
		p.Skipped = append(p.Skipped, Skip{Server: s.Server, Why: s.Why})
	}
	return p
}

// version is the version of gauze that servers are told.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/gauze-mcp/gauze" && m.Version != "" && m.Version != "(devel)" {
				return m.Version
			}
		}
	}
	return "dev"
}

// maxStderrLines is how many lines of a server's stderr a report has.
const maxStderrLines = 6

// publicReport converts the result of a test. hide redacts the server's secrets.
func publicReport(server string, a probe.Result, r doctor.Report, hide func(string) string) *Report {
	a = a.Hidden(hide)
	report := &Report{
		Works: r.Healthy, Server: hide(server), Stage: Stage(a.Stage.String()), Took: a.Took, Stopped: redact.Quote(a.Stopped),
		Name: a.Found.Name, Version: a.Found.Version, Protocol: a.Found.Protocol, Transport: a.Found.Transport,
		Next: hide(r.Todo), Fixable: r.Fixable,
	}
	for _, tool := range a.Found.Tools {
		report.Tools = append(report.Tools, tool.Name)
	}
	for _, s := range r.Steps {
		report.Steps = append(report.Steps, Step{
			Fix: s.Fix, About: hide(s.About), Result: StepResult(s.Result), Next: hide(s.Next), Diagnosis: publicDiagnosis(s.Diagnosis, hide),
		})
	}
	if r.Healthy {
		return report
	}
	report.Exit = a.Exit
	for _, line := range a.Stderr[max(0, len(a.Stderr)-maxStderrLines):] {
		report.Stderr = append(report.Stderr, redact.Quote(line))
	}
	if r.Diagnosis != nil {
		d := publicDiagnosis(*r.Diagnosis, hide)
		report.Diagnosis = &d
		if report.Next == "" {
			report.Next = d.Fix
		}
	}
	return report
}

func publicDiagnosis(d doctor.Diagnosis, hide func(string) string) Diagnosis {
	public := Diagnosis{
		Category: Category(d.Category), Cause: d.Cause, Confidence: d.Confidence,
		Explanation: hide(d.Explanation), Fix: hide(d.Fix),
	}
	for _, line := range d.Reasons {
		public.Evidence = append(public.Evidence, hide(line))
	}
	for _, other := range d.Others {
		public.Others = append(public.Others, publicDiagnosis(other, hide))
	}
	return public
}

func publicHealth(h fleet.Health) *Health {
	health := &Health{Problems: publicProblems(h.Problems)}
	for _, c := range h.Servers {
		verdict := c.Verdict()
		s := ServerHealth{
			ID: c.ID(), Client: c.Client.ID, Name: c.Name, File: c.File, Line: c.Line,
			State: State(verdict.State), Cause: verdict.Cause, Next: verdict.Next, Problems: publicProblems(c.Problems),
		}
		if c.Tried {
			s.Report = publicReport(c.Shown(), c.Attempt, c.Report, c.Hide)
		}
		health.Servers = append(health.Servers, s)
	}
	for _, c := range h.Conflicts {
		health.Conflicts = append(health.Conflicts, Conflict(c))
	}
	return health
}

func publicProblems(problems []clientconfig.Problem) (all []Problem) {
	for _, p := range problems {
		all = append(all, Problem{
			Code: string(p.Code), Error: p.Severity == clientconfig.Error, Client: p.Client.ID, File: p.File, Line: p.Line,
			Server: p.Server, What: p.What, Why: p.Why, Next: p.Next, Fixable: p.Fix != nil && fleet.WithReview(p),
		})
	}
	return all
}
