package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// again opens a second dashboard with the same files, as after a restart.
func (s *site) again() *site {
	s.t.Helper()
	s.d.Close()
	other := &site{t: s.t, dir: s.dir}
	var err error
	if other.d, err = New(s.d.Options); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(other.d.Close)
	return other
}

// What came of a check is known after a restart, until the file changes. Nothing secret is kept.
func TestTheLastCheckIsRemembered(t *testing.T) {
	s := newSite(t)
	s.write(".cursor/mcp.json", s.configured("notes", "served"))
	s.write(".claude.json", `{"mcpServers": {"gone": {"type": "stdio", "command": "`+filepath.ToSlash(s.path("no/such/program"))+`", "args": ["--token", "`+secret+`"]}}}`)
	s.post("/configs/check", 303)
	has(t, s.checked(s.link("notes")), "works")
	why := s.checked(s.link("gone"))
	s = s.again()
	page := s.get("/configs", 200)
	has(t, page, "</span> works", "</span> broken", `<time datetime="`)
	lacks(t, page, "not checked")
	has(t, s.get(s.link("notes"), 200), "</span> works", "checked <time", "Check again")
	has(t, why, "does not exist")
	has(t, s.get(s.link("gone"), 200), "</span> broken", "does not exist")
	s.write(".cursor/mcp.json", s.configured("notes", "other"))
	page = s.get(s.link("notes"), 200)
	has(t, page, "not checked", "The file changed after the check.")
	kept := 0
	err := filepath.WalkDir(s.path("state"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret", path)
		}
		if strings.Contains(string(text), `"state":"`) {
			kept++
		}
		return err
	})
	if err != nil || kept != 2 {
		t.Errorf("%d results are kept, %v", kept, err)
	}
}

// The list shows each result when it is there, and how many are.
func TestResultsArriveOneByOne(t *testing.T) {
	s := newSite(t)
	s.write(".cursor/mcp.json", `{"mcpServers": {"one": {"command": "one"}, "two": {"command": "two"}, "three": {"command": "three"}}}`)
	f, err := s.d.Fleet()
	if err != nil {
		t.Fatal(err)
	}
	view, checks := f.Look(), &s.d.work.checks
	first, err := checks.begin(view, view.Servers)
	if err != nil {
		t.Fatal(err)
	}
	has(t, s.get("/configs", 200), "Checked 0 of 3…", `max="3" value="0"`)
	checks.done(&fleet.Checked{Server: view.Servers[1], Tried: true})
	page := s.get("/configs", 200)
	has(t, page, "Checked 1 of 3…", `max="3" value="1"`)
	if n := strings.Count(page, "</span> checking"); n != 2 {
		t.Errorf("%d servers are being checked:\n%s", n, page)
	}
	// Pressed again, only the server that has its result is checked again, and that check is not ended with the first.
	second, err := checks.begin(view, view.Servers)
	if err != nil || len(second.servers) != 1 {
		t.Fatalf("%+v, %v", second, err)
	}
	checks.end(first)
	has(t, s.get("/configs", 200), "Checked 0 of 1…", `max="1" value="0"`)
	has(t, s.get(s.link(view.Servers[0].Name), 200), "The check was stopped before it finished", "not checked")
	checks.end(second)
	lacks(t, s.get("/configs", 200), "Checked ", "</span> checking")
}
