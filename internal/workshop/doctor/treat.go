package doctor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Treatment configures Treat.
type Treatment struct {
	Attempts int  // maximum number of fixes that may fail to help; default 3, negative to try none
	Allow    Risk // highest risk of a fix that is tried; others are only proposed
	// Probe tests a server. It waits for a response for the given time, or for its default if
	// that is 0.
	Probe func(context.Context, launch.Spec, time.Duration) Seen
	Waits []time.Duration // how long to wait for a silent server, one after the other, before giving up
	First *Seen           // result of an earlier probe; nil to probe first
	Fixes func(Diagnosis, Case, launch.Spec) []Fix
	// Agree asks a person whether a fix may be tried that takes a value from a source that they have
	// to be asked about, or that changes what runs. It gets the fix and the Spec with it. If nothing is
	// tried, it is called only to show that there is such a fix. nil refuses.
	Agree   func(Fix, launch.Spec) bool
	Tell    func(string) // receives progress messages for people; may be nil
	OneStep bool         // return after the first fix that helped
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

	// Wait is how long the server must be waited for, if that is longer than the default.
	Wait time.Duration `json:"-"`

	seen Case // what Diagnosis is about
}

// Step is one fix that was tried.
type Step struct {
	Diagnosis Diagnosis `json:"diagnosis"`
	Fix       string    `json:"fix"`
	About     string    `json:"about"`
	Result    string    `json:"result"` // healed, helped, undone
	Next      string    `json:"next,omitempty"`
	Agreed    bool      `json:"agreed,omitempty"` // a person was asked first; gauze run does not apply it by itself
	Waited    bool      `json:"-"`                // it only gave the server more time
}

// Results of a fix.
const (
	Healed = "healed" // the server works
	Helped = "helped" // the server fails later, or for a different reason
	Undone = "undone" // the server fails as before, or earlier
)

const (
	defaultAttempts = 3
	maxSteps        = 12 // with those that helped
)

// Treat probes and diagnoses a server, tries one fix on a copy of its Spec and probes again, until
// the server works, there is nothing left to try, or the attempts are used up. A fix is kept only if
// it removed the cause it was for and the server got at least as far as before. A silent server gets
// more time once there is nothing else to try.
func Treat(ctx context.Context, spec launch.Spec, t Treatment) Report {
	t.Attempts = cmp.Or(t.Attempts, defaultAttempts)
	report := Report{Spec: spec}
	seen := t.first(ctx, spec)
	tried, failed := map[string]bool{}, 0
	for !seen.Healthy && ctx.Err() == nil {
		diagnosis := Diagnose(seen.Case)
		if t.Attempts < 0 { // diagnose only
			_, report.Fixable = t.next(diagnosis, seen.Case, report.Spec, tried)
			if !report.Fixable {
				t.asked(diagnosis, seen.Case, report.Spec, tried)
			}
			report.Fixable = report.Fixable || seen.silent(diagnosis) && len(t.Waits) > 0
			todo, command := t.todo(diagnosis, seen.Case, report.Spec)
			report.conclude(seen.Case, diagnosis, todo, command)
			return report
		}
		fix, wait, agreed, ok := t.choose(diagnosis, seen, report, tried)
		if !ok || failed >= t.Attempts || len(report.Steps) >= maxSteps {
			report.Fixable = ok
			todo, command := t.todo(diagnosis, seen.Case, report.Spec)
			report.conclude(seen.Case, diagnosis, todo, command)
			return report
		}
		tried[diagnosis.Cause+"\n"+fix.Name] = true

		t.tell(fix.About)
		candidate := fix.Apply(report.Spec)
		now := t.Probe(ctx, candidate, wait)
		if ctx.Err() != nil {
			break // the probe was interrupted and proves nothing
		}
		step := Step{Diagnosis: diagnosis, Fix: fix.Name, About: fix.About, Result: compare(seen, now, diagnosis, fix.Guess),
			Next: fix.Next, Agreed: agreed, Waited: wait != report.Wait}
		report.Steps = append(report.Steps, step)
		switch {
		case step.Result != Undone:
			report.Spec, report.Wait, seen = candidate, wait, now
			if t.OneStep {
				return report.end(seen)
			}
		case wait == report.Wait:
			failed++
		case now.Case.Stage >= seen.Case.Stage:
			seen = now // it is silent for longer than was known
		}
	}
	return report.end(seen)
}

