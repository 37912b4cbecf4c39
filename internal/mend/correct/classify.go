package correct

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// Kind is why a call was rejected.
type Kind string

// The kinds of rejections. The names are stable: policies contain them.
const (
	InvalidArguments Kind = "invalid-arguments" // argument validation failed
	MissingArgument  Kind = "missing-argument"
	UnknownArgument  Kind = "unknown-argument"
	WrongType        Kind = "wrong-type"
	OutOfRange       Kind = "out-of-range"
	UnknownChoice    Kind = "unknown-choice"
	WrongFormat      Kind = "wrong-format"
	Malformed        Kind = "malformed"     // text that is not JSON
	InvalidValue     Kind = "invalid-value" // the tool itself rejected a value

	Authentication Kind = "authentication"
	Permission     Kind = "permission"
	PathTraversal  Kind = "path-traversal"
	Security       Kind = "security"
	RateLimit      Kind = "rate-limit"
	Timeout        Kind = "timeout"
	Connection     Kind = "connection"
	Model          Kind = "model" // of a model that the tool uses
	Cancelled      Kind = "cancelled"
	NotFound       Kind = "not-found"
	Conflict       Kind = "conflict"
	UnknownTool    Kind = "unknown-tool"
	Internal       Kind = "internal"
	Unknown        Kind = "unknown"
)

// Class says what may be done about a rejected call.
type Class struct {
	Kind        Kind
	Correctable bool   // different arguments may help, and asking for them is harmless
	NoEffect    bool   // the server rejected the arguments before running the tool
	Reason      string // why, for people
}

// Rejection is how a call failed.
type Rejection struct {
	Text string // the server's words, or those of the repair gate
	Code int    // of a JSON-RPC error; 0 for a result that is an error
	// Unsent means that the repair gate rejected the call, so the server never received it.
	Unsent bool
	// BeforeRun means that the server provably rejected the arguments before it ran the tool; see
	// repair.Decision.RejectedBeforeRun.
	BeforeRun bool
}

// never reports whether no policy can list a kind.
func (k Kind) never() bool {
	switch k {
	case Authentication, Permission, PathTraversal, Security, RateLimit, Cancelled, UnknownTool, Unknown:
		return true
	}
	return !slices.Contains(Kinds(), k)
}

// Kinds returns all kinds, those of arguments first.
func Kinds() []Kind {
	kinds := []Kind{InvalidArguments}
	for _, shapes := range [][]shape{failures().details, failures().shapes, {{kind: Unknown}}} {
		for _, s := range shapes {
			if !slices.Contains(kinds, s.kind) {
				kinds = append(kinds, s.kind)
			}
		}
	}
	return kinds
}

// shape is how a kind of failure looks.
type shape struct {
	kind        Kind
	correctable bool
	complaint   bool // matches what repair.IsComplaint recognizes
	codes       []int
	reason      string
	words       *regex.Lazy // anywhere in the text; nil if there are none
}

//go:embed failures.txt
var failuresText string

// failures is the table of failures.
var failures = sync.OnceValue(func() (known struct {
	*regex.Table
	shapes, details []shape
}) {
	const (
		thrown = `^(?:\s*(?:MCP error -\d+: |Error: |Error executing tool \S+: |Error calling tool '[^']{1,100}':? ?|` +
			`Traceback[^\n]*\n(?:[ \t]+[^\n]*\n)*))*(?:[a-z_][\w]*\.)*`
		status = `\b(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]?code)?|response code|error(?: code)?)["']?[ :=(]{1,3}["']?(?:$1)\b` +
			`|\((?:$1)\)|^(?:$1)\b`
	)
	text := strings.ReplaceAll(failuresText, "{thrown}", thrown)
	known.Table = regex.NewTable(regex.New(`\{status ([\d|]+)\}`).ReplaceAllString(text, status))
	for _, section := range known.Sections() {
		head, reason, isShape := strings.Cut(section.Head, "|")
		s := shape{kind: Kind(section.Name), reason: strings.TrimSpace(reason)}
		for _, word := range strings.Fields(head) {
			s.correctable, s.complaint = s.correctable || word == "correctable", s.complaint || word == "complaint"
			if code, err := strconv.Atoi(word); err == nil {
				s.codes = append(s.codes, code)
			}
		}
		if len(section.Lines) > 0 {
			s.words = section.Lazy()
		}
		switch {
		case isShape:
			known.shapes = append(known.shapes, s)
		case head == "detail":
			known.details = append(known.details, s)
		}
	}
	return known
})

// maxScanned limits the text that is classified, in bytes. Longer text is the output of a tool.
const maxScanned = 64 << 10

// Classify returns the class of a rejection. Unknown kinds are not correctable.
func Classify(r Rejection) Class {
	if r.Unsent {
		return unsent(r)
	}
	unknown := Class{Kind: Unknown, Reason: "nothing suggests that different arguments would help"}
	if len(r.Text) > maxScanned {
		return unknown
	}
	for _, s := range failures().shapes {
		if !s.matches(r) {
			continue
		}
		c := Class{Kind: s.kind, Correctable: s.correctable, Reason: s.reason}
		if s.kind == InvalidArguments {
			c.Kind = detail(r.Text)
			c.NoEffect = s.complaint && r.BeforeRun
			if c.NoEffect {
				c.Reason = "the server rejected the arguments before running the tool"
			}
		}
		return c
	}
	return unknown
}

// ClassifyCall is Classify for a call whose schema is known. A tool may reject a value in words of its
// own: they count if they name an argument of the call and what is wrong with it.
func ClassifyCall(r Rejection, s *repair.Schema, arguments []byte) Class {
	c := Classify(r)
	if c.Kind == Unknown && s.Blames(arguments, r.Text) {
		return Class{Kind: InvalidValue, Correctable: true, Reason: "the tool rejected a value"}
	}
	return c
}

// unsent classifies a call that the repair gate rejected. Its text contains values of the caller,
// so words in it mean nothing.
func unsent(r Rejection) Class {
	c := Class{Kind: InvalidArguments, Correctable: true, NoEffect: true,
		Reason: "the call was not sent, because its arguments do not match the tool's schema"}
	first, _, _ := strings.Cut(r.Text, "\n")
	switch {
	case strings.Contains(first, "does not exist") && strings.Contains(first, "tool `"):
		return Class{Kind: UnknownTool, NoEffect: true, Reason: "the server does not have the tool"}
	case strings.HasSuffix(first, "its arguments are not JSON."):
		c.Kind = Malformed
	}
	return c
}

func (s *shape) matches(r Rejection) bool {
	switch {
	case s.kind == UnknownTool && repair.RejectsTool(r.Text):
		return true
	case s.complaint:
		return repair.IsComplaint(r.Text, true)
	case slices.Contains(s.codes, r.Code):
		return true
	}
	return s.words != nil && s.words.MatchString(r.Text)
}

// detail returns the kind of an argument complaint. What several kinds match is InvalidArguments.
func detail(text string) Kind {
	found := InvalidArguments
	for _, d := range failures().details {
		if !d.words.MatchString(text) {
			continue
		}
		if found != InvalidArguments {
			return InvalidArguments
		}
		found = d.kind
	}
	return found
}
