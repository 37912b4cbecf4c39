package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWhatAnEntrySays(t *testing.T) {
	p, err := readPage([]byte(`{"servers":[` + tables + `,` + remoteTables + `]}`))
	if err != nil || len(p.servers) != 2 {
		t.Fatal(p, err)
	}
	s := p.servers[0]
	if len(s.Ways) != 2 || s.Updated.Year() != 2025 || s.Updated.Day() != 21 || s.Short() != "tables" {
		t.Fatalf("%+v", s)
	}
	want := []Variable{
		{Name: "TABLES_API_KEY", About: "A personal token", Required: true, Secret: true}, // nobody's default is a secret
		{Name: "TABLES_MODE", Default: "read", Choices: []string{"read", "write"}},
		{Name: "TABLES_PORT", Default: "8080"},
		{Name: "TABLES_BASE_URL"},
	}
	if got := s.Ways[0].Env; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	if got := s.Ways[0].Args; fmt.Sprint(got) != fmt.Sprint([]Variable{{Value: "serve"}, {Name: "--root", Required: true}}) {
		t.Errorf("%+v", got)
	}
	if notes := strings.Join(slices.Concat(s.Notes, s.Ways[0].Notes), "\n"); !strings.Contains(notes, "start yourself") || !strings.Contains(notes, "as mcpb") ||
		!strings.Contains(notes, "options for the program that starts the server") {
		t.Error(notes)
	}
	r := p.servers[1]
	if len(r.Ways) != 1 || r.Ways[0].Name != "https://mcp.example.com/v1/tables" {
		t.Fatalf("%+v", r)
	}
	if h := r.Ways[0].Headers[0]; h.Name != "Authorization" || !h.Required || !h.Secret || h.Value != "Bearer {tables_key}" {
		t.Errorf("%+v", h)
	}
}

// The registry's runtimeHint and runtimeArguments in tables are not to be seen here.
func TestWords(t *testing.T) {
	for want, f := range map[string]Facts{
		"npx -y tables-mcp-server@1.9.5":                  {Kind: NPM, Name: "tables-mcp-server", Version: "1.9.5"},
		"npx -y @alice/tables":                            {Kind: NPM, Name: "@alice/tables"},
		"uvx weather-mcp@1.0.0.post1":                     {Kind: PyPI, Name: "weather-mcp", Version: "1.0.0.post1"},
		"docker run -i --rm -e A_KEY ghcr.io/alice/t:1.0": {Kind: OCI, Name: "ghcr.io/alice/t:1.0"},
		"https://mcp.example.com/v1":                      {Kind: Remote, Name: "https://mcp.example.com/v1"},
	} {
		if got := strings.Join(f.Words("A_KEY", "--privileged", "LD_PRELOAD"), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		again, err := ParsePackage(f.Package())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(f) {
			t.Errorf("%s: %+v %v", f.Package(), again, err)
		}
	}
	p, _ := readPage([]byte(`{"servers":[` + tables + `]}`))
	if got := strings.Join(p.servers[0].Ways[0].Words(), " "); got != "npx -y tables-mcp-server@1.9.5" {
		t.Error(got)
	}
	if f, err := ParsePackage("@alice/tables@1.0.0"); err != nil || f.Kind != NPM || f.Name != "@alice/tables" || f.Version != "1.0.0" {
		t.Error(f, err)
	}
	for _, bad := range []string{"", "tables", "npm:", "npm:-x", "npm:x@latest", "npm:x@^1.0.0", "npm:x@1", "npm:x@npm:y", "npm:../x", "npm:x y", "pypi:x[extra]", "pypi:git+https://x.example",
		"pypi:x@1.*", "oci:--privileged", "oci:Upper/x", "oci:a//b", "http://example.com", "https://127.0.0.1/", "https://localhost/", "https://a.example/$(id)", "cargo:x", "file:///x"} {
		if f, err := ParsePackage(bad); err == nil {
			t.Errorf("%q is %+v", bad, f)
		}
	}
}

func TestLookup(t *testing.T) {
	f := newFake(t, tables, remoteTables, oldTables, weather,
		strings.NewReplacer("alice/tables-mcp-server", "example-corp/hub", `"tables-mcp-server"`, `"@example-corp/mcp"`).Replace(tables))
	s := f.source()
	for _, c := range []struct {
		kind Kind
		name string
		want string // the entry
	}{
		{NPM, "tables-mcp-server", "io.github.alice/tables-mcp-server"},
		{OCI, "alice/tables-mcp-server", "io.github.alice/tables-mcp-server"},
		{OCI, "docker.io/alice/tables-mcp-server:2.0.0", "io.github.alice/tables-mcp-server"},
		{PyPI, "old.tables", "net.example/tables"},
		{PyPI, "weather_mcp", "io.github.bob/weather"},
		{Remote, "https://mcp.example.com/v1/tables/", "com.example/tables"},
		{NPM, "@example-corp/mcp", "io.github.example-corp/hub"},
		{NPM, "tables", ""}, {NPM, "weather-mcp", ""}, {PyPI, "tables-mcp-server", ""},
		{Remote, "https://mcp.example.com/v2", ""}, {Remote, "https://other.example/v1/tables", ""},
		{NPM, "--help", ""}, {Kind("cargo"), "tables", ""},
	} {
		got, ok := s.Lookup(context.Background(), c.kind, c.name)
		if ok != (c.want != "") || got.Server != c.want {
			t.Errorf("%s %s: %+v", c.kind, c.name, got)
		}
	}
	if facts, _ := s.Lookup(context.Background(), NPM, "tables-mcp-server"); len(Required(facts.Env)) != 1 || Required(facts.Env)[0].Name != "TABLES_API_KEY" {
		t.Errorf("%+v", facts)
	}
}

// Whose package it is and where in a host is said to nobody, unless the name says nothing else.
func TestLookupSendsNoMoreThanItMust(t *testing.T) {
	f := newFake(t)
	s := f.source()
	s.Lookup(context.Background(), NPM, "@secret-corp/payroll-mcp-server")
	s.Lookup(context.Background(), OCI, "images.secret.example/secret/payroll:1")
	s.Lookup(context.Background(), Remote, "https://tenant-secret.example.com/secret/path?key=secret")
	if asked := f.asked(); !slices.Equal(asked, []string{"payroll-mcp-server", "payroll", "com.example", "example"}) {
		t.Errorf("%q", asked)
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"io.github.alice/tables-mcp-server": "tables", "com.example/mcp": "example", "com.example/mcp-server": "example", "io.github.x/-rf": "rf",
		"io.github.x/Google_Drive.mcp": "google-drive", "com.mcp/--": "mcp", "a./-": "server",
	} {
		if got := (Server{Name: name}).Short(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
