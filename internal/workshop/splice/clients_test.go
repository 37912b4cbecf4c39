package splice

import (
	"os"
	"strings"
	"testing"
)

// client is the settings file of a program, with the way to one server in it.
type client struct {
	name   string
	format Format
	path   []any
	text   string
}

func clients(t *testing.T) []client {
	raw, err := os.ReadFile("testdata/clients.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []client
	for _, part := range strings.Split("\n"+string(raw), "\n### ")[1:] {
		lines := strings.SplitN(part, "\n", 3)
		format, path, _ := strings.Cut(lines[1], " ")
		all = append(all, client{lines[0], formats[format], pathOf(t, path), lines[2]})
	}
	if len(all) < 32 {
		t.Fatalf("only %d clients", len(all))
	}
	return all
}

// dressed is the text in every encoding and with both line ends.
func dressed(text string) [][]byte {
	var all [][]byte
	for _, form := range []encoding{utf8Plain, utf8Marked, utf16Little, utf16Big} {
		all = append(all, form.encode(text), form.encode(strings.ReplaceAll(text, "\n", "\r\n")), form.encode(strings.TrimRight(text, "\n")))
	}
	return all
}

// wrapped is a server's entry with another command before its own.
func wrapped(entry Map) Map {
	var out Map
	args := []any{"run", "--"}
	for _, m := range entry {
		switch v := m.Value.(type) {
		case string:
			if m.Name == "command" || m.Name == "cmd" || m.Name == "url" || m.Name == "serverUrl" {
				args = append(args, v)
				m = Member{"command", `C:\Program Files\gauze.exe`}
			}
		case []any:
			if m.Name == "command" {
				m.Value = append([]any{"gauze", "run", "--"}, v...)
			}
			if m.Name == "args" {
				args = append(args, v...)
				continue
			}
		case Map:
			if _, has := entry.get("command"); m.Name == "transport" && !has {
				m.Value = wrapped(v)
			}
		}
		out = append(out, m)
	}
	return append(out, Member{"args", args})
}

func (m Map) get(name string) (any, bool) {
	for _, member := range m {
		if member.Name == name {
			return member.Value, true
		}
	}
	return nil, false
}

func TestEveryClientsFileIsWrappedAndUnwrapped(t *testing.T) {
	for _, c := range clients(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, file := range dressed(c.text) {
				d, err := Parse(c.format, file)
				if err != nil {
					t.Fatal(err)
				}
				entry, ok := d.At(c.path...)
				if !ok || entry.Kind() != MapKind {
					t.Fatalf("there is no server at %q", c.path)
				}
				old := entry.Value().(Map)
				next, err := d.Set(c.path, wrapped(old))
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := next.At(c.path...); !equal(got.Value(), wrapped(old)) {
					t.Errorf("wrapped it is %v", got.Value())
				}
				back, err := next.Set(c.path, old)
				if err != nil {
					t.Fatal(err)
				}
				if string(back.Bytes()) != string(file) {
					t.Errorf("unwrapping does not give the file back\n%s\n--- became\n%s\n--- became\n%s", d.text, next.text, back.text)
				}
			}
		})
	}
}

func TestEveryClientsFileTakesAnotherServer(t *testing.T) {
	for _, c := range clients(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, file := range dressed(c.text) {
				d, err := Parse(c.format, file)
				if err != nil {
					t.Fatal(err)
				}
				entry, _ := d.At(c.path...)
				path := append([]any{}, c.path...)
				if _, isIndex := path[len(path)-1].(int); isIndex {
					path[len(path)-1] = 1
				} else {
					path[len(path)-1] = "another.one"
				}
				next, err := d.Set(path, entry.Value())
				if err != nil {
					t.Fatal(err)
				}
				got, _ := next.At(path...)
				if lines := func(n Node) int { return strings.Count(n.Raw(), "\n") }; lines(got) != lines(entry) {
					t.Errorf("it is not written like its neighbour\n%s", next.text)
				}
				back, err := next.Remove(path)
				if err != nil {
					t.Fatal(err)
				}
				if string(back.Bytes()) != string(file) {
					t.Errorf("removing it does not give the file back\n%q\n--- became\n%q\n--- became\n%q", d.text, next.text, back.text)
				}
			}
		})
	}
}
