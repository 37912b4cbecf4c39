package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// actions says for every action whether it starts or writes what a project brings, after the user has
// agreed to what its page shows. The others use only what was agreed to before, or nothing of it.
var actions = map[string]struct {
	asks bool
	page string // has its form
}{
	"/servers/{id}/reload":  {},
	"/servers/{id}/restart": {},
	"/tasks/{id}/resume":    {true, "/tasks/{id}"},
	"/tasks/{id}/stop":      {},
	"/configs/check":        {},
	"/configs/{id}/check":   {true, "/configs/{id}"},
	"/configs/{id}/fix":     {true, "/configs/{id}/fix"},
}

const hostileFile = "project/.cursor/mcp.json"

// hostile is a site in a project with a server, a task with that server, and an entry that can be fixed.
func hostile(t *testing.T) (s *site, fill func(path string) string) {
	s = newSite(t)
	s.bring("served")
	id := s.start("errand", task.Server{Configured: "cursor/notes", Cwd: s.path("project")}, "append a")
	return s, func(path string) string {
		entry := "notes"
		if strings.HasSuffix(path, "/fix") {
			entry = "broken"
		}
		of := id
		if strings.HasPrefix(path, "/configs/{id}") {
			of = strings.TrimPrefix(s.link(entry), "/configs/")
		}
		return strings.ReplaceAll(strings.ReplaceAll(path, "{id}", of), "{$}", "")
	}
}

// bring writes the entries of the project. Its server records in served that it was started.
func (s *site) bring(served string) {
	s.t.Helper()
	var file map[string]map[string]any
	if err := json.Unmarshal([]byte(s.configured("notes", served)), &file); err != nil {
		s.t.Fatal(err)
	}
	file["mcpServers"]["broken"] = map[string]any{"command": "echo", "args": served}
	text, err := json.Marshal(file)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(hostileFile, string(text))
}

// send sends a form, and waits until what it began has ended.
func (s *site) send(path string, form url.Values) {
	s.t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.d.ServeHTTP(w, r)
	if !slices.Contains([]int{http.StatusSeeOther, http.StatusConflict, http.StatusNotFound}, w.Code) {
		s.t.Fatalf("POST %s %v: %d\n%s", path, form, w.Code, w.Body)
	}
	s.until(func() bool {
		return !strings.Contains(s.get("/configs", 200), "</span> checking") && !strings.Contains(s.get("/tasks", 200), "running")
	})
}

// fields returns the form of a page as a user sends it who has read everything and agrees.
func (s *site) fields(page string) url.Values {
	s.t.Helper()
	form := url.Values{"read": {"yes"}}
	for _, name := range []string{"seen", "consent"} {
		if text := s.get(page, 200); strings.Contains(text, `name="`+name+`"`) {
			form.Set(name, hidden(s.t, text, name))
		}
	}
	return form
}

// TestEveryActionConsultsTheUser walks all actions: none starts or writes anything that a project brings
// unless the user agrees to it as it is now.
func TestEveryActionConsultsTheUser(t *testing.T) {
	for _, a := range allActions() {
		row, ok := actions[a.path]
		if !ok {
			t.Errorf("%s is missing from the table: what does it do with what a project brings?", a.path)
			continue
		}
		t.Run(a.path, func(t *testing.T) {
			t.Parallel()
			s, fill := hostile(t)
			before := s.read(hostileFile)
			untouched := func(when string) {
				t.Helper()
				if s.exists("served") || s.read(hostileFile) != before {
					t.Fatalf("%s: a server of the project was started, or its file written", when)
				}
			}
			full := url.Values{"read": {"yes"}, "seen": {"x"}, "consent": {"x"}}
			if row.page != "" {
				full = s.fields(fill(row.page))
			}
			s.send(fill(a.path), nil)
			for name := range full {
				some := url.Values{}
				for other, value := range full {
					if other != name {
						some[other] = value
					}
				}
				s.send(fill(a.path), some)
				untouched("without " + name)
			}
			s.bring("changed")
			s.send(fill(a.path), full)
			if s.exists("changed") || strings.Contains(s.read(hostileFile), `["changed"]`) {
				t.Fatal("what was changed after it was shown was started or written")
			}
			s.bring("served")
			untouched("changed")
			s.send(fill(a.path), full)
			if did := s.exists("served") || s.read(hostileFile) != before; did != row.asks {
				t.Errorf("with agreement: something was started or written: %v", did)
			}
			if !row.asks {
				return
			}
			s.bring("changed")
			for other := range actions {
				s.send(fill(other), full)
			}
			if s.exists("changed") {
				t.Error("what was changed after it was agreed to was started")
			}
		})
	}
}

// TestPagesOnlyShow walks all pages: none starts or writes anything.
func TestPagesOnlyShow(t *testing.T) {
	s, fill := hostile(t)
	before := s.read(hostileFile)
	for _, p := range allPages() {
		w := httptest.NewRecorder()
		s.d.ServeHTTP(w, httptest.NewRequest("GET", fill(p.path), nil))
	}
	if s.exists("served") || s.read(hostileFile) != before {
		t.Error("a page started a server of the project, or wrote its file")
	}
}
