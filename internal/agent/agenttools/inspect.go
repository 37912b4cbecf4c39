package agenttools

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

func (svc *service) addInspectTools() {
	add(svc, "list_servers", "List MCP servers",
		"List the MCP servers in the configuration files of all clients on this machine (Claude Code, Cursor, VS Code, Codex and others): how each is started, whether it runs through gauze run, and problems in the files. Use this to find server names. Starts and changes nothing.",
		hints{readOnly: true, idempotent: true}, (*call).list)
	add(svc, "check_health", "Check MCP servers",
		"Start or connect to MCP servers as their clients do, and report the state of each, with the cause and the next step. Use this when tools are missing or a server fails. States: healthy (lists its tools), degraded (works only with a fix, or its client does not load the entry), unresponsive (no usable response in time), dead (not found, did not start, exited or refused the connection), not_tried. Changes no files; auto_heal also tries fixes in memory, which heal_server can save.",
		hints{idempotent: true, openWorld: true}, (*call).health)
	add(svc, "verify", "Compare with a lock file",
		"Compare servers with a lock file created by `gauze lock` and report changes in configuration, version and tool definitions. Starts the servers; changes no files.",
		hints{idempotent: true, openWorld: true}, (*call).verify)
}

type listIn struct {
	Servers []string `json:"servers,omitempty" jsonschema:"NAME or CLIENT/NAME; default: all"`
	Clients []string `json:"clients,omitempty" jsonschema:"client ids, such as claude-code or cursor; default: all"`
}

// Listed is the result of list_servers.
type Listed struct {
	Servers  []Server  `json:"servers"`
	Problems []Problem `json:"problems,omitempty" jsonschema:"problems that affect whole files"`
	More     int       `json:"more,omitempty" jsonschema:"number of servers not shown"`
	Looked   []string  `json:"looked,omitempty" jsonschema:"files that were read"`
}

const maxServers = 300

func (c *call) list(in listIn) (out Listed, err error) {
	view := c.look()
	chosen, err := view.Choose(fleet.Choice{Names: in.Servers, Clients: in.Clients})
	if err != nil {
		return out, err
	}
	out.Servers = []Server{}
	for _, s := range chosen[:min(len(chosen), maxServers)] {
		out.Servers = append(out.Servers, serverOf(s))
	}
	out.More = len(chosen) - len(out.Servers)
	out.Problems = problemsOf(fileProblems(view, in.Clients))
	for _, config := range limited(view.Configs) {
		out.Looked = append(out.Looked, plaintext.Clean(config.Path))
	}
	return out, nil
}

// fileProblems returns the problems that affect whole files of these clients.
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
		}{{s.Wrapped, "wrapped"}, {s.Disabled, "disabled"}, {!s.Approved, "from the project, not approved"}} {
			if note.is {
				b.WriteString(" [" + note.word + "]")
			}
		}
		b.WriteString("\n")
		writeProblems(&b, s.Problems)
	}
	if len(l.Servers) == 0 {
		fmt.Fprintf(&b, "No servers found in %s.\n", plural(len(l.Looked), "file"))
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", l.More)
	}
	if len(l.Problems) > 0 {
		b.WriteString("Problems in files:\n")
		writeProblems(&b, l.Problems)
	}
	return b.String()
}

func writeProblems(b *strings.Builder, all []Problem) {
	for _, p := range all {
		fixable := ""
		if p.Fixable {
			fixable = " (heal_server can fix it)"
		}
		fmt.Fprintf(b, "  %s %s: %s%s\n", p.Severity, p.Code, p.What, fixable)
	}
}

// look reads all files and registers their secrets for redaction.
func (c *call) look() *fleet.View {
	view := c.service.Fleet.Look()
	c.hideSecretsOf(view)
	return view
}

type healthIn struct {
	Servers []string `json:"servers,omitempty" jsonschema:"NAME or CLIENT/NAME; default: all"`
	Clients []string `json:"clients,omitempty" jsonschema:"client ids; default: all"`
	Heal    bool     `json:"auto_heal,omitempty" jsonschema:"also try, in memory only, fixes to how a server is started or reached"`
	Project bool     `json:"include_project,omitempty" jsonschema:"include unapproved servers that come with the project; gauze asks the user first"`
	Timeout float64  `json:"timeout_seconds,omitempty" jsonschema:"maximum wait for one response, 1 to 600"`
	Consent string   `json:"consent,omitempty" jsonschema:"token from an earlier result, once the user has agreed"`
}

