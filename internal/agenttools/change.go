package agenttools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

func (d *desk) addChange() {
	add(d, "configure_server", "Add an MCP server",
		"Add an MCP server to the configuration files of one or several clients: it is tried first, healed if it needs help, and only what was found to work is written, after the user's yes to the diff. Name one of package, url and command. Secrets: set env NAME to null to refer to a variable the user has set, instead of writing its value.",
		hints{destructive: true, idempotent: true, openWorld: true}, (*call).configure)
	add(d, "remove_server", "Remove an MCP server",
		"Take an MCP server out of the configuration files of its clients, after the user's yes to the diff. `undo` brings it back.",
		hints{destructive: true, idempotent: true}, (*call).remove)
	add(d, "wrap_servers", "Put Gauze in front of MCP servers",
		"Put `gauze run` in front of configured MCP servers, so that they survive crashes and hangs and their calls are repaired, after the user's yes to the diff. unwrap_servers gives back every byte.",
		hints{idempotent: true}, (*call).wrap)
	add(d, "unwrap_servers", "Take Gauze out again",
		"Take `gauze run` out of configured MCP servers again, after the user's yes to the diff.",
		hints{idempotent: true}, (*call).unwrap)
	add(d, "undo", "Take back a change",
		"List the changes Gauze made to configuration files (list), or take one back by its id, the newest if none is named, after the user's yes to the diff.",
		hints{destructive: true}, (*call).undo)
}

// Written is a change that was made.
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
	return fmt.Sprintf("wrote %s (%s); undo with {\"id\": %q}", w.File, w.About, w.ID)
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

// askPlan shows a plan and makes it if the person agrees. typed is the command
// that does the same, up to where its flags end, and what follows them.
func askPlan[Out any, P interface {
	*Out
	standing() *Standing
}](c *call, plan fleet.Plan, title string, typed [2][]string, then func(*call, []Written) (Out, error)) (Out, error) {
	consent := plan.Consent()
	q := question{title: title, shown: plan.Diff(), token: consent, deeds: writes, typed: strings.TrimSpace(commandLine(typed[0]...) + " --consent " + consent + " " + commandLine(typed[1]...))}
	return ask[Out, P](c, q, func(c *call) (out Out, err error) {
		made, err := c.desk.Fleet.Apply(plan, consent)
		var written []Written
		for _, entry := range made {
			written = append(written, writtenOf(entry))
		}
		if err != nil {
			done := ""
			for _, w := range written {
				done += "\n" + w.text()
			}
			return out, mistake(err.Error()+done, "call %s again without consent, and show the user the new answer", c.tool)
		}
		return then(c, written)
	})
}

type configureIn struct {
	Name string `json:"name" jsonschema:"what the server is to be called: letters, digits, dots, dashes and underscores"`
	wanted
	Clients []string `json:"clients,omitempty" jsonschema:"ids of clients, such as claude-code or cursor; left out: the one in use, if it is one"`
	Scope   string   `json:"scope,omitempty" jsonschema:"user (default), project (a file others get, too) or local"`
	Wrap    *bool    `json:"wrap,omitempty" jsonschema:"put gauze run in front, so that it heals at every start; default true"`
	Replace bool     `json:"replace,omitempty" jsonschema:"write an entry of the same name anew"`
	Heal    *bool    `json:"auto_heal,omitempty" jsonschema:"try fixes that only change how the same server is started or reached; default true"`
	DryRun  bool     `json:"dry_run,omitempty" jsonschema:"try it and show what would be written, and write nothing"`
	Timeout float64  `json:"timeout_seconds,omitempty" jsonschema:"for one answer without a sign of progress, 1 to 600"`
	Consent string   `json:"consent,omitempty" jsonschema:"the token of an earlier answer, after the user agreed"`
}

// Configured is what came of it.
type Configured struct {
	Standing
	Report  *Healing  `json:"report,omitempty" jsonschema:"how the server did when it was tried"`
	Written []Written `json:"written,omitempty"`
	Left    []string  `json:"left,omitempty" jsonschema:"clients whose files stay as they are, and why"`
	Needs   []Needed  `json:"needs,omitempty" jsonschema:"variables and headers a registry calls required and nobody gave"`
}

