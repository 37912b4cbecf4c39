package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// browser is a browser and its user: it opens an address in the background, as real ones do, and
// follows where it leads.
func browser(args []string) int {
	if len(args) == 1 {
		if err := exec.Command("browser", "--window", args[0]).Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	res, err := http.Get(args[1])
	if err != nil {
		return 1
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	return 0
}

// newUser returns a person with a browser, and a client that has a server at s.
func newUser(t *testing.T, s *logintest.Server) *person {
	t.Helper()
	p := newPerson(t, map[string]string{".cursor/mcp.json": fmt.Sprintf(`{"mcpServers": {"notes": {"url": %q}, "local": {"command": "tellall"}}}`, s.MCP())})
	p.environ = append(p.environ, "BROWSER=browser")
	return p
}

func wantText(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing in:\n%s", part, said)
		}
	}
}

// A person logs in by name, sees it, uses it by URL, and logs out.
func TestLogInAndOut(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{Who: "ada@example.com", Scopes: []string{"read", "write"}})
	p := newUser(t, s)
	said, status := p.gauze("test", "cursor/notes")
	if wantText(t, said, "gauze login"); status != 1 {
		t.Errorf("before the login: %d", status)
	}
	wantText(t, p.must("login", "--status"), "Not logged in to any server", "gauze login URL")
	wantText(t, p.must("login", "--status", "notes"), "Not logged in to notes", "gauze login notes")

	said = p.must("login", "notes")
	wantText(t, said, "Logging in to notes ("+s.MCP()+")", s.MCP()+" asks you to log in at "+s.URL+".\n", s.URL+"/authorize?", "Logged in as ada@example.com at "+s.URL, "Scopes: read, write", "renews it automatically", "lists 4 tools")

	wantText(t, p.must("login", "--status"), "✓ "+s.MCP(), "Not wrapped: cursor/notes", "\n        gauze wrap --remote cursor/notes\n", "ada@example.com", "read, write", "in 60 min", "renews the login automatically", "only you can read")
	var shown struct{ Logins []shownLogin }
	if err := json.Unmarshal([]byte(p.must("login", "--status", "--json", s.MCP())), &shown); err != nil || len(shown.Logins) != 1 {
		t.Fatal(err, shown)
	}
	if l := shown.Logins[0]; l.Resource != s.MCP() || l.Issuer != s.URL || l.Who != "ada@example.com" || !l.Renewable || l.Store != "file" || len(l.Servers) != 0 || len(l.Unwrapped) != 1 || l.Unwrapped[0] != "cursor/notes" {
		t.Errorf("%+v", l)
	}
	wantText(t, p.must("test", s.MCP()), "It works")
	said, status = p.gauze("doctor", "cursor/notes")
	if wantText(t, said, "Gauze is logged in to it", "gauze wrap --remote cursor/notes"); status != 1 {
		t.Errorf("the client does not use the login: %d", status)
	}

	wantText(t, p.must("login", s.MCP()), "already logged in as ada@example.com", "This will replace that login")
	if s.Logins() != 2 {
		t.Errorf("%d logins", s.Logins())
	}
	wantText(t, p.must("logout", "cursor/notes"), "Logged out of "+s.MCP()+". The authorization server revoked the login.")
	if n := len(s.Ledger("revoke")); n == 0 {
		t.Error("nothing was revoked")
	}
	if said, status := p.gauze("logout", "notes"); status != 1 || !strings.Contains(said, "not logged in to notes") {
		t.Errorf("%d: %s", status, said)
	}
	if files, _ := filepath.Glob(filepath.Join(p.state, "logins", "*.login")); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

