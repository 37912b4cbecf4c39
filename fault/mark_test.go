package fault_test

import (
	"testing"

	"github.com/gauze-mcp/gauze/fault"
)

func TestFindMark(t *testing.T) {
	for _, c := range []struct {
		text     string
		at, open int
	}{
		{"gauze: hello", 0, -1},
		{"GAUZE: hello", 0, -1},
		{"  \tgauze: hello", 3, -1},
		{"one\ngauze: two", 4, -1},
		{"one\rgauze: two", 4, -1},
		{"one\x1b[2K\x1b[Ggauze: two", 10, -1},
		{"\x1b[31mgauze: red", 5, -1},
		{"g\u200bauze: hidden", 0, -1},
		{"\u009b31mgauze: c1", 5, -1},
		{"a gauze: mentioned", -1, -1},
		{"gauze is a fabric", -1, -1},
		{"gagauze: x", -1, -1},
		{"name\tgauze: a column", -1, -1},
		{"one\nga", -1, 4},
		{"one\n", -1, 4},
		{"one\n\x1b[", -1, 4},
		{"ga\x1b[1Ggauze: after a false start", 6, -1},
		{"ga\b\bgauze: after a false start", 4, -1},
		{"g\ag\aauze: rung", 2, -1},
		{"one\u2028gauze: two", 6, -1},
		{"ga\x1b[1Gga", -1, 6},
		{"", -1, 0},
		{"\xffgauze: after a broken byte", -1, -1},
	} {
		if at, open := fault.FindMark(c.text, fault.LogMark); at != c.at || open != c.open {
			t.Errorf("FindMark(%q) = %d, %d; want %d, %d", c.text, at, open, c.at, c.open)
		}
	}
}

func TestDisownedKey(t *testing.T) {
	for key, want := range map[string]string{
		"io.github.gauze-mcp/fault":          "io.github.gauze-mcp.upstream/fault",
		"IO.GitHub.Gauze-MCP/fault":          "IO.GitHub.Gauze-MCP.upstream/fault",
		"io.github.gauze-mcp.upstream/fault": "io.github.gauze-mcp.upstream.upstream/fault",
		"io.github.gauze-mcp":                "io.github.gauze-mcp.upstream",
		"io.github.gauze-mcpx/fault":         "",
		"io.github.other/fault":              "",
		"":                                   "",
	} {
		got, marked := fault.DisownedKey(key)
		if marked != (want != "") || marked && got != want {
			t.Errorf("DisownedKey(%q) = %q, %t; want %q", key, got, marked, want)
		}
	}
}
