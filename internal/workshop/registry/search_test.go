package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func names(servers []Server) (names []string) {
	for _, s := range servers {
		names = append(names, s.Name)
	}
	return names
}

func search(t *testing.T, s Source, words ...string) Found {
	t.Helper()
	found, err := s.Search(context.Background(), words, 10)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSearchRanks(t *testing.T) {
	f := newFake(t, goneTables, oldTables, weather, tablesBefore, remoteTables, tables)
	for _, pageful := range []int{100, 2, 3} {
		f.pageful = pageful
		got := names(search(t, f.source(), "Tables").Servers)
		// As its whole name, the newest first; deprecated ones last; of two versions one; what is deleted not at all.
		want := []string{"io.github.alice/tables-mcp-server", "com.example/tables", "net.example/tables"}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v", pageful, got)
		}
	}
	if s := search(t, f.source(), "tables").Servers[0]; s.Version != "1.9.5" {
		t.Errorf("version %s", s.Version)
	}
	// More words found beat a better find of one.
	if got := names(search(t, f.source(), "tables", "weather").Servers); got[0] != "io.github.bob/weather" {
		t.Errorf("%v", got)
	}
	if got := search(t, f.source(), "submarine").Servers; len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestAWordOfEverybodysNameIsAskedForInOthers(t *testing.T) {
	f := newFake(t, tables, strings.ReplaceAll(tables, "alice/tables", "github/github"))
	if got := names(search(t, f.source(), "github").Servers); !slices.Equal(got, []string{"io.github.github/github-mcp-server"}) {
		t.Errorf("%v", got)
	}
}

func TestPagesEnd(t *testing.T) {
	f := newFake(t)
	f.answers(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"servers":[],"metadata":{"nextCursor":"%sx"}}`, r.URL.Query().Get("cursor"))
	})
	search(t, f.source(), "tables")
	if n := len(f.asked()); n != maxPages {
		t.Errorf("asked %d times", n)
	}
}

func TestAnswersAreKeptForADay(t *testing.T) {
	f := newFake(t, tables, weather)
	s := f.source()
	search(t, s, "tables")
	search(t, s, "tables")
	if got := f.asked(); len(got) != 1 {
		t.Fatalf("asked for %q", got)
	}
	files := filesUnder(t, s.Dir)
	if len(files) != 1 {
		t.Fatal(files)
	}
	file := files[0]
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Error(info.Mode(), err)
	}

	// A day later the registry is asked whether it is still so, and then not for another day.
	age := func(d time.Duration) {
		t.Helper()
		at := time.Now().Add(-d)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	age(25 * time.Hour)
	search(t, s, "tables")
	if seen := f.seen(); len(seen) != 2 || !strings.Contains(seen[1], "If-None-Match: \"") {
		t.Fatalf("%q", seen)
	}
	search(t, s, "tables")
	if n := len(f.seen()); n != 2 {
		t.Errorf("asked %d times", n)
	}
	// A clock that was wrong does not keep an answer for ever.
	age(-48 * time.Hour)
	search(t, s, "tables")
	if n := len(f.seen()); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

func TestOnlySoMuchIsKept(t *testing.T) {
	s := Source{URL: "https://registry.example", Dir: t.TempDir()}
	theirs := filepath.Join(s.dir(), "notes.json")
	if err := errors.Join(os.MkdirAll(s.dir(), 0o700), os.WriteFile(theirs, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for i := range maxKept + 5 {
		s.keep(kept{URL: s.URL + listPath("tables", string(rune('a'+i))), Answer: []byte(`{"servers":[]}`)})
	}
	if n := len(s.files()); n != maxKept {
		t.Errorf("%d files", n)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}

func TestTheZeroSourceAsksNobody(t *testing.T) {
	f := newFake(t, tables, weather)
	s := f.source()
	search(t, s, "tables")
	search(t, s, "weather")
	f.asked()
	s.Online = false
	found := search(t, s, "forecasts")
	if !slices.Equal(names(found.Servers), []string{"io.github.bob/weather"}) || found.Kept.IsZero() {
		t.Errorf("%+v", found)
	}
	if _, ok := s.Lookup(context.Background(), NPM, "tables-mcp-server"); !ok {
		t.Error("what was searched for is not known")
	}
	if _, ok := s.Lookup(context.Background(), NPM, "never-seen"); ok {
		t.Error("known without having been seen")
	}
	if got := f.asked(); len(got) != 0 {
		t.Errorf("asked for %q", got)
	}
	// Answers of one registry are not another's.
	s.URL = "https://registry.example"
	if found := search(t, s, "tables"); len(found.Servers) != 0 {
		t.Errorf("%+v", found)
	}
}

func TestTrouble(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else was asked") }))
	defer elsewhere.Close()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }
	}
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"broken":    {status(500), "replied with status 500"},
		"busy":      {status(429), "rate limit"},
		"a page":    {says("<html>hello</html>"), "this is not a registry"},
		"null":      {says("null"), "this is not a registry"},
		"a number":  {says("5"), "this is not a registry"},
		"cut off":   {says(`{"servers":[`), "this is not a registry"},
		"huge":      {says(`{"servers":[]}` + strings.Repeat(" ", maxAnswer)), "larger than 4 MB"},
		"elsewhere": {to(elsewhere.URL), "another host"},
		"metadata":  {to("http://169.254.169.254/latest/meta-data"), "another host"},
		"password":  {to("//user:word@" + strings.TrimPrefix(elsewhere.URL, "http://")), "another host"},
		"circle":    {to("/v0.1/servers"), "too many times"},
		"slow":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timed out"},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(`{"servers":[`))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, tables)
			s := f.source()
			s.HTTP = &http.Client{}
			if strings.HasPrefix(name, "slow") {
				s.HTTP.Timeout = 100 * time.Millisecond
			}
			f.answers(c.answer)
			if _, err := s.Search(context.Background(), []string{"tables"}, 10); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if files := s.files(); len(files) != 0 {
				t.Error("a wrong answer was kept")
			}
			if _, ok := s.Lookup(context.Background(), NPM, "tables-mcp-server"); ok {
				t.Error("known from nowhere")
			}
			// What was answered before helps.
			f.answers(nil)
			search(t, s, "tables")
			old := time.Now().Add(-48 * time.Hour)
			for _, file := range s.files() {
				os.Chtimes(file, old, old)
			}
			f.answers(c.answer)
			if found := search(t, s, "tables"); len(found.Servers) != 1 || found.Trouble == nil || found.Kept.IsZero() {
				t.Errorf("%+v", found)
			}
		})
	}
}

func TestARedirectWithinTheRegistryIsFollowed(t *testing.T) {
	f := newFake(t, tables)
	f.answers(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v0.1/servers" {
			http.Redirect(w, r, "/moved?search=tables", http.StatusMovedPermanently)
			return
		}
		f.list(w, r)
	})
	if found := search(t, f.source(), "tables"); len(found.Servers) != 1 {
		t.Errorf("%+v", found)
	}
}

func TestTheAddressOfARegistry(t *testing.T) {
	for address, good := range map[string]bool{
		"": true, "https://registry.example/": true, "https://registry.example/sub": true, "http://127.0.0.1:80": true, "http://localhost:8080": true,
		"http://registry.example": false, "ftp://registry.example": false, "registry.example": false, "https://": false, "https://u:p@registry.example": false,
		"https://registry.example?x=1": false, "https://registry.example/#x": false, "file:///etc/passwd": false, "%": false, "http://127.0.0.1.evil.example": false,
	} {
		if err := (Source{URL: address}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := (Source{URL: "http://registry.example", Online: true, Dir: t.TempDir()}).Search(context.Background(), []string{"x"}, 1); err == nil {
		t.Error("an address in the clear was asked")
	}
}

func TestNoCacheIsNoTrouble(t *testing.T) {
	f := newFake(t, tables)
	s := f.source()
	file := filepath.Join(s.Dir, "in-the-way")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Dir = file
	if found := search(t, s, "tables"); len(found.Servers) != 1 {
		t.Errorf("%+v", found)
	}
}

func TestABrokenCacheIsAskedAround(t *testing.T) {
	f := newFake(t, tables)
	s := f.source()
	search(t, s, "tables")
	for _, broken := range []string{"", "{", `{"url":"https://other.example","answer":{"servers":[]}}`, `{"answer":5}`} {
		for _, file := range s.files() {
			if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if found := search(t, s, "tables"); len(found.Servers) != 1 {
			t.Errorf("%q: %+v", broken, found)
		}
	}
}

// filesUnder are all files below a folder.
func filesUnder(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
