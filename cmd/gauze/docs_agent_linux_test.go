package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// brokenProject is the .mcp.json that the agent of the pages heals.
const brokenProject = `{
  "servers": {
    "clock": {"cmd": "clock", "args": []},
    "notes": {"command": "bin/notes --quiet"},
    "files": {"command": "bin/files", "args": "--all"},
  }
}
`

// dialogue calls the tools of gauze mcp as an agent whose client cannot ask, "> TOOL ARGUMENTS", and compares their
// answers.
func (s *stage) dialogue(b block) string {
	s.t.Helper()
	s.write("project/.git/HEAD", "ref: refs/heads/main\n")
	s.write("project/.mcp.json", brokenProject)
	for _, file := range []string{".cursor/mcp.json", ".claude.json"} {
		s.write(file, "{}")
	}
	return s.session(b, "> ", func(call string) (string, error) {
		tool, arguments, _ := strings.Cut(call, " ")
		return s.agent(tool, arguments)
	})
}

// agent calls one tool and returns the text of its result.
func (s *stage) agent(tool, arguments string) (string, error) {
	cmd := s.command("gauze mcp --allow-writes")
	cmd.Dir += "/project"
	cmd.Stdin = strings.NewReader(client + fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", tool, arguments))
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		var m struct {
			ID     any
			Result struct{ Content []struct{ Text string } }
		}
		if json.Unmarshal([]byte(line), &m) == nil && m.ID == 3.0 && len(m.Result.Content) > 0 {
			return m.Result.Content[0].Text, nil
		}
	}
	return "", fmt.Errorf("no response, %v\n%s", err, out)
}
