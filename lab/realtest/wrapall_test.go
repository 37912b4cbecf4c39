//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// crowdedHome are the files of ten clients, each in the style its users have it. EVERYTHING and so on are to be
// replaced by the words of a command line: as a program and its arguments, or ARGV: all in one.
var crowdedHome = map[string]string{
	".config/Claude/claude_desktop_config.json": `{
  "mcpServers": {
    "everything": {"command": EVERYTHING, "args": [EVERYTHING-ARGS]},
    "files": {
      "command": FILES,
      "args": [
        FILES-ARGS
      ]
    },
    "time": {"command": TIME, "args": [TIME-ARGS]}
  },
  "globalShortcut": ""
}
`,
	".claude.json":                   `{"numStartups":7,"mcpServers":{"everything":{"type":"stdio","command":EVERYTHING,"args":[EVERYTHING-ARGS],"env":{"LEVEL":"1"}},"memory":{"command":MEMORY,"args":[MEMORY-ARGS]},"think":{"command":THINK,"args":[THINK-ARGS]}}}`,
	".cursor/mcp.json":               "{\r\n\t\"mcpServers\": {\r\n\t\t\"files\": {\"command\": FILES, \"args\": [FILES-ARGS]},\r\n\t\t\"time\": {\"args\": [TIME-ARGS], \"command\": TIME},\r\n\t\t\"memory\": {\"command\": MEMORY, \"args\": [MEMORY-ARGS]}\r\n\t}\r\n}\r\n",
	".config/Code/User/mcp.json":     "{\n  // mine\n  \"servers\": {\n    \"everything\": {\"type\": \"stdio\", \"command\": EVERYTHING, \"args\": [EVERYTHING-ARGS],},\n    \"think\": {\"command\": THINK, \"args\": [THINK-ARGS]}, // why not\n    \"files\": {\"command\": FILES, \"args\": [FILES-ARGS]},\n  },\n}\n",
	".codex/config.toml":             "model = \"none\" # mine\n\n[mcp_servers.everything]\ncommand = EVERYTHING\nargs = [EVERYTHING-ARGS]\n\n  [mcp_servers.time] # the clock\n  command = TIME\n  args = [\n    TIME-ARGS, # and no more\n  ]\n\n[mcp_servers]\nfiles = { command = FILES, args = [FILES-ARGS] }\n",
	".gemini/settings.json":          `{"mcpServers": {"everything": {"command": EVERYTHING, "args": [EVERYTHING-ARGS], "trust": true}, /* two more */ "memory": {"command": MEMORY, "args": [MEMORY-ARGS]}, "time": {"command": TIME, "args": [TIME-ARGS]}}}`,
	".config/goose/config.yaml":      "GOOSE_MODEL: none\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  everything:\n    type: stdio\n    enabled: true\n    name: everything\n    cmd: EVERYTHING\n    args: [EVERYTHING-ARGS]\n  # the clock\n  time:\n    name: time\n    type: stdio\n    enabled: true\n    cmd: TIME\n    args: [TIME-ARGS]\n  think: {name: think, type: stdio, enabled: true, cmd: THINK, args: [THINK-ARGS]}\n",
	".config/zed/settings.json":      "// Zed\n{\n  \"theme\": \"One Dark\",\n  \"context_servers\": {\n    \"files\": {\n      \"command\": FILES,\n      \"args\": [FILES-ARGS],\n      \"env\": {}\n    },\n    \"memory\": {\"command\": MEMORY, \"args\": [MEMORY-ARGS]},\n    \"think\": {\"command\": THINK, \"args\": [THINK-ARGS]},\n  },\n}\n",
	".config/opencode/opencode.json": "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t\"mcp\": {\n\t\t\"everything\": {\"type\": \"local\", \"command\": [EVERYTHING, EVERYTHING-ARGS]},\n\t\t\"files\": {\"type\": \"local\", \"command\": [FILES, FILES-ARGS], \"enabled\": true},\n\t\t\"time\": {\"type\": \"local\", \"command\": [TIME, TIME-ARGS], \"timeout\": 60000},\n\t},\n}\n",
	".copilot/mcp-config.json":       `{"mcpServers": {"everything": {"type": "local", "tools": ["*"], "command": EVERYTHING, "args": [EVERYTHING-ARGS]}, "memory": {"type": "local", "command": MEMORY, "args": [MEMORY-ARGS], "tools": ["*"]}, "think": {"type": "local", "command": THINK, "args": [THINK-ARGS], "tools": ["*"]}}}`,
}

