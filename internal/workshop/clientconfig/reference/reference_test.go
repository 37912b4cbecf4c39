package reference

import (
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestFindKnowsEveryDialect(t *testing.T) {
	for text, want := range map[string]Reference{
		"a ${B} c":            {2, 6, Braces, "B", ""},
		"${B:-c d}":           {0, 9, Default, "B", "c d"},
		"${B:-}":              {0, 6, Default, "B", ""},
		"${env:B}":            {0, 8, Env, "B", ""},
		"{env:B}":             {0, 7, Curly, "B", ""},
		"$B/c":                {0, 2, Bare, "B", ""},
		"%B%":                 {0, 3, Percent, "B", ""},
		"{{ B }}":             {0, 7, Double, "B", ""},
		"${{ secrets.B-C }}":  {0, 18, Secret, "B-C", ""},
		"${input:b c}":        {0, 12, Input, "b c", ""},
		"${file:/a/b}":        {0, 12, File, "/a/b", ""},
		"{file:~/b}":          {0, 10, CurlyFile, "~/b", ""},
		"${workspaceFolder}":  {0, 18, Folder, "workspaceFolder", ""},
		"${userHome}":         {0, 11, Folder, "userHome", ""},
		"${/}":                {0, 4, Folder, "/", ""},
		"$(cat /etc/secrets)": {0, 19, Shell, "cat /etc/secrets", ""},
	} {
		if got := Find(text); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		} else if got[0].Form != Double && got[0].Form != Folder && got[0].String() != text[got[0].From:got[0].To] {
			t.Errorf("%s is written back as %s", text, got[0])
		}
	}
	for _, text := range []string{"", "plain", "100%", "{}", "${}", "$", "$1", "a{b}c", "50% off 20%"} {
		if got := Find(text); got != nil {
			t.Errorf("%q has no reference, but %+v was found", text, got)
		}
	}
}

func TestExpandDoesWhatTheClientDoes(t *testing.T) {
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "1", "EMPTY": "", "workspaceFolder": "/w", "LOOP": "${A}"}[name]
		return value, ok
	}
	claude := Dialect{Forms: Braces | Default, In: Args, Unset: "kept"}
	gemini := Dialect{Forms: Braces | Bare, In: Everywhere, Unset: "empty"}
	code := Dialect{Forms: Env | Folder | Input, In: Everywhere, Unset: "empty"}
	for _, c := range []struct {
		dialect Dialect
		in      Part
		text    string
		want    string
		unset   []string
		waiting int
		foreign int
	}{
		{claude, Args, "x ${A} ${B:-2} ${A:-3} ${EMPTY:-4}", "x 1 2 1 4", nil, 0, 0},
		{claude, Args, "${B} $A ${env:A}", "${B} $A ${env:A}", []string{"B"}, 0, 2},
		{claude, Cwd, "${A}", "${A}", nil, 0, 1},
		{claude, Args, "${LOOP}", "${A}", nil, 0, 0}, // once, and no further
		{gemini, Args, "$A-${B}-${EMPTY}", "1--", []string{"B"}, 0, 0},
		{code, Args, "${env:A} ${workspaceFolder} ${input:k} ${A}", "1 /w ${input:k} ${A}", nil, 1, 1},
		{Dialect{}, Args, "${A}", "${A}", nil, 0, 0},
		{Dialect{Forms: Nothing}, Args, "${A} pa$$word $5", "${A} pa$$word $5", nil, 0, 1},
		{Dialect{Forms: Nothing}, Args, "secret$abc", "secret$abc", nil, 0, 0}, // may be a password
	} {
		got := c.dialect.Expand(c.text, c.in, lookup)
		if got.Text != c.want || !slices.Equal(got.Unset, c.unset) || len(got.Waiting) != c.waiting {
			t.Errorf("%q: got %+v, want %q", c.text, got, c.want)
		}
		if foreign := c.dialect.Foreign(c.text, c.in); len(foreign) != c.foreign {
			t.Errorf("%q: foreign are %v", c.text, foreign)
		}
	}
}

func TestSpellIsReadBack(t *testing.T) {
	for _, d := range []Dialect{
		{Forms: Braces | Default, In: Headers},
		{Forms: Env | Folder, In: Everywhere},
		{Forms: Curly | CurlyFile, In: Everywhere},
		{Forms: Bare, In: Everywhere},
	} {
		spelled, ok := d.Spell("NAME", Headers)
		got := d.Expand("Bearer "+spelled, Headers, func(name string) (string, bool) { return "v", name == "NAME" })
		if !ok || got.Text != "Bearer v" {
			t.Errorf("%s becomes %s", spelled, got.Text)
		}
	}
	if spelled, ok := (Dialect{Forms: Nothing}).Spell("NAME", Headers); ok {
		t.Errorf("a client without references got %s", spelled)
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range sample.Corpus(f, "${A} $A {env:A} ${A:-b}", "$${A}", "${A:-${B}}", "%A% ${env:A} ${input:a}", "${", "$", "{env:") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nothing := Dialect{Forms: Nothing}
		if got := nothing.Expand(text, Args, func(string) (string, bool) { return "x", true }); got.Text != text {
			t.Errorf("%q became %q", text, got.Text)
		}
		same := Dialect{Forms: Variables, In: Args, Unset: "kept"}
		if got := same.Expand(text, Args, func(string) (string, bool) { return "", false }); len(got.Unset) == 0 && got.Text != text {
			for _, r := range Find(text) {
				if r.Form == Default {
					return
				}
			}
			t.Errorf("%q became %q", text, got.Text)
		}
	})
}