func (o Configured) text() string {
	var b strings.Builder
	for _, w := range o.Written {
		b.WriteString(w.text() + "\n")
	}
	if o.Report != nil {
		b.WriteString(o.Report.text() + "\n")
	}
	for _, left := range o.Left {
		b.WriteString("left: " + left + "\n")
	}
	return strings.TrimSpace(b.String() + o.Standing.text() + neededText(o.Needs))
}

func (c *call) configure(in configureIn) (out Configured, err error) {
	wait, err := seconds(in.Timeout)
	if err != nil {
		return out, err
	}
	c.knowsOf(in.wanted)
	scope := clientconfig.Scope(in.Scope)
	if in.Scope != "" && !slices.Contains([]clientconfig.Scope{clientconfig.User, clientconfig.Project, clientconfig.Local}, scope) {
		return out, mistake(fmt.Sprintf("scope is %q", redact.Quote(in.Scope)), "want user, project or local, or leave it out")
	}
	request := in.request()
	request.Name, request.Clients, request.Scope, request.Replace = in.Name, in.Clients, scope, in.Replace
	request.Wrap, request.Heal, request.Timeout = or(in.Wrap, true), or(in.Heal, true), wait
	// What cannot be written is not tried either.
	untried := request
	untried.Untried = true
	resolved, err := c.desk.Fleet.Configure(c.ctx, untried)
	if err != nil {
		return out, mistake(strings.ReplaceAll(err.Error(), "--client ", "clients: "), `for example {"name": "time", "package": "pypi:mcp-server-time", "clients": ["claude-code"]}`)
	}
	if resolved.Plan.Empty() {
		out.Status, out.Left, out.How = nothingToDo, skippedOf(resolved.Plan), "No file would change, so nothing was tried. \"replace\": true writes an entry of the same name anew."
		return out, nil
	}
	typed := [2][]string{append([]string{"gauze", "add", in.Name}, in.flags()...), in.words()}
	for _, client := range in.Clients {
		typed[0] = append(typed[0], "--client", client)
	}
	return agreedTo(c, c.named(resolved.Spec), commandLine(slices.Concat(typed[0], typed[1])...), func(c *call) (out Configured, err error) {
		c.knowsOf(in.wanted)
		request.Tell = func(is string) { c.tell("%s", is) }
		tried, err := c.desk.Fleet.Configure(c.ctx, request)
		if err != nil {
			return out, err
		}
		so := Configured{Report: healingOf(tried.Report.Spec, tried.Attempt, tried.Report), Left: skippedOf(tried.Plan), Needs: neededOf(tried)}
		switch {
		case !tried.Works():
			so.Status, so.How = failed, "Nothing was written: what does not work is not configured."
			return so, nil
		case tried.Plan.Empty():
			so.Status, so.How = nothingToDo, "No file would change."
			return so, nil
		case in.DryRun:
			so.Status, so.Diff, so.How = dryRun, tried.Plan.Diff(), "Nothing was written."
			return so, nil
		}
		out, err = askPlan(c, tried.Plan, "It works. May Gauze write it into these files?", typed, func(_ *call, written []Written) (Configured, error) {
			so.Status, so.Written, so.How = done, written, "Its client reads the file when it starts next, or reloads its servers."
			return so, nil
		})
		if out.Report == nil {
			out.Report, out.Left, out.Needs = so.Report, so.Left, so.Needs
		}
		return out, err
	})
}

type someIn struct {
	Servers []string `json:"servers,omitempty" jsonschema:"names, or CLIENT/NAME"`
	Clients []string `json:"clients,omitempty" jsonschema:"ids of clients; with no servers named: all of theirs"`
	Remote  bool     `json:"remote,omitempty" jsonschema:"also servers behind a URL, whose login the client may hold"`
	DryRun  bool     `json:"dry_run,omitempty" jsonschema:"only show what would be written"`
	Consent string   `json:"consent,omitempty" jsonschema:"the token of an earlier answer, after the user agreed"`
}

type removeIn struct {
	Name    string   `json:"name" jsonschema:"NAME, or CLIENT/NAME"`
	Clients []string `json:"clients,omitempty" jsonschema:"ids of clients, if it is in several and not all are meant"`
	DryRun  bool     `json:"dry_run,omitempty" jsonschema:"only show what would be written"`
	Consent string   `json:"consent,omitempty" jsonschema:"the token of an earlier answer, after the user agreed"`
}

// Changed is what came of a change.
type Changed struct {
	Standing
	Written []Written `json:"written,omitempty"`
	Left    []string  `json:"left,omitempty" jsonschema:"servers that stay as they are, and why"`
}

