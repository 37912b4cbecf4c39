package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(m.Run())
}

// site is a user's home with a dashboard.
type site struct {
	t   *testing.T
	dir string
	d   *Dashboard
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.write("project/README", "")
	var err error
	s.d, err = New(Options{Dir: filepath.Join(s.dir, "state"), Fleet: func() (*fleet.Fleet, error) {
		f := &fleet.Fleet{
			Home:    clientconfig.Home{OS: runtime.GOOS, Home: s.dir, Project: filepath.Join(s.dir, "project"), Environ: []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}},
			Store:   backup.Store{Dir: filepath.Join(s.dir, "backups")},
			Seen:    trust.NewMemory(s.dir),
			Machine: doctor.ThisMachine(), Gauze: "/usr/bin/gauze",
		}
		f.Machine.Home = s.dir
		return f, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.d.Close)
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *site) exists(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

// get returns a page, which must have this status.
func (s *site) get(path string, status int) string {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.d.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != status {
		s.t.Fatalf("GET %s: %d, want %d\n%s", path, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// post sends a form given as pairs of names and values, and returns the page or the redirection.
func (s *site) post(path string, status int, form ...string) string {
	s.t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.d.ServeHTTP(w, r)
	if w.Code != status {
		s.t.Fatalf("POST %s %v: %d, want %d\n%s", path, form, w.Code, status, w.Body)
	}
	if status == http.StatusSeeOther {
		return w.Header().Get("Location")
	}
	return w.Body.String()
}

// until waits for changes that the dashboard reports to browsers, until is returns true.
func (s *site) until(is func() bool) {
	s.t.Helper()
	changed, leave := s.d.watcher.listen()
	defer leave()
	for !is() {
		select {
		case <-changed:
		case <-s.t.Context().Done():
			s.t.Fatal("it did not happen before the test ended")
		}
	}
}

// hidden returns the value of a hidden field.
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("there is no field %s:\n%s", name, page)
	}
	return found[1]
}

// has checks that a page contains all of these.
func has(t *testing.T, page string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
}

// lacks checks that a page contains none of these.
func lacks(t *testing.T, page string, unwanted ...string) {
	t.Helper()
	for _, text := range unwanted {
		if strings.Contains(page, text) {
			t.Errorf("the page contains %q:\n%s", text, page)
		}
	}
}
