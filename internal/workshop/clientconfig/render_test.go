package clientconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// empty is a file of a place with nothing in it.
func empty(f File) []byte {
	switch f.Format() {
	case splice.JSON, splice.JSONC:
		return []byte("{}\n")
	}
	return nil
}

// addTo writes an entry into a file, as the one who adds a server would.
func addTo(t *testing.T, h Home, f File, name string, entry splice.Map) *Config {
	t.Helper()
	c := h.ReadText(f, empty(f))
	text, err := c.Add(name, entry).Apply(f.Format(), c.Text)
	if err != nil {
		t.Fatalf("%s: %v", f.Client.ID, err)
	}
	return h.ReadText(f, text)
}

// Every client's own file takes one more server, gives it up again, and has
// its bytes back.
func TestAServerIsAddedAndTakenOut(t *testing.T) {
	for _, a := range archives(t, "testdata/clients/*.txtar") {
		client, _ := ByID(a.name())
		home := homeOf(a.Archive)
		for _, f := range home.Find(client) {
			before := home.Read(f)
			entry, err := client.Render(launch.Spec{Command: "/usr/bin/uvx", Args: []string{"acme"}}, RenderOptions{Fields: f.Place.Fields, Name: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := before.Add("acme", entry).Apply(f.Format(), before.Text)
			if err != nil {
				t.Fatalf("%s: %v", f.Path, err)
			}
			with := home.ReadText(f, text)
			if len(with.Entries) != len(before.Entries)+1 {
				t.Fatalf("%s has %d servers, and had %d", f.Path, len(with.Entries), len(before.Entries))
			}
			added := &with.Entries[len(with.Entries)-1]
			if added.Name != "acme" || added.Spec.Command != "/usr/bin/uvx" {
				t.Errorf("%s: %+v was added", f.Path, added)
			}
			again, err := with.Add("acme", entry).Apply(f.Format(), text)
			if err != nil || string(again) != string(text) {
				t.Errorf("%s: added twice: %v\n%s", f.Path, err, again)
			}
			back, err := with.Remove(added).Apply(f.Format(), text)
			if err != nil || string(back) != string(before.Text) {
				t.Errorf("%s: not the same bytes after taking it out: %v\n%s", f.Path, err, back)
			}
		}
	}
}

// What is rendered for a client is read back as the same server, and its own
// rules find nothing wrong with it. Each client's archive has the entries.
func TestWhatIsRenderedIsReadBack(t *testing.T) {
	home := Home{OS: "linux", Home: "/home/me", Environ: []string{"PATH=/bin", "LOGIN_TOKEN=canary"}, Disk: memory{}}
	local := launch.Spec{Command: "/usr/bin/uvx", Args: []string{"acme", "--root", "/srv/a b"}, Env: []string{"MODE=ro"}}
	secret := launch.Spec{Command: "/usr/bin/uvx", Args: []string{"acme"}, Env: []string{"LOGIN_TOKEN=${LOGIN_TOKEN}"}}
	remote := launch.Spec{URL: "https://a.example/mcp", Header: []launch.Header{{Name: "X-Team", Value: "blue"}}}
	login := launch.Spec{URL: "https://a.example/mcp", Header: []launch.Header{{Name: "Authorization", Value: "Bearer ${LOGIN_TOKEN}"}}}
	for _, a := range archives(t, "testdata/clients/*.txtar") {
		client, _ := ByID(a.name())
		var b strings.Builder
		for _, f := range home.Places(client) {
			if f.Place.Old != "" || f.Place.Borrowed || f.Place.Scope != User && f.Place.Scope != Legacy {
				continue
			}
			for _, spec := range []struct {
				name string
				launch.Spec
			}{{"local", local}, {"secret", secret}, {"remote", remote}, {"login", login}} {
				entry, err := client.Render(spec.Spec, RenderOptions{Fields: f.Place.Fields, Name: "acme", Timeout: 90 * time.Second})
				if errors.Is(err, ErrNoReference) {
					fmt.Fprintf(&b, "%s: %v\n", spec.name, err)
					continue
				}
				if err != nil {
					t.Errorf("%s, %s: %v", client.ID, spec.name, err)
					continue
				}
				c := addTo(t, home, f, "acme", entry)
				fmt.Fprintf(&b, "%s, %s\n%s", spec.name, shortPath(home, f.Path), c.Text)
				if strings.Contains(string(c.Text), "canary") {
					t.Errorf("%s: the secret stands in the file", client.ID)
				}
				for _, p := range c.Lint() {
					if p.Severity == Error || p.Fix != nil {
						t.Errorf("%s, %s: %s", client.ID, spec.name, showProblem(home, p))
					}
				}
				if len(c.Entries) != 1 {
					t.Fatalf("%s: %d entries", client.ID, len(c.Entries))
				}
				sameServer(t, client.ID+", "+spec.name, c.Entries[0], spec.Spec)
			}
			break
		}
		a.check(t, "rendered", b.String())
	}
}

func sameServer(t *testing.T, who string, e Entry, want launch.Spec) {
	t.Helper()
	got := e.Spec
	if e.Inner != nil && e.Inner.URL != "" { // through gauze
		got.URL, got.Command, got.Args = e.Inner.URL, "", nil
		for _, pair := range got.Env {
			if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "GAUZE_HEADER_") {
				i := slices.IndexFunc(e.Spec.Args, func(w string) bool { return strings.HasSuffix(w, "="+name) })
				header, _, _ := strings.Cut(e.Spec.Args[i], "=")
				got.Header = append(got.Header, launch.Header{Name: header, Value: value})
			}
		}
	}
	if e.Name != "acme" || got.Command != want.Command || !slices.Equal(got.Args, want.Args) || got.URL != want.URL {
		t.Errorf("%s: read back as %s, %+v", who, e.Name, got)
	}
	if len(e.Waiting) > 0 {
		return // the client itself keeps the secret
	}
	for _, pair := range want.Env {
		if pair = strings.Replace(pair, "${LOGIN_TOKEN}", "canary", 1); !slices.Contains(got.Env, pair) {
			t.Errorf("%s: %s is missing in %q", who, pair, got.Env)
		}
	}
	for _, h := range want.Header {
		value := strings.Replace(h.Value, "${LOGIN_TOKEN}", "canary", 1)
		if !slices.ContainsFunc(got.Header, func(g launch.Header) bool { return g.Name == h.Name && g.Value == value }) {
			t.Errorf("%s: header %s is missing", who, h.Name)
		}
	}
}
