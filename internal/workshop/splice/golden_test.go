package splice

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

var formats = map[string]Format{"json": JSON, "jsonc": JSONC, "toml": TOML, "yaml": YAML}

// story is one golden case: a text, an edit, and what comes of it.
type story struct {
	name, edit, before, kind, after string
}

func stories(t testing.TB, file string) []story {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []story
	for _, part := range strings.Split("\n"+string(raw), "\n### ")[1:] {
		head, rest, found := strings.Cut(part, "\n--- before\n")
		if !found {
			t.Fatalf("%s: no text before the edit in %q", file, part)
		}
		s := story{kind: "after"}
		s.name, s.edit, _ = strings.Cut(head, "\n")
		if s.before, s.after, found = cutLine(rest, "--- after\n"); !found {
			s.before, s.after, _ = cutLine(rest, "--- refused\n")
			s.kind = "refused"
		}
		s.after = strings.TrimSuffix(s.after, "\n")
		if s.after != "" {
			s.after += "\n"
		}
		all = append(all, s)
	}
	return all
}

// cutLine cuts at a whole line.
func cutLine(s, line string) (before, after string, found bool) {
	if strings.HasPrefix(s, line) {
		return "", s[len(line):], true
	}
	before, after, found = strings.Cut(s, "\n"+line)
	if found {
		before += "\n"
	}
	return before, after, found
}

func argument(t *testing.T, text string) any {
	t.Helper()
	d, err := Parse(JSON, []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d.Root().Value()
}

// pathOf makes indexes of a path's numbers.
func pathOf(t *testing.T, text string) []any {
	var path []any
	for _, step := range argument(t, text).([]any) {
		if name, ok := step.(string); ok {
			path = append(path, name)
			continue
		}
		index := 0
		for _, digit := range step.(interface{ String() string }).String() {
			index = index*10 + int(digit-'0')
		}
		path = append(path, index)
	}
	return path
}

func (s story) play(t *testing.T, d *Document) (*Document, error) {
	verb, rest, _ := strings.Cut(s.edit, " ")
	end := strings.Index(rest, "]") + 1
	path := pathOf(t, rest[:end])
	switch verb {
	case "set":
		return d.Set(path, argument(t, rest[end:]))
	case "remove":
		return d.Remove(path)
	case "rename":
		return d.Rename(path, argument(t, rest[end:]).(string))
	}
	t.Fatalf("%s: no such edit", s.edit)
	return nil, nil
}

func TestEdits(t *testing.T) {
	for name, format := range formats {
		file := "testdata/" + name + ".txt"
		all := stories(t, file)
		for i, s := range all {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				d, err := Parse(format, []byte(s.before))
				if err != nil {
					t.Fatal(err)
				}
				next, err := s.play(t, d)
				if s.kind == "refused" {
					if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(s.after)) {
						t.Fatalf("want it refused because %q, got %v", strings.TrimSpace(s.after), err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if *update {
					all[i].after = string(next.Bytes())
				} else if got := string(next.Bytes()); got != s.after {
					t.Errorf("%s\ngot:\n%s\nwant:\n%s", s.edit, got, s.after)
				}
				if string(d.Bytes()) != s.before {
					t.Error("the edit changed the old document")
				}
			})
		}
		if *update {
			var out strings.Builder
			for i, s := range all {
				if i > 0 {
					out.WriteString("\n")
				}
				out.WriteString("### " + s.name + "\n" + s.edit + "\n--- before\n" + s.before + "--- " + s.kind + "\n" + s.after)
			}
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
