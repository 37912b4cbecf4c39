package fleet

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

func limited(t *testing.T, files map[string]string, tools ...string) (found []string) {
	t.Helper()
	h := newHome(t)
	for path, content := range files {
		h.write(path, content)
	}
	var listed []probe.Tool
	for _, name := range tools {
		listed = append(listed, probe.Tool{Name: name})
	}
	var all []*Checked
	view := h.fleet.Look()
	for _, s := range view.Servers {
		if s.Config.InProject() || s.Name == "notes" { // of every test's home
			continue
		}
		all = append(all, &Checked{Server: s, Tried: true, Attempt: probe.Result{Found: probe.Found{Tools: listed}}})
	}
	for _, l := range view.Health(all, true).Limits {
		found = append(found, fmt.Sprintf("%s/%s: %s. %s", l.Client, l.Server, l.Cause, l.Next))
	}
	return found
}

func entries(names ...string) string {
	for i, name := range names {
		names[i] = fmt.Sprintf(`"%s": {"command": "x"}`, name)
	}
	return `{"mcpServers": {` + strings.Join(names, ", ") + `}}`
}

// The examples are those of the reports that the limits come from.
func TestToolsThatAClientCannotUse(t *testing.T) {
	const long = "add_pull_request_review_comment_to_pending_review" // 49 characters
	for name, test := range map[string]struct {
		file, content string
		tools         []string
		want          string // empty: nothing
	}{
		"Cursor":           {".cursor/mcp.json", entries("github-universal"), []string{long, "get"}, "cursor/github-universal: " + long + " has 65 characters in Cursor; with more than 59, it leaves such tools out. use a name with at most 10 characters for the entry, or put the server behind gauze up (gauze wrap --up), which shortens names"},
		"Cursor, short":    {".cursor/mcp.json", entries("github-2345"[:10]), []string{long}, ""},
		"Cursor, no name":  {".cursor/mcp.json", entries("g"), []string{strings.Repeat("x", 59)}, "cursor/g: " + strings.Repeat("x", 59) + " has 60 characters in Cursor; with more than 59, it leaves such tools out. put the server behind gauze up (gauze wrap --up), which shortens names"},
		"Cursor, dots":     {".cursor/mcp.json", entries("notes"), []string{"notes.read"}, ""},
		"Claude Code":      {".claude.json", entries("billing"), []string{strings.Repeat("b", 53), strings.Repeat("a", 54), "c"}, "claude-code/billing: " + strings.Repeat("a", 54) + " has 68 characters in Claude Code (also 1 more tool); with more than 64, it fails with all tools in a session that searches for tools. use a name with at most 3 characters for the entry, or put the server behind gauze up (gauze wrap --up), which shortens names"},
		"Claude Code fits": {".claude.json", entries("gauze"), []string{strings.Repeat("a", 50)}, ""},
		"Copilot, a dot":   {".copilot/mcp-config.json", entries("x"), []string{"a.b", "c/d"}, "copilot-cli/x: the name a.b has other characters than letters, digits, _ and - (also 1 more tool); with such a name, GitHub Copilot CLI fails with every prompt. put the server behind gauze up (gauze wrap --up), which shortens names"},
		"Windsurf":         {".codeium/windsurf/mcp_config.json", entries("a", "b"), many(51), "windsurf/: Windsurf (now Devin Desktop) has 102 tools from 2 servers; with more than 100, it leaves the others out. disable servers, or list fewer tools: gauze wrap --up writes a file in which tools can be denied or searched"},
		"Windsurf fits":    {".codeium/windsurf/mcp_config.json", entries("a", "b"), many(50), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := limited(t, map[string]string{test.file: test.content}, test.tools...)
			if got := strings.Join(found, "\n"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func many(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("tool", i))
	}
	return names
}

// Of a server that was not started, what gauze remembers counts.
func TestRememberedToolsCount(t *testing.T) {
	h := newHome(t)
	h.write(".cursor/mcp.json", entries("a"))
	h.fleet.Listed = func(launch.Spec) []probe.Tool { return []probe.Tool{{Name: strings.Repeat("x", 70)}} }
	view := h.fleet.Look()
	for _, l := range view.Health(Unchecked(view.Servers), true).Limits {
		if l.Client == "cursor" && l.Server == "a" && l.Length == 71 {
			return
		}
	}
	t.Error("the long name is not reported")
}

// Every client with a limit says what happens beyond it, and a name with a limit says how it is made.
func TestLimitsAreComplete(t *testing.T) {
	for _, c := range clientconfig.Clients() {
		l := c.Tools
		if l != (clientconfig.ToolLimits{}) && (l.Then == "" || l.MaxLength > 0 && !strings.Contains(l.Named, "TOOL")) {
			t.Errorf("%s: %+v", c.ID, l)
		}
	}
}

// The tools of a plugin have the longest names.
func TestToolsOfPlugins(t *testing.T) {
	h := newHome(t)
	h.write("plugins/devtools/.mcp.json", `{"mcpServers": {"chrome-devtools": {"command": "npx", "args": ["chrome"]}}}`)
	h.write(".claude/plugins/installed_plugins.json", fmt.Sprintf(`{"version": 2, "plugins": {"chrome-devtools-mcp@official": [{"scope": "user", "installPath": %q}], "empty@x": [{"installPath": "/none"}]}}`, filepath.Join(h.dir, "plugins", "devtools")))
	h.fleet.Listed = func(s launch.Spec) []probe.Tool {
		if s.Command != "npx" {
			return nil
		}
		return []probe.Tool{{Name: "get_console_message"}, {Name: "click"}}
	}
	view := h.fleet.Look()
	var got []string
	for _, l := range view.Health(Unchecked(view.Servers), true).Limits {
		got = append(got, l.Server+": "+l.Cause)
	}
	want := "plugin:chrome-devtools-mcp:chrome-devtools: get_console_message has 68 characters in Claude Code; with more than 64, it fails with all tools in a session that searches for tools"
	if strings.Join(got, "\n") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), want)
	}
	if limits := view.Health(Unchecked(view.Servers), false).Limits; len(limits) > 0 {
		t.Errorf("servers were named: %+v", limits)
	}
}
