package doctor

import (
	"context"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// Treatment configures Treat.
type Treatment struct {
	Attempts int  // maximum number of fixes to try; default 3, negative for none
	Allow    Risk // highest risk of a fix that is tried; others are only proposed
	Probe    func(context.Context, launch.Spec) Seen
	First    *Seen // result of an earlier probe; nil to probe first
	Fixes    func(Diagnosis, Case, launch.Spec) []Fix
	Tell     func(string) // receives progress messages for people; may be nil
	OneStep  bool         // return after the first fix that helped
}

// Seen is the result of one probe of a server.
type Seen struct {
	Case    Case
	Healthy bool
}

// Report is the result of a treatment.
type Report struct {
	Healthy   bool        `json:"healthy"`
	Steps     []Step      `json:"steps"`
	Diagnosis *Diagnosis  `json:"diagnosis,omitempty"` // of the remaining trouble
	Todo      string      `json:"todo,omitempty"`      // the next step for a person
	Command   string      `json:"-"`                   // the command for Todo, shown only to people
	Fixable   bool        `json:"fixable,omitempty"`   // whether an allowed fix was not tried
	Spec      launch.Spec `json:"-"`                   // the best known way to start the server
}

// Step is one fix that was tried.
type Step struct {
	Diagnosis Diagnosis `json:"diagnosis"`
	Fix       string    `json:"fix"`
	About     string    `json:"about"`
	Result    string    `json:"result"` // healed, helped, undone
	Next      string    `json:"next,omitempty"`
}

// Results of a fix.
const (
	Healed = "healed" // the server works
	Helped = "helped" // the server fails later, or for a different reason
	Undone = "undone" // the server fails as before, or earlier
)

const defaultAttempts = 3

// Treat probes and diagnoses a server, tries one fix on a copy of its Spec and probes again, until
// the server works, there is nothing left to try, or the attempts are used up. A fix is kept only if
// it removed the cause it was for and the server got at least as far as before.
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
		if t.Attempts < 0 { // diagnose only: the machine is not examined
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

		t.tell(fix.About)
		candidate := fix.Apply(report.Spec)
		now := t.Probe(ctx, candidate)
		if ctx.Err() != nil {
			break // the probe was interrupted and proves nothing
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
	if report.Healthy = seen.Healthy; !report.Healthy { // interrupted, or only one step was requested
		diagnosis := Diagnose(seen.Case)
		report.conclude(diagnosis, diagnosis.Fix, diagnosis.Command)
	}
	return report
}

// conclude records the remaining trouble and the next step for a person.
func (r *Report) conclude(d Diagnosis, todo, command string) {
	r.Diagnosis, r.Todo, r.Command = &d, todo, command
}

// next returns the first allowed fix that was not yet tried for this cause.
func (t Treatment) next(d Diagnosis, c Case, spec launch.Spec, tried map[string]bool) (Fix, bool) {
	for _, fix := range t.Fixes(d, c, spec) {
		if fix.Risk <= t.Allow && fix.Apply != nil && !tried[d.Cause+"\n"+fix.Name] {
			return fix, true
		}
	}
	return Fix{}, false
}

// todo returns the next step for a person: the best fix that requires one, or the diagnosis' own.
func (t Treatment) todo(d Diagnosis, c Case, spec launch.Spec) (todo, command string) {
	for _, fix := range t.Fixes(d, c, spec) {
		if fix.Risk > t.Allow && fix.Next != "" {
			return fix.Next, fix.Command
		}
	}
	return d.Fix, d.Command
}

func (t Treatment) tell(what string) {
	if t.Tell != nil {
		t.Tell(what)
	}
}

// compare returns the result of a fix, from the probes before and after it.
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