// All servers of ten clients work as they are, work with everything wrapped, and every file is given back as it was.
func TestEverythingWrappedWorksAndIsGivenBack(t *testing.T) {
	at := newWorkplace(t)
	var words []string
	for name, kind := range map[string]serverKind{"EVERYTHING": everything, "FILES": filesystem, "MEMORY": memory, "THINK": sequentialThinking, "TIME": timeServer} {
		argv := realparts.Need(t, kind.part, kind.args...)
		var quoted []string
		for _, word := range argv {
			text, err := json.Marshal(strings.ReplaceAll(word, "{dir}", at.dir))
			if err != nil {
				t.Fatal(err)
			}
			quoted = append(quoted, string(text))
		}
		words = append(words, name+"-ARGS", strings.Join(quoted[1:], ", "), name, quoted[0])
	}
	h := &house{t: t, dir: t.TempDir()}
	h.project = h.path("project")
	if err := os.Mkdir(h.project, 0o755); err != nil {
		t.Fatal(err)
	}
	h.environ = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	before := map[string]string{}
	for name, text := range crowdedHome {
		before[name] = strings.NewReplacer(words...).Replace(text)
		h.write(name, before[name])
	}

	servers := h.all()
	clients := map[string]bool{}
	for _, s := range servers {
		clients[s.Client.ID] = true
	}
	if len(clients) != 10 || len(servers) != 30 {
		t.Fatalf("%d clients with %d servers", len(clients), len(servers))
	}
	once := map[string]bool{} // equal ones are tried once
	var different []*fleet.Server
	for _, s := range servers {
		argv := fmt.Sprint(s.Spec.Command, s.Spec.Args)
		if !once[argv] {
			once[argv] = true
			different = append(different, s)
		}
	}
	for _, s := range half(t, different) {
		h.wantAnswers(s)
	}

	h.gauze("wrap", "--all")
	t.Run("wrapped", func(t *testing.T) {
		places := make(chan struct{}, 3)
		wrapped := h.all()
		for _, s := range wrapped {
			if !s.Wrapped {
				t.Errorf("%s is not wrapped", s.ID())
			}
		}
		for _, s := range some(t, wrapped, 6) {
			t.Run(s.ID(), func(t *testing.T) {
				t.Parallel()
				places <- struct{}{}
				defer func() { <-places }()
				(&house{t: t}).wantAnswers(s)
			})
		}
	})

	h.gauze("unwrap", "--all")
	for name, text := range before {
		now, err := os.ReadFile(h.path(name))
		if err != nil || string(now) != text {
			t.Errorf("%s is not as it was: %v\n%s", name, err, now)
		}
	}
}

// all are the servers of the home, without what is a part of a client, or another client's.
func (h *house) all() []*fleet.Server {
	return slices.DeleteFunc(h.fleet().Look().Servers, func(s *fleet.Server) bool { return s.Builtin != "" || s.Config.Place.Borrowed })
}

// wantAnswers starts a server as its entry says, and speaks with it.
func (h *house) wantAnswers(s *fleet.Server) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience.Limit())
	defer cancel()
	session, err := dialGoSDK(h.t, ctx, "", nil, append([]string{s.Spec.Command}, s.Spec.Args...))
	if err != nil {
		h.t.Errorf("%s does not start: %v", s.ID(), err)
		return
	}
	if tools, err := session.tools(ctx); err != nil || len(tools) == 0 {
		h.t.Errorf("%s has %d tools: %v", s.ID(), len(tools), err)
	}
	if err := session.close(); err != nil && !strings.Contains(err.Error(), "signal") {
		h.t.Logf("%s: %v", s.ID(), err)
	}
}
