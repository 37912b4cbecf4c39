package splice

import (
	"errors"
	"strings"
	"testing"
)

func TestAVersionOrATagAloneDoesNotStopAnEdit(t *testing.T) {
	for _, text := range []string{
		"%YAML 1.2\n---\na: x\nb: y\n",
		"# head\r\n%YAML 1.2\r\n---\r\na: x\r\nb: y\r\n",
		"\ufeff%TAG !e! tag:example.com,2000:\n%YAML 1.2 # version\n---\na: x\nb: y\n",
		"a: x\nb: ! y\n",
	} {
		d, err := Parse(YAML, []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		next, err := d.Set([]any{"a"}, "z")
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if want := strings.Replace(text, "a: x", "a: z", 1); string(next.Bytes()) != want {
			t.Errorf("%q became %q", text, next.Bytes())
		}
	}
}

func TestADocumentThatIsEndedIsNotLeftEmpty(t *testing.T) {
	for text, want := range map[string]string{
		"# head\na: x # c\n...\n":    "# head\n{} # c\n...\n",
		"a: |\n  text\n...\n# end\n": "{}\n...\n# end\n",
	} {
		d, err := Parse(YAML, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		next, err := d.Remove([]any{"a"})
		if err != nil || string(next.Bytes()) != want {
			t.Errorf("%q became %q, want %q: %v", text, next.Bytes(), want, err)
		}
	}
}

func TestARenameThatChangesNothingIsRefused(t *testing.T) {
	d, err := Parse(TOML, []byte("x = { a.b = 1, a.c = 2 }\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]any{{"x", "a", "b"}, {"x", "a"}} {
		next, err := d.Rename(path, "z")
		if refused := new(RefusedError); !errors.As(err, &refused) {
			t.Errorf("%v was renamed to %q: %v", path, next.Bytes(), err)
		}
	}
}

func TestAnAliasBelowDoesNotStopAnEditNextToItsAnchor(t *testing.T) {
	const text = "servers:\n  a:\n    command: x\n    env: &env\n      A: 1\n  b:\n    command: y\n    env: *env\n" +
		"list:\n- command: x\n  env: &more {B: 2}\n- env: *more\n"
	d, err := Parse(YAML, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]any{{"servers", "a", "command"}, {"list", 0, "command"}} {
		next, err := d.Set(path, "z")
		if err != nil {
			t.Errorf("%v: %v", path, err)
			continue
		}
		if at, _ := next.At(path...); at.Value() != "z" || len(next.Bytes()) != len(text) {
			t.Errorf("%v: %q", path, next.Bytes())
		}
	}
	for _, path := range [][]any{{"servers", "a", "env"}, {"servers", "a", "env", "A"}, {"servers", "b", "env", "A"}, {"list", 0}} {
		if next, err := d.Set(path, "z"); err == nil {
			t.Errorf("%v: %q", path, next.Bytes())
		}
	}
}

// The newline after a comment stays if the bracket would become a part of it.
func TestTheLastEntryGoesWithoutTheNewlineOfAComment(t *testing.T) {
	const text, want = "{\n  \"a\": 1, // one\n  \"b\": 2}\n", "{\n  \"a\": 1 // one\n}\n"
	d, err := Parse(JSONC, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if next, err := d.Remove([]any{"b"}); err != nil {
		t.Error(err)
	} else if string(next.Bytes()) != want {
		t.Errorf("%q became %q, want %q", text, next.Bytes(), want)
	}
}
