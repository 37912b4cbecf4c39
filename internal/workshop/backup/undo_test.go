package backup

import (
	"strings"
	"testing"
)

// Undo takes only its own change out of a file that another program has changed elsewhere.
func TestUndoKeepsWhatAnotherProgramChanged(t *testing.T) {
	const old, new = `{"starts": 7, "servers": {"a": {"command": "x"}, "b": {}}, "tips": {"x": 1}}`, `{"starts": 7, "servers": {"gauze": {"command": "g"}}, "tips": {"x": 1}}`
	for name, c := range map[string]struct{ now, want string }{
		"elsewhere":             {strings.Replace(new, "7", "8", 1), strings.Replace(old, "7", "8", 1)},
		"before and after":      {strings.NewReplacer("7", "12", `"x": 1`, `"x": 1, "y": 2`).Replace(new), strings.NewReplacer("7", "12", `"x": 1`, `"x": 1, "y": 2`).Replace(old)},
		"the same part":         {strings.Replace(new, `"g"`, `"h"`, 1), ""},
		"another server":        {strings.Replace(new, `}}, "tips"`, `}, "own": {}}, "tips"`, 1), ""},
		"twice":                 {new + new, ""},
		"nothing of it is left": {`{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.put("mcp.json", old)
			e := b.change(path, old, new)
			b.put("mcp.json", c.now)
			undo, err := b.Restore(e.ID, false)
			if c.want == "" {
				refuses(t, err, ErrConflict, "another program changed it")
				b.holds(path, c.now)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b.holds(path, c.want)
			b.restore(undo.ID, false)
			b.holds(path, c.now)
		})
	}
}

// What a change added may repeat what is next to it: the bytes that both versions have in common are counted once.
func TestUndoOfAnEntryLikeTheOneBeside(t *testing.T) {
	entry := `{"command": "npx", "args": ["-y", "` + strings.Repeat("long-", 20) + `"]}`
	old := `{"starts": 7, "servers": {"a": ` + entry + `}}`
	new := `{"starts": 7, "servers": {"a": ` + entry + `, "b": ` + entry + `}}`
	b := newBench(t)
	path := b.put("mcp.json", old)
	e := b.change(path, old, new)
	b.put("mcp.json", strings.Replace(new, "7", "8", 1))
	b.restore(e.ID, false)
	b.holds(path, strings.Replace(old, "7", "8", 1))
}
