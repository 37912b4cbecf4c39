package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fake is a registry with a limited servers, which keeps what it was asked.
type fake struct {
	*httptest.Server
	t       *testing.T
	entries []string // JSON
	pageful int
	answer  http.HandlerFunc // instead of the list

	mu       sync.Mutex
	requests []string // whole, as they came
	searches []string
}

func newFake(t *testing.T, entries ...string) *fake {
	f := &fake{t: t, entries: entries, pageful: 100}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	whole, err := httputil.DumpRequest(r, true)
	if err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	f.requests = append(f.requests, string(whole))
	f.searches = append(f.searches, r.URL.Query().Get("search"))
	answer := f.answer
	f.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	if r.URL.Path != "/v0.1/servers" || r.URL.Query().Get("version") != "latest" {
		f.t.Errorf("asked for %s", r.URL)
	}
	f.list(w, r)
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	var found []string
	for _, entry := range f.entries {
		if strings.Contains(strings.ToLower(nameIn(entry)), strings.ToLower(r.URL.Query().Get("search"))) {
			found = append(found, entry)
		}
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "after:"))
	to := min(len(found), from+f.pageful)
	next := ""
	if to < len(found) {
		next = fmt.Sprintf("after:%d", to)
	}
	body := fmt.Sprintf(`{"servers":[%s],"metadata":{"count":%d,"nextCursor":%q}}`, strings.Join(found[from:to], ","), to-from, next)
	tag := fmt.Sprintf(`"%d-%d"`, len(body), from)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("ETag", tag)
	fmt.Fprint(w, body)
}

func nameIn(entry string) string {
	var e struct{ Server struct{ Name string } }
	json.Unmarshal([]byte(entry), &e)
	return e.Server.Name
}

// asked is what was searched for since the last time.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.searches
	f.searches = nil
	return asked
}

// seen are all requests so far.
func (f *fake) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func (f *fake) answers(answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// source asks the fake and keeps its answers for this test alone.
func (f *fake) source() Source { return Source{URL: f.URL, Dir: f.t.TempDir(), Online: true} }

// The shapes entries have.
const (
	tables = `{"server":{"name":"io.github.alice/tables-mcp-server","title":"Tables","description":"Read and write tables","version":"1.9.5",
		"packages":[
			{"registryType":"npm","identifier":"tables-mcp-server","version":"1.9.5","runtimeHint":"bunx","transport":{"type":"stdio"},
			 "runtimeArguments":[{"type":"positional","value":"--registry=https://packages.example"}],
			 "packageArguments":[{"type":"positional","value":"serve"},{"type":"named","name":"--root","isRequired":true,"format":"filepath"}],
			 "environmentVariables":[
				{"name":"TABLES_API_KEY","description":"A personal token","isRequired":true,"isSecret":true,"default":"abc"},
				{"name":"TABLES_MODE","default":"read","choices":["read","write"]},
				{"name":"TABLES_PORT","format":"number","default":8080},
				{"name":"TABLES_BASE_URL","default":"https://tables.example"}]},
			{"registryType":"oci","identifier":"docker.io/alice/tables-mcp-server:1.9.5","transport":{"type":"stdio"}},
			{"registryType":"npm","identifier":"tables-mcp-server","version":"1.9.5","transport":{"type":"streamable-http","url":"http://localhost:3000/mcp"}},
			{"registryType":"mcpb","identifier":"https://bundles.example/tables.mcpb","transport":{"type":"stdio"}}]},
		"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","publishedAt":"2025-11-20T15:45:28Z","updatedAt":"2025-11-21T00:00:00Z","isLatest":true}}}`
	tablesBefore = `{"server":{"name":"io.github.alice/tables-mcp-server","description":"Tables, early","version":"1.0.0"},
		"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","publishedAt":"2025-01-01T00:00:00Z","isLatest":false}}}`
	remoteTables = `{"server":{"name":"com.example/tables","description":"Tables, hosted","version":"2.0.0",
		"remotes":[{"type":"sse","url":"https://mcp.example.com/sse"},
			{"type":"streamable-http","url":"https://MCP.example.com/v1/tables",
			 "headers":[{"name":"Authorization","description":"Your key","isRequired":true,"isSecret":true,"value":"Bearer {tables_key}","variables":{"tables_key":{"isRequired":true,"isSecret":true}}}]}]},
		"status":"active","publishedAt":"2025-10-09T17:05:17.793149Z"}`
	oldTables = `{"server":{"name":"net.example/tables","description":"Tables of old","version":"0.1.0","packages":[{"registryType":"pypi","identifier":"Old_Tables","version":"v0.1.0","transport":{"type":"stdio"}}]},
		"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deprecated","statusMessage":"Use another one","publishedAt":"2025-12-01T00:00:00Z"}}}`
	goneTables = `{"server":{"name":"org.example/tables","description":"Tables no more","version":"1.0.0"},"status":"deleted"}`
	weather    = `{"server":{"name":"io.github.bob/weather","description":"Forecasts, in tables","version":"1.0.0","packages":[{"registryType":"pypi","identifier":"weather-mcp","version":"1.0.0.post1","transport":{"type":"stdio"}}]},"status":"active"}`
)
