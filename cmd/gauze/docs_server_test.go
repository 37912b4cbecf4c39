package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// docServer is the server of the pages: NAME, and a file. If the file exists, the server removes it and exits during
// the next call.
func docServer(args []string) int {
	tools := map[string][]string{"notes": {"list_notes", "read_note"}, "time": {"get_current_time", "convert_time"}}[args[0]]
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var result any
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "mcp-" + args[0], "version": "1.26.0"}}
		case "tools/list":
			var all []any
			for _, name := range tools {
				all = append(all, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}, "annotations": map[string]any{"readOnlyHint": true}})
			}
			result = map[string]any{"tools": all}
		case "tools/call":
			if os.Remove(args[1]) == nil {
				fmt.Fprintln(os.Stderr, "error: the database is locked")
				return 1
			}
			text := "Buy milk."
			if m.Params.Name == "list_notes" {
				text = `{"notes": [{"path": "shopping.md", "archived": false}, {"path": "old.md", "archived": true}]}`
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		case "ping":
			result = map[string]any{}
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
			continue
		}
		text, _ := json.Marshal(result) // maps and strings cannot fail
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, text)
	}
	return 0
}
