//go:build unix

package agenttools

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
)

// Every byte of tools/list is paid for in the context of every session.
func TestTheListOfToolsIsSmall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		few   bool
		bytes int
		tools int
	}{{true, 8192, 6}, {false, maxListBytes, len(operations)}} {
		for _, version := range []string{legacy, "2025-11-25", modern} {
			a := newAgent(t, settings{version: version, few: row.few})
			all, err := a.session.ListTools(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d tools in %d bytes", version, len(all.Tools), len(data))
			if len(data) > row.bytes || len(all.Tools) != row.tools {
				t.Errorf("%s: %d tools in %d bytes, want %d in at most %d", version, len(all.Tools), len(data), row.tools, row.bytes)
			}
			for _, tool := range all.Tools {
				in, _ := json.Marshal(tool.InputSchema)
				t.Logf("%s: description %d, input %d", tool.Name, len(tool.Description), len(in))
				if listed := slices.Contains(defaultTools, tool.Name); row.few && !listed {
					t.Errorf("%s is listed by default", tool.Name)
				}
			}
			if !row.few {
				continue
			}
			// What is not listed can be called, and asks as before.
			if r := a.call("diagnose", object{"log": "Error: spawn uvx ENOENT"}); r.failed || r.refused != nil {
				t.Errorf("%+v", r)
			}
			a.write(".cursor/mcp.json", aHome[".cursor/mcp.json"])
			a.want(needsPerson, "remove_server", object{"server": "notes"})
		}
	}
}