// A server that names the issuer of a different login is asked about, once.
func TestLoginAtTheIssuerOfADifferentServer(t *testing.T) {
	t.Setenv("GAUZE_KEYRING", "off")
	s := logintest.New(t, logintest.Config{})
	p := newUser(t, s)
	other := login.Login{Key: login.Key{Resource: "https://other.test/mcp", Issuer: s.URL}}
	if err := login.Open(p.state).Add(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	said, status := p.gauze("login", "notes")
	host := strings.TrimPrefix(s.URL, "http://")
	if wantText(t, said, "You already use "+host+" to log in to https://other.test. This login is at "+s.URL+", ", "--login-issuer "+host); status != 1 || s.Logins() != 0 {
		t.Errorf("%d, %d logins", status, s.Logins())
	}
	p.must("login", "notes", "--login-issuer", host)
	p.must("login", "notes")
	if s.Logins() != 2 {
		t.Errorf("%d logins", s.Logins())
	}
}

// A question is never cut: what a person agrees to is what they were shown.
func TestTheQuestionOfALoginIsWhole(t *testing.T) {
	t.Setenv("GAUZE_KEYRING", "off")
	s := logintest.New(t, logintest.Config{})
	p := newUser(t, s)
	var others []string
	for i := range 30 {
		origin := fmt.Sprintf("https://%s%d.test", strings.Repeat("x", 40), i)
		others = append(others, origin)
		if err := login.Open(p.state).Add(t.Context(), login.Login{Key: login.Key{Resource: origin + "/mcp", Issuer: s.URL}}); err != nil {
			t.Fatal(err)
		}
	}
	said, _ := p.gauze("login", "notes")
	wantText(t, said, append(others, "--login-issuer "+strings.TrimPrefix(s.URL, "http://"))...)
}

// A wrapped server is logged in to as its entry says. Flags come first.
func TestLoginUsesTheSettingsOfTheEntry(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{Clients: map[string]string{"desk": "the-secret-of-the-desk", "other": ""}, NoRegistration: true})
	p := newPerson(t, map[string]string{".cursor/mcp.json": fmt.Sprintf(`{"mcpServers": {"notes": {"command": "gauze", "args": ["run", "--client-id=desk", "--client-secret-env", "GAUZE_CLIENT_SECRET",
		"--scope=read", "--account", "work", "--url", %q], "env": {"GAUZE_CLIENT_SECRET": "the-secret-of-the-desk"}}}}`, s.MCP())})
	p.environ = append(p.environ, "BROWSER=browser")
	said := p.must("login", "notes")
	wantText(t, said, "(account work)", "Scopes: read", "lists 4 tools")
	if strings.Contains(said, "gauze wrap") || strings.Contains(said, "the-secret-of-the-desk") {
		t.Error(said)
	}
	if said := p.must("login", "--status"); !strings.Contains(said, "servers    cursor/notes\n") || strings.Contains(said, "gauze wrap") {
		t.Error(said)
	}
	p.must("login", "notes", "--client-id", "other", "--account", "home", "--scope", "write")
	var asked []string
	for _, r := range s.Ledger("authorize") {
		asked = append(asked, r.Client+" "+r.Scope)
	}
	if got := strings.Join(asked, ", "); got != "desk read, other write" {
		t.Errorf("asked as %s", got)
	}
}

// The client of a server that is not wrapped does not use the login, and gauze says so.
func TestLoginToAServerThatIsNotWrapped(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{})
	p := newUser(t, s)
	p.write(".codeium/windsurf/mcp_config.json", fmt.Sprintf(`{"mcpServers": {"notes": {"serverUrl": %q}}}`, s.MCP()))
	wantText(t, p.must("login", "cursor/notes"), "Not wrapped: cursor/notes", "\n    gauze wrap --remote cursor/notes\n")
	wantText(t, p.must("login", "notes"), "gauze wrap --remote ", "cursor/notes", "windsurf/notes")
	if said := p.must("login", s.MCP()); strings.Contains(said, "gauze wrap") {
		t.Error(said)
	}
}

// Accounts are separate logins.
func TestAccounts(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{Who: "ada@example.com"})
	p := newUser(t, s)
	wantText(t, p.must("login", "notes", "--account", "work"), "The entry of notes uses the default account.", "--account=work to its arguments")
	if said := p.must("login", "--status"); strings.Contains(said, "cursor/notes") {
		t.Errorf("the server uses a different account:\n%s", said)
	}
	if said, status := p.gauze("test", s.MCP()); status != 1 {
		t.Errorf("the default account is logged in: %s", said)
	}
	wantText(t, p.must("test", "--account", "work", "--url", s.MCP()), "It works")
	wantText(t, p.must("login", "--status"), "account    work")
	if said, status := p.gauze("logout", "notes"); status != 1 || !strings.Contains(said, "with the default account, only with the account work") {
		t.Errorf("%d: %s", status, said)
	}
	p.must("login", "notes")
	wantText(t, p.must("logout", "notes", "--all"), s.MCP()+".", s.MCP()+" (account work)")
	wantText(t, p.must("login", "--status"), "Not logged in to any server")
}

// What a login that does not succeed says, and its exit status.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server logintest.Config
		args   []string
		status int
		said   []string
	}{
		"no login is needed":     {logintest.Config{Open: true}, nil, 0, []string{"works without a login"}},
		"the person says no":     {logintest.Config{Deny: true}, nil, 1, []string{"not logged in: ", "declined"}},
		"no refresh token":       {logintest.Config{NoRefresh: true}, nil, 0, []string{"not issue a refresh token", "log in again"}},
		"a scope is not granted": {logintest.Config{Scopes: []string{"read", "write"}, Granted: []string{"read"}}, nil, 0, []string{"Scopes: read\n", "Requested but not granted: write"}},
		"a machine":              {logintest.Config{Clients: map[string]string{"robot": "the-secret-of-the-robot"}}, []string{"--grant", "client-credentials", "--client-id", "robot", "--client-secret-env", "ROBOT"}, 0, []string{"Logged in", "renews the login automatically", "started with the same", "--grant, --client-id and secret"}},
		"a wrong secret":         {logintest.Config{Clients: map[string]string{"robot": "a-different-secret"}}, []string{"--grant", "client-credentials", "--client-id", "robot", "--client-secret-env", "ROBOT"}, 1, []string{"not logged in: ", "invalid_client"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := logintest.New(t, c.server)
			p := newUser(t, s)
			p.environ = append(p.environ, "ROBOT=the-secret-of-the-robot")
			said, status := p.gauze(append([]string{"login", s.MCP()}, c.args...)...)
			if status != c.status {
				t.Errorf("status %d:\n%s", status, said)
			}
			wantText(t, said, c.said...)
			if strings.Contains(said, "the-secret-of-the-robot") {
				t.Error("the secret is shown:", said)
			}
		})
	}
}

