package splice

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct {
		format       Format
		text         string
		line, column int
		says         string
	}{
		{JSON, `{"a": 1,}`, 1, 8, "remove the comma"},
		{JSON, "{\n  // x\n}", 2, 3, "remove the comment"},
		{JSON, `{"é": 1 "b": 2}`, 1, 9, "a comma is missing"},
		{JSON, `{'a': 1}`, 1, 2, "double-quoted"},
		{JSON, `{"a": 'b'}`, 1, 7, "double quotes"},
		{JSON, `{"a": }`, 1, 7, "a value is missing here"},
		{JSON, `{"a": True}`, 1, 7, "not a value"},
		{JSON, `{"a": 01}`, 1, 8, "cannot have a leading 0"},
		{JSON, `{"a": -+}`, 1, 7, "a digit is missing"},
		{JSON, `{"a": "C:\Users"}`, 1, 10, `use \\`},
		{JSON, "{\"a\": \"b\n\"}", 1, 9, "not closed at the end of its line"},
		{JSON, `{"a": [1, 2}`, 1, 12, "should be ]"},
		{JSON, `{"a": {}`, 1, 9, "missing }"},
		{JSON, `{} {}`, 1, 4, "after the end of the value"},
		{JSON, "{\"a\": \"\xff\"}", 1, 8, "UTF-8"},
		{JSON, strings.Repeat("[", 300) + strings.Repeat("]", 300), 1, 202, "200 levels deep"},
		{JSONC, `{"a": 1 /* x }`, 1, 9, "add */"},
		{JSONC, `{"a": 1,, }`, 1, 9, "an extra comma"},
		{TOML, "a = 1\nb = x", 2, 5, "put strings in quotes"},
		{TOML, "[a]\nb = 1\n[a]\n", 3, 2, "defined twice"},
		{TOML, "a = 1\na = 2\n", 2, 1, "defined twice"},
		{TOML, "a = \"b\n", 1, 7, "not closed at the end of its line"},
		{TOML, "a = 1 b = 2\n", 1, 7, "on its own line"},
		{TOML, "[a\n", 1, 3, "add ]"},
		{TOML, "a.b = 1\n[a]\n", 2, 2, "defined twice"},
		{TOML, "a = \"C:\\Users\"\n", 1, 8, "single quotes"},
		{TOML, "a = 2020-02-30\n", 1, 5, "this date or time does not exist"},
		{TOML, "a = 25:00:00\n", 1, 5, "this date or time does not exist"},
		{TOML, "a = 9223372036854775808\n", 1, 5, "does not fit in 64 bits"},
		{YAML, "\ta: 1\n", 1, 1, "use spaces"},
		{YAML, "a: 1\na: 2\n", 2, 1, "defined twice"},
		{YAML, "a:\n\tb: 1\n", 2, 1, "use spaces"},
		{YAML, "a: b: c\n", 1, 5, "second colon"},
		{YAML, "a: [1, 2\n", 1, 4, "not closed"},
		{YAML, "a: 1\n---\nb: 2\n", 2, 1, "several documents"},
		{YAML, "a: 1\n   b: 2\n", 2, 5, "second colon"},
		{YAML, "a: *x\n", 1, 4, "anchor &x is not defined"},
		{YAML, "a: &x [*x]\n", 1, 8, "anchor &x is not defined"},
		{YAML, "? a\n: 1\n", 1, 1, "by hand"},
		{YAML, "a: \"b\n", 1, 4, "not closed"},
		{YAML, "a: \"b\nc: 1\nd: \"x\"\n", 1, 4, "not closed"},
		{YAML, "a: [\n", 1, 4, "not closed"},
		{YAML, "a: 1\nb: \u2028\n", 2, 4, "disagree on whether this character ends a line"},
	} {
		_, err := Parse(c.format, []byte(c.text))
		var wrong *SyntaxError
		if !errors.As(err, &wrong) {
			t.Errorf("%s %q: %v", c.format, c.text, err)
			continue
		}
		if wrong.Line != c.line || wrong.Column != c.column || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v, want line %d, column %d: %s", c.format, c.text, err, c.line, c.column, c.says)
		}
	}
}

