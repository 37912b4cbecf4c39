package agenttools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

func (svc *service) addChangeTools() {
	add(svc, "configure_server", "Add an MCP server",
		"Add an MCP server to one or more clients, or replace an entry. Pass exactly one of package, url or command. Tests and repairs the server first, and writes only what works, after the user confirms the diff; undo reverts it.",
		hints{destructive: true, idempotent: true, openWorld: true}, (*call).configure)
	add(svc, "remove_server", "Remove an MCP server",
		"Remove MCP servers from their clients' configuration files, after the user confirms the diff; undo restores them.",
		hints{destructive: true, idempotent: true}, (*call).remove)
	add(svc, "wrap_servers", "Wrap MCP servers with Gauze",
		"Run configured MCP servers through gauze run, which restarts them after crashes and hangs and repairs tool calls. Writes the files after the user confirms the diff; unwrap_servers restores them exactly.",
		hints{idempotent: true}, (*call).wrap)
	add(svc, "unwrap_servers", "Unwrap MCP servers",
		"Stop running configured MCP servers through gauze run. Writes the files after the user confirms the diff.",
		hints{idempotent: true}, (*call).unwrap)
	add(svc, "undo", "Undo a change",
		"Revert a change that Gauze made to a configuration file, after the user confirms the diff, or list the changes.",
		hints{destructive: true}, (*call).undo)
}

// Written is a change that was written.
type Written struct {
	ID    string `json:"id" jsonschema:"for undo"`
	File  string `json:"file"`
	About string `json:"about,omitempty"`
	Time  string `json:"time,omitempty"`
}

func writtenOf(e backup.Entry) Written {
	return Written{ID: e.ID, File: plaintext.Clean(e.Path), About: redact.Quote(e.About), Time: e.Time.Format("2006-01-02 15:04:05Z07:00")}
}

func (w Written) text() string {
	return fmt.Sprintf("wrote %s (%s); to undo, call undo with {\"id\": %q}", w.File, w.About, w.ID)
}

// writtenText lists what was written before an error.
func writtenText(all []Written) (text string) {
	for _, w := range all {
		text += "\n" + w.text()
	}
	return text
}

const (
	dryRun = "dry_run"
	failed = "failed"
)

func skippedOf(p fleet.Plan) (all []string) {
	for _, s := range limited(p.Skipped) {
		all = append(all, redact.Quote(s.Server)+": "+redact.Passage(s.Why))
	}
	return all
}

// confirmPlan shows a plan to the user and applies it if they agree. typed is the equivalent
// command: the part before --consent, and the part after it.
func confirmPlan[Out any, P interface {
	*Out
	actionStatus() *ActionStatus
}](c *call, plan fleet.Plan, title string, typed [2][]string, then func(*call, []Written) (Out, error)) (Out, error) {
	q := planQuestion(plan, title, typed)
	return confirm[Out, P](c, q, func(c *call) (out Out, err error) {
		written, err := c.apply(plan, q.token)
		if err != nil {
			return out, err
		}
		return then(c, written)
	})
}

func planQuestion(plan fleet.Plan, title string, typed [2][]string) question {
	consent := plan.Consent()
	return question{title: title, shown: plan.Diff(), token: consent, operations: writes, typed: strings.TrimSpace(commandLine(typed[0]...) + " --consent " + consent + " " + commandLine(typed[1]...))}
}

// apply applies a plan that the user agreed to.
func (c *call) apply(plan fleet.Plan, consent string) (written []Written, err error) {
	c.applied = true
	made, err := c.service.Fleet.Apply(plan, consent)
	if c.askMode() != cannotAsk {
		c.service.Fleet.SawPlan(plan, made)
	}
	for _, entry := range made {
		written = append(written, writtenOf(entry))
	}
	c.written = append(slices.Clone(c.written), written...)
	if err != nil {
		err = failure(err.Error()+writtenText(c.written), "call %s again without consent and show the user the new result", c.tool)
	}
	return written, err
}

