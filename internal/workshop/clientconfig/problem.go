package clientconfig

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// Problem is a mistake in a client's file that keeps a server from working, or that will surprise
// the user. Its texts never contain a value that may be secret.
type Problem struct {
	Code         Code
	Severity     Severity
	Client       *Client
	File         string
	Line, Column int    // from 1; 0 if the problem concerns the whole file
	Server       string // empty if the problem concerns the file
	What         string // one clause, without a full stop
	Why          string // one clause that also reads well after "What (line N): "
	Fix          Edit   // nil if a program cannot fix it
	Consent      Consent
	Next         string // what the user can do

	entry []any // path of the entry in the document; nil if the problem concerns the file
}

// needsReview marks a fix that might break something that works.
func (p *Problem) needsReview() { p.Consent = max(p.Consent, Shown) }

// Severity is how serious a problem is.
type Severity int

const (
	Warning Severity = iota
	Error            // the client does not load the entry, or does not load it as intended
)

// Words returns the names of the values.
func (Severity) Words() []string { return []string{"warning", "error"} }

func (s Severity) String() string { return s.Words()[s] }

// Consent is how much confirmation a fix needs.
type Consent int

const (
	Form   Consent = iota // the same server in the client's own spelling: a general confirmation is enough
	Shown                 // the fix changes what is run, reached or sent, or others share the file: the user must review the diff
	Person                // no program should write it
)

// Words returns the names of the values.
func (Consent) Words() []string { return []string{"form", "shown", "person"} }

func (c Consent) String() string { return c.Words()[c] }

// Code identifies a kind of problem. Codes never change.
type Code string

// kind is what all problems with the same code have in common.
type kind struct {
	Code        Code
	Severity    Severity
	Consent     Consent
	Why         string
	Remedy      string // what the user can do, for problems that a program does not fix
	RejectsFile bool   // some clients reject the whole file
}

// problems has all kinds of problems.
var problems = parsed[struct {
	Kinds []kind `key:"problem"`
}]("problems.txt")

// kindOf returns the kind of problem with this code.
func kindOf(code Code) kind {
	i := slices.IndexFunc(problems().Kinds, func(k kind) bool { return k.Code == code })
	if i < 0 {
		panic("clientconfig: unknown code " + string(code))
	}
	return problems().Kinds[i]
}

// quoted returns text from a file, cleaned and in quotation marks, for use in a Problem.
func quoted(text string) string { return "“" + redact.Quote(text) + "”" }

func sortProblems(all []Problem) {
	sorting.Stable(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Code, b.Code))
	})
}

// Entries returns the problems as entries of the catalogue that gauze explain prints.
func Entries() []fault.Entry {
	var all []fault.Entry
	kinds := slices.Clone(problems().Kinds)
	sorting.Stable(kinds, func(a, b kind) int { return cmp.Compare(a.Code, b.Code) })
	for _, k := range kinds {
		step := fault.Step{Text: "Review the change and confirm it:", Command: "gauze doctor --fix"}
		if k.Consent == Person {
			step = fault.Step{Text: strings.ToUpper(k.Remedy[:1]) + k.Remedy[1:] + ". To see where:", Command: "gauze doctor"}
		}
		all = append(all, fault.Entry{Code: fault.Code(k.Code), Kind: fault.KindConfig, Title: k.Why, Do: []fault.Step{step}})
	}
	return all
}
