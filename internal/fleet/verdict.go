package fleet

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/shell"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// State is how a server is, in one word.
type State string

const (
	Works   State = "works"   // tested successfully
	Warned  State = "warned"  // works, or would, but something needs attention
	Broken  State = "broken"  // does not work, or its client does not load it
	Untried State = "untried" // no problem is known
	Off     State = "off"     // disabled, or in a file the client no longer reads
)

// Action is what is to be done about a server.
type Action int

const (
	Nothing Action = iota
	ByHand         // Next says what a person has to do
	Heal           // try fixes that change how the server is started or reached
	Repair         // change the configuration file
	Rewrap         // the gauze in front of the server is gone
	Try            // ask the user, then start it
)

// Verdict is the one judgement of a server: the command line and the tools of gauze mcp report it in their own words.
type Verdict struct {
	State  State
	Cause  string
	Action Action
	Next   string // what a person does or runs; empty for Nothing
}

// Verdict judges a server by what its file says and what happened when it was started.
func (c *Checked) Verdict() Verdict {
	command := func(state State, cause string, action Action) Verdict {
		next := map[Action]string{
			Heal: "gauze doctor --fix " + c.word(), Repair: "gauze doctor --fix " + c.word(), Try: "gauze doctor " + c.word(),
			Rewrap: shell.Here().Then("gauze unwrap "+c.word(), "gauze wrap "+c.word()),
		}
		return Verdict{state, cause, action, next[action]}
	}
	d := c.Report.Diagnosis
	switch {
	case c.Config.Place.Old != "":
		return command(Off, "the client no longer reads this file: "+c.Config.Place.Old, Nothing)
	case c.Disabled:
		return command(Off, "disabled", Nothing)
	case c.Builtin != "":
		return command(Works, "part of the client", Nothing)
	case len(c.Errors()) > 0:
		return c.ofProblem(command, Broken, c.Errors()[0])
	case c.Gone:
		return command(Broken, "wrapped, but gauze is no longer at "+redact.Quote(c.Entry.Spec.Command), Rewrap)
	case c.Tried && !c.Report.Healthy && d == nil:
		return command(Broken, c.Hide(redact.Quote(c.Attempt.Stopped)), Nothing)
	case c.Tried && !c.Report.Healthy:
		v := Verdict{Broken, c.Hide(d.Explanation), ByHand, c.Hide(cmp.Or(c.Report.Todo, d.Fix))}
		if d.Category == doctor.Unknown {
			v.Cause = "stopped here without giving a reason: " + c.Hide(redact.Quote(c.Attempt.Stopped))
		}
		if c.Report.Fixable {
			return command(Broken, v.Cause, Heal)
		}
		return v
	case c.Tried && c.otherTransport() != "":
		return command(Broken, fmt.Sprintf("the server uses %s, but the entry says %s", c.otherTransport(), c.Transport), Repair)
	case c.Tried && len(c.healedBy()) > 0 && c.Wrapped:
		return command(Works, "with the help of gauze run: "+c.healedBy()[0].About, Nothing)
	case c.Tried && len(c.healedBy()) > 0:
		return command(Warned, "works only with this fix: "+c.healedBy()[0].About, Repair)
	case len(c.Problems) > 0:
		return c.ofProblem(command, Warned, c.Problems[0])
	case c.Tried:
		return command(Works, fmt.Sprintf("%s, %s", count(len(c.Attempt.Found.Tools), "tool"), c.Attempt.Took.Round(time.Millisecond)), Nothing)
	case c.Foreign() && c.Not == c.NotAgreed().Error():
		return command(Untried, c.Not, Try)
	}
	return command(Untried, c.Not, Nothing)
}

func (c *Checked) ofProblem(command func(State, string, Action) Verdict, state State, p clientconfig.Problem) Verdict {
	cause := fmt.Sprintf("%s (line %d): %s", p.What, p.Line, p.Why)
	if p.Fix != nil && p.Consent < clientconfig.Person {
		return command(state, cause, Repair)
	}
	return Verdict{state, cause, ByHand, p.Next}
}

// Health is the verdict as one of the words of health checks: "healthy", "degraded", "unresponsive", "dead" or
// "not_tried".
func (c *Checked) Health() string {
	command := c.Real().URL == ""
	switch {
	case !c.Tried:
		return "not_tried"
	case c.Well() && (c.Wrapped || len(c.Report.Steps) == 0): // gauze run applies the fix at every start
		return "healthy"
	case c.Report.Healthy:
		return "degraded"
	case command && c.Attempt.Stage >= upstream.Started && (c.Attempt.ByUs != "" || c.Attempt.Limit.Alive): // it did not exit by itself
		return "unresponsive"
	case !command && c.Attempt.Stage >= upstream.Started:
		return "unresponsive"
	}
	return "dead"
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
func (s *Server) Hide(text string) string { return redact.Text(s.view.secrets.Redact(text)) }

// Hiding takes the secrets of a server that is in no file out of what it said.
func Hiding(spec launch.Spec) func(string) string {
	secrets := spec.Secrets()
	return func(text string) string { return redact.Text(secrets.Redact(text)) }
}

// word is how a person names this server on a command line.
func (s *Server) word() string { return plaintext.Clean(shell.Here().Quote(s.ID())) }

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
