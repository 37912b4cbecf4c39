package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// state is what gauze without arguments says. It is read from files and from the wraps that are
// running: no server is started, and nothing is sent over the network.
type state struct {
	Servers  int `json:"servers"`
	Clients  int `json:"clients"`      // that have servers
	Up       int `json:"up,omitempty"` // those of Servers that are in the file of gauze up
	Wrapped  int `json:"wrapped"`
	Disabled int `json:"disabled"`
	Faulty   int `json:"faulty"` // whose entries have errors

	Files []string `json:"files"` // that have errors, each with what is wrong

	Running int    `json:"running"`
	Asleep  int    `json:"asleep"` // those of Running whose server the next call starts
	Down    []down `json:"down"`

	Week string `json:"week,omitempty"`
	Next string `json:"next"`
}

// down is a wrapped server that does not work.
type down struct {
	Name   string `json:"name"` // CLIENT/NAME if it is configured, or the name with which it is running
	Reason string `json:"reason"`
	word   string // the name for a command
}

// showState shows the state of this machine, and what to run next.
func showState(cmd *cobra.Command) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	s := stateHere(cmd)
	return present(cmd, asJSON, s, s.text)
}

// stateHere returns the state of this machine, as far as it is known.
func stateHere(cmd *cobra.Command) (s state) {
	s.Files, s.Down = []string{}, []down{}
	var view *fleet.View
	if fl, err := fleetHere(); err == nil {
		view = fl.Look()
		s.configured(fl, view)
	}
	if dir, err := backup.StateDir(); err == nil {
		running, _ := live.All(cmd.Context(), dir) // those that answered
		s.running(running, view)
		s.Week = weekHere(cmd, running)
	}
	s.Next = s.next()
	return s
}

// configured counts what clients' files have.
func (s *state) configured(fl *fleet.Fleet, view *fleet.View) {
	clients := map[string]bool{}
	for _, server := range view.Servers {
		if fleet.OfUp(server.Entry) {
			s.Up++
		} else {
			clients[server.Client.ID] = true
		}
		if server.Connects() {
			continue // it stands for those of gauze up
		}
		s.Servers++
		switch {
		case server.Disabled:
			s.Disabled++
		case fleet.Through(server.Entry):
			s.Wrapped++
		}
		if len(server.Errors()) > 0 {
			s.Faulty++
		}
	}
	s.Clients = len(clients)
	for _, p := range view.Problems {
		if p.Severity == clientconfig.Error {
			s.Files = append(s.Files, fmt.Sprintf("%s: %s", fl.Tilde(p.File), redact.Quote(p.What)))
		}
	}
}

// running counts the wraps that are running, and finds those whose server does not work.
func (s *state) running(all []live.Server, view *fleet.View) {
	for _, server := range all {
		switch server.State {
		case health.Dead.String(), health.Unresponsive.String(), live.StateSilent:
			d := down{Name: redact.Quote(server.Name), Reason: redact.Quote(cmp.Or(server.LastCause, server.LastReason, server.State))}
			if id := configuredAs(server.Name, view); id != "" {
				d.Name, d.word = redact.Quote(id), shell.Here().Quote(id)
			}
			s.Down = append(s.Down, d)
		case live.StateAsleep:
			s.Asleep++
			s.Running++
		default:
			s.Running++
		}
	}
}

// configuredAs returns the CLIENT/NAME of the only configured server that runs under a name, or "".
func configuredAs(name string, view *fleet.View) (id string) {
	if view == nil {
		return ""
	}
	for _, s := range view.Servers {
		if fleet.Through(s.Entry) && slices.Contains(recordedNames([]*fleet.Server{s}), name) {
			if id != "" {
				return ""
			}
			id = s.ID()
		}
	}
	return id
}

// weekHere says what gauze did in the last seven days, and nothing if it was never used here.
func weekHere(cmd *cobra.Command, running []live.Server) string {
	path, err := journalPath()
	if err != nil {
		return ""
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	j, err := journal.Open(path)
	if err != nil {
		return "This week: unknown; the journal cannot be read. To see why: gauze history"
	}
	defer j.Close()
	if s := j.Salvaged(); s != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze: %s\n", s)
	}
	sums, err := new(timeline.Weekly).Sums(cmd.Context(), j.Events, time.Now())
	if err != nil {
		return ""
	}
	text := sums.Worth("This week")
	if live.Unsummed(running) || j.Salvaged() != nil {
		text += "; not everything was recorded"
	}
	return text
}

