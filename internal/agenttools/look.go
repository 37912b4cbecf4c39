package agenttools

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/trust"
)

func (d *desk) addLook() {
	add(d, "list_servers", "List MCP servers",
		"List the MCP servers in the configuration files of all clients on this machine (Claude Code, Cursor, VS Code, Codex and others), how each is started, whether gauze run is in front of it, and what is wrong in the files. Starts nothing.",
		hints{readOnly: true, idempotent: true}, (*call).list)
	add(d, "check_health", "Check MCP servers",
		"Try MCP servers side by side, as their clients would start them, and say how each is: healthy (lists its tools), degraded (works only with help, or its client would not load the entry as it is written), unresponsive (it is there, but gives no usable answer), dead (not found, not started, ended, refused), not_tried. With the cause and the next step. auto_heal also tries fixes in memory that only change how the same server is started or reached; heal_server writes them.",
		hints{readOnly: true, idempotent: true, openWorld: true}, (*call).health)
	add(d, "verify", "Compare with a lock file",
		"Compare all servers with a lock file made by `gauze lock`: what changed in configurations, versions and tool definitions since they were trusted. Tries the servers, changes nothing.",
		hints{readOnly: true, idempotent: true, openWorld: true}, (*call).verify)
}

type listIn struct {
	Servers []string `json:"servers,omitempty" jsonschema:"names, or CLIENT/NAME; left out: all"`
	Clients []string `json:"clients,omitempty" jsonschema:"ids of clients, such as claude-code or cursor; left out: all"`
}

// Listed is all there is.
type Listed struct {
	Servers  []Server  `json:"servers"`
	Problems []Problem `json:"problems,omitempty" jsonschema:"of files, not of one server"`
	More     int       `json:"more,omitempty" jsonschema:"how many servers are not shown"`
	Looked   []string  `json:"looked,omitempty" jsonschema:"files that were read"`
}

const mostServers = 300

func (c *call) list(in listIn) (out Listed, err error) {
	view := c.look()
	chosen, err := view.Choose(fleet.Choice{Names: in.Servers, Clients: in.Clients})
	if err != nil {
		return out, err
	}
	out.Servers = []Server{}
	for _, s := range chosen[:min(len(chosen), mostServers)] {
		out.Servers = append(out.Servers, serverOf(s))
	}
	out.More = len(chosen) - len(out.Servers)
	out.Problems = problemsOf(fileProblems(view, in.Clients))
	for _, config := range limited(view.Configs) {
		out.Looked = append(out.Looked, fault.Clean(config.Path))
	}
	return out, nil
}

// fileProblems are those of no single server, of these clients.
func fileProblems(view *fleet.View, clients []string) (all []clientconfig.Problem) {
	for _, p := range view.Problems {
		if len(clients) == 0 || strings.Contains(" "+strings.Join(clients, " ")+" ", " "+p.Client.ID+" ") {
			all = append(all, p)
		}
	}
	return all
}

func (l Listed) text() string {
	var b strings.Builder
	for _, s := range l.Servers {
		fmt.Fprintf(&b, "%s: %s", s.ID, s.Starts)
		for _, note := range []struct {
			is   bool
			word string
		}{{s.Wrapped, "wrapped"}, {s.Disabled, "switched off"}, {!s.Approved, "of a project, not approved"}} {
			if note.is {
				b.WriteString(" [" + note.word + "]")
			}
		}
		b.WriteString("\n")
		writeProblems(&b, s.Problems)
	}
	if len(l.Servers) == 0 {
		fmt.Fprintf(&b, "No server in %d files.\n", len(l.Looked))
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", l.More)
	}
	if len(l.Problems) > 0 {
		b.WriteString("In files:\n")
		writeProblems(&b, l.Problems)
	}
	return b.String()
}

func writeProblems(b *strings.Builder, all []Problem) {
	for _, p := range all {
		fixable := ""
		if p.Fixable {
			fixable = " (heal_server repairs it)"
		}
		fmt.Fprintf(b, "  %s %s: %s%s\n", p.Severity, p.Code, p.What, fixable)
	}
}

// look reads all files, and remembers what must not be said.
func (c *call) look() *fleet.View {
	view := c.desk.Fleet.Look()
	c.knows(view)
	return view
}

