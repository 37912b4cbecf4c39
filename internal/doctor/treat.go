package doctor

import (
	"context"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Treatment is how a server is treated.
type Treatment struct {
	Attempts int  // fixes tried at most; default 3, below zero: none
	Allow    Risk // the most a fix may touch; what needs more is only named
	Probe    func(context.Context, launch.Spec) Seen
	First    *Seen // what was seen already; nil: it is probed
	Fixes    func(Diagnosis, Case, launch.Spec) []Fix
	Tell     func(string) // what is going on, for people; nil: nobody
	OneStep  bool         // return with the first fix that helped
}

// Seen is what one probe of a server found.
type Seen struct {
	Case    Case
	Healthy bool
}

// Report is the whole story of a treatment.
type Report struct {
	Healthy   bool        `json:"healthy"`
	Steps     []Step      `json:"steps"`
	Diagnosis *Diagnosis  `json:"diagnosis,omitempty"` // of what is left
	Todo      string      `json:"todo,omitempty"`      // the one thing a person has to do
	Command   string      `json:"-"`                   // the command for it that only a person is shown
	Fixable   bool        `json:"fixable,omitempty"`   // there is a fix that was allowed and not tried
	Spec      launch.Spec `json:"-"`                   // as it is best started now
}

// Step is one fix that was tried.
type Step struct {
	Diagnosis Diagnosis `json:"diagnosis"`
	Fix       string    `json:"fix"`
	About     string    `json:"about"`
	Result    string    `json:"result"` // healed, helped, undone
	Next      string    `json:"next,omitempty"`
}

// What became of a fix.
const (
	Healed = "healed" // the server works
	Helped = "helped" // it fails, but later or of something else
	Undone = "undone" // it fails as before, or earlier
)

const defaultAttempts = 3

// Treat probes, diagnoses, tries one fix on a copy and probes again, until the
// server works, nothing is left to try or the attempts are used up. A fix is
// kept only if the trouble it was for is gone and no ground was lost.
func Treat(ctx context.Context, spec launch.Spec, t Treatment) Report {
	if t.Attempts == 0 {
		t.Attempts = defaultAttempts
	}
	report := Report{Spec: spec}
	var seen Seen
	if t.First != nil {
		seen = *t.First
	} else {
		seen = t.Probe(ctx, spec)
	}
	tried := map[string]bool{}
	for !seen.Healthy && ctx.Err() == nil {
		diagnosis := Diagnose(seen.Case)
		if t.Attempts < 0 { // nobody is asked and nothing is looked at
			report.Fixable = len(remedies()[diagnosis.Cause]) > 0
			report.conclude(diagnosis, diagnosis.Fix, diagnosis.Command)
			return report
		}
		fix, ok := t.next(diagnosis, seen.Case, report.Spec, tried)
		if !ok || len(report.Steps) >= t.Attempts {
			report.Fixable = ok
			todo, command := t.todo(diagnosis, seen.Case, report.Spec)
			report.conclude(diagnosis, todo, command)
			return report
		}
		tried[diagnosis.Cause+"\n"+fix.Name] = true
		fix.About, fix.Next = redact.Quote(fix.About), redact.Quote(fix.Next) // they name files, and who knows who named those
		t.tell(fix.About)
		candidate := fix.Apply(report.Spec)
		now := t.Probe(ctx, candidate)
		if ctx.Err() != nil {
			break // it was cut short, and says nothing
		}
		step := Step{Diagnosis: diagnosis, Fix: fix.Name, About: fix.About, Result: compare(seen, now, diagnosis, fix.Guess), Next: fix.Next}
		report.Steps = append(report.Steps, step)
		if step.Result != Undone {
			report.Spec, seen = candidate, now
			if t.OneStep {
				break
			}
		}
	}
	if report.Healthy = seen.Healthy; !report.Healthy { // the time is over, or one step was wanted
		diagnosis := Diagnose(seen.Case)
		report.conclude(diagnosis, diagnosis.Fix, diagnosis.Command)
	}
	return report
}

// conclude notes what is left, and what a person has to do about it.
func (r *Report) conclude(d Diagnosis, todo, command string) {
	r.Diagnosis, r.Todo, r.Command = &d, todo, command
}

// next is the first fix that may be tried and was not yet, for this trouble.
func (t Treatment) next(d Diagnosis, c Case, spec launch.Spec, tried map[string]bool) (Fix, bool) {
	for _, fix := range t.Fixes(d, c, spec) {
		if fix.Risk <= t.Allow && fix.Apply != nil && !tried[d.Cause+"\n"+fix.Name] {
			return fix, true
		}
	}
	return Fix{}, false
}

// todo is what is left for a person: the best fix that needs one, or what the
// diagnosis says.
func (t Treatment) todo(d Diagnosis, c Case, spec launch.Spec) (todo, command string) {
	for _, fix := range t.Fixes(d, c, spec) {
		if fix.Risk > t.Allow && fix.Next != "" {
			return redact.Quote(fix.Next), fix.Command // it names files, and a project may have named those
		}
	}
	return d.Fix, d.Command
}

func (t Treatment) tell(what string) {
	if t.Tell != nil {
		t.Tell(what)
	}
}

// compare holds a probe against the one before.
func compare(before, now Seen, treated Diagnosis, guess bool) string {
	switch {
	case now.Healthy:
		return Healed
	case guess && now.Case.Stage < Spoke && !now.Case.asksForCredential():
		return Undone
	case now.Case.Stage < before.Case.Stage:
		return Undone
	case Diagnose(now.Case).Cause == treated.Cause:
		return Undone
	}
	return Helped
}
