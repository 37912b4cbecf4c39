package doctor

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

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
