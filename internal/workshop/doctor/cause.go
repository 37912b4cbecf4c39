package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
)

// cause is one way to fail: how it is recognised, what is said about it, and what helps. Causes are
// in causes/*.cause, see docs/CAUSES.md. Tasks have to know of a cause that only a person can end:
// package task, needOfCause.
type cause struct {
	name     string
	category Category
	passes   bool // it can end without a change: trying again may help

	explain string // template, see fill
	fix     string // template; see advised for the names it may use. Models read it
	command string // template of a command for the fix that is shown only to people, see Diagnosis
	instead []advice

	clues  []clue
	hides  []string  // causes and categories that are only consequences of this one
	unless condition // what rules it out, whatever the text says
	atURL  scope     // whether a server behind a URL can have it
	atCall scope     // whether it explains why a call of a running server failed

	remedies []remedy // changes that gauze proposes, most likely first
	risk     Risk     // of following fix; unless it is 0, fix is proposed after the remedies
}

// advice replaces a cause's fix, and its explanation unless that is empty, where when holds.
type advice struct {
	when    condition
	explain string
	fix     string
	command string
}

// clue is evidence for a cause or for a fact: a pattern, of which when decides about each match; a
// fact, of which when decides about each report; or neither, then when examines the numbers of the
// case and fills in the match.
type clue struct {
	confidence float64
	asSaid     bool // confidence is to be added to that of the fact's own clue
	pattern    *pattern
	fact       *fact
	when       condition // nil if there is none
	text       string    // as it is written
	file       string
	line       int
}

// fact is something that tools report in many ways, and that is evidence for several causes.
type fact struct {
	name  string
	clues []clue
	when  condition // applies to all clues, after their own
}

// The confidence that a clue gives. A cause below doubt is not reported.
const (
	certain = 0.95 // the tool says exactly this
	strong  = 0.85
	likely  = 0.7
	guess   = 0.5
	faint   = 0.4 // a technical term and a complaint in one line; it counts only if nothing else was found
	doubt   = 0.35
)

// scope is where a cause is possible.
type scope int

const (
	byCategory scope = iota
	always
	onlyInLogs // not if gauze saw the failure itself
	never
)

// table is the causes with their patterns.
type table struct {
	causes   []cause // in the order in which equals are ranked: the earliest obstacle first
	facts    []*fact
	finder   finder
	numbers  []*pattern // for numbers in a log
	symptoms []*pattern
}

// knowledge returns the table. It is read for the first case: most runs of Gauze have none.
var knowledge = sync.OnceValue(func() *table {
	t, err := newTable(data)
	if err != nil {
		panic("doctor: " + err.Error())
	}
	return t
})

// newTable returns the causes of these files, ready to be looked for.
func newTable(files fs.FS) (*table, error) {
	t, err := readCauses(files)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		t.numbers = append(t.numbers, mustPattern(n.expr, &t.finder))
	}
	for _, s := range symptoms {
		t.symptoms = append(t.symptoms, mustPattern(s.expr, &t.finder))
	}
	t.finder.build()
	return t, nil
}

// causeNamed returns the cause of a name, or an empty one.
func causeNamed(name string) *cause {
	for _, all := range [][]cause{knowledge().causes, unexplained} {
		if i := slices.IndexFunc(all, func(c cause) bool { return c.name == name }); i >= 0 {
			return &all[i]
		}
	}
	return &cause{}
}

// Entries returns the causes for the catalogue, with the fallbacks of all templates.
func Entries() (all []fault.Entry) {
	causes := slices.Concat(knowledge().causes, unexplained)
	unknown := newExam(Case{})
	unnamed := func(key string) string {
		if verb, ok := strings.CutPrefix(key, "$"); ok {
			return unknown.spelled(verb, &match{})
		}
		return ""
	}
	for _, c := range causes {
		entry := fault.Entry{
			Code: fault.Code(c.name), Kind: fault.KindCause, Permanent: !c.passes, Title: fill(c.explain, unnamed),
			Do: fault.Steps(WithCommand(fill(c.fix, unnamed), fill(c.command, unnamed))),
		}
		for _, other := range causes {
			if slices.Contains(other.hides, c.name) {
				entry.Follows = append(entry.Follows, fault.Code(other.name))
			}
		}
		all = append(all, entry)
	}
	return all
}

// Permanent reports whether a cause lasts until something is changed: a program, a file, a credential.
// Trying again does not help against it. An unknown code is not permanent.
func Permanent(code string) bool {
	c := causeNamed(code)
	return c.name != "" && !c.passes
}

// possibleAtURL reports whether a server behind a URL can have the cause. It gets neither our
// environment nor our files: what its responses say about these concerns its own, or is false. A log
// may be the server's own, but even then an entry with a URL gives it neither variables nor pipes.
func (c *cause) possibleAtURL(live bool) bool {
	in := c.atURL
	if in == byCategory {
		switch c.category {
		case MissingEnvVar, StdoutPollution:
			in = never
		case CommandNotFound, PermissionDenied, PackageNotFound, RuntimeTooOld, DependencyMissing, Crashed, PortInUse, ResourceExhausted,
			PathNotFound, ConfigMalformed:
			in = onlyInLogs
		}
	}
	return in != never && !(in == onlyInLogs && live)
}

// where returns the place of a clue in its file.
func (c *clue) where() string { return fmt.Sprintf("%s:%d", c.file, c.line) }