type healthIn struct {
	Servers []string `json:"servers,omitempty" jsonschema:"names, or CLIENT/NAME; left out: all"`
	Clients []string `json:"clients,omitempty" jsonschema:"ids of clients; left out: all"`
	Heal    bool     `json:"auto_heal,omitempty" jsonschema:"try fixes in memory that only change how the same server is started or reached"`
	Project bool     `json:"include_project,omitempty" jsonschema:"also run servers that come with the project and nobody has agreed to; the user is asked first"`
	Timeout float64  `json:"timeout_seconds,omitempty" jsonschema:"for one answer without a sign of progress, 1 to 600"`
	Consent string   `json:"consent,omitempty" jsonschema:"the token of an earlier answer, after the user agreed"`
}

// Health is how the servers are.
type Health struct {
	Standing
	Servers   []Checked `json:"servers,omitempty"`
	Problems  []Problem `json:"problems,omitempty" jsonschema:"of files, not of one server"`
	Conflicts []string  `json:"conflicts,omitempty" jsonschema:"tools of one name in several servers of one client"`
	Derived   string    `json:"derived,omitempty" jsonschema:"how the states are found"`
}

// Checked is how one server is.
type Checked struct {
	ID       string    `json:"id"`
	State    string    `json:"state" jsonschema:"healthy, degraded, unresponsive, dead or not_tried"`
	Why      string    `json:"why,omitempty" jsonschema:"of a server that was not tried, or works and is not healthy"`
	Report   *Healing  `json:"report,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	Next     string    `json:"next,omitempty" jsonschema:"the call or the deed that comes next"`
	Diff     string    `json:"diff,omitempty" jsonschema:"what heal_server would write to keep what helped"`
}

const derived = "healthy: it listed its tools as it is configured; degraded: only with help, or its client would not load the entry; unresponsive: started or reached, but no usable answer in time; dead: not found, not started, ended or refused; not_tried: says why."

func (c *call) health(in healthIn) (out Health, err error) {
	wait, err := seconds(in.Timeout)
	if err != nil {
		return out, err
	}
	view := c.look()
	chosen, err := view.Choose(fleet.Choice{Names: in.Servers, Clients: in.Clients})
	if err != nil {
		return out, err
	}
	check := func(c *call) (out Health, err error) {
		c.knows(view)
		all := c.check(chosen, fleet.CheckOptions{Heal: in.Heal, Timeout: wait})
		out.Status, out.Derived, out.Problems = done, derived, problemsOf(fileProblems(view, in.Clients))
		for _, one := range all {
			out.Servers = append(out.Servers, checkedOf(view, one))
		}
		for _, x := range limited(fleet.Conflicts(all)) {
			out.Conflicts = append(out.Conflicts, fmt.Sprintf("%s: the tool %s is in %s", x.Client, fault.Quote(x.Tool), fault.Quote(strings.Join(x.Servers, ", "))))
		}
		return out, c.ctx.Err()
	}
	if !in.Project {
		return check(c)
	}
	return agreedTo(c, foreignOf(chosen), commandLine(append([]string{"gauze", "doctor"}, in.Servers...)...), check)
}

// foreignOf are the servers that nobody has agreed to run, as their entries
// have them.
func foreignOf(servers []*fleet.Server) (all []candidate) {
	for _, s := range servers {
		if s.Foreign() {
			all = append(all, candidate{trust.Project, s.Written(), s.Sends()})
		}
	}
	return all
}

// check tries servers, and tells what is going on. Those of a project are tried
// if somebody agreed to them as they are written.
func (c *call) check(servers []*fleet.Server, o fleet.CheckOptions) []*fleet.Checked {
	if c.verdict(triesOwn...) != trust.Allowed {
		return fleet.Unchecked(servers)
	}
	o.Tell = func(s *fleet.Server, is string) { c.tell("%s: %s", s.ID(), is) }
	o.Ask = func(s *fleet.Server) error {
		theirs := candidate{trust.Project, s.Written(), s.Sends()}
		if c.verdict(theirs.deed()) == trust.Never || !c.desk.agreed(theirs.spec) {
			return s.NotAgreed()
		}
		return nil
	}
	return c.desk.Fleet.Check(c.ctx, servers, o)
}

// checkedOf reports a server's verdict in terms of our tools.
func checkedOf(view *fleet.View, c *fleet.Checked) Checked {
	v := c.Verdict()
	shown := Checked{ID: fault.Quote(c.ID()), State: c.Health(), Problems: problemsOf(c.Problems)}
	if c.Tried {
		shown.Report = healingOf(c.Real(), c.Attempt, c.Report)
	}
	switch v.Action {
	case fleet.ByHand:
		shown.Next = fault.Passage(v.Next)
		if r := shown.Report; r != nil && r.Next == fault.Clean(v.Next) {
			shown.Next = r.Next // our own words, which patterns would damage
		}
	case fleet.Heal, fleet.Repair:
		shown.Next = fmt.Sprintf("call heal_server with {\"server\": %q}", shown.ID)
	case fleet.Rewrap:
		shown.Next = "tell the user to run: " + v.Next
	case fleet.Try:
		shown.Next = fmt.Sprintf("call test_connection with {\"name\": %q}: the user is asked first", shown.ID)
	}
	if shown.State == "not_tried" {
		shown.Why = c.Not
	}
	if shown.State == "degraded" {
		shown.Why = fault.Passage(v.Cause)
		if len(c.Report.Steps) > 0 {
			shown.Diff = view.Keep([]*fleet.Checked{c}).Diff()
		}
	}
	return shown
}

func (h Health) text() string {
	if h.Status != done {
		return h.Standing.text()
	}
	var b strings.Builder
	for _, s := range h.Servers {
		fmt.Fprintf(&b, "%s: %s", s.ID, s.State)
		if s.Why != "" {
			b.WriteString(" (" + s.Why + ")")
		}
		switch {
		case s.Report != nil && s.Report.Diagnosis != nil:
			b.WriteString("; " + s.Report.Diagnosis.Explanation)
		case s.Report != nil:
			fmt.Fprintf(&b, "; %d tools", s.Report.ToolCount)
		}
		if s.Next != "" {
			b.WriteString("\n  next: " + s.Next)
		}
		b.WriteString("\n")
		writeProblems(&b, s.Problems)
	}
	if len(h.Servers) == 0 {
		b.WriteString("No server is configured here.\n")
	}
	writeProblems(&b, h.Problems)
	for _, conflict := range h.Conflicts {
		b.WriteString("conflict: " + conflict + "\n")
	}
	return b.String()
}

type verifyIn struct {
	File    string  `json:"file,omitempty" jsonschema:"path of the lock file; left out: gauze.lock.json in the project"`
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"for one answer without a sign of progress, 1 to 600"`
}

