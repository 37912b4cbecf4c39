package clientconfig

import (
	"bytes"
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
