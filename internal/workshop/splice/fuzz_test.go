package splice

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func FuzzJSON(f *testing.F)  { fuzz(f, JSON) }
func FuzzJSONC(f *testing.F) { fuzz(f, JSONC) }
func FuzzTOML(f *testing.F)  { fuzz(f, TOML) }
func FuzzYAML(f *testing.F)  { fuzz(f, YAML) }

// fuzz: whatever comes in, nothing panics, what is read comes out again, and an
// edit either is refused or leaves the rest as it was.
func fuzz(f *testing.F, format Format) {
	var texts [][]byte
	for _, seed := range sample.Seeds(sample.Seed(f), 500) {
		texts = append(texts, document(format, seed))
	}
	for name, other := range formats {
		if other == format {
			for _, s := range stories(f, "testdata/"+name+".txt") {
				texts = append(texts, []byte(s.before))
			}
		}
	}
	for i, text := range sample.Corpus(f, texts...) {
		f.Add(text, uint8(i))
	}
	f.Fuzz(func(t *testing.T, file []byte, pick uint8) {
		d, err := Parse(format, file)
		if _, isSyntax := err.(*SyntaxError); err != nil && !isSyntax {
			t.Fatalf("%T: %v", err, err)
		}
		if format == JSON && len(bytes.TrimSpace(file)) > 0 && json.Valid(file) && bytes.Equal(bytes.ToValidUTF8(file, nil), file) && bytes.Count(file, []byte("["))+bytes.Count(file, []byte("{")) < maxDepth && err != nil {
			t.Fatalf("valid JSON is refused: %v", err)
		}
		if err != nil {
			return
		}
		if format == JSON && !d.root.absent && !json.Valid([]byte(d.text)) {
			t.Fatal("JSON is read that is none")
		}
		if !bytes.Equal(d.Bytes(), file) {
			t.Fatal("the file does not come out as it came in")
		}
		all := spots(d.Root(), nil)
		s := all[int(pick)%len(all)]
		values := []any{"x y", json.Number("5"), Map{{"a", "b"}, {"c", []any{"d"}}}, []any{"e", Map{{"f", true}}}}
		value := values[int(pick)%len(values)]
		if next, err := d.Set(s.path, value); err == nil {
			if got, ok := next.At(s.path...); !ok || !equal(got.Value(), value) {
				t.Fatalf("set %q: %q became %q", s.path, d.text, next.text)
			}
			rest(t, d, next, s.path)
		} else if _, refused := err.(*RefusedError); !refused {
			t.Fatalf("%T: %v", err, err)
		}
		if s.node.Kind() == MapKind {
			if next, err := d.Set(s.to("new"), value); err == nil {
				rest(t, d, next, s.to("new"))
				if back, err := next.Remove(s.to("new")); err == nil {
					rest(t, d, back, s.to("new"))
				}
			}
		}
		if len(s.path) > 0 {
			if next, err := d.Remove(s.path); err == nil {
				rest(t, d, next, s.path)
			}
			if next, err := d.Rename(s.path, "re: named"); err == nil {
				rest(t, d, next, s.path)
			}
		}
	})
}

// rest: do all values that are not on the way to the edit read as before?
func rest(t *testing.T, d, next *Document, path []any) {
	t.Helper()
	first, isName := path0(path)
	if !isName {
		return
	}
	for name, value := range d.Root().Members() {
		if name == first {
			continue
		}
		if got, ok := next.At(name); !ok || !equal(got.Value(), value.Value()) {
			t.Fatalf("edited %q, changed %q\n%q\n--- became\n%q", path, name, d.text, next.text)
		}
	}
}

func path0(path []any) (string, bool) {
	if len(path) == 0 {
		return "", false
	}
	name, ok := path[0].(string)
	return name, ok
}