func TestAnEmptyFileIsAnEmptyMap(t *testing.T) {
	for name, format := range formats {
		for _, text := range []string{"", "\n", "  \r\n", "\xEF\xBB\xBF"} {
			d, err := Parse(format, []byte(text))
			if err != nil {
				t.Fatalf("%s %q: %v", name, text, err)
			}
			if !reflect.DeepEqual(d.Root().Value(), Map{}) {
				t.Errorf("%s %q is %v", name, text, d.Root().Value())
			}
			next, err := d.Set([]any{"servers", "x", "command"}, "npx")
			if err != nil {
				t.Fatalf("%s %q: %v", name, text, err)
			}
			if got, _ := next.At("servers", "x", "command"); got.Value() != "npx" || !strings.HasPrefix(string(next.Bytes()), strings.TrimSpace(text)) {
				t.Errorf("%s %q became %q", name, text, next.Bytes())
			}
		}
	}
}

func TestTheLastOfTwoNamesCounts(t *testing.T) {
	d, err := Parse(JSON, []byte("{\"a\": 1,\n\"b\": {\"c\": 1, \"c\": 2},\n\"a\": 3}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Map{{"b", Map{{"c", json.Number("2")}}}, {"a", json.Number("3")}}); !reflect.DeepEqual(d.Root().Value(), want) {
		t.Errorf("read %v", d.Root().Value())
	}
	if want := []Duplicate{{"a", 1}, {"c", 2}}; !reflect.DeepEqual(d.Duplicates(), want) {
		t.Errorf("duplicates %v", d.Duplicates())
	}
}

func TestPlacesAndRawText(t *testing.T) {
	d, err := Parse(YAML, []byte("# é\né: {ü: [1, 0x1F]}\nb: &x\n  c: 'd'\ne: *x\n"))
	if err != nil {
		t.Fatal(err)
	}
	item, ok := d.At("é", "ü", 1)
	if line, column := item.Place(); !ok || line != 2 || column != 12 || item.Raw() != "0x1F" || item.Value() != json.Number("0x1F") {
		t.Errorf("line %d, column %d, %q, %v", line, column, item.Raw(), item.Value())
	}
	if through, ok := d.At("e", "c"); !ok || through.Value() != "d" {
		t.Errorf("through the alias: %v", through)
	}
	if _, ok := d.At("é", "ü", 2); ok {
		t.Error("there is no third item")
	}
}

// A few aliases of aliases of aliases are a billion values.
func TestAliasesDoNotExplode(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	if _, err := Parse(YAML, []byte(bomb)); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("got %v", err)
	}
}

