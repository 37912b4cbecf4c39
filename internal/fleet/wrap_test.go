package fleet

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/launch"
)

// A project's file is for everyone who has the project, so it does not say where one of them has
// gauze. The files of the user do: their clients may have another PATH.
func TestAProjectsFileNamesGauzeWithoutItsPath(t *testing.T) {
	h := newHome(t)
	ours := filepath.Join(h.dir, "bin", "gauze")
	h.fleet.Gauze = ours
	h.write("project/.vscode/mcp.json", `{"servers": {"far": {"type": "http", "url": "https://mcp.example.com/mcp"}}}`)
	view := h.fleet.Look()
	plan := view.Wrap(view.Servers, true)
	h.apply(plan)
	clients, err := Clients([]string{"cursor"})
	if err != nil {
		t.Fatal(err)
	}
	added, err := h.fleet.Look().Add(NewServer{Name: "new", Spec: launch.Spec{Command: "npx"}, Wrapped: true, Scope: clientconfig.Project}, clients)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(added)
	for _, name := range []string{"project/.mcp.json", "project/.vscode/mcp.json", "project/.cursor/mcp.json"} {
		if text := h.read(name); strings.Contains(text, filepath.Base(h.dir)) || !strings.Contains(text, `"gauze"`) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if text := h.read(".cursor/mcp.json"); !strings.Contains(text, quoted(ours)) {
		t.Errorf("the file of the user:\n%s", text)
	}
	for _, p := range []Plan{plan, added} {
		if len(p.Notes()) != 1 || !strings.Contains(p.Notes()[0], "PATH") {
			t.Errorf("notes: %q", p.Notes())
		}
	}
	if own := view.Wrap(must(view.Choose(Choice{Names: []string{"cursor/notes"}})), false); len(own.Notes()) > 0 {
		t.Errorf("notes about a file of the user: %q", own.Notes())
	}
	view = h.fleet.Look()
	h.apply(view.Unwrap(view.Servers))
	h.wantUntouched()
}
