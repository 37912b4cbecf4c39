package browsertest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

// Played is a run in which something of everything has happened.
type Played struct {
	*Run
	Notes, Weather, Search *Wrap
	Tasks                  [2]string // Tasks are the ids of tasks that stopped.
}

// flagsFile has the flags of the task's server, which RepairTask changes.
const flagsFile = "project/flags"

// The task's third step kills its server, which then does not start again.
const taskFile = `name: Publish the notes
servers: {publisher: {command: [task-server]}}
steps:
  - {id: first, server: publisher, tool: append, arguments: {key: draft}}
  - {id: second, server: publisher, tool: append, arguments: {key: review}}
  - {id: third, server: publisher, tool: die_read, arguments: {times: 1, key: read}}
  - {id: fourth, server: publisher, tool: append, arguments: {key: publish}}
`

var resumed = regexp.MustCompile(`gauze task resume (\S+)`)

// Reasons to exit at every start but the first.
const (
	lostModule = "-exit-at-start=skip=1,code=1,stderr=Error: Cannot find module 'express'"
	portTaken  = "-exit-at-start=skip=1,code=1,stderr=Error: listen EADDRINUSE: address already in use :::3000"
)

// Play starts three wraps for two clients and lets their servers fail, stops a task, and breaks an
// entry of a client's configuration.
func Play(ctx context.Context, r *Run) (*Played, error) {
	p := &Played{Run: r}
	for _, scene := range p.scenes() {
		if err := scene(ctx); err != nil {
			return p, err
		}
	}
	return p, nil
}

// scenes are what happens, in order.
func (p *Played) scenes() []func(context.Context) error {
	return []func(context.Context) error{p.configure, p.lost, p.stopped, p.misused, p.killed}
}