// first returns the first attempt, which may have been made before.
func (t *Treatment) first(ctx context.Context, spec launch.Spec) Seen {
	if t.First != nil {
		return *t.First
	}
	return t.Probe(ctx, spec, 0)
}

// choose returns what to try next: a fix that is allowed, one that a person agrees to, or a longer wait.
func (t *Treatment) choose(d Diagnosis, seen Seen, r Report, tried map[string]bool) (fix Fix, wait time.Duration, agreed, ok bool) {
	wait = r.Wait
	if fix, ok = t.next(d, seen.Case, r.Spec, tried); ok {
		return fix, wait, false, true
	}
	if fix, ok = t.asked(d, seen.Case, r.Spec, tried); ok {
		return fix, wait, true, true
	}
	if seen.silent(d) && len(t.Waits) > 0 {
		wait, t.Waits = t.Waits[0], t.Waits[1:]
		return waitFor(wait), wait, false, true
	}
	return fix, wait, false, false
}

// end returns the report of a treatment that was interrupted, took one step only, or succeeded.
func (r Report) end(last Seen) Report {
	if r.Healthy = last.Healthy; !r.Healthy {
		diagnosis := Diagnose(last.Case)
		r.conclude(last.Case, diagnosis, diagnosis.Fix, diagnosis.Command)
	}
	return r
}

// silent reports whether a server only failed to respond in time, as far as is known.
func (s Seen) silent(d Diagnosis) bool {
	return d.Category == Timeout && s.Case.Limit.Passed && !s.Case.Limit.Stopped && s.Case.Limit.Alive && s.Case.Limit.Listening == 0
}

// waitFor returns the fix that gives a server more time.
func waitFor(wait time.Duration) Fix {
	return Fix{Name: "wait " + wait.String(), About: "waits up to " + wait.String() + " for the server to respond", Apply: copied,
		Next: "Start the server through gauze, which waits for slow servers. If the client has a startup timeout, set it to at least " +
			wait.String() + "."}
}

// maxWait bounds the time that a silent server gets.
const maxWait = time.Minute

// waitsAfter returns how long to wait for a server that did not respond within base: 30s and then
// 60s after the usual 10s.
func waitsAfter(base time.Duration) (waits []time.Duration) {
	for _, wait := range []time.Duration{3 * base, 6 * base} {
		if wait = min(wait, maxWait); wait > base && !slices.Contains(waits, wait) {
			waits = append(waits, wait)
		}
	}
	return waits
}

// conclude records the remaining trouble and the next step for a person.
func (r *Report) conclude(c Case, d Diagnosis, todo, command string) {
	r.seen = c
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

// asked returns the first fix that a person agrees to: one with a value that gauze may not use by
// itself, or that starts or reaches something else.
func (t Treatment) asked(d Diagnosis, c Case, spec launch.Spec, tried map[string]bool) (Fix, bool) {
	if t.Agree == nil {
		return Fix{}, false
	}
	for _, fix := range t.Fixes(d, c, spec) {
		key := d.Cause + "\n" + fix.Name
		if fix.Risk != Config || fix.Apply == nil || !fix.asks() || tried[key] {
			continue
		}
		tried[key] = true // ask once
		if t.Agree(fix, fix.Apply(spec)) {
			return fix, true
		}
	}
	return Fix{}, false
}

// asks reports whether a person decides about a fix.
func (f Fix) asks() bool {
	verdict := f.verdict()
	return verdict == trust.Asks || f.Asks && verdict == trust.Allowed
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
	}
	if d := Diagnose(now.Case); d.Cause == treated.Cause && !d.lacksOthers(treated) {
		return Undone
	}
	return Helped
}

// lacksOthers reports whether a diagnosis of missing variables no longer names one that an earlier
// diagnosis named.
func (d Diagnosis) lacksOthers(before Diagnosis) bool {
	return len(d.variables) > 0 && slices.ContainsFunc(before.variables, func(name string) bool { return !slices.Contains(d.variables, name) })
}