// Health is the result of check_health.
type Health struct {
	ActionStatus
	Servers   []Checked `json:"servers,omitempty"`
	Problems  []Problem `json:"problems,omitempty" jsonschema:"problems that affect whole files"`
	Conflicts []string  `json:"conflicts,omitempty" jsonschema:"tools with the same name in several servers of one client"`
	Derived   string    `json:"derived,omitempty" jsonschema:"what the states mean"`
}

// Checked is the state of one server.
type Checked struct {
	ID       string    `json:"id"`
	State    string    `json:"state" jsonschema:"healthy, degraded, unresponsive, dead or not_tried"`
	Why      string    `json:"why,omitempty" jsonschema:"why the server is degraded or was not tried"`
	Report   *Healing  `json:"report,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	Next     string    `json:"next,omitempty" jsonschema:"what to do next"`
	Diff     string    `json:"diff,omitempty" jsonschema:"what heal_server would write"`
}

const derived = "healthy: lists its tools as configured; degraded: works only with a fix, or its client does not load the entry; unresponsive: started or reached, but no usable response in time; dead: not found, did not start, exited or refused the connection; not_tried: see why."

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
		c.hideSecretsOf(view)
		all := c.check(chosen, fleet.CheckOptions{Heal: in.Heal, Timeout: wait})
		out.Status, out.Derived, out.Problems = done, derived, problemsOf(fileProblems(view, in.Clients))
		for _, one := range all {
			out.Servers = append(out.Servers, checkedOf(view, one))
		}
		for _, x := range limited(fleet.Conflicts(all)) {
			out.Conflicts = append(out.Conflicts, fmt.Sprintf("%s: the tool %s is provided by %s", x.Client, redact.Quote(x.Tool), redact.Quote(strings.Join(x.Servers, ", "))))
		}
		return out, c.ctx.Err()
	}
	if !in.Project {
		return check(c)
	}
	return confirmStart(c, foreignOf(chosen), commandLine(append([]string{"gauze", "doctor"}, in.Servers...)...), check)
}

// foreignOf returns the servers whose entries the user has not confirmed, as they are written.
func foreignOf(servers []*fleet.Server) (all []candidate) {
	for _, s := range servers {
		if s.Foreign() {
			all = append(all, ofProject(s))
		}
	}
	return all
}

// check tests servers and reports progress. It tests a project's server only if the user allowed
// the entry exactly as written.
func (c *call) check(servers []*fleet.Server, o fleet.CheckOptions) []*fleet.Checked {
	if c.verdict(startsOwn...) != trust.Allowed {
		return fleet.Unchecked(servers)
	}
	o.Tell = func(s *fleet.Server, is string) { c.progress("%s: %s", s.ID(), is) }
	o.Ask = func(s *fleet.Server) error {
		theirs := ofProject(s)
		if c.verdict(theirs.operation()) == trust.Never || !c.service.agreed(theirs.thing) {
			return s.NotAgreed()
		}
		return nil
	}
	return c.service.Fleet.Check(c.ctx, servers, o)
}

// checkedOf reports a server's verdict, with next steps in terms of these tools.
func checkedOf(view *fleet.View, c *fleet.Checked) Checked {
	v := c.Verdict()
	shown := Checked{ID: redact.Quote(c.ID()), State: c.Health(), Problems: problemsOf(c.Problems)}
	if c.Tried {
		shown.Report = healingOf(c.Real(), c.Final(), c.Attempt, c.Report)
	}
	switch v.Action {
	case fleet.ByHand:
		shown.Next = redact.Passage(v.Next)
		if d := c.Report.Diagnosis; d != nil && d.Cause == doctor.LoginRequired && c.Real().URL != "" {
			shown.Next = userLogsIn + shown.Next
		}
		if r := shown.Report; r != nil && r.Next == plaintext.Clean(v.Next) {
			shown.Next = r.Next // our own words, which patterns would damage
		}
	case fleet.Heal, fleet.Repair, fleet.Ask:
		shown.Next = fmt.Sprintf("call heal_server with {\"server\": %q}", shown.ID)
	case fleet.Try:
		shown.Next = fmt.Sprintf("call test_connection with {\"name\": %q}; gauze asks the user first", shown.ID)
	}
	if shown.State == "not_tried" {
		shown.Why = c.Not
	}
	if shown.State == "degraded" {
		shown.Why = redact.Passage(v.Cause)
		if len(c.Report.Steps) > 0 {
			shown.Diff = view.Keep([]*fleet.Checked{c}).Diff()
		}
	}
	return shown
}

func (h Health) text() string {
	if h.Status != done {
		return h.ActionStatus.text()
	}
	var b strings.Builder
	for _, s := range h.Servers {
		fmt.Fprintf(&b, "%s: %s", s.ID, s.State)
		if s.Why != "" {
			b.WriteString(" (" + s.Why + ")")
		}
		switch {
		case s.Report != nil && s.Report.Diagnosis != nil:
			b.WriteString("; " + s.Report.Diagnosis.Explanation + s.Report.lastOutput())
		case s.Report != nil:
			b.WriteString("; " + plural(s.Report.ToolCount, "tool"))
		}
		if s.Next != "" {
			b.WriteString("\n  next: " + s.Next)
		}
		b.WriteString("\n")
		writeProblems(&b, s.Problems)
	}
	if len(h.Servers) == 0 {
		b.WriteString("No servers are configured.\n")
	}
	writeProblems(&b, h.Problems)
	for _, conflict := range h.Conflicts {
		b.WriteString("conflict: " + conflict + "\n")
	}
	return b.String()
}

type verifyIn struct {
	File    string  `json:"file,omitempty" jsonschema:"path of the lock file; default: gauze.lock.json in the project"`
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"maximum wait for one response, 1 to 600"`
}