// configure writes the configuration of two clients. One entry lacks its type, and one names a
// program that is not on the PATH.
func (p *Played) configure(context.Context) error {
	return errors.Join(
		p.Write("home/.claude.json", `{"mcpServers": {"far": {"url": "http://127.0.0.1:9/mcp"}}}`+"\n", 0o600),
		p.Write("home/.cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {
  "notes": {"command": %q},
  "hidden": {"command": "hidden-server"}
}}
`, filepath.Join(p.Dir, "bin", "notes-server")), 0o600),
		p.Write("home/.local/bin/hidden-server", "#!/bin/sh\nexec '"+p.server+"' \"$@\"\n", 0o700),
		p.Write("bin/task-server", "#!/bin/sh\nIFS='\n'\nexec '"+p.server+"' $(cat '"+filepath.Join(p.Dir, flagsFile)+"')\n", 0o700),
	)
}

// call is one call of a scene and the fault that it must end with, usually none.
type call struct{ tool, arguments, fault string }

func (p *Played) calls(ctx context.Context, w *Wrap, all ...call) error {
	for _, c := range all {
		a, err := w.Call(ctx, c.tool, c.arguments)
		if err != nil {
			return err
		}
		if a.Fault != c.fault {
			return fmt.Errorf("%s %s was answered with %q instead of %q: %s", c.tool, c.arguments, a.Fault, c.fault, a.Text)
		}
	}
	return nil
}

// killed: a server dies during a read, during a write, and while idle.
func (p *Played) killed(ctx context.Context) (err error) {
	if p.Notes, err = p.Wrap(ctx, WrapOptions{Name: "notes", Client: "Cursor", Server: []string{"-serial", "-read-exact"}}); err != nil {
		return err
	}
	if err := p.calls(ctx, p.Notes,
		call{"append", `{"key":"first"}`, ""},
		call{"die_read", `{"times":1}`, ""},
		call{"die", `{"key":"write","when":"after-effect"}`, "outcome-unknown"},
	); err != nil {
		return err
	}
	for n := range 20 {
		if err := p.calls(ctx, p.Notes, call{"echo", fmt.Sprintf(`{"text":"note %d"}`, n), ""}); err != nil {
			return err
		}
	}
	if err := p.Notes.Kill(ctx); err != nil {
		return err
	}
	return p.calls(ctx, p.Notes, call{"append", `{"key":"last"}`, ""}, call{"stderr", `{"message":"notes: cache is cold\n"}`, ""})
}

// misused: a model calls a tool with typical mistakes. Rules repair some; one is corrected by a
// scripted model, over HTTP as with a real one.
func (p *Played) misused(ctx context.Context) error {
	model, err := modeltest.Serve("127.0.0.1:0", modeltest.OpenAIFormat, modeltest.Says(`{"arguments":{"key":"oslo","value":"rain"},"reason":"key must be a string"}`))
	if err != nil {
		return err
	}
	p.ended = append(p.ended, model.Close)
	p.Weather, err = p.Wrap(ctx, WrapOptions{Name: "weather", Client: "Claude Code",
		Gauze: []string{"--model", "openai:scripted", "--tool", "append:repair=strict", "--tool", "forecast:correct.enabled=false"}, Env: []string{"GAUZE_MODEL_URL=" + model.URL}})
	if err != nil {
		return err
	}
	return p.calls(ctx, p.Weather,
		call{"forecast", `{"city":"Oslo","days":"5","units":"Celsius"}`, ""},
		call{"forecast", `{"arguments":{"City":"Oslo","days":3}}`, ""},
		call{"forecast", `{"city":"Oslo","days":"a few","unit":"celsius"}`, ""}, // the server's own rejection, explained
		call{"forecast", `{"city":"Oslo","days":2,"units":null,"tags":"['wind', 'rain']"}`, ""},
		call{"append", `{"key":["oslo"],"value":"rain"}`, ""},
	)
}

// lost: a server dies and cannot start again, and gauze says why.
func (p *Played) lost(ctx context.Context) (err error) {
	p.Search, err = p.Wrap(ctx, WrapOptions{Name: "search", Client: "Cursor",
		Gauze: []string{"--patience", "1s", "--restart-backoff", "10ms"}, Server: []string{portTaken}})
	if err != nil {
		return err
	}
	a, err := p.Search.Call(ctx, "die_read", `{"times":9}`)
	if err != nil {
		return err
	}
	if a.Fault == "" {
		return fmt.Errorf("a call to a server that cannot start was answered: %s", a.Text)
	}
	return nil
}

// stopped: tasks stop at their third step, because their server does not come back.
func (p *Played) stopped(ctx context.Context) (err error) {
	for i := range p.Tasks {
		if p.Tasks[i], err = p.stopTask(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (p *Played) stopTask(ctx context.Context, i int) (id string, err error) {
	if err := errors.Join(p.Write("project/publish.yaml", taskFile, 0o600), p.setTaskFlags(i, lostModule)); err != nil {
		return "", err
	}
	out, err := p.Output(ctx, "task", "run", "--yes", "--patience", "500ms", "publish.yaml")
	if err != nil {
		return "", err
	}
	found := resumed.FindStringSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("the task did not stop:\n%s", out)
	}
	return found[1], nil
}

// RepairTask lets the server of the task start again.
func (p *Played) RepairTask(i int) error { return p.setTaskFlags(i) }

func (p *Played) setTaskFlags(i int, flags ...string) error {
	flags = append(flags, "-ledger", filepath.Join(p.Dir, "task.ledger"), "-state", filepath.Join(p.Dir, fmt.Sprint("task-", i)))
	return p.Write(flagsFile, strings.Join(flags, "\n"), 0o600)
}

// RepairedItem is a JavaScript expression: the link on the timeline to the call that was repaired
// after its server had rejected such arguments.
const RepairedItem = `[...document.querySelectorAll("a.item")].find(a => a.closest("li").innerText.includes("Python literal"))`

// EntryLink returns a JavaScript expression: the link to an entry of a client's configuration.
func EntryLink(entry string) string {
	return `[...document.querySelectorAll("td.title a")].find(a => a.innerText === "` + entry + `")`
}
