//go:build linux

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/testonly/bearertest"
)

func startIssuer(t *testing.T) *bearertest.Issuer {
	t.Helper()
	i := bearertest.Start("")
	t.Cleanup(i.Close)
	return i
}

const callEnv = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"env","arguments":{}}}`

func TestServeAcceptsAccessTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	i, state := startIssuer(t), t.TempDir()
	s := startServeIn(t, state, "--oauth-issuer", i.URL, "--oauth-scope", "tools:read", "--", "faultyserver")
	code, _, header := s.post("", `{}`)
	metadata := strings.Replace(s.url, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1)
	if code != 401 || !strings.Contains(header.Get("WWW-Authenticate"), `resource_metadata="`+metadata+`"`) {
		t.Errorf("status %d, %v", code, header)
	}
	response, err := http.Get(metadata)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var resource struct{ Resource string }
	if err := json.NewDecoder(response.Body).Decode(&resource); err != nil || resource.Resource != s.url {
		t.Errorf("the resource is %q, want %q: %v", resource.Resource, s.url, err)
	}
	s.token = i.Token(i.Claims(s.url, nil))
	if _, answer, _ := s.post(s.initialize(), callEnv); !strings.Contains(answer, "PATH=") || strings.Contains(answer, s.token) {
		t.Errorf("the server answered %s", answer)
	}
	i.SetDown(true) // its keys are known
	s.initialize()
	if said := s.stop(); strings.Contains(said, s.token) || !strings.Contains(said, "access tokens from "+i.URL+"; required scopes: tools:read") {
		t.Errorf("said %s", said)
	}
	if _, err := os.Stat(filepath.Join(state, "serve-token")); err == nil {
		t.Error("a token was created that no client can use")
	}
}

func TestServeBehindAProxy(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	s := startServeIn(t, t.TempDir(), "--oauth-issuer", i.URL, "--public-url", "https://mcp.example.com", "--oauth-audience", "api://gauze", "--", "faultyserver")
	r, err := http.NewRequest("GET", strings.Replace(s.url, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "mcp.example.com" // as a proxy passes it on
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != 200 || !strings.Contains(string(text), `"https://mcp.example.com/mcp"`) {
		t.Errorf("status %d: %s", response.StatusCode, text)
	}
	s.token = i.Token(i.Claims("https://mcp.example.com/mcp", nil))
	if code, answer, _ := s.post("", `{}`); code != 401 || !strings.Contains(answer, "api://gauze") {
		t.Errorf("a token for a different audience: status %d: %s", code, answer)
	}
	s.token = i.Token(i.Claims("api://gauze", nil))
	s.initialize()
}

func TestServeIntrospects(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	s := startServeWith(t, []string{"GAUZE_STATE_DIR=" + t.TempDir(), "TEST_SECRET=" + i.Secret}, "--oauth-issuer", i.URL, "--oauth-introspect", "--oauth-client-id", i.Client, "--oauth-client-secret-env", "TEST_SECRET", "--", "faultyserver")
	s.token = "an-opaque-token"
	if code, answer, _ := s.post("", `{}`); code != 401 || strings.Contains(answer, s.token) {
		t.Errorf("status %d: %s", code, answer)
	}
	s.token = "a-different-opaque-token"
	i.Activate(s.token, i.Claims(s.url, nil))
	if _, answer, _ := s.post(s.initialize(), callEnv); !strings.Contains(answer, "PATH=") || strings.Contains(answer, i.Secret) || strings.Contains(answer, s.token) {
		t.Errorf("the server answered %s", answer)
	}
	if said := s.stop(); strings.Contains(said, i.Secret) || strings.Contains(said, s.token) {
		t.Errorf("said %s", said)
	}
}

func TestServeStartsWhileItsIssuerIsDown(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	i.SetDown(true)
	s := startServeIn(t, t.TempDir(), "--oauth-issuer", i.URL, "--", "faultyserver")
	s.token = i.Token(i.Claims(s.url, nil))
	if code, answer, header := s.post("", `{}`); code != 503 || header.Get("Retry-After") == "" || !strings.Contains(answer, i.URL) {
		t.Errorf("status %d: %s", code, answer)
	}
	if said := s.stop(); !strings.Contains(said, "access tokens cannot be validated at the moment") || !strings.Contains(said, "502") {
		t.Errorf("said %s", said)
	}
}

func TestServeRejectsFlagsThatDoNotFit(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a wrong one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte("a wrong one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	issuer := slices.Clip([]string{"--oauth-issuer", i.URL})
	asking := slices.Clip(append(issuer, "--oauth-introspect", "--oauth-client-id", i.Client))
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--oauth-scope", "x"}, "require --oauth-issuer"},
		{[]string{"--public-url", "https://x.example.com"}, "require --oauth-issuer"},
		{[]string{"--oauth-issuer", "http://auth.example.com"}, "invalid --oauth-issuer"},
		{append(issuer, "--public-url", "http://mcp.example.com/mcp"), "invalid --public-url"},
		{append(issuer, "--public-url", "https://mcp.example.com/mcp?x=1"), "invalid --public-url"},
		{append(issuer, "--oauth-scope", "a b"), "invalid --oauth-scope"},
		{append(issuer, "--oauth-client-id", "x"), "require --oauth-introspect"},
		{append(issuer, "--oauth-introspect"), "requires --oauth-client-id"},
		{asking, "requires --oauth-client-id"},
		{append(asking, "--oauth-client-secret-env", "A", "--oauth-client-secret-file", secret), "requires --oauth-client-id"},
		{append(asking, "--oauth-client-secret-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"},
		{append(asking, "--oauth-client-secret-file", open), "chmod 600"},
		{append(asking, "--oauth-client-secret-file", secret), "rejected the client ID or secret"},
		{[]string{"--oauth-issuer", i.URL + "/other"}, "is for the issuer"},
	} {
		var f serveFlags
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.oauth.add(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		err := f.oauth.check("127.0.0.1:0", false)
		if err == nil {
			err = f.oauth.protect(t.Context(), &f.front, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7300})
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "a wrong one") {
			t.Errorf("%s: %v", test.args, err)
		}
	}
	for _, test := range []struct{ args, want string }{
		{"--no-token", "cannot be combined"},
		{"--token-env=HOME", "cannot be combined"},
		{"--listen=0.0.0.0:0", "requires --public-url"},
	} {
		out, err := program(t, "gauze", "serve", "--oauth-issuer", i.URL, test.args, "--", "true").CombinedOutput()
		if err == nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v, %s", test.args, err, out)
		}
	}
}
