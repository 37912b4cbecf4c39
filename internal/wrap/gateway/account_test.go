package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/testonly/bearertest"
	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// requiresLogin starts a server that requires a login, and gives the test a store of its own.
func requiresLogin(t *testing.T) *logintest.Server {
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	t.Setenv("GAUZE_KEYRING", "off")
	return logintest.New(t, logintest.Config{})
}

// openAs opens the address of a login in the browser of a person, who is led back to gauze.
func openAs(person, address string) error {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set(logintest.PersonHeader, person)
	browser := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := browser.Do(r)
	if err == nil {
		response.Body.Close()
	}
	return err
}

// operatorLogsIn stores a login as gauze login does.
func operatorLogsIn(t *testing.T, as *logintest.Server, account string) {
	t.Helper()
	show := func(_ context.Context, p login.Page) error {
		go openAs("the operator", p.Address) // if it fails, the login does not end
		return nil
	}
	source := login.New(as.MCP(), launch.Login{Account: account}, login.Config{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err := source.Login(t.Context(), show); err != nil {
		t.Fatal(err)
	}
}

// whoami asks the server whose token a call had. It returns the result, and the address at which the
// user is asked to log in, if any.
func (c *client) whoami(more string) (text, address, state string) {
	c.t.Helper()
	body, headers := modernRequest("1", "tools/call", `{"name":"whoami","arguments":{}`+more+`}`, "")
	body = strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"url":{}}}`, 1)
	m := c.request("POST", body, headers...).want(200).result()
	var result struct {
		InputRequests map[string]struct{ Params struct{ URL string } }
		RequestState  string
	}
	if err := json.Unmarshal(m.Result, &result); err != nil && m.Error == nil {
		c.t.Fatal(err)
	}
	for _, request := range result.InputRequests {
		address = request.Params.URL
	}
	return m.raw, address, result.RequestState
}

// logsIn logs in because of a call, as person, and repeats the call.
func (c *client) logsIn(person string) {
	c.t.Helper()
	text, address, state := c.whoami("")
	if address == "" {
		c.t.Fatalf("%s was not asked to log in: %s", person, text)
	}
	if err := openAs(person, address); err != nil {
		c.t.Fatal(err)
	}
	text, _, _ = c.whoami(fmt.Sprintf(`,"requestState":%q,"inputResponses":{"io.github.gauze-mcp/login":{"action":"accept"}}`, state))
	c.is(person, text)
}

func (c *client) is(person, text string) {
	c.t.Helper()
	if text == "" {
		text, _, _ = c.whoami("")
	}
	if !strings.Contains(text, "you are "+person+`"`) {
		c.t.Errorf("the call of %s: %s", person, text)
	}
}

// isNobody checks that a call had no token.
func (c *client) isNobody(as *logintest.Server) {
	c.t.Helper()
	before := len(callers(as))
	if text, _, _ := c.whoami(""); strings.Contains(text, "you are") {
		c.t.Errorf("a call without a login: %s", text)
	}
	if all := callers(as); len(all) != before {
		c.t.Errorf("tokens of %q reached the server", all[before:])
	}
}

// callers returns whose tokens reached the server.
func callers(as *logintest.Server) (all []string) {
	for _, r := range as.Ledger("mcp") {
		if r.Person != "" {
			all = append(all, r.Person)
		}
	}
	return all
}

// usersOf returns how a gateway in front of as is started, and its clients Alice and Bob, for each way
// in which a gateway tells clients apart.
func usersOf(as *logintest.Server) map[string]func(t *testing.T, o Options) (f *front, alice, bob *client) {
	issuers := map[*testing.T]*bearertest.Issuer{}
	return map[string]func(t *testing.T, o Options) (f *front, alice, bob *client){
		"an issuer": func(t *testing.T, o Options) (*front, *client, *client) {
			if issuers[t] == nil {
				issuers[t] = bearertest.Start("")
				t.Cleanup(issuers[t].Close)
			}
			p := protectBy(t, issuers[t], o, as.MCP())
			return p.front, p.as("alice", "editor"), p.as("bob", "editor")
		},
		"several tokens": func(t *testing.T, o Options) (*front, *client, *client) {
			o.Tokens = []string{"the-token-of-alice", "the-token-of-bob"}
			l := o.Session.Spec.Login
			o.Session.Spec = launch.Spec{URL: as.MCP(), Login: l}
			f := serveSpec(t, o)
			return f, f.client("Authorization", "Bearer the-token-of-alice"), f.client("Authorization", "Bearer the-token-of-bob")
		},
	}
}