func (o Changed) text() string {
	var b strings.Builder
	for _, w := range o.Written {
		b.WriteString(w.text() + "\n")
	}
	for _, left := range o.Left {
		b.WriteString("left: " + left + "\n")
	}
	return strings.TrimSpace(b.String() + o.Standing.text())
}

func (c *call) remove(in removeIn) (Changed, error) {
	if in.Name == "" {
		return Changed{}, mistake("name is empty", `for example {"name": "claude-code/time"}; list_servers has all names`)
	}
	return c.change(fleet.Choice{Names: []string{in.Name}, Clients: in.Clients}, in.DryRun, "May Gauze remove this server?", "remove", (*fleet.View).Remove)
}

func (c *call) wrap(in someIn) (Changed, error) {
	return c.some(in, "May Gauze put itself in front of these servers?", "wrap", func(v *fleet.View, servers []*fleet.Server) fleet.Plan {
		return v.Wrap(servers, in.Remote)
	})
}

func (c *call) unwrap(in someIn) (Changed, error) {
	return c.some(in, "May Gauze take itself out of these servers again?", "unwrap", (*fleet.View).Unwrap)
}

func (c *call) some(in someIn, title, verb string, plan func(*fleet.View, []*fleet.Server) fleet.Plan) (Changed, error) {
	if len(in.Servers) == 0 && len(in.Clients) == 0 {
		return Changed{}, mistake("neither servers nor clients are named", `for example {"servers": ["time"]} or {"clients": ["cursor"]}; list_servers has all names`)
	}
	return c.change(fleet.Choice{Names: in.Servers, Clients: in.Clients}, in.DryRun, title, verb, plan)
}

// change plans something for chosen servers, shows it and makes it.
func (c *call) change(choice fleet.Choice, dry bool, title, verb string, planned func(*fleet.View, []*fleet.Server) fleet.Plan) (out Changed, err error) {
	view := c.look()
	chosen, err := view.Choose(choice)
	if err != nil {
		return out, err
	}
	plan := planned(view, chosen)
	so := Changed{Left: skippedOf(plan)}
	switch {
	case plan.Empty():
		so.Status, so.How = nothingToDo, "No file would change."
		return so, nil
	case dry:
		so.Status, so.Diff, so.How = dryRun, plan.Diff(), "Nothing was written."
		return so, nil
	}
	typed := append([]string{"gauze", verb}, choice.Names...)
	for _, client := range choice.Clients {
		typed = append(typed, "--client", client)
	}
	out, err = askPlan(c, plan, title, [2][]string{typed}, func(_ *call, written []Written) (Changed, error) {
		so.Status, so.Written = done, written
		return so, nil
	})
	if out.Left == nil {
		out.Left = so.Left
	}
	return out, err
}

type undoIn struct {
	ID      string `json:"id,omitempty" jsonschema:"of the change to take back; left out: the newest"`
	List    bool   `json:"list,omitempty" jsonschema:"only list the changes"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"only show what would be written"`
	Consent string `json:"consent,omitempty" jsonschema:"the token of an earlier answer, after the user agreed"`
}

// Undone is the list of changes, or what came of taking one back.
type Undone struct {
	Standing
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
	return strings.TrimSpace(b.String() + u.Standing.text())
}

func (c *call) undo(in undoIn) (out Undone, err error) {
	c.look()
	all, trouble := c.desk.Fleet.Store.List()
	if in.List || in.ID == "" && len(all) == 0 {
		out.Status, out.How = done, fmt.Sprintf("%d changes.", len(all))
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
	back, err := c.desk.Fleet.Return(id)
	if err != nil {
		return out, mistake(err.Error(), `call undo with {"list": true} to see all changes`)
	}
	if in.DryRun {
		out.Status, out.Diff, out.How = dryRun, back.Diff, "Nothing was written."
		return out, nil
	}
	q := question{title: "May Gauze take back this change?", shown: back.Diff, token: back.Consent(), deeds: writes, typed: commandLine("gauze", "undo", id)}
	return ask(c, q, func(*call) (out Undone, err error) {
		entry, err := c.desk.Fleet.Undo(back, q.token)
		if err != nil {
			return out, mistake(err.Error(), `call undo with {"list": true} to see all changes`)
		}
		out.Status, out.Written = done, []Written{writtenOf(entry)}
		return out, nil
	})
}
