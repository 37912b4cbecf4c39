package fleet

import (
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/shell"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// State is how a server stands, in one word.
type State string

const (
	Works   State = "works"   // it was tried, and does
	Warned  State = "warned"  // it does, or would, with something to know about
	Broken  State = "broken"  // it does not, or its client does not load it
	Untried State = "untried" // nothing is known to be wrong
	Off     State = "off"     // switched off, or not the client's to start any more
)

// Verdict is the one thing to say about a server, and the one thing to do.
type Verdict struct {
	State State
	Cause string
	Next  string // empty: nothing
}

// Verdict weighs what the file says against what happened.
func (c *Checked) Verdict() Verdict {
	d := c.Report.Diagnosis
	switch {
	case c.Config.Place.Old != "":
		return Verdict{Off, "the client does not read this file any more: " + c.Config.Place.Old, ""}
	case c.Disabled:
		return Verdict{Off, "it is switched off", ""}
	case c.Builtin != "":
		return Verdict{Works, "a part of the client", ""}
	case len(c.Errors()) > 0:
		return c.ofProblem(Broken, c.Errors()[0])
	case c.Gone:
		return Verdict{Broken, "it is wrapped, and gauze is no longer at " + fault.Quote(c.Entry.Spec.Command), shell.Here().Then("gauze unwrap "+c.word(), "gauze wrap "+c.word())}
	case c.Tried && !c.Report.Healthy && d == nil:
		return Verdict{Broken, c.Hide(fault.Quote(c.Attempt.Stopped)), ""}
	case c.Tried && !c.Report.Healthy:
		v := Verdict{Broken, c.Hide(d.Explanation), c.Hide(d.Fix)}
		if d.Category == doctor.Unknown {
			v.Cause = "It went no further, and nothing it said or did tells why: " + c.Hide(fault.Quote(c.Attempt.Stopped))
		}
		switch {
		case c.Report.Fixable:
			v.Next = "gauze doctor --heal " + c.word()
		case c.Report.Todo != "":
			v.Next = c.Hide(c.Report.Todo)
		}
		return v
	case c.Tried && c.otherTransport() != "":
		return Verdict{Broken, fmt.Sprintf("the server speaks %s, and the entry says %s", c.otherTransport(), c.Transport), "gauze doctor --fix " + c.word()}
	case c.Tried && len(c.healedBy()) > 0:
		v := Verdict{Warned, "it works only with help: " + c.healedBy()[0].About, "gauze doctor --fix " + c.word()}
		if c.Wrapped {
			v.State, v.Next = Works, ""
			v.Cause = "gauze run helps it: " + c.healedBy()[0].About
		}
		return v
	case len(c.Problems) > 0:
		return c.ofProblem(Warned, c.Problems[0])
	case c.Tried:
		return Verdict{Works, fmt.Sprintf("%s, %s", count(len(c.Attempt.Found.Tools), "tool"), c.Attempt.Took.Round(time.Millisecond)), ""}
	}
	v := Verdict{Untried, c.Not, ""}
	if c.Foreign() && c.Not == c.NotAgreed().Error() {
		v.Next = "gauze doctor " + c.word()
	}
	return v
}

func (c *Checked) ofProblem(state State, p clientconfig.Problem) Verdict {
	v := Verdict{state, fmt.Sprintf("%s (line %d): %s", p.What, p.Line, p.Why), p.Next}
	if p.Fix != nil && p.Consent < clientconfig.Person {
		v.Next = "gauze doctor --fix " + c.word()
	}
	return v
}

// healedBy are the steps of a treatment that were kept.
func (c *Checked) healedBy() (kept []doctor.Step) {
	for _, step := range c.Report.Steps {
		if step.Result != doctor.Undone {
			kept = append(kept, step)
		}
	}
	return kept
}

// otherTransport is how the server is really spoken to, if its client would
// try another way.
func (c *Checked) otherTransport() clientconfig.Transport {
	found := clientconfig.Transport(c.Attempt.Found.Transport)
	if c.Report.Healthy && !c.Wrapped && (c.Transport == clientconfig.HTTP || c.Transport == clientconfig.SSE) && found != c.Transport {
		return found
	}
	return ""
}

// Hide takes the secrets of all entries out of what a server or a program said.
func (s *Server) Hide(text string) string { return fault.Redact(s.view.secrets.Redact(text)) }

// Hiding takes the secrets of a server that is in no file out of what it said.
func Hiding(spec upstream.Spec) func(string) string {
	secrets := spec.Secrets()
	return func(text string) string { return fault.Redact(secrets.Redact(text)) }
}

// word is how a person names this server on a command line.
func (s *Server) word() string { return fault.Clean(shell.Here().Quote(s.ID())) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Standing is what is to be known of a server before anybody tries it: a few
// words, or none if it is as it should be.
func (s *Server) Standing() []string {
	var all []string
	add := func(is bool, words string) {
		if is {
			all = append(all, words)
		}
	}
	add(s.Config.Place.Old != "", "old place")
	add(s.Builtin != "", "built in")
	add(s.Disabled, "off")
	add(s.Wrapped, "wrapped")
	add(s.Foreign(), "comes with the project")
	if broken := s.Errors(); len(broken) > 0 {
		all = append(all, "broken: "+broken[0].What)
	}
	return all
}
