package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Fixes returns a function that proposes fixes for a diagnosis on machine m, most likely first:
// those that gauze may try by itself, and those that only a person may apply.
//
// A fix that gauze tries by itself changes, in memory, how the same program is started or the same
// server is reached, and takes its values only from sources that package trust allows; judged
// enforces that for all fixes. It never changes what runs: no different package, version or runner,
// no variable that loads code, no different host.
func Fixes(m *Machine) func(Diagnosis, Case, launch.Spec) []Fix {
	return func(d Diagnosis, c Case, spec launch.Spec) (fixes []Fix) {
		newPlan(m, d, c, spec).each(func(some []Fix) bool {
			fixes = append(fixes, some...)
			return true
		})
		return fixes
	}
}

// each calls use with the fixes of one remedy after the other, until use returns false.
func (p *plan) each(use func([]Fix) (more bool)) {
	none := true
	try := func(r remedy) bool {
		fixes := r(p)
		none = none && len(fixes) == 0
		for i := range fixes {
			fixes[i] = judged(fixes[i])
			fixes[i].About, fixes[i].Next = p.clean(fixes[i].About), p.clean(fixes[i].Next)
		}
		return use(fixes)
	}
	of := causeNamed(p.d.Cause)
	if p.d.precise {
		try(func(p *plan) []Fix { return p.advice(max(of.risk, Config)) })
		return
	}
	for _, r := range of.remedies {
		if !try(r) {
			return
		}
	}
	if none && p.d.Unexplained() {
		for _, r := range obvious {
			if !try(r) {
				return
			}
		}
	}
	if of.risk > Runtime && p.d.Fix != "" {
		try(func(p *plan) []Fix { return p.advice(of.risk) })
	}
}

// plan is what remedies work with: a diagnosis, the case it is from and the machine.
type plan struct {
	m    *Machine
	d    Diagnosis
	c    Case
	spec launch.Spec
	env  []string          // the server's environment
	said map[string]string // what the cause's clue captured: foreign text
}

// clean removes control characters and known secrets from our own words. Patterns would also hide
// placeholders such as Authorization=NAME in them: foreign values are quoted where they enter.
func (p *plan) clean(text string) string { return p.c.Secrets.Redact(plaintext.Clean(text)) }

// remedy proposes fixes for a plan.
type remedy func(*plan) []Fix

func newPlan(m *Machine, d Diagnosis, c Case, spec launch.Spec) *plan {
	p := &plan{m: m, d: d, c: c, spec: spec, env: spec.Environment(), said: map[string]string{}}
	if f, ok := newExam(c).consider(causeNamed(d.Cause)); ok && f.match.names != nil {
		p.said = f.match.names
	}
	return p
}

// Remedies that several causes share.
var (
	programRemedies = []remedy{expandTilde, joinSpaces, locateProgram, otherPython, misspeltRunner, siblingRunner, installProgram}
	pathRemedies    = []remedy{expandTilde, fillIn, joinSpaces}
	valueRemedies   = []remedy{fillIn, forwardVariable, findVariable}
	keyRemedies     = []remedy{fillIn, renewKey}
	refusedRemedies = []remedy{fillIn, composePort, localSpelling, otherPort, startService}
)

// copied returns a Spec that shares no slice with s.
func copied(s launch.Spec) launch.Spec {
	s.Args, s.Header = slices.Clone(s.Args), slices.Clone(s.Header)
	s.Env = slices.Clone(s.Environment())
	return s
}

// value returns a variable of an environment. If it is set more than once, the last one counts.
func value(env []string, name string, fold bool) string {
	v, _ := lookup(env, name, fold)
	return v
}

// lookup is value that also reports whether the variable is set.
func lookup(env []string, name string, fold bool) (string, bool) {
	for _, pair := range slices.Backward(env) {
		if key, value, ok := strings.Cut(pair, "="); ok && (key == name || fold && strings.EqualFold(key, name)) {
			return value, true
		}
	}
	return "", false
}

// set returns an environment in which a variable has this value only.
func set(env []string, name, value string, fold bool) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		key, _, ok := strings.Cut(pair, "=")
		return ok && (key == name || fold && strings.EqualFold(key, name))
	})
	return append(env, name+"="+value)
}

// firstOnPath returns s with a directory first on its PATH.
func firstOnPath(s launch.Spec, dir string, fold bool) launch.Spec {
	old := filepath.SplitList(value(s.Env, "PATH", fold))
	old = slices.DeleteFunc(old, func(d string) bool { return d == dir })
	s.Env = set(s.Env, "PATH", strings.Join(append([]string{dir}, old...), string(filepath.ListSeparator)), fold)
	return s
}

// Risk is what a fix changes, which decides whose consent it needs.
type Risk int

const (
	Runtime Risk = iota // how the same program is started or reached; gauze may try it
	Config              // the configuration, or a value that is not the server's own; a person decides
	Install             // installs, downloads or removes something
	Secret              // needs a secret, or sends one to a new place
	Person              // only a person should do it
)

func (r Risk) String() string {
	return [...]string{"runtime", "config", "install", "secret", "person"}[r]
}

// Fix is a named change to a Spec. Apply returns a changed copy, so undoing a fix means dropping
// that copy.
type Fix struct {
	Name    string
	Risk    Risk
	About   string // what it changes and why, as one line in lower case
	Guess   bool   // whether only a response of the server proves it right
	Asks    bool   // whether a person is asked first although its values may be used: it changes what runs or is reached
	Apply   func(launch.Spec) launch.Spec
	Origins []Origin // where the values that Apply sets come from
	Next    string   // what a person does to make it permanent; models read it
	Command string   // command for Next that is shown only to people, see Diagnosis
}

// changed returns an Apply that makes a change to a copy.
func changed(change func(*launch.Spec)) func(launch.Spec) launch.Spec {
	return func(s launch.Spec) launch.Spec {
		s = copied(s)
		change(&s)
		return s
	}
}

// Origin is where a value that a fix applies comes from and how it is used. Gauze's own constants,
// such as docker's -i, count as the entry's.
type Origin struct {
	From trust.Source
	Use  trust.Use
}

// starts and sends return the usual Origins of fixes: values that decide how the server is started,
// or where requests go.
func starts(from ...trust.Source) []Origin { return origins(trust.Start, from) }
func sends(from ...trust.Source) []Origin  { return origins(trust.Send, from) }

func origins(use trust.Use, from []trust.Source) (all []Origin) {
	for _, source := range from {
		all = append(all, Origin{source, use})
	}
	return all
}

// verdict returns the strictest verdict on the values of a fix. A fix that does not declare where
// its values come from is never applied.
func (f Fix) verdict() trust.Verdict {
	if len(f.Origins) == 0 {
		return trust.Never
	}
	of := func(t Origin) trust.Verdict { return trust.Of(t.From, t.Use) }
	strictest := slices.MaxFunc(f.Origins, func(a, b Origin) int { return int(of(a)) - int(of(b)) })
	return of(strictest)
}

// judged returns f such that gauze tries it by itself only if all of its values may be applied
// without asking, and without Apply if one of them never may.
func judged(f Fix) Fix {
	if f.Apply == nil {
		return f
	}
	switch f.verdict() {
	case trust.Allowed:
		return f
	case trust.Never:
		f.Apply = nil
	}
	f.Risk = max(f.Risk, Config)
	return f
}
