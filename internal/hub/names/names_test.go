package names

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestAdvertised(t *testing.T) {
	for _, c := range []struct{ key, name, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"a", "", "a__"},
		{"github", "get.file", "github__get_file_4enm4i"},
		{"github", "get/file", "github__get_file_zybyno"},
		{"notes", "日本", "notes_____uknqh5"},
		{"k", strings.Repeat("x", 47), "k__" + strings.Repeat("x", 47)},
		{"k", strings.Repeat("x", 48), "k__" + strings.Repeat("x", 40) + "_ysoomp"},
	} {
		if got := Advertised(c.key, c.name); got != c.want {
			t.Errorf("Advertised(%q, %q) = %q, want %q", c.key, c.name, got, c.want)
		}
	}
}

// random returns generated keys and names: short and long, with common beginnings and endings, with
// characters of every kind.
func random(t *testing.T) (keys, tools []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcxyz019-_ABC./ :é日\u200b\xff")
	word := func(alphabet []rune, length int) string {
		var b strings.Builder
		for range length {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 60 {
		keys = append(keys, "k"+word([]rune("abc019-"), r.IntN(MaxKeyLen)))
	}
	for range 400 {
		tools = append(tools, word(letters, r.IntN(80)), strings.Repeat("same", 12)+word(letters, 1+r.IntN(4)))
	}
	return keys, tools
}

var wellFormed = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)

func TestAdvertisedNamesFitAndDiffer(t *testing.T) {
	keys, tools := random(t)
	from := map[string][2]string{}
	unchanged := 0
	for _, key := range keys {
		for _, tool := range tools {
			name := Advertised(key, tool)
			if name != Advertised(key, tool) || !wellFormed.MatchString(name) || !strings.HasPrefix(name, key+"__") {
				t.Fatalf("Advertised(%q, %q) = %q", key, tool, name)
			}
			whole := key + "__" + tool
			if fits := wellFormed.MatchString(whole); fits != (name == whole) {
				t.Fatalf("Advertised(%q, %q) = %q", key, tool, name)
			} else if fits {
				unchanged++
			}
			if other, taken := from[name]; taken && other != [2]string{key, tool} {
				t.Fatalf("%q and %q are both %q", other, [2]string{key, tool}, name)
			}
			from[name] = [2]string{key, tool}
		}
	}
	if len(from) < 30_000 || unchanged < 500 {
		t.Errorf("only %d names, %d of them unchanged", len(from), unchanged)
	}
}

func TestKey(t *testing.T) {
	for name, want := range map[string]string{
		"github": "github", "GitHub": "github", "github-mcp-server": "github", "mcp-server-git": "git", "server-filesystem": "filesystem",
		"notes_mcp": "notes", "My Notes": "my-notes", "@scope/pkg": "scope-pkg", "mcp": "mcp", "mcp-server": "mcp", "server": "server",
		"--x--": "x", "a.b": "a-b", "": "server-4oymiq", "日本": "server-z4vl6d",
		"a-very-long-name-for-one-small-server": "a-very-long-name-2okjrs",
	} {
		if got := Key(name); got != want {
			t.Errorf("Key(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestKeysAreValid(t *testing.T) {
	keys, tools := random(t)
	for _, name := range append(keys, tools...) {
		key := Key(name)
		if !ValidKey(key) || key != Key(name) {
			t.Fatalf("Key(%q) = %q", name, key)
		}
		if Key(key) != withoutServer(key) {
			t.Fatalf("Key(%q) = %q, and the key of that is %q", name, key, Key(key))
		}
	}
	for _, not := range []string{"", "-a", "A", "a_b", "a b", "é", strings.Repeat("a", MaxKeyLen+1), "a\n"} {
		if ValidKey(not) {
			t.Errorf("%q counts as valid", not)
		}
	}
}