// next returns the command to run.
func (s *state) next() string {
	switch {
	case s.Servers == 0 && len(s.Files) == 0:
		return "gauze demo"
	case len(s.Files) > 0 || s.Faulty > 0:
		return "gauze doctor"
	case len(s.Down) > 0 && s.Down[0].word != "":
		return "gauze doctor " + plaintext.Clean(s.Down[0].word)
	case len(s.Down) > 0:
		return "gauze status"
	case s.Wrapped == 0:
		return "gauze doctor"
	case s.Wrapped+s.Disabled < s.Servers:
		return "gauze wrap --all"
	}
	return "gauze status"
}

// text returns at most five lines, and two more if there is nothing to say about this machine.
func (s *state) text(p terminal.Paint) string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, terminal.Short(fmt.Sprintf(format, args...), plaintext.Width))
	}
	if s.Servers > 0 {
		where := plaintext.Count(s.Clients, "client")
		switch {
		case s.Up > 0 && s.Clients == 0:
			where = "gauze up"
		case s.Up > 0:
			where += " and gauze up"
		}
		add("%s in %s: %s", plaintext.Count(s.Servers, "server"), where, s.standing())
	}
	if len(s.Files) == 1 {
		add("1 file has an error: %s", s.Files[0])
	} else if len(s.Files) > 1 {
		add("%d files have errors, such as %s", len(s.Files), s.Files[0])
	}
	switch {
	case len(s.Down) > 0:
		add("%s", s.downLine())
	case s.Running > 0:
		add("%s, none down", s.upLine())
	case s.Wrapped > 0:
		add("No wrapped server is running. Start a client; it starts its own servers")
	}
	if s.Week != "" && s.Servers+len(s.Files)+s.Running+len(s.Down) > 0 {
		add("%s", s.Week)
	}
	if len(lines) == 0 {
		lines = append(lines, "Gauze keeps MCP servers working: it restarts servers that crash or hang, repairs",
			"invalid calls, and finds out why a server does not start. To see it in action:", "", "    "+p.Bold("gauze demo"), "",
			"No MCP client on this machine has any servers. To see all commands: gauze help --all")
		return strings.Join(lines, "\n") + "\n"
	}
	return strings.Join(append(lines, "Next: "+p.Bold(s.Next)), "\n") + "\n"
}

// standing says how many servers are wrapped, and how many are not.
func (s *state) standing() string {
	others := s.Servers - s.Wrapped - s.Disabled
	parts := []string{fmt.Sprintf("%d wrapped", s.Wrapped), fmt.Sprintf("%d not", others)}
	switch {
	case others == 0 && s.Disabled == 0:
		parts = []string{"all wrapped"}
	case s.Wrapped == 0 && s.Disabled == 0:
		parts = []string{"none wrapped"}
	}
	if s.Disabled > 0 {
		parts = append(parts, fmt.Sprintf("%d disabled", s.Disabled))
	}
	if s.Faulty > 0 {
		parts = append(parts, fmt.Sprintf("%d with errors", s.Faulty))
	}
	return strings.Join(parts, ", ")
}

// downLine names the first server that is down, and why.
func (s *state) downLine() string {
	first := s.Down[0]
	text := fmt.Sprintf("%s, %d down: %s (%s)", s.upLine(), len(s.Down), first.Name, first.Reason)
	if more := len(s.Down) - 1; more > 0 {
		text = fmt.Sprintf("%s, %d down, such as %s (%s)", s.upLine(), len(s.Down), first.Name, first.Reason)
	}
	return text
}

// upLine says how many servers are running, and how many of them are asleep.
func (s *state) upLine() string {
	if s.Asleep == 0 {
		return fmt.Sprintf("%d running", s.Running)
	}
	return fmt.Sprintf("%d running (%d asleep)", s.Running, s.Asleep)
}
