package fault

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/text/shell"
)

const (
	terminalLines = 12
	terminalWidth = plaintext.Width - 2
)

// Terminal returns the fault for the user: what happened, since when, what was tried, the server's
// last output, and what to do. It contains no escape sequences but gauze's own, and those only with
// color.
func (f *Fault) Terminal(color bool) string { return f.terminalIn(shell.Here(), color) }

// terminalIn is Terminal with the commands of a given platform.
func (f *Fault) terminalIn(words shell.Words, color bool) string {
	p := paint(color)
	e := f.entry().in(words)
	var b strings.Builder

	cause := f.cause()
	code, what := string(f.Code), plaintext.UpperFirst(f.Title())+"."
	if cause.Known() {
		code, what = cmp.Or(cause.Code, code), cause.Explanation
	}
	headline(&b, p, code)
	for _, text := range []string{what, f.detailWith(cause)} {
		if text != "" {
			fmt.Fprintf(&b, "%s\n\n", plaintext.Wrap(text, "  "))
		}
	}

	rows := 0
	row := func(label, text string) {
		if text != "" {
			rows++
			fmt.Fprintf(&b, "  %s %s\n", p.faint(fmt.Sprintf("%-9s", label)), text)
		}
	}
	row("Server", shortened(f.foreign(f.Server), terminalWidth-len("  Server    ")))
	row("Call", f.call())
	row("Effect", f.effectForPeople())
	row("State", f.state())
	row("Since", f.since())
	row("Tried", f.tried())
	row("Next try", f.nextTry())
	if f.Evidence != nil {
		row("Exit", f.ended())
	}
	for _, change := range cause.Changes {
		row("Changed", change)
	}
	if rows > 0 {
		b.WriteString("\n")
	}

	if f.Evidence != nil {
		quote := func(title string, lines []string) {
			if len(lines) == 0 {
				return
			}
			fmt.Fprintf(&b, "  %s\n", title)
			for _, l := range lines {
				fmt.Fprintf(&b, "  %s %s\n", p.faint("│"), l)
			}
			b.WriteString("\n")
		}
		quote("The last lines of the server's stderr:", f.foreignLines(f.Evidence.Stderr, terminalLines))
		quote("Lines on stdout that are not MCP messages:", f.foreignLines(f.Evidence.Stdout, terminalLines))
	}

	steps := e.Do
	if cause.Known() {
		steps = Steps(cause.Remedy)
	}
	for _, s := range steps {
		fmt.Fprintf(&b, "%s\n", plaintext.Wrap(s.Text, "  "))
		if s.Command != "" {
			fmt.Fprintf(&b, "    %s\n", p.command(f.fill(s.Command)))
		}
	}
	if code != "" {
		fmt.Fprintf(&b, "  To learn more:\n    %s\n", p.command("gauze explain "+code))
	}
	return b.String()
}

func headline(b *strings.Builder, p paint, code string) {
	rule := strings.Repeat("─", max(3, terminalWidth-len(code)-4))
	fmt.Fprintf(b, "%s %s %s\n\n", p.faint("──"), p.loud(code), p.faint(rule))
}

func (f *Fault) call() string {
	method, tool := f.foreign(f.Method), f.foreign(f.Tool)
	if tool != "" {
		return strings.TrimSpace(method + " " + fmt.Sprintf("%q", tool))
	}
	return method
}

func (f *Fault) effectForPeople() string {
	if f.Method == "" {
		return ""
	}
	switch {
	case f.Delivery == Unsent:
		return "none: it was not sent"
	case !f.mayHaveActed():
		return "none that matters: the call is safe to repeat"
	case f.Delivery == Answered:
		return "probably done: the server answered"
	case f.Delivery == Refused:
		return "most likely none: the server rejected it; check before repeating it"
	}
	return "unknown: check before repeating it"
}

func (f *Fault) state() string {
	if f.State == "" {
		return ""
	}
	return strings.Join(append([]string{f.State}, f.history()...), ", ")
}

func (f *Fault) since() string {
	if f.Since.IsZero() {
		return ""
	}
	s := clock(f.Since)
	if f.At.After(f.Since) {
		s += " (" + span(f.At.Sub(f.Since)) + " ago)"
	}
	return s
}

func (f *Fault) tried() string {
	var tried []string
	if f.Attempts > 0 {
		tried = append(tried, plaintext.Count(f.Attempts, "start"))
	}
	if f.Waited > 0 {
		tried = append(tried, "waited "+span(f.Waited))
	}
	if f.Limit > 0 {
		tried = append(tried, "time limit "+span(f.Limit))
	}
	return strings.Join(tried, ", ")
}

func (f *Fault) nextTry() string {
	if f.NextTry.IsZero() {
		if f.entry().Retry == TellUser && f.Attempts > 0 {
			return "none: another attempt would fail in the same way"
		}
		return ""
	}
	if wait := f.wait(); wait > 0 {
		return clock(f.NextTry) + " (in " + span(wait) + ")"
	}
	return "now"
}

func (f *Fault) ended() string {
	s := f.foreign(f.Evidence.Exit)
	if f.Evidence.Ran > 0 {
		if s != "" {
			s += ", "
		}
		s += "ran " + span(f.Evidence.Ran)
	}
	return s
}

var plainName = regex.New(`^[A-Za-z0-9][A-Za-z0-9_./-]{0,63}$`)

// fill puts the tool's name into a command. A name that is not plain is left out: servers choose
// tool names, and users paste commands into shells. A replay policy is never filled in: a user who
// allows repetition must write the name.
func (f *Fault) fill(command string) string {
	if !plainName.MatchString(f.Tool) || f.foreign(f.Tool) != f.Tool {
		return command
	}
	return strings.Replace(command, "--tool NAME:timeout=", "--tool "+f.Tool+":timeout=", 1)
}

// shortened cuts a text after n characters.
func shortened(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func clock(t time.Time) string { return t.Format("15:04:05") }

// paint is whether to use color.
type paint bool

func (p paint) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) loud(s string) string    { return p.in("1;31", s) }
func (p paint) strong(s string) string  { return p.in("1", s) }
func (p paint) faint(s string) string   { return p.in("2", s) }
func (p paint) command(s string) string { return p.in("36", s) }
