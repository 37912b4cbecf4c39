//go:build windows

package windows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestDemoKeepsItsPromises(t *testing.T) {
	said, err := exec.Command(part(t, "gauze.exe"), "demo").CombinedOutput()
	if err != nil {
		t.Fatalf("gauze demo: %v\n%s", err, said)
	}
	for line := range bytes.Lines(said) {
		if bytes.Contains(line, []byte("effects")) || bytes.Contains(line, []byte("promise")) {
			t.Logf("gauze demo: %s", bytes.TrimSpace(line))
		}
	}
}

func TestNpxStartsARealServer(t *testing.T) {
	node, project := part(t, "node"), part(t, "project")
	environ := []string{"PATH=" + node + ";" + os.Getenv("PATH"), "npm_config_cache=" + t.TempDir(), "npm_config_update_notifier=false"}
	link := exec.Command(filepath.Join(node, "npm.cmd"), "rebuild", "--ignore-scripts", "--offline")
	link.Dir, link.Env = project, append(os.Environ(), environ...)
	if said, err := link.CombinedOutput(); err != nil {
		t.Fatalf("npm rebuild, which makes the .cmd files of node_modules: %v\n%s", err, said)
	}
	c := wrapped(t, project, environ, "--", filepath.Join(node, "npx.cmd"), "--offline", "-y", "@modelcontextprotocol/server-everything")
	var listed struct {
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(c.result("tools/list", `{}`)), &listed); err != nil || len(listed.Tools) < 5 {
		t.Fatalf("%d tools, %v", len(listed.Tools), err)
	}
	messages := []string{"plain", `D:\ next`, `100% of "quoted" & piped | words`, "ünïcödé"}
	for _, message := range messages {
		c.says(message, "echo", fmt.Sprintf(`{"message":%q}`, message))
	}
	c.says("42", "get-sum", `{"a":40,"b":2}`)
	t.Logf("npx.cmd and server-everything: %d tools listed, %d calls answered", len(listed.Tools), len(messages)+1)
}

func TestTaskkillOfTheServerHeals(t *testing.T) {
	c := wrapped(t, "", nil, "--", part(t, "faultyserver.exe"))
	first := c.serverPID()
	ended := watch(t, first)
	// It is in flight when its server is killed: the server reads in order, and has answered what came later.
	waiting := c.call("sleep", `{"ms":2000}`)
	c.says("later", "echo", `{"text":"later"}`)
	taskkill(t, first)
	ended()
	if answer, ok := <-waiting; !ok || answer.Error != nil {
		t.Errorf("the call was not repeated: %s", answer.Error)
	}
	if second := c.serverPID(); second == first {
		t.Errorf("process %d was not replaced", first)
	}
	t.Logf("taskkill of the server: the call in flight was answered by a new process")
}

func TestTaskkillOfGauzeLeavesNoServer(t *testing.T) {
	c := wrapped(t, "", nil, "--", part(t, "faultyserver.exe"))
	child, err := strconv.Atoi(c.text("spawn_child", `{"ms":600000}`))
	if err != nil {
		t.Fatal(err)
	}
	server, grandchild := watch(t, c.serverPID()), watch(t, child)
	taskkill(t, c.cmd.Process.Pid)
	server()
	grandchild()
	t.Logf("taskkill of gauze: the server and its child ended with it")
}

// eightClients are their files as they are written on Windows, below the user's profile.
var eightClients = map[string]string{
	"AppData/Roaming/Claude/claude_desktop_config.json": "{\r\n  \"globalShortcut\": \"\",\r\n  \"mcpServers\": {\r\n    \"a1\": {\"command\": \"npx\", \"args\": [\"-y\", \"server-a\", \"D:\\\\notes\\\\\"]},\r\n    \"a2\": {\"command\": \"cmd\", \"args\": [\"/c\", \"npx\", \"server-a\"], \"env\": {\"A2\": \"value-of-a2\"}}\r\n  }\r\n}\r\n",
	".claude.json":     `{"numStartups":7,"mcpServers":{"b1":{"type":"stdio","command":"cmd","args":["/c","npx","server-b"],"env":{}},"b2":{"command":"C:\\Program Files\\b\\b.exe"}},"tipsHistory":{"x":1}}`,
	".cursor/mcp.json": "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"c1\": {\"command\": \"uvx\", \"args\": [\"server-c\"]},\r\n\t\t\"c2\": {\"args\": [\"${env:USERPROFILE}\\\\c\"], \"command\": \"server-c.exe\"}\r\n\t}\r\n}\r\n",
	"AppData/Roaming/Code/User/mcp.json": `{
	// servers of mine
	"servers": {
		"d1": {"type": "stdio", "command": "npx", "args": ["server-d"]}, // the first
		"d2": {"type": "stdio", "command": "server-d",},
	},
	"inputs": []
}
`,
	"AppData/Roaming/Zed/settings.json": `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "e1": { "source": "custom", "command": "server-e", "args": ["C:\\e"], "env": {} },
    "e2": { "source": "custom", "command": "server-e", "args": [] },
  },
}
`,
	".gemini/settings.json": `{"theme":"Default","mcpServers":{"f1":{"command":"server-f","args":["%USERPROFILE%"],"timeout":30000},"f2":{"command":"server-f","trust":false}}}`,
	".codex/config.toml": `model = "o"   # mine

[mcp_servers.g1]
command = 'C:\g\server.exe' # bare
args = ["-x", "C:\\g\\"]

[mcp_servers."g 2"]
command = "server-g"
`,
	"AppData/Roaming/Block/goose/config/config.yaml": `GOOSE_MODEL: x
extensions:
  developer:
    enabled: true
    type: builtin
  h1:
    enabled: true
    type: stdio
    cmd: server-h
    args:
      - 'C:\h'
    timeout: 300
  h2: {enabled: true, type: stdio, cmd: server-h, args: []}
`,
}

func TestEightClientsAreWrappedAndGivenBack(t *testing.T) {
	gauze, home := part(t, "gauze.exe"), t.TempDir()
	for name, text := range eightClients {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := append(os.Environ(), "USERPROFILE="+home, "HOME="+home, "APPDATA="+filepath.Join(home, "AppData", "Roaming"),
		"LOCALAPPDATA="+filepath.Join(home, "AppData", "Local"), "GAUZE_STATE_DIR="+t.TempDir(), "GAUZE_BIN="+gauze)
	command := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(gauze, args...)
		cmd.Dir, cmd.Env = home, environ
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("gauze %v: %v\n%s", args, err, said)
		}
		return string(said)
	}
	command("wrap", "--all", "--yes")
	for name, text := range eightClients {
		if now := read(t, filepath.Join(home, name)); now == text || !strings.Contains(now, "gauze.exe") {
			t.Errorf("%s is not wrapped:\n%s", name, now)
		}
	}
	command("unwrap", "--all", "--yes")
	for name, text := range eightClients {
		if now := read(t, filepath.Join(home, name)); now != text {
			t.Errorf("%s is not as it was:\n%q\nwant\n%q", name, now, text)
		}
	}
	t.Logf("%d clients' files wrapped and unwrapped, byte for byte", len(eightClients))
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