// Large and hostile files take time in proportion to their size.
func TestNothingTakesLong(t *testing.T) {
	const size = 1 << 19
	for name, c := range map[string]struct {
		format Format
		text   string
	}{
		"one line":       {JSON, `{"a":[` + strings.Repeat(`"x",`, size/4) + `"x"]}`},
		"many names":     {JSON, `{` + numbered(size/16, `"name%d":1`, ",") + `}`},
		"same names":     {JSON, `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`},
		"comments":       {JSONC, strings.Repeat("//\n", size/3) + "{}"},
		"open":           {JSON, strings.Repeat("[", size)},
		"tables":         {TOML, numbered(size/16, "[a.b%d]\nc = 1\n", "")},
		"list of tables": {TOML, strings.Repeat("[[a]]\nb = 1\n", size/12)},
		"array":          {TOML, "a = [" + strings.Repeat("1, ", size/3) + "]"},
		"dots":           {TOML, numbered(size/16, "a.b%d = 1\n", "")},
		"flow":           {YAML, "a: [" + strings.Repeat("x, ", size/3) + "x]"},
		"block":          {YAML, "a:\n" + numbered(size/16, "  name%d: x\n", "")},
		"dashes":         {YAML, strings.Repeat("- ", size/2)},
		"lines":          {YAML, "a: b" + strings.Repeat("\n c", size/3)},
		"blank lines":    {YAML, "a: b" + strings.Repeat("\n", size)},
		"anchors":        {YAML, numbered(size/16, "n%d: &a\n", "")},
		"quotes":         {YAML, "a: \"" + strings.Repeat("b\n ", size/3) + "\""},
		"literal":        {YAML, "a: |\n" + strings.Repeat("  b\n", size/4)},
		"aliases":        {YAML, "a: &a {b: c}\nl: [" + strings.Repeat("*a, ", size/8) + "*a]"},
	} {
		start := time.Now()
		d, err := Parse(c.format, []byte(c.text))
		if err == nil {
			if next, err := d.Set([]any{"new"}, "x"); err == nil {
				next.Remove([]any{"new"})
			}
			d.Duplicates()
		}
		// Many times what it takes: only quadratic work is this slow.
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

func numbered(count int, form, between string) string {
	var out strings.Builder
	for i := range count {
		if i > 0 {
			out.WriteString(between)
		}
		fmt.Fprintf(&out, form, i)
	}
	return out.String()
}

// large is like the settings of a program that keeps its history in them.
func large(size int) []byte {
	var out strings.Builder
	out.WriteString("{\n  \"mcpServers\": {},\n  \"projects\": {\n")
	for i := 0; out.Len() < size; i++ {
		if i > 0 {
			out.WriteString(",\n")
		}
		fmt.Fprintf(&out, "    \"/home/sam/project%d\": {\n      \"allowedTools\": [],\n      \"history\": [\n", i)
		for j := range 40 {
			if j > 0 {
				out.WriteString(",\n")
			}
			fmt.Fprintf(&out, "        {\n          \"display\": \"please \\\"fix\\\" the test %d\",\n          \"pastedContents\": {}\n        }", j)
		}
		fmt.Fprintf(&out, "\n      ],\n      \"mcpServers\": {\n        \"fs\": {\n          \"command\": \"npx\",\n          \"args\": [\n            \"-y\"\n          ]\n        }\n      }\n    }")
	}
	out.WriteString("\n  }\n}\n")
	return []byte(out.String())
}

func BenchmarkEditFiveMegabytes(b *testing.B) {
	file := large(5 << 20)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		d, err := Parse(JSON, file)
		if err != nil {
			b.Fatal(err)
		}
		next, err := d.Set([]any{"projects", "/home/sam/project7", "mcpServers", "fs", "args"}, []any{"run", "--", "npx", "-y"})
		if err != nil {
			b.Fatal(err)
		}
		next.Bytes()
	}
}

func BenchmarkParse(b *testing.B) {
	for name, c := range map[string]struct {
		format Format
		text   []byte
	}{
		"json": {JSON, large(5 << 20)},
		"toml": {TOML, []byte(numbered(30_000, "[mcp_servers.s%d]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n\n", ""))},
		"yaml": {YAML, []byte("extensions:\n" + numbered(30_000, "  s%d:\n    cmd: npx\n    args: [\"-y\", x]\n", ""))},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if _, err := Parse(c.format, c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEditSmall(b *testing.B) {
	for name, c := range map[string]struct {
		format Format
		text   string
		path   []any
	}{
		"json": {JSON, string(large(2 << 10)), []any{"mcpServers", "x"}},
		"toml": {TOML, numbered(20, "[mcp_servers.s%d]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n\n", ""), []any{"mcp_servers", "x"}},
		"yaml": {YAML, "extensions:\n" + numbered(20, "  s%d:\n    cmd: npx\n    args: [\"-y\", x]\n", ""), []any{"extensions", "x"}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d, err := Parse(c.format, []byte(c.text))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := d.Set(c.path, Map{{"command", "npx"}, {"args", []any{"-y"}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