func TestEachUserHasALoginOfTheirOwn(t *testing.T) {
	for _, name := range []string{"an issuer", "several tokens"} {
		t.Run(name, func(t *testing.T) {
			as := requiresLogin(t)
			begin := usersOf(as)[name]
			f, alice, bob := begin(t, quickly())
			alice.logsIn("alice")
			bob.isNobody(as)
			operatorLogsIn(t, as, "")
			bob.isNobody(as)
			bob.logsIn("bob")
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { alice.is("alice", "") })
				all.Go(func() { bob.is("bob", "") })
			}
			all.Wait()
			as.Expire()
			bob.is("bob", "")
			alice.is("alice", "")
			f.end()

			_, alice, bob = begin(t, quickly()) // both are still logged in
			bob.is("bob", "")
			alice.is("alice", "")
			if slices.Contains(callers(as), "the operator") {
				t.Error("the login of the operator was used")
			}
		})
	}
}

// A login that the operator shares is used for all, and no client can replace it.
func TestASharedLoginIsTheOperators(t *testing.T) {
	for _, name := range []string{"an issuer", "several tokens"} {
		t.Run(name, func(t *testing.T) {
			as := requiresLogin(t)
			o := quickly()
			o.Session.Spec.Login.Mode = launch.LoginShared
			_, alice, bob := usersOf(as)[name](t, o)
			for _, c := range []*client{alice, bob} {
				if text, address, _ := c.whoami(""); address != "" || !strings.Contains(text, "gauze login "+as.MCP()+"`") {
					t.Errorf("a client was asked: %s", text)
				}
			}
			operatorLogsIn(t, as, "")
			alice.is("the operator", "")
			bob.is("the operator", "")
		})
	}
}

// A token without a subject names a program, which any number of people may use.
func TestATokenThatNamesNoPersonHasNoLogin(t *testing.T) {
	as := requiresLogin(t)
	p := protect(t, quickly(), as.MCP())
	operatorLogsIn(t, as, "")
	c := p.client("Authorization", "Bearer "+p.token(map[string]any{"sub": nil, "client_id": "editor"}))
	if text, address, _ := c.whoami(""); address != "" || strings.Contains(text, "you are") {
		t.Error(text)
	}
	c.isNobody(as)
}

// The same person has one login, whichever client they use; a client that someone else uses has none.
func TestALoginIsThatOfAPerson(t *testing.T) {
	as := requiresLogin(t)
	p := protect(t, quickly(), as.MCP())
	p.as("alice", "editor").logsIn("alice")
	p.as("alice", "studio").is("alice", "")
	p.as("alice\" of "+p.issuer.URL, "editor").isNobody(as)
	p.as("Alice", "editor").isNobody(as)
	p.as("alice ", "editor").isNobody(as)
	p.as("", "alice").isNobody(as)
}

// Sessions of the legacy era are apart as well: what one user's session said or needs, no other sees.
func TestLegacySessionsHaveTheLoginOfTheirUser(t *testing.T) {
	for _, name := range []string{"an issuer", "several tokens"} {
		t.Run(name, func(t *testing.T) {
			as := requiresLogin(t)
			_, alice, bob := usersOf(as)[name](t, quickly())
			alice.logsIn("alice")
			alice.initialize("2025-06-18").call("1", "whoami", `{}`).want(200).result().wantText(t, "you are alice")
			refused := bob.request("POST", fmt.Sprintf(hello, "2025-06-18")).want(200).result()
			if !strings.Contains(refused.raw, "--account") || strings.Contains(refused.raw, "alice") {
				t.Errorf("told %s", refused.raw)
			}
			if all := callers(as); slices.ContainsFunc(all, func(who string) bool { return who != "alice" }) {
				t.Error(all)
			}
		})
	}
}

// One user's answer is not that of another: Bob is asked although Alice declined.
func TestOneUserDeclinesForThemselves(t *testing.T) {
	as := requiresLogin(t)
	_, alice, bob := usersOf(as)["several tokens"](t, quickly())
	_, address, state := alice.whoami("")
	if address == "" {
		t.Fatal("not asked")
	}
	alice.whoami(fmt.Sprintf(`,"requestState":%q,"inputResponses":{"io.github.gauze-mcp/login":{"action":"decline"}}`, state))
	if text, again, _ := alice.whoami(""); again != "" {
		t.Errorf("asked again: %s", text)
	}
	bob.logsIn("bob")
	alice.isNobody(as)
}

func TestUnusedAccountsAreForgotten(t *testing.T) {
	as := requiresLogin(t)
	o := quickly()
	o.MaxSessions = 4
	p := protect(t, o, as.MCP())
	for i := range 12 {
		c := p.as(fmt.Sprint("user", i), "editor")
		c.request("POST", fmt.Sprintf(hello, "2025-06-18")).result()
	}
	p.g.table.mu.Lock()
	defer p.g.table.mu.Unlock()
	if n := len(p.g.table.accounts); n > 8 {
		t.Errorf("%d accounts are kept", n)
	}
}