// Verified is the result of verify.
type Verified struct {
	Same   bool          `json:"same"`
	File   string        `json:"file"`
	Made   string        `json:"made" jsonschema:"when the lock file was created"`
	Drifts []fleet.Drift `json:"drifts"`

	Uncompared string `json:"uncompared,omitempty" jsonschema:"why values of variables, headers and query strings were not compared"`
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
		path = filepath.Join(c.service.Fleet.Home.Project, path)
	}
	lock, err := readLock(path)
	if err != nil {
		return out, err
	}
	view := c.look()
	chosen, err := view.Choose(lock.Known(fleet.Choice{}))
	if err != nil {
		return out, err
	}
	all := c.check(chosen, fleet.CheckOptions{Timeout: wait, Logins: true})
	out = Verified{File: plaintext.Clean(path), Made: lock.Made.Format(time.RFC3339), Drifts: []fleet.Drift{}, Uncompared: redact.Passage(c.service.Fleet.Uncompared(lock))}
	for _, drift := range c.service.Fleet.Verify(lock, all) {
		drift.Client, drift.Server, drift.What = redact.Quote(drift.Client), redact.Quote(drift.Server), redact.Passage(drift.What)
		out.Drifts = append(out.Drifts, drift)
	}
	out.Same = len(out.Drifts) == 0
	return out, c.ctx.Err()
}

func readLock(path string) (fleet.Lock, error) {
	lock, _, err := fleet.OpenLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, failure("no lock file at "+redact.Quote(path), "ask the user to run `gauze lock`, or pass the path as {\"file\": \"PATH\"}")
	}
	return lock, err
}

func (v Verified) text() string {
	if v.Same && v.Uncompared == "" {
		return "Nothing has changed since " + v.File + " was created (" + v.Made + ")."
	}
	var b strings.Builder
	if v.Same {
		b.WriteString("No differences from " + v.File + " (" + v.Made + ") were found.\n")
	}
	if v.Uncompared != "" {
		b.WriteString(v.Uncompared + "\n")
	}
	for _, d := range v.Drifts {
		fmt.Fprintf(&b, "%s/%s: %s: %s\n", d.Client, d.Server, d.Kind, d.What)
	}
	return b.String()
}
