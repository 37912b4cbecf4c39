package doctor

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// Risk is what a fix touches, and so whose consent it needs.
type Risk int

const (
	Runtime Risk = iota // only how the same program is started or reached: gauze may try it
	Config              // the configuration, or a value that is not the server's own: a person decides
	Install             // something is installed, fetched or removed
	Secret              // a secret is needed, or goes somewhere new
	Person              // nothing a program should do
)

func (r Risk) String() string {
	return [...]string{"runtime", "config", "install", "secret", "person"}[r]
}

// Fix is a named change to a Spec that is explained in one line. The Spec it
// is applied to stays as it is: undoing is not keeping the new one.
type Fix struct {
	Name    string
	Risk    Risk
	About   string // what it changes and why, in one line
	Guess   bool   // only a server that speaks shows that it was right
	Apply   func(launch.Spec) launch.Spec
	Takes   []Taken // where the values that Apply puts in come from
	Next    string  // what a person does to make it permanent; models read it
	Command string  // the command for it that only a person may be shown, see Diagnosis
}

// Taken says where a value that a fix applies comes from and what becomes of
// it. Gauze's own constants, such as docker's -i, count as the entry's.
type Taken struct {
	From trust.Source
	Use  trust.Use
}

// starts and sends are fixes' usual Takes: values that decide how the server is
// started, or where requests go.
func starts(from ...trust.Source) []Taken { return taken(trust.Start, from) }
func sends(from ...trust.Source) []Taken  { return taken(trust.Send, from) }

func taken(use trust.Use, from []trust.Source) (all []Taken) {
	for _, source := range from {
		all = append(all, Taken{source, use})
	}
	return all
}

// verdict is the strictest of those on the values a fix takes. A fix that does
// not say where its values come from is never applied.
func (f Fix) verdict() trust.Verdict {
	if len(f.Takes) == 0 {
		return trust.Never
	}
	of := func(t Taken) trust.Verdict { return trust.Of(t.From, t.Use) }
	strictest := slices.MaxFunc(f.Takes, func(a, b Taken) int { return int(of(a)) - int(of(b)) })
	return of(strictest)
}

// judged returns a fix that gauze tries by itself only if every value in it may
// be applied without asking, and that cannot be applied at all if one never may.
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
