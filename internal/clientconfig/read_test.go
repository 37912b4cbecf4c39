package clientconfig

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each client has a file of its own in testdata/clients, with its servers and
// what is read of them.
func TestEveryClientsFileIsRead(t *testing.T) {
	all := archives(t, "testdata/clients/*.txtar")
	if len(all) != len(clients) {
		t.Errorf("%d goldens for %d clients", len(all), len(clients))
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
