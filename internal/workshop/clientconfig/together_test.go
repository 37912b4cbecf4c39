package clientconfig

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// An entry that cannot be changed costs a few proofs more, and keeps no other
// from being changed.
func TestTogetherProvesOnceAndSearchesWhatFails(t *testing.T) {
	const servers = 1000
	for _, bad := range [][]int{nil, {0}, {servers / 2}, {3, 700}} {
		entries := make([]*Entry, servers)
		position := map[*Entry]int{}
		for i := range entries {
			entries[i] = &Entry{Name: fmt.Sprint(i)}
			position[entries[i]] = i
		}
		proofs := 0
		edit, skipped := (&Config{}).together(entries,
			func(e *Entry) (Edit, error) { return Edit{{Do: Put, From: position[e]}}, nil },
			func(chosen []*Entry, _ Edit) string {
				proofs++
				for _, e := range chosen {
					for _, b := range bad {
						if e == entries[b] {
							return "bad"
						}
					}
				}
				return ""
			})
		if most := 1 + 21*len(bad); proofs > most {
			t.Errorf("%d proofs for %d bad entries, want at most %d", proofs, len(bad), most)
		}
		if len(edit) != servers-len(bad) {
			t.Errorf("%d changes, %d bad entries", len(edit), len(bad))
		}
		for _, b := range bad {
			if skipped[b] != Skipped("bad") {
				t.Errorf("entry %d: %v", b, skipped[b])
			}
		}
	}
}

// Wrapping all at once writes what wrapping one after the other does.
func TestWrapAllIsWrapOneByOne(t *testing.T) {
	home := Home{OS: "linux", Home: "/home/me", Disk: memory{}}
	for id, text := range map[string]string{
		"cursor": "\ufeff{\"mcpServers\": {\r\n  \"a\": {\"command\": \"a\"},\r\n  \"b\": {\"command\": \"ü\", \"args\": []},\r\n  \"off\": {},\r\n" +
			"  \"c\": {\"args\": [\"x\",\r\n    \"y\"], \"command\": \"c\"}, \"d\": {\"url\": \"https://example.com/mcp\", \"headers\": {\"X\": \"1\"}}}}",
		"codex": "[mcp_servers.a]\ncommand = \"a\"\n\n[mcp_servers.b]\ncommand = \"b\"\nargs = [\"x\"]\n",
		"goose": "extensions:\n  a:\n    type: stdio\n    enabled: true\n    cmd: a\n    args:\n      - x\n  b: {type: stdio, enabled: true, cmd: b, args: [y]}\n",
	} {
		client, _ := ByID(id)
		file := home.Places(client)[0]
		c := home.ReadText(file, []byte(text))
		o := WrapOptions{Gauze: "/bin/gauze", Remote: true}
		var all []*Entry
		one := c
		for i := range c.Entries {
			all = append(all, &c.Entries[i])
			if edit, err := one.Wrap(one.At(c.Entries[i].Path), o); err == nil {
				next, err := edit.Apply(c.Format(), one.Text)
				if err != nil {
					t.Fatal(err)
				}
				one = home.ReadText(file, next)
			}
		}
		edit, skipped := c.WrapAll(all, o)
		together, err := edit.Apply(c.Format(), c.Text)
		if err != nil || !bytes.Equal(together, one.Text) || bytes.Equal(together, c.Text) {
			t.Errorf("%s: %v %v\ntogether:\n%s\none by one:\n%s", id, err, skipped, together, one.Text)
		}
		wrapped := home.ReadText(file, together)
		all = nil
		for i := range wrapped.Entries {
			all = append(all, &wrapped.Entries[i])
		}
		edit, _ = wrapped.UnwrapAll(all)
		if back, err := edit.Apply(c.Format(), together); err != nil || string(back) != text {
			t.Errorf("%s: %v, unwrapped:\n%s", id, err, back)
		}
		if strings.Contains(text, "gauze") {
			t.Fatal("the text is not one to wrap")
		}
	}
}
