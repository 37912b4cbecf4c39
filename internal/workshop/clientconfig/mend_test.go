package clientconfig

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A fix in what entries share would mend more than one: it is refused, and told.
func TestMendLeavesSharedPartsAlone(t *testing.T) {
	const text = "extensions:\n  a:\n    name: a\n    type: stdio\n    cmd: cat\n    args: []\n    envs: &e\n      X: 1\n  b:\n    name: b\n    type: stdio\n    cmd: cat\n    args: []\n    envs: *e\n"
	home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.config/goose/config.yaml", Data: []byte(text)}}})
	c := home.Read(home.Find()[0])
	now, made, refused := c.MendIf(func(Problem) bool { return true })
	if len(made) != 0 || string(now.Text) != text {
		t.Errorf("%d mended:\n%s", len(made), now.Text)
	}
	if len(refused) != 2 || refused[0].Because == nil || refused[0].Line == 0 {
		t.Errorf("refused: %+v", refused)
	}
}

// What a fix by bytes changes beside its entry is seen, whoever made it.
func TestAFixIsProvenBesideItsEntry(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`
	home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.cursor/mcp.json", Data: []byte(text)}}})
	c := home.Read(home.Find()[0])
	at := strings.Index(text, `"y"`)
	for _, p := range []Problem{
		{Code: "arg-not-text", entry: c.Entries[0].Path, Fix: Edit{c.layout.put(at, at+3, `"z"`)}},
		{Code: "comment", Fix: Edit{c.layout.put(at+1, at+2, "")}},
	} {
		if _, err := c.mended(p); err == nil {
			t.Errorf("%s changes another entry", p.Code)
		}
	}
	own := Problem{Code: "arg-not-text", entry: c.Entries[1].Path, Fix: Edit{c.layout.put(at, at+3, `"z"`)}}
	if _, err := c.mended(own); err != nil {
		t.Error(err)
	}
}

// Mend applies the fixes that need no more than the given consent.
func (c *Config) Mend(allow Consent, only ...Code) (now *Config, made []Problem) {
	now, made, _ = c.MendIf(func(p Problem) bool { return p.Consent <= allow && (len(only) == 0 || slices.Contains(only, p.Code)) })
	return now, made
}
