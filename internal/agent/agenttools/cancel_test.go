package agenttools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/agent/mcpserver"
)

// cancelledWhen is a context that is canceled when a condition holds.
type cancelledWhen struct {
	context.Context
	holds func() bool
}

func (c cancelledWhen) Err() error {
	if c.holds() {
		return context.Canceled
	}
	return nil
}

// runTool runs a tool of a service with a context.
func runTool(ctx context.Context, svc *service, tool string, arguments object) (*mcpserver.Result, error) {
	for _, t := range svc.server.Tools {
		if t.Name == tool {
			text, _ := json.Marshal(arguments)
			return t.Run(ctx, &mcpserver.Call{Arguments: text})
		}
	}
	return nil, errors.New("no tool " + tool)
}

// confirmed returns the arguments of a call with the token that confirms it.
func confirmed(t *testing.T, svc *service, tool string, arguments object) object {
	t.Helper()
	r, err := runTool(t.Context(), svc, tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := r.Structured.(object)
	if data["consent"] == nil {
		t.Fatalf("%+v", r)
	}
	return plus(arguments, "consent", data["consent"])
}

// A call that is cancelled before it writes does not write, although the user agreed.
func TestCancelledBeforeItWrites(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome})
	svc := newService(t.Context(), Options{Fleet: a.fleet, AllowWrites: true})
	again := confirmed(t, svc, "remove_server", object{"server": "notes"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := runTool(ctx, svc, "remove_server", again); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	if a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
		t.Error("it was written")
	}
}

// A call that is cancelled while it writes says what it has written, with the id for undo.
func TestCancelledWhileItWrites(t *testing.T) {
	t.Parallel()
	const broken = `{"mcpServers": {"notes": {"command": "false"},}}`
	for _, c := range []struct {
		tool, before string
		arguments    object
	}{
		{"remove_server", aHome[".cursor/mcp.json"], object{"server": "notes"}},
		{"heal_server", broken, object{}}, // it would go on after it has written
	} {
		a := newAgent(t, settings{files: map[string]string{".cursor/mcp.json": c.before}})
		svc := newService(t.Context(), Options{Fleet: a.fleet, AllowWrites: true})
		written := func() bool { return a.read(".cursor/mcp.json") != c.before }
		again := confirmed(t, svc, c.tool, c.arguments)
		r, err := runTool(cancelledWhen{t.Context(), written}, svc, c.tool, again)
		if !written() || err != nil || !strings.Contains(r.Text, `call undo with {"id": "1"}`) {
			t.Errorf("%s: %+v, %v", c.tool, r, err)
		}
		undone := func() bool { return !written() }
		again = confirmed(t, svc, "undo", object{"id": "1"})
		r, err = runTool(cancelledWhen{t.Context(), undone}, svc, "undo", again)
		if !undone() || err != nil || !strings.Contains(r.Text, `call undo with {"id": "2"}`) {
			t.Errorf("undo of %s: %+v, %v", c.tool, r, err)
		}
	}
}

// What was written before a question is part of the answer if the call is cancelled then.
func TestCancelledAfterAQuestion(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome})
	svc := newService(t.Context(), Options{Fleet: a.fleet, AllowWrites: true})
	again := confirmed(t, svc, "remove_server", object{"server": "notes"})
	svc.open[again["consent"].(string)].written = []Written{{ID: "7", File: "f"}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := runTool(ctx, svc, "remove_server", again)
	if err != nil || !r.IsError || !strings.Contains(r.Text, `call undo with {"id": "7"}`) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A list of servers is not the one server whose name has a comma.
func TestListIsNotANameWithAComma(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: map[string]string{".cursor/mcp.json": `{"mcpServers": {
		"a": {"command": "one"}, "b": {"command": "two"}, "a,b": {"command": "three"}, "c": {"command": "four"}}}`}})
	for want, server := range map[string]any{
		"cursor/a cursor/b": []string{"a", "b"}, "cursor/a cursor/b ": `["a", "b"]`, "cursor/a cursor/c": "a,c",
		"cursor/a,b": "a,b", "cursor/a,b ": []string{"a,b"}, "cursor/a,b cursor/c": []string{"a,b", "c"},
	} {
		r := a.call("list_servers", object{"server": server})
		var ids []string
		list, _ := r.data["servers"].([]any)
		for _, s := range list {
			ids = append(ids, s.(object)["id"].(string))
		}
		if got := strings.Join(ids, " "); got != strings.TrimSpace(want) {
			t.Errorf("%v: %s, want %s\n%s", server, got, want, r.text)
		}
	}
}

// A tool runs under its name, however a client spells it, and under no name that may mean the opposite.
func TestNamesOfToolsThatAgentsUse(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{})
	svc := newService(t.Context(), Options{Fleet: a.fleet})
	for name, want := range map[string]string{
		"removeServer": "remove_server", "Remove-Server": "remove_server", "mcp__gauze__remove_server": "remove_server",
		"gauze__undo": "undo", "gauze.undo": "undo", "gauze.checkHealth": "check_health",
		"skip__remove_server": "", "dont.undo": "", "mcp__gauze__skip__remove_server": "", "mcp__other__undo": "",
		"server": "", "": "", "gauze.": "",
	} {
		if got := svc.respelled(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
