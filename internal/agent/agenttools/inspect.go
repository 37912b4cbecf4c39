package agenttools

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
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
		"List the MCP servers in the configuration files of every client on this machine, and the errors in those files. Use this to find server names. Does not start or change anything.",
		hints{readOnly: true, idempotent: true}, (*call).list)
	add(svc, "check_health", "Check MCP servers",
		"Start or connect to MCP servers as their clients do and report which do not work, with the cause and the next call. Use this first when tools are missing or fail. Changes no files.",
		hints{idempotent: true, openWorld: true}, (*call).health)
	add(svc, "verify", "Compare with a lock file",
		"Compare servers with a lock file created by `gauze lock` and report changes in configuration, version and tool definitions. Starts the servers; changes no files.",
		hints{idempotent: true, openWorld: true}, (*call).verify)
}

type listIn struct {
	Server names `json:"server,omitempty" jsonschema:"NAME or CLIENT/NAME; leave it out for all"`
	Client names `json:"client,omitempty" jsonschema:"such as claude-code or cursor; default: all"`
}

// Listed is the result of list_servers.
type Listed struct {
	Servers  []Server  `json:"servers"`
	Problems []Problem `json:"problems,omitempty" jsonschema:"problems that affect whole files"`
	More     int       `json:"more,omitempty" jsonschema:"number of servers not shown"`
	Looked   []string  `json:"looked,omitempty" jsonschema:"files that were read, if they have no servers"`
}

const maxServers = 300

