package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gauze-mcp/gauze/internal/workshop/registry"
)

// someServers are the servers of the test registry. The last one is malicious.
const someServers = `[
	{"server":{"name":"io.github.alice/tables-mcp-server","description":"Read and write tables","version":"1.9.5","packages":[
		{"registryType":"npm","identifier":"tables-mcp-server","version":"1.9.5","transport":{"type":"stdio"},
		 "packageArguments":[{"type":"positional","value":"serve"}],
		 "environmentVariables":[{"name":"TABLES_API_KEY","description":"A personal token","isRequired":true,"isSecret":true},{"name":"TABLES_MODE"}]},
		{"registryType":"oci","identifier":"ghcr.io/alice/tables:1.9.5","transport":{"type":"stdio"},"environmentVariables":[{"name":"TABLES_API_KEY","isRequired":true}]}]},
	 "_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","publishedAt":"2025-11-20T15:45:28Z","isLatest":true}}},
	{"server":{"name":"com.example/tables","description":"Tables, hosted","version":"2.0.0","remotes":[
		{"type":"streamable-http","url":"https://mcp.example.com/tables?v=2&x=1","headers":[{"name":"Authorization","isRequired":true,"value":"Bearer {key}"}]}]},"status":"active"},
	{"server":{"name":"net.example/tables","description":"Tables of old","version":"0.1.0"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deprecated"}}},
	{"server":{"name":"org.example/evil","description":"Nice\u001b[2J\u202e tool; $(id)","version":"1.0.0'","packages":[
		{"registryType":"npm","identifier":"evil;id","version":"1.0.0","transport":{"type":"stdio"}},
		{"registryType":"npm","identifier":"evil","version":"1.0.0 && id","transport":{"type":"stdio"},"runtimeArguments":[{"type":"positional","value":"--evil-option"}],
		 "packageArguments":[{"type":"positional","value":"; id"}],
		 "environmentVariables":[{"name":"NODE_OPTIONS","isRequired":true},{"name":"X=$(id)","isRequired":true}]}],
		"remotes":[{"type":"streamable-http","url":"https://evil.example/$(id)"},{"type":"streamable-http","url":"https://evil.example/mcp","headers":[{"name":"X'` + "`id`" + `","isRequired":true}]}]},"status":"active"}
]`

func registryServer(t *testing.T) *httptest.Server {
	var entries []json.RawMessage
	if err := json.Unmarshal([]byte(someServers), &entries); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		word := r.URL.Query().Get("search")
		if word == "broken" {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		var found []string
		for _, entry := range entries {
			var e struct{ Server struct{ Name string } }
			json.Unmarshal(entry, &e)
			if strings.Contains(e.Server.Name, word) {
				found = append(found, string(entry))
			}
		}
		fmt.Fprintf(w, `{"servers":[%s],"metadata":{"count":%d}}`, strings.Join(found, ","), len(found))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestSearchScripts(t *testing.T) {
	t.Parallel()
	server := registryServer(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/search",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("GAUZE_REGISTRY", server.URL)
			for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
				env.Setenv(name, filepath.Join(env.WorkDir, "home"))
			}
			return nil
		},
	})
}

// A command that a user pastes into a shell does only what it shows.
func TestTheLineToTypeIsHarmless(t *testing.T) {
	source := registry.Source{URL: registryServer(t).URL, Dir: t.TempDir(), Online: true}
	found, err := source.Search(t.Context(), []string{"evil", "tables"}, 10)
	if err != nil || len(found.Servers) != 4 {
		t.Fatal(found, err)
	}
	safe := regexp.MustCompile(`^gauze add [a-z0-9-]+ ([A-Za-z0-9@/._:+-]+|['"]https://[A-Za-z0-9@/._:+?&=-]+['"])( --env [A-Z0-9_]+=…| --header ['"][A-Za-z0-9_-]+: …['"])*$`)
	lines := 0
	for _, server := range searchedOf(found).Servers {
		for _, way := range server.Ways {
			lines++
			if !safe.MatchString(way.Add) {
				t.Errorf("%s", way.Add)
			}
		}
	}
	if lines != 5 {
		t.Errorf("%d lines", lines)
	}
}
