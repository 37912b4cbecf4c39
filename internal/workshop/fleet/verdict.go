package fleet

import (
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// State is the state of a server in one word.
type State string

const (
	Works   State = "works"   // tested successfully
	Warned  State = "warned"  // works, or would, but something needs attention
	Broken  State = "broken"  // does not work, or its client does not load it
	Untried State = "untried" // no problem is known
	Off     State = "off"     // disabled, or in a file the client no longer reads
)

// Action is what can be done about a server.
type Action int

const (
	Nothing Action = iota
	ByHand         // Next says what the user has to do
	Heal           // try fixes that change how the server is started or reached
	Repair         // change the configuration file
	Try            // ask the user, then start it
	Ask            // ask the user, then try a fix that uses a value of a project
)

// Verdict is the judgement of a server. The command line and the tools of gauze mcp present it in
// their own words.
type Verdict struct {
	State  State
	Cause  string
	Action Action
	Next   string // what to do or run; empty for Nothing

	Command string // the command for Next if only people are shown it, as in doctor.Diagnosis
}

// Verdict judges a server by its entry and by the result of its test.
func (c *Checked) Verdict() Verdict {
	command := func(state State, cause string, action Action) Verdict {
		next := map[Action]string{
			Heal: "gauze doctor --fix " + c.word(), Repair: "gauze doctor --fix " + c.word(), Ask: "gauze doctor --fix " + c.word(), Try: "gauze doctor " + c.word(),
		}
		return Verdict{State: state, Cause: cause, Action: action, Next: next[action]}
	}
	d, odd := c.Report.Diagnosis, OddityOf(c.Attempt)
	switch {
	case c.Config.Place.Old != "":
		return command(Off, "the client no longer reads this file: "+c.Config.Place.Old, Nothing)
	case c.Disabled:
		return command(Off, "disabled", Nothing)
	case c.Builtin != "":
		return command(Works, "built into the client", Nothing)
	case len(c.Errors()) > 0:
		return c.ofProblem(command, Broken, c.Errors()[0])
	case c.Tried && !c.Report.Healthy && d == nil:
		return command(Broken, c.Hide(redact.Quote(c.Attempt.Stopped)), Nothing)
	case c.Tried && !c.Report.Healthy:
		v := Verdict{State: Broken, Cause: c.Hide(d.Explanation), Action: ByHand, Next: c.hideValues(d.Fix), Command: d.Command}
		if c.Report.Todo != "" {
			v.Next, v.Command = c.hideValues(c.Report.Todo), c.Report.Command
		}
		if d.Cause == doctor.LoginRequired && Through(c.Entry) && c.Real().LogsIn() {
			v.Next, v.Command = launch.LogIn(launch.LoginCommand(c.ID(), c.Real().Login.Account)), ""
		}
		if d.Category == doctor.Unknown {
			v.Cause = "stopped here without reporting a reason: " + c.Hide(redact.Quote(c.Attempt.Stopped)) + "."
		}
		v.Cause += c.wrote(d)
		if possible := d.Suggested(); possible != "" {
			v.Cause += " " + c.Hide(possible)
		}
		if c.Report.Fixable {
			return command(Broken, v.Cause, Heal)
		}
		if c.asks {
			return command(Broken, v.Cause, Ask)
		}
		if p := misspelled(c.Problems); p != nil && c.Attempt.Stage >= upstream.Started {
			return command(Broken, v.Cause+fmt.Sprintf(" The entry may be the reason: %s (line %d).", p.What, p.Line), Repair)
		}
		return v
	case c.Tried && c.otherTransport() != "":
		return command(Broken, fmt.Sprintf("the server uses %s, but the entry says %s", c.otherTransport(), c.Transport), Repair)
	case c.Tried && len(c.healedBy()) > 0 && Through(c.Entry) && !c.agreed():
		return command(Works, "with a fix that "+through(c.Entry)+" applies: "+c.healedBy()[0].About, Nothing)
	case c.Tried && len(c.healedBy()) > 0:
		return command(Warned, "works only with this fix: "+c.healedBy()[0].About, Repair)
	case c.Tried && c.Recalled != nil:
		return c.ofCall(command)
	case len(c.Problems) > 0:
		return c.ofProblem(command, Warned, c.Problems[0])
	case c.Tried && c.Attempt.Found.Toolless && c.Connects():
		return Verdict{State: Warned, Cause: ToollessUp, Action: ByHand, Next: "Check the servers of gauze up: `gauze doctor --client gauze`"}
	case c.Tried && c.Attempt.Found.Toolless:
		return Verdict{State: Warned, Cause: "works, but does not list any tools", Action: ByHand, Next: "Check the server's documentation for the keys and settings that it requires: many servers do not list any tools without them."}
	case c.Tried && odd != nil && (!odd.Removed || !Through(c.Entry)):
		v := Verdict{State: Warned, Cause: "works, but " + c.Hide(odd.What), Action: ByHand, Next: odd.Next}
		if odd.Removed {
			v.Next += ": `gauze wrap " + c.word() + "`"
		}
		return v
	case c.Tried:
		tools := count(len(c.Attempt.Found.Tools), "tool")
		if c.Connects() {
			tools += " of the servers of gauze up"
		}
		return command(Works, fmt.Sprintf("%s, %s", tools, c.Attempt.Took.Round(time.Millisecond)), Nothing)
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
	return Verdict{State: state, Cause: cause, Action: ByHand, Next: p.Next}
}

// Oddity is what a server that works does, and some clients do not accept.
type Oddity struct {
	What, Next string
	Removed    bool // by gauze run
}

// OddityOf returns the first oddity that a test has found, or nil.
func OddityOf(r probe.Result) *Oddity {
	switch {
	case r.Noise != "":
		return &Oddity{"it prints to stdout what is not a message, and some clients fail on that: " + redact.Quote(r.Noise),
			"Change the server to print to stderr, or let gauze remove such lines", true}
	case r.Joined:
		return &Oddity{"it prints a message over several lines, and clients read one message per line",
			"Change the server to print each message on one line, or let gauze join the lines", true}
	case r.Found.Unusable != "":
		return &Oddity{fmt.Sprintf("its tool %q has no inputSchema, and some clients reject its whole list of tools", redact.Quote(r.Found.Unusable)),
			"Report this to the server's maintainers: a tool without arguments must have the inputSchema {\"type\": \"object\"}", false}
	}
	return nil
}

// misspelled returns the first field of the entry that the client does not read and gauze can rename.
func misspelled(all []clientconfig.Problem) *clientconfig.Problem {
	for i := range all {
		if p := &all[i]; p.Code == "unknown-field" && p.Fix != nil && p.Consent < clientconfig.Person {
			return p
		}
	}
	return nil
}

// Health returns the verdict in the terms of a health check: "healthy", "degraded", "unresponsive",
// "dead" or "not_tried".
func (c *Checked) Health() string {
	command := c.Real().URL == ""
	if c.Recalled != nil {
		return "degraded" // its calls fail
	}
	switch {
	case !c.Tried:
		return "not_tried"
	case c.WorksInClient() && (Through(c.Entry) && !c.agreed() || len(c.Report.Steps) == 0): // gauze applies the fix at every start
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

// healedBy returns the fixes that were kept.
func (c *Checked) healedBy() (kept []doctor.Step) {
	for _, step := range c.Report.Steps {
		if step.Result != doctor.Undone {
			kept = append(kept, step)
		}
	}
	return kept
}

// agreed reports whether the user had to agree to a fix, which gauze run does not apply by itself.
func (c *Checked) agreed() bool { return agreedTo(c.Report.Steps) }

func agreedTo(steps []doctor.Step) bool {
	return slices.ContainsFunc(steps, func(s doctor.Step) bool { return s.Agreed && s.Result != doctor.Undone })
}

// otherTransport returns the transport that the server actually uses, if its client would use a
// different one.
func (c *Checked) otherTransport() clientconfig.Transport {
	found := clientconfig.Transport(c.Attempt.Found.Transport)
	if c.Report.Healthy && !Through(c.Entry) && (c.Transport == clientconfig.HTTP || c.Transport == clientconfig.SSE) && found != c.Transport {
		return found
	}
	return ""
}

// Hide removes the secrets of all entries from the output of a server or program.
func (s *Server) Hide(text string) string { return redact.Text(s.view.secrets.Redact(text)) }

// hideValues removes the secrets of all entries from advice. It is in our own words, and patterns
// would also hide placeholders such as Authorization=NAME in it.
func (s *Server) hideValues(text string) string { return s.view.secrets.Redact(text) }

// Hiding returns a function that removes the secrets of a server that is in no file.
func Hiding(spec launch.Spec) func(string) string {
	secrets := spec.Secrets()
	return func(text string) string { return redact.Text(secrets.Redact(text)) }
}

// word returns the server's ID, quoted for a command line.
func (s *Server) word() string { return plaintext.Clean(shell.Here().Quote(s.ID())) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Standing returns notes about a server that has not been tested, or none.
func (s *Server) Standing() []string {
	var all []string
	add := func(is bool, words string) {
		if is {
			all = append(all, words)
		}
	}
	add(s.Config.Place.Old != "", "file no longer read")
	add(s.Builtin != "", "built in")
	add(s.Disabled, "disabled")
	add(s.Wrapped, "wrapped")
	add(s.Connects(), ForUp)
	add(s.Foreign(), "comes with the project")
	add(s.pending != "", "waits for your confirmation")
	if broken := s.Errors(); len(broken) > 0 {
		all = append(all, "broken: "+broken[0].What)
	}
	return all
}