func (c *call) list(in listIn) (out Listed, err error) {
	view := c.look()
	chosen, err := choose(view, in.Server, in.Client)
	if err != nil {
		return out, err
	}
	out.Servers = []Server{}
	for _, s := range chosen[:min(len(chosen), maxServers)] {
		out.Servers = append(out.Servers, serverOf(s))
	}
	out.More = len(chosen) - len(out.Servers)
	out.Problems = problemsOf(fileProblems(view, in.Client.list()))
	if len(out.Servers) == 0 {
		for _, config := range limited(view.Configs) {
			out.Looked = append(out.Looked, plaintext.Clean(config.Path))
		}
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
	if len(l.Servers) > 0 {
		fmt.Fprintf(&b, "%s:\n", plural(len(l.Servers)+l.More, "server"))
	}
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
	writeFileProblems(&b, l.Problems)
	return b.String()
}

// writeFileProblems writes the problems of whole files, and what to do about them.
func writeFileProblems(b *strings.Builder, all []Problem) {
	if len(all) == 0 {
		return
	}
	b.WriteString("Problems in files:\n")
	writeProblems(b, all)
	if slices.ContainsFunc(all, func(p Problem) bool { return p.Fixable }) {
		b.WriteString("next: call heal_server with {}\n")
	}
}

func writeProblems(b *strings.Builder, all []Problem) {
	for _, p := range all {
		fixable := ""
		if p.Fixable {
			fixable = " (heal_server fixes it)"
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
	Server  names   `json:"server,omitempty" jsonschema:"NAME or CLIENT/NAME; leave it out for all"`
	Client  names   `json:"client,omitempty" jsonschema:"such as claude-code or cursor; default: all"`
	Heal    bool    `json:"auto_heal,omitempty" jsonschema:"also try fixes, in memory only"`
	Project bool    `json:"include_project,omitempty" jsonschema:"include a project's servers that the user has not approved; asks the user first"`
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"maximum wait for one response, 1 to 600"`
	Consent string  `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

// Health is the result of check_health.
type Health struct {
	ActionStatus
	Servers   []Checked `json:"servers,omitempty"`
	Problems  []Problem `json:"problems,omitempty" jsonschema:"problems that affect whole files"`
	Conflicts []string  `json:"conflicts,omitempty" jsonschema:"tools with the same name in several servers of one client"`
}

// Checked is the state of one server.
type Checked struct {
	ID       string    `json:"id"`
	State    string    `json:"state" jsonschema:"healthy, degraded, unresponsive, dead or not_tried"`
	Tools    int       `json:"tools,omitempty" jsonschema:"number of tools"`
	Why      string    `json:"why,omitempty" jsonschema:"why the server is degraded or was not tried"`
	Report   *Healing  `json:"report,omitempty" jsonschema:"the test, if the server is not healthy"`
	Problems []Problem `json:"problems,omitempty"`
	Next     string    `json:"next,omitempty" jsonschema:"what to do next"`
	Diff     string    `json:"diff,omitempty" jsonschema:"what heal_server would write"`
}

func (c *call) health(in healthIn) (out Health, err error) {
	wait, err := seconds(in.Timeout)
	if err != nil {
		return out, err
	}
	view := c.look()
	chosen, err := choose(view, in.Server, in.Client)
	if err != nil {
		return out, err
	}
	check := func(c *call) (out Health, err error) {
		c.hideSecretsOf(view)
		all := c.check(chosen, fleet.CheckOptions{Heal: in.Heal, Timeout: wait})
		out.Status, out.Problems = done, problemsOf(fileProblems(view, in.Client.list()))
		for _, one := range all {
			out.Servers = append(out.Servers, checkedOf(view, one))
		}
		out.Conflicts = conflictsOf(fleet.Conflicts(all))
		return out, c.ctx.Err()
	}
	if !in.Project {
		return check(c)
	}
	return confirmStart(c, foreignOf(chosen), commandLine(append([]string{"gauze", "doctor"}, in.Server.list()...)...), check)
}

// conflictsOf words which servers of a client have tools with the same names.
func conflictsOf(all []fleet.Conflict) (lines []string) {
	tools := map[string][]string{}
	var order []string
	for _, x := range all {
		who := x.Client + ": " + redact.Quote(strings.Join(x.Servers, ", "))
		if tools[who] == nil {
			order = append(order, who)
		}
		tools[who] = append(tools[who], redact.Quote(x.Tool))
	}
	const shown = 5
	for _, who := range limited(order) {
		named := strings.Join(tools[who][:min(len(tools[who]), shown)], ", ")
		if more := len(tools[who]) - shown; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, who+" provide tools with the same names: "+named)
	}
	return lines
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
		shown.Tools = len(c.Attempt.Found.Tools)
	}
	if c.Tried && shown.State != "healthy" {
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
		shown.Next = fmt.Sprintf("call test_connection with {\"server\": %q}; gauze asks the user first", shown.ID)
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
	b.WriteString(stateText(h.Servers))
	for _, s := range h.Servers {
		if s.State != "healthy" || len(s.Problems) > 0 || s.Next != "" {
			b.WriteString(s.text())
		}
	}
	writeFileProblems(&b, h.Problems)
	for _, conflict := range h.Conflicts {
		b.WriteString("conflict: " + conflict + "\n")
	}
	return b.String()
}

// stateText is the state of all servers in a few lines: how many work, and which.
func stateText(all []Checked) string {
	if len(all) == 1 {
		return all[0].ID + " is " + strings.ReplaceAll(all[0].State, "_", " ") + ".\n"
	}
	var well, not, untried []string
	for _, s := range all {
		switch {
		case s.State == "healthy":
			well = append(well, s.ID)
		case s.State == "not_tried":
			untried = append(untried, s.ID)
		default:
			not = append(not, s.ID)
		}
	}
	var parts []string
	if len(not) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d servers are not healthy: %s", len(not), len(all), strings.Join(not, ", ")))
	}
	if len(untried) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d servers were not tested: %s", len(untried), len(all), strings.Join(untried, ", ")))
	}
	switch {
	case len(all) == 0:
		parts = append(parts, "No servers were found in the clients' files")
	case len(well) == len(all):
		parts = append(parts, fmt.Sprintf("All %d servers are healthy: %s", len(all), strings.Join(well, ", ")))
	case len(well) > 0:
		parts = append(parts, "Healthy: "+strings.Join(well, ", "))
	}
	return strings.Join(parts, ".\n") + ".\n"
}

// text reports on a server with its problems and the next call.
func (c Checked) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", c.ID, c.State)
	if c.Why != "" {
		b.WriteString(" (" + c.Why + ")")
	}
	if c.Report != nil && c.Report.Diagnosis != nil {
		b.WriteString("; " + c.Report.Diagnosis.Explanation + c.Report.lastOutput())
	}
	b.WriteString("\n")
	writeProblems(&b, c.Problems)
	if c.Next != "" {
		b.WriteString("  next: " + c.Next + "\n")
	}
	return b.String()
}

type verifyIn struct {
	File    string  `json:"file,omitempty" jsonschema:"path to the lock file; default: gauze.lock.json in the project"`
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
