package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
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

// gauze unwrap --all finds what was wrapped, whatever the project and the environment are today.
func TestEverythingWrappedOnThisMachineIsUnwrapped(t *testing.T) {
	h := newHome(t)
	moved := filepath.Join(h.dir, "moved")
	more := map[string]string{
		"project/.cursor/mcp.json": `{"mcpServers": {"mine": {"command": "npx", "args": ["-y", "mine"]}}}`,
		"other/.vscode/mcp.json":   "{\n  // ours\n  \"servers\": {\"far\": {\"type\": \"http\", \"url\": \"https://mcp.example.com/mcp\"}},\n}\n",
		"moved/config.toml":        "[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n",
		".claude.json": `{"mcpServers": {"notes": {"type": "stdio", "command": "npx"}}, "projects": {` +
			quoted(filepath.Join(h.dir, "project")) + `: {"mcpServers": {"one": {"command": "npx"}}},` +
			quoted(filepath.Join(h.dir, "other")) + `: {"mcpServers": {"two": {"command": "npx"}}},` +
			quoted(filepath.Join(h.dir, "untouched")) + `: {"mcpServers": {"three": {"command": "npx"}}}}}`,
	}
	for name, text := range more {
		h.write(name, text)
	}
	h.write("gone/.cursor/mcp.json", `{"mcpServers": {"mine": {"command": "npx"}}}`)
	for _, project := range []string{"project", "other", "gone"} {
		at := *h.fleet
		at.Home.Project = filepath.Join(h.dir, project)
		if project == "other" {
			at.Home.Environ = append(slices.Clone(at.Home.Environ), "CODEX_HOME="+moved)
		}
		view := at.Look()
		plan := view.Wrap(view.Servers, true)
		if _, err := at.Apply(plan, plan.Consent()); err != nil {
			t.Fatal(err)
		}
	}
	for name := range more {
		if text := h.read(name); !strings.Contains(text, "gauze") {
			t.Fatalf("%s is not wrapped:\n%s", name, text)
		}
	}
	if err := os.RemoveAll(filepath.Join(h.dir, "gone")); err != nil {
		t.Fatal(err)
	}

	elsewhere := *h.fleet
	elsewhere.Home.Project = filepath.Join(h.dir, "elsewhere")
	view := elsewhere.LookEverywhere()
	plan := view.Unwrap(slices.DeleteFunc(view.Servers, func(s *Server) bool { return !s.Wrapped }))
	if len(plan.Skipped) > 0 {
		t.Errorf("skipped: %v", plan.Skipped)
	}
	for _, c := range plan.Changes {
		if inProject := strings.HasPrefix(c.Path, filepath.Join(h.dir, "project")) || strings.HasPrefix(c.Path, filepath.Join(h.dir, "other")); inProject != c.Shared {
			t.Errorf("%s: shared is %v", c.Path, c.Shared)
		}
	}
	if _, err := elsewhere.Apply(plan, plan.Consent()); err != nil {
		t.Error(err)
	}
	for name, text := range settings {
		if _, replaced := more[name]; !replaced {
			more[name] = text
		}
	}
	for name, text := range more {
		if now := h.read(name); now != text {
			t.Errorf("%s is now\n%s", name, now)
		}
	}
	if plan := elsewhere.LookEverywhere(); slices.ContainsFunc(plan.Servers, func(s *Server) bool { return s.Wrapped }) {
		t.Error("a server is still wrapped")
	}
}

// A file that gauze wrapped and that cannot be read now is not passed over in silence.
func TestAWrappedFileThatCannotBeReadIsReported(t *testing.T) {
	h := newHome(t)
	view := h.fleet.Look()
	h.apply(view.Wrap(view.Servers, true))
	h.write("project/.mcp.json", "{")
	elsewhere := *h.fleet
	elsewhere.Home.Project = filepath.Join(h.dir, "elsewhere")
	plan := elsewhere.LookEverywhere().Unwrap(nil)
	if len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0].Server, ".mcp.json") || !strings.Contains(plan.Skipped[0].Why, "cannot be parsed") {
		t.Errorf("skipped: %v", plan.Skipped)
	}
}

// What is planned and applied exclusively never meets a change of another gauze.
func TestSeveralChangesAtOnceWaitForEachOther(t *testing.T) {
	h := newHome(t)
	const many = 8
	var entries []string
	for i := range many {
		entries = append(entries, fmt.Sprintf(`"s%d": {"command": "npx", "args": ["-y", "s%d"]}`, i, i))
	}
	h.write(".cursor/mcp.json", `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			err := h.fleet.Exclusively(func(f *Fleet) error {
				view := f.Look()
				servers, err := view.Choose(Choice{Names: []string{fmt.Sprintf("cursor/s%d", i)}})
				if err != nil {
					return err
				}
				plan := view.Wrap(servers, false)
				_, err = f.Apply(plan, plan.Consent())
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(h.read(".cursor/mcp.json"), `"--name=s`); n != many {
		t.Errorf("%d of %d are wrapped", n, many)
	}
	if made, err := h.fleet.Store.List(); err != nil || len(made) != many {
		t.Errorf("%d changes are listed, %v", len(made), err)
	}
}