type configureIn struct {
	Server string `json:"server" jsonschema:"name of the entry: letters, digits, dots, dashes and underscores"`
	target
	Client  names   `json:"client,omitempty" jsonschema:"such as claude-code or cursor, several with commas; default: the only one in use"`
	Scope   string  `json:"scope,omitempty" jsonschema:"user (default), project or local"`
	Wrap    *bool   `json:"wrap,omitempty" jsonschema:"start it through gauze run, which keeps it alive; default true"`
	Replace bool    `json:"replace,omitempty" jsonschema:"overwrite an entry with the same name"`
	Heal    *bool   `json:"auto_heal,omitempty" jsonschema:"also try fixes; default true"`
	DryRun  bool    `json:"dry_run,omitempty" jsonschema:"test it, return the diff and write nothing"`
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"maximum wait for one response, 1 to 600"`
	Consent string  `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

// Configured is the result of configure_server.
type Configured struct {
	ActionStatus
	Report  *Healing  `json:"report,omitempty" jsonschema:"result of the test"`
	Written []Written `json:"written,omitempty"`
	Left    []string  `json:"left,omitempty" jsonschema:"clients whose files are not changed, and why"`
	Needs   []Needed  `json:"needs,omitempty" jsonschema:"required variables and headers that are missing"`
}

func (o Configured) text() string {
	var b strings.Builder
	for _, w := range o.Written {
		b.WriteString(w.text() + "\n")
	}
	if o.Report != nil {
		b.WriteString(o.Report.text("The server") + "\n")
	}
	for _, left := range o.Left {
		b.WriteString("not changed: " + left + "\n")
	}
	return strings.TrimSpace(b.String() + o.ActionStatus.text() + neededText(o.Needs))
}

func (c *call) configure(in configureIn) (out Configured, err error) {
	wait, err := seconds(in.Timeout)
	if err != nil {
		return out, err
	}
	c.hideSecretsIn(in.target)
	scope := clientconfig.Scope(in.Scope)
	if in.Scope != "" && !slices.Contains([]clientconfig.Scope{clientconfig.User, clientconfig.Project, clientconfig.Local}, scope) {
		return out, failure(fmt.Sprintf("invalid scope %q: must be user, project or local", redact.Quote(in.Scope)), `for example {"scope": "user"}`)
	}
	request := in.request()
	request.Name, request.Clients, request.Scope, request.Replace = in.Server, in.Client.list(), scope, in.Replace
	request.Wrap, request.Heal, request.Timeout = orDefault(in.Wrap, true), orDefault(in.Heal, true), wait
	// A server that cannot be written is not tested.
	untried := request
	untried.Untried = true
	resolved, err := c.service.Fleet.Configure(c.ctx, untried)
	if err != nil {
		return out, failure(strings.ReplaceAll(err.Error(), "--client ", "client: "), `for example {"server": "time", "package": "pypi:mcp-server-time", "client": "claude-code"}`)
	}
	if resolved.Plan.Empty() {
		out.Status, out.Left, out.How = nothingToDo, skippedOf(resolved.Plan), "No file would change, so the server was not tested. To overwrite an entry with the same name, set \"replace\": true."
		return out, nil
	}
	typed := [2][]string{append([]string{"gauze", "add", in.Server}, in.flags()...), in.words()}
	for _, client := range in.Client.list() {
		typed[0] = append(typed[0], "--client", client)
	}
	var try func(c *call) (Configured, error)
	try = func(c *call) (out Configured, err error) {
		c.hideSecretsIn(in.target)
		var asks offers
		request := request
		request.Agree, request.Tell = asks.forNew(c), func(is string) { c.progress("%s", is) }
		tried, err := c.service.Fleet.Configure(c.ctx, request)
		if err != nil {
			return out, err
		}
		result := Configured{Report: healingOf(tried.Report.Spec, tried.Final, tried.Attempt, tried.Report), Left: skippedOf(tried.Plan), Needs: neededOf(tried)}
		if offer, ok := asks.first(c); ok && !tried.Works() {
			out, err := confirmOffer(c, offer, commandLine(slices.Concat(typed[0], typed[1])...), try)
			return out.orReport(result), err
		}
		switch {
		case !tried.Works():
			result.Status, result.How = failed, "Nothing was written, because the server does not work."
			return result, nil
		case tried.Plan.Empty():
			result.Status, result.How = nothingToDo, "No file was changed."
			return result, nil
		case in.DryRun:
			result.Status, result.Diff, result.How = dryRun, tried.Plan.Diff(), "Nothing was written."
			return result, nil
		}
		out, err = confirmPlan(c, tried.Plan, "The server works. Allow Gauze to add it to these files?", typed, func(_ *call, written []Written) (Configured, error) {
			result.Status, result.Written, result.How = done, written, "The client will load the server at its next start or reload."
			return result, nil
		})
		return out.orReport(result), err
	}
	return confirmStart(c, c.candidates(resolved.Spec), commandLine(slices.Concat(typed[0], typed[1])...), try)
}

// orReport returns o with the report of an earlier test if o has none.
func (o Configured) orReport(before Configured) Configured {
	if o.Report == nil {
		o.Report, o.Left, o.Needs = before.Report, before.Left, before.Needs
	}
	return o
}

type serversIn struct {
	Server  names  `json:"server,omitempty" jsonschema:"NAME or CLIENT/NAME, several with commas"`
	Client  names  `json:"client,omitempty" jsonschema:"such as claude-code or cursor; without server: all servers of this client"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"return the diff and write nothing"`
	Consent string `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

type wrapIn struct {
	serversIn
	Remote bool `json:"remote,omitempty" jsonschema:"include remote servers; gauze then logs in to them instead of the client"`
}

type removeIn struct {
	Server  names  `json:"server" jsonschema:"NAME or CLIENT/NAME, several with commas"`
	Client  names  `json:"client,omitempty" jsonschema:"such as claude-code or cursor; default: all"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"return the diff and write nothing"`
	Consent string `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

// Changed is the result of a change to configured servers.
type Changed struct {
	ActionStatus
	Written []Written `json:"written,omitempty"`
	Left    []string  `json:"left,omitempty" jsonschema:"servers that are not changed, and why"`
}

func (o Changed) text() string {
	var b strings.Builder
	for _, w := range o.Written {
		b.WriteString(w.text() + "\n")
	}
	for _, left := range o.Left {
		b.WriteString("not changed: " + left + "\n")
	}
	return strings.TrimSpace(b.String() + o.ActionStatus.text())
}

func (c *call) remove(in removeIn) (Changed, error) {
	if len(in.Server.list()) == 0 {
		return Changed{}, failure("server is empty", `for example {"server": "claude-code/time"}; list_servers returns all names`)
	}
	return c.change(in.Server, in.Client, in.DryRun, "Allow Gauze to remove this server?", []string{"remove"}, (*fleet.View).Remove)
}

func (c *call) wrap(in wrapIn) (Changed, error) {
	verb := []string{"wrap"}
	if in.Remote {
		verb = append(verb, "--remote")
	}
	return c.changeServers(in.serversIn, "Allow Gauze to run these servers through gauze run?", verb, func(v *fleet.View, servers []*fleet.Server) fleet.Plan {
		return v.Wrap(servers, in.Remote)
	})
}

func (c *call) unwrap(in serversIn) (Changed, error) {
	return c.changeServers(in, "Allow Gauze to stop running these servers through gauze run?", []string{"unwrap"}, (*fleet.View).Unwrap)
}

func (c *call) changeServers(in serversIn, title string, verb []string, plan func(*fleet.View, []*fleet.Server) fleet.Plan) (Changed, error) {
	if len(in.Server.list()) == 0 && len(in.Client.list()) == 0 {
		return Changed{}, failure("server and client are both empty", `for example {"server": "time"} or {"client": "cursor"}; list_servers returns all names`)
	}
	return c.change(in.Server, in.Client, in.DryRun, title, verb, plan)
}

// change plans a change to the chosen servers, asks for confirmation and applies it.
func (c *call) change(server, client names, dry bool, title string, verb []string, planned func(*fleet.View, []*fleet.Server) fleet.Plan) (out Changed, err error) {
	view := c.look()
	chosen, err := choose(view, server, client)
	if err != nil {
		return out, err
	}
	plan := planned(view, chosen)
	result := Changed{Left: skippedOf(plan)}
	switch {
	case plan.Empty():
		result.Status, result.How = nothingToDo, "No file was changed."
		return result, nil
	case dry:
		result.Status, result.Diff, result.How = dryRun, plan.Diff(), "Nothing was written."
		return result, nil
	}
	typed := slices.Concat([]string{"gauze"}, verb, server.list())
	for _, one := range client.list() {
		typed = append(typed, "--client", one)
	}
	out, err = confirmPlan(c, plan, title, [2][]string{typed}, func(_ *call, written []Written) (Changed, error) {
		result.Status, result.Written, result.How = done, written, loginsText(plan)
		return result, nil
	})
	if out.Left == nil {
		out.Left = result.Left
	}
	return out, err
}

// loginsText tells the user how to log in to the remote servers of a plan.
func loginsText(plan fleet.Plan) string {
	var commands []string
	for _, change := range plan.Changes {
		for _, id := range change.Logins {
			commands = append(commands, commandLine("gauze", "login", id))
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return "If a server requires a login, tell the user to log in once in a terminal: " + redact.Passage(strings.Join(commands, "; "))
}

type undoIn struct {
	ID      string `json:"id,omitempty" jsonschema:"id of the change; default: the newest"`
	List    bool   `json:"list,omitempty" jsonschema:"list the changes and write nothing"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"return the diff and write nothing"`
	Consent string `json:"consent,omitempty" jsonschema:"token of an earlier result, if the user agreed"`
}

// Undone is the list of changes, or the result of undoing one.
type Undone struct {
	ActionStatus
	Changes []Written `json:"changes,omitempty" jsonschema:"newest first"`
	Written []Written `json:"written,omitempty"`
}

func (u Undone) text() string {
	var b strings.Builder
	for _, w := range u.Changes {
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", w.ID, w.Time, w.File, w.About)
	}
	for _, w := range u.Written {
		b.WriteString(w.text() + "\n")
	}
	return strings.TrimSpace(b.String() + u.ActionStatus.text())
}

func (c *call) undo(in undoIn) (out Undone, err error) {
	c.look()
	all, trouble := c.service.Fleet.Store.List()
	if in.List || in.ID == "" && len(all) == 0 {
		out.Status, out.How = done, plural(len(all), "change")+"."
		if trouble != nil {
			out.How += " " + redact.Passage(trouble.Error())
		}
		for _, e := range limited(all) {
			out.Changes = append(out.Changes, writtenOf(e))
		}
		return out, nil
	}
	id := in.ID
	if id == "" {
		id = all[0].ID
	}
	back, err := c.service.Fleet.Reversal(id)
	if err != nil {
		return out, failure(err.Error(), `call undo with {"list": true} to list all changes`)
	}
	if in.DryRun {
		out.Status, out.Diff, out.How = dryRun, back.Diff, "Nothing was written."
		return out, nil
	}
	q := question{title: "Allow Gauze to undo this change?", shown: back.Diff, token: back.Consent(), operations: writes, typed: commandLine("gauze", "undo", id)}
	return confirm(c, q, func(c *call) (out Undone, err error) {
		c.applied = true
		restored, err := c.service.Fleet.Undo(back, q.token)
		for _, entry := range restored {
			out.Written = append(out.Written, writtenOf(entry))
		}
		c.written = out.Written
		if err != nil {
			return out, failure(err.Error()+writtenText(out.Written), `call undo with {"list": true} to list all changes`)
		}
		out.Status = done
		return out, nil
	})
}