// Verified is what differs from a lock.
type Verified struct {
	Same   bool          `json:"same"`
	File   string        `json:"file"`
	Made   string        `json:"made" jsonschema:"when the lock was made"`
	Drifts []fleet.Drift `json:"drifts"`

	Uncompared string `json:"uncompared,omitempty" jsonschema:"why values of variables, headers and queries were not compared"`
}

func (c *call) verify(in verifyIn) (out Verified, err error) {
	wait, err := seconds(in.Timeout)
	if err != nil {
		return out, err
	}
	path := in.File
	if path == "" {
		path = fleet.LockFile
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.desk.Fleet.Home.Project, path)
	}
	lock, err := readLock(path)
	if err != nil {
		return out, err
	}
	view := c.look()
	all := c.check(view.Servers, fleet.CheckOptions{Timeout: wait})
	out = Verified{File: fault.Clean(path), Made: lock.Made.Format(time.RFC3339), Drifts: []fleet.Drift{}, Uncompared: fault.Passage(c.desk.Fleet.Uncompared(lock))}
	for _, drift := range c.desk.Fleet.Verify(lock, all) {
		drift.Client, drift.Server, drift.What = fault.Quote(drift.Client), fault.Quote(drift.Server), fault.Passage(drift.What)
		out.Drifts = append(out.Drifts, drift)
	}
	out.Same = len(out.Drifts) == 0
	return out, c.ctx.Err()
}

func readLock(path string) (fleet.Lock, error) {
	lock, _, err := fleet.OpenLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, mistake("there is no lock file at "+fault.Quote(path), "the user makes one with `gauze lock`; one of another name is {\"file\": \"PATH\"}")
	}
	return lock, err
}

func (v Verified) text() string {
	if v.Same && v.Uncompared == "" {
		return "Everything is as it was when " + v.File + " was made (" + v.Made + ")."
	}
	var b strings.Builder
	if v.Same {
		b.WriteString("No difference to " + v.File + " (" + v.Made + ") was found.\n")
	}
	if v.Uncompared != "" {
		b.WriteString(v.Uncompared + "\n")
	}
	for _, d := range v.Drifts {
		fmt.Fprintf(&b, "%s/%s: %s: %s\n", d.Client, d.Server, d.Kind, d.What)
	}
	return b.String()
}
