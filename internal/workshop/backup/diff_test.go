package backup

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestADiffHidesNothing(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"the last line end", "a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"line ends", "a\r\nb\r\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a␍\n-b␍\n+a\n+b\n"},
		{"the same line ends", "a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"line ends that are new", "a", "b\r\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b␍\n"},
		{"a terminal sequence", "a\n", "a\x1b[2K\rb\n", "@@ -1,1 +1,1 @@\n-a\n+a‹U+001B›[2K‹U+000D›b\n"},
		{"a turned text", "admin\n", "admin\u202e\u200b\n", "@@ -1,1 +1,1 @@\n-admin\n+admin‹U+202E›‹U+200B›\n"},
		{"bytes that are no text", "a\xff\n", "a\xfe\n", "@@ -1,1 +1,1 @@\n-a‹0xFF›\n+a‹0xFE›\n"},
		{"a byte order mark", "\ufeffa\n", "a\n", "@@ -1,1 +1,1 @@\n-‹U+FEFF›a\n+a\n"},
		{"tabs and letters", "\tgrün\n", "\tgrüner\n", "@@ -1,1 +1,1 @@\n-\tgrün\n+\tgrüner\n"},
	} {
		want := "--- f\n+++ f\n" + c.want
		if got := Unified("f", []byte(c.old), []byte(c.new)); got != want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, want)
		}
	}
	if got := Unified("f", []byte("a"), []byte("a")); got != "" {
		t.Errorf("nothing changed, and it says\n%s", got)
	}
	if got := Unified("f\n+++ g\x1b", nil, []byte("a\n")); !strings.HasPrefix(got, "--- /dev/null\n+++ f‹U+000A›+++ g‹U+001B›\n@@") {
		t.Errorf("the name is shown as\n%s", got)
	}
}

// Whatever the files hold, a change is shown if there is one, and in harmless lines.
func FuzzADiffShowsEveryChange(f *testing.F) {
	texts := []string{"a\nb\n", "a\nc\n", "", "x", "a\r\n", "a\n", "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"b\": 2\n}\n"}
	for i, text := range sample.Corpus(f, texts...) {
		f.Add(texts[i%len(texts)], text)
		f.Add(text, texts[(i^1)%len(texts)])
	}
	f.Fuzz(func(t *testing.T, old, new string) {
		text := Unified("f", []byte(old), []byte(new))
		if (text == "") != (old == new) {
			t.Fatalf("%q to %q is shown as %q", old, new, text)
		}
		for line := range strings.Lines(text) {
			if strings.ContainsAny(line, "\x1b\x00\u202e\r") {
				t.Errorf("%q is shown as it is", line)
			}
			if !strings.ContainsAny(line[:1], "-+ @\\") {
				t.Errorf("%q is no line of a diff", line)
			}
		}
	})
}
