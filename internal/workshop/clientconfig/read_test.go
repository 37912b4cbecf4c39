package clientconfig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each client has a file of its own in testdata/clients, with its servers and
// what is read of them.
func TestEveryClientsFileIsRead(t *testing.T) {
	all := archives(t, "testdata/clients/*.txtar")
	if len(all) != len(clients()) {
		t.Errorf("%d goldens for %d clients", len(all), len(clients()))
	}
	for _, a := range all {
		t.Run(a.name(), func(t *testing.T) {
			client, ok := ByID(a.name())
			if !ok {
				t.Fatal("no such client")
			}
			home := homeOf(a.Archive)
			home.Environ = append(home.Environ, "FILES_TOKEN=f-token", "API_TOKEN=a-token")
			var b strings.Builder
			if client.Places == nil {
				b.WriteString("no file: " + client.Message + "\n")
			}
			for _, f := range home.Find(client) {
				c := home.Read(f)
				if c.Err != nil || c.Strict != nil {
					t.Errorf("%s: %v, %v", f.Path, c.Err, c.Strict)
					continue
				}
				if !bytes.Equal(c.Doc.Bytes(), c.Text) {
					t.Errorf("%s: not the same bytes after reading", f.Path)
				}
				for _, e := range c.Entries {
					b.WriteString(describe(home, e))
				}
				for _, p := range c.Lint() {
					b.WriteString("problem " + string(p.Code) + " " + p.Server + "\n")
				}
			}
			a.check(t, "want", b.String())
		})
	}
}

// A file that takes the place of the one that was read is a different one, also
// if it has the same content and is compared only then.
func TestReadNotesWhichFileItWas(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "other.json")
	for _, name := range []string{path, other} {
		if err := os.WriteFile(name, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client, _ := ByID("cursor")
	c := Home{OS: "linux", Home: dir}.Read(File{Path: path, Client: client, Place: client.Places[0], Exists: true})
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Lstat(path); err != nil || os.SameFile(c.Named, now) || os.SameFile(c.Behind, now) {
		t.Error("the replacement counts as the file that was read", err)
	}
}

// The servers of a file are found, the file is judged and the servers are wrapped on the same
// understanding of it: only what the client is known to reject keeps a server from being wrapped.
func TestAFileIsReadTheSameByListLintAndWrap(t *testing.T) {
	loose := map[string]struct {
		text   string
		answer func(*Client) Answer
	}{
		"comments": {"{\n  // mine\n  %q: {\n    /* notes */\n    \"notes\": {\"command\": \"npx\", \"args\": [\"-y\", \"notes\"]}\n  }\n}\n", func(c *Client) Answer { return c.Comments }},
		"commas":   {"{\n  %q: {\n    \"notes\": {\"command\": \"npx\", \"args\": [\"-y\", \"notes\",]},\n  },\n}\n", func(c *Client) Answer { return c.Commas }},
	}
	checked := map[Answer]int{}
	for _, client := range clients() {
		for _, place := range client.Places {
			if len(place.Keys[0]) != 1 || place.Old != "" || place.List || place.Scope != User || place.Borrowed || client.Fields.Argv || filepath.Ext(place.Linux) != ".json" {
				continue
			}
			for name, c := range loose {
				text := fmt.Sprintf(c.text, place.Keys[0][0])
				file := Home{OS: "linux", Home: "/h"}.ReadText(File{Path: "/h/x.json", Client: client, Place: place, Exists: true}, []byte(text))
				if len(file.Entries) != 1 {
					t.Errorf("%s, %s: %d servers are listed", client.ID, name, len(file.Entries))
					continue
				}
				rejected := slices.ContainsFunc(file.Lint(), func(p Problem) bool { return p.Server == "" && p.Severity == Error })
				edit, err := file.Wrap(&file.Entries[0], WrapOptions{})
				if rejected != (err != nil) || rejected != (c.answer(client) == No) {
					t.Errorf("%s, %s, known %v: lint rejects the file: %v, wrap: %v", client.ID, name, c.answer(client), rejected, err)
				}
				checked[c.answer(client)]++
				if err != nil {
					continue
				}
				wrapped, err := edit.Apply(file.Format(), file.Text)
				if err != nil {
					t.Fatal(err)
				}
				now := file.Home.ReadText(file.File, wrapped)
				back, err := now.Unwrap(&now.Entries[0])
				if err != nil {
					t.Fatal(err)
				}
				if again, err := back.Apply(now.Format(), now.Text); err != nil || string(again) != text {
					t.Errorf("%s, %s: unwrapped to %s, %v", client.ID, name, again, err)
				}
			}
		}
	}
	for _, answer := range []Answer{Unknown, Yes, No} {
		if checked[answer] < 4 {
			t.Errorf("only %d cases for clients with answer %v", checked[answer], answer)
		}
	}
}

// An entry that is read again is the one that its whole file would have, in every client.
func TestAnEntryIsReadAgainWithoutItsFile(t *testing.T) {
	compared := 0
	for _, a := range archives(t, "testdata/*/*.txtar") {
		home := homeOf(a.Archive)
		other := home
		other.Environ = []string{"PATH=/other", "HOME=/home/me", "TOKEN=other"}
		elsewhere := other
		elsewhere.Project = "/elsewhere"
		for _, f := range home.Find() {
			c := home.Read(f)
			for i := range c.Entries {
				for _, h := range []Home{other, elsewhere} {
					want, got := h.ReadText(f, c.Text).At(c.Entries[i].Path), c.Again(h, &c.Entries[i])
					if (want == nil) != (got == nil) {
						t.Fatalf("%s, %s: got %v, want %v", a.name(), c.Entries[i].Name, got, want)
					}
					if want == nil {
						continue
					}
					compared++
					if got, want := fmt.Sprintf("%#v %+v %v", got.Spec, got.Inner, got.Unset), fmt.Sprintf("%#v %+v %v", want.Spec, want.Inner, want.Unset); got != want {
						t.Errorf("%s, %s: got\n%s\nwant\n%s", a.name(), c.Entries[i].Name, got, want)
					}
				}
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d entries were compared", compared)
	}
}
