package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// clientFile is the file of a client, Cursor, with one server.
type clientFile struct {
	Servers map[string]clientEntry `json:"mcpServers"`
}

type clientEntry struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (m *machine) clientFile() string {
	return filepath.Join(valueIn(m.env, "HOME"), ".cursor", "mcp.json")
}

// entry returns the entry of the client's file.
func (m *machine) entry() clientEntry {
	m.t.Helper()
	var file clientFile
	if err := json.Unmarshal(read(m.t, m.clientFile()), &file); err != nil {
		m.t.Fatal(err)
	}
	return file.Servers["small"]
}

// wrap gives the client a server and wraps it with the gauze that the line starts.
func (m *machine) wrap(gauze string) {
	m.t.Helper()
	argv := smallServer(m.t)
	text, err := json.Marshal(clientFile{map[string]clientEntry{"small": {argv[0], argv[1:]}}})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(m.clientFile()), 0o755)
	}
	if err == nil {
		err = os.WriteFile(m.clientFile(), text, 0o644)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	said := m.do(gauze + " wrap small --client=cursor --yes")
	if command := m.entry().Command; filepath.Base(command) != "gauze" {
		m.t.Fatalf("the entry has the command %s\n%s", command, said)
	}
}

// wantEntry starts the entry as its client does, and calls a tool.
func (m *machine) wantEntry() {
	m.t.Helper()
	e := m.entry()
	cmd := exec.CommandContext(patience.Context(m.t), e.Command, e.Args...)
	cmd.Env, cmd.Dir = m.env, m.dir
	s := converse(m.t, cmd)
	s.call("echo", `{"text":"wrapped"}`, `"text":"wrapped"`)
	s.close()
}

// An entry that was wrapped by a gauze in a cache works when the cache is gone.
func TestEntriesDoNotReferToACache(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ gauze, clean string }{
		{"npx -y gauze-mcp", "rm -r ~/.npm"},
		{"uvx gauze-mcp", "uv cache clean"},
	} {
		t.Run(c.gauze, func(t *testing.T) {
			t.Parallel()
			machine := aNodeMachine
			if strings.HasPrefix(c.gauze, "uvx") {
				machine = aPythonMachine
			}
			m, _ := machine(t)
			m.wrap(c.gauze)
			m.do(c.clean)
			m.wantEntry()
		})
	}
}