// Without a browser, the person opens the address elsewhere and pastes where it led.
func TestLoginWithoutABrowser(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{})
	p := newUser(t, s)
	cmd := gauzeCommand(p, "login", "--no-browser", "notes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said bytes.Buffer
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if address := strings.TrimSpace(lines.Text()); strings.HasPrefix(address, s.URL+"/authorize?") {
			to, err := s.Redirect(address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(in, "http://example.com/not-this")
			fmt.Fprintln(in, to)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, said.String())
	}
	wantText(t, said.String(), "this is not the callback address", "Logged in at "+s.URL)
}

// Ctrl-C ends the wait for a person.
func TestLoginIsCancelled(t *testing.T) {
	t.Parallel()
	windowstest.Skip(t)
	s := logintest.New(t, logintest.Config{Silent: true})
	p := newUser(t, s)
	cmd := gauzeCommand(p, "login", "notes")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	var said strings.Builder
	for lines := bufio.NewReader(io.TeeReader(out, &said)); !strings.Contains(said.String(), "Press Ctrl-C"); {
		if _, err := lines.ReadByte(); err != nil {
			t.Fatalf("%v:\n%s", err, said.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	io.Copy(&said, out)
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 {
		t.Errorf("status %d", status)
	}
	wantText(t, said.String(), "cancelled")
}

// An ended login says why, and what to run.
func TestStatusOfAnEndedLogin(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{})
	p := newUser(t, s)
	p.must("login", "notes")
	s.Revoke()
	if said, status := p.gauze("test", s.MCP()); status != 1 {
		t.Errorf("it works with a revoked login: %s", said)
	} else {
		wantText(t, said, "gauze login "+s.MCP())
	}
	wantText(t, p.must("login", "--status"), "✗ "+s.MCP(), "ended", "To log in again:", "gauze login "+s.MCP())
	wantText(t, p.must("login", "notes"), "Logged in")
	wantText(t, p.must("login", "--status"), "✓ "+s.MCP())
}

func TestLoginMistakes(t *testing.T) {
	t.Parallel()
	s := logintest.New(t, logintest.Config{})
	p := newUser(t, s)
	open := filepath.Join(p.home, "open-secret")
	if err := os.WriteFile(open, []byte("hidden-secret-value\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	p.write("project/.cursor/mcp.json", `{"mcpServers": {"theirs": {"url": "https://theirs.example/mcp"}}}`)
	p.write(".codeium/windsurf/mcp_config.json", fmt.Sprintf(`{"mcpServers": {"keyed": {"serverUrl": "https://keyed.example/mcp", "headers": {"Authorization": "Bearer hidden-secret-value"}}, "off": {"command": "gauze", "args": ["run", "--login=off", "--url", %q]}}}`, s.MCP()))
	for want, args := range map[string][]string{
		"missing SERVER or URL":                         {"login"},
		"--json requires --status":                      {"login", "--json", "notes"},
		"--status cannot be combined with --no-browser": {"login", "--status", "--no-browser"},
		"--status cannot be combined with --scope":      {"login", "--status", "--scope", "x"},
		"local is a local command":                      {"login", "local"},
		`did you mean "notes"?`:                         {"login", "note"},
		"is configured by the project":                  {"login", "theirs"},
		"gauze login https://theirs.example/mcp":        {"login", "theirs"},
		"has its own credential":                        {"login", "keyed"},
		"require --client-id":                           {"login", "notes", "--client-secret-env", "X"},
		"invalid --client-secret-env: the environment variable NO_SUCH_VARIABLE is not set": {"login", "notes", "--client-id", "x", "--client-secret-env", "NO_SUCH_VARIABLE"},
		"unknown flag --client-secret": {"login", "notes", "--client-secret", "hidden-secret-value"},
		`invalid --grant "password"`:   {"login", "notes", "--grant", "password"},
		"requires --assertion-file, and --assertion-file requires --grant workload-identity": {"login", "notes", "--grant", "workload-identity"},
		"invalid --redirect-url":                               {"login", "notes", "--redirect-url", "https://evil.example/callback"},
		"invalid --scope":                                      {"login", "notes", "--scope", `a"b`},
		"must be http or https":                                {"login", "ftp://x.example"},
		"such as https://x.example/mcp":                        {"login", "x.example/mcp"},
		"its entry contains --login=off":                       {"login", "off"},
		"--account requires --url":                             {"run", "--account", "x", "--", "tellall"},
		"--login requires --url":                               {"run", "--login", "auto", "--", "tellall"},
		`invalid --login "always"`:                             {"run", "--login", "always", "--url", s.MCP()},
		"--login off cannot be combined with --scope":          {"run", "--login", "off", "--scope", "x", "--url", s.MCP()},
		"--account cannot be combined with a credential":       {"run", "--account", "x", "--header", "Authorization: Bearer hidden-secret-value", "--url", s.MCP()},
		"--all cannot be combined with --account":              {"logout", "--all", "--account", "x"},
		"missing SERVER or URL; --all logs out of all servers": {"logout"},
	} {
		said, status := p.gauze(args...)
		if status != 2 || !strings.Contains(said, want) || strings.Contains(said, "hidden-secret-value") {
			t.Errorf("gauze %v: status %d, want %q:\n%s", args, status, want, said)
		}
	}
	if runtime.GOOS != "windows" { // which has no permission bits
		if said, status := p.gauze("login", "notes", "--client-id", "x", "--client-secret-file", open); status != 2 || !strings.Contains(said, "other users can access the client secret file") {
			t.Errorf("%d: %s", status, said)
		}
	}
	if n := len(s.Ledger()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestHeadless(t *testing.T) {
	for _, c := range []struct {
		system, env string
		want        bool
	}{
		{"linux", "DISPLAY", false}, {"linux", "WAYLAND_DISPLAY", false}, {"linux", "BROWSER SSH_CONNECTION", false}, {"linux", "WSL_DISTRO_NAME", false},
		{"linux", "DISPLAY SSH_CONNECTION", false}, {"linux", "", true}, {"linux", "SSH_CONNECTION", true}, {"darwin", "", false}, {"darwin", "SSH_CONNECTION", true}, {"windows", "", false},
	} {
		set := strings.Fields(c.env)
		if got := headless(c.system, func(name string) string {
			for _, one := range set {
				if one == name {
					return "x"
				}
			}
			return ""
		}); got != c.want {
			t.Errorf("%s with %q: %v", c.system, c.env, got)
		}
	}
}

// Every expiry reads as a sentence.
func TestExpiryInWords(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		expires   time.Duration
		renewable bool
		want      string
	}{
		{time.Hour, true, "in 60 min; gauze renews the login automatically"},
		{-time.Hour, true, "60 min ago; gauze renews the login the next time it is used"},
		{time.Hour, false, "in 60 min; gauze cannot renew the login"},
		{-time.Hour, false, "60 min ago; the server did not issue a refresh token, so you have to log in again"},
		{0, true, "unknown; gauze renews the login if the server rejects it"},
		{0, false, "unknown; gauze cannot renew the login"},
	} {
		s := shownLogin{Status: login.Status{Renewable: c.renewable}}
		if c.expires != 0 {
			s.Expires = now.Add(c.expires)
		}
		if got := s.expiry(now); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s", c, got)
		}
		s.Grant = "client-credentials"
		if got := s.expiry(now); !strings.Contains(got, "gauze logs in again") || strings.Contains(got, "refresh token") {
			t.Errorf("%v, of a machine: %s", c, got)
		}
	}
}

func TestHostsOfFlags(t *testing.T) {
	for given, want := range map[string]string{
		"Login.Example.com": "login.example.com", "login.example.com:443": "login.example.com", "127.0.0.1:8080": "127.0.0.1:8080",
		"https://login.example.com/Tenant": "https://login.example.com/Tenant", "http://127.0.0.1:8080": "http://127.0.0.1:8080",
		"http://login.example.com": "", "https://": "", "login.example.com/tenant": "", "a@login.example.com": "", "javascript:x": "",
	} {
		f := loginFlags{Login: launch.Login{Issuer: given}}
		if err := f.normalize(); (err == nil) != (want != "") || err == nil && f.Issuer != want {
			t.Errorf("--login-issuer %s: %s, error %v", given, f.Issuer, err)
		}
	}
	f := loginFlags{Login: launch.Login{Endpoints: []string{"API.example.com"}}}
	if err := f.normalize(); err != nil || f.Endpoints[0] != "api.example.com" {
		t.Errorf("%v, error %v", f.Endpoints, err)
	}
	f.Endpoints = []string{"https://api.example.com"}
	if l, err := f.login(); err == nil {
		t.Errorf("accepted %v", l)
	}
}
