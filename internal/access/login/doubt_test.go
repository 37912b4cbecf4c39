package login

import (
	"cmp"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// second adds a server that names the same authorization server, and moves gauze to it.
func (w *world) second(base string) {
	w.at(base)
	w.client = map[string]any{"client_id": "registered-2"}
}

// The authorization server remembers the consent for a client: a different server must not be able
// to use it.
func TestARegistrationIsForOneServer(t *testing.T) {
	for _, site := range []string{"https://second.test", "https://mcp.test/second"} {
		w := newWorld(t)
		first := w.mustLogin(launch.Login{})
		w.second(site)
		w.prmPath = strings.TrimSuffix(places["resource"], "/mcp") + mustParse(w.site).Path
		w.agrees = true
		if l := w.mustLogin(launch.Login{}); l.Client.ID == first.Client.ID {
			t.Errorf("%s logs in as the client of %s", site, first.Resource)
		}
		if w.register = nil; w.mustLogin(launch.Login{}).Client.ID != "registered-2" || w.register != nil {
			t.Error("the registration was not used again for the same server")
		}
	}
}

// A page that knows the person may not ask them again, so gauze does, once.
func TestAnIssuerThatHasALoginOfADifferentServer(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	if l, err := w.login(launch.Login{}); err == nil || w.numAsked != 1 {
		t.Errorf("logged in without an answer: %v", l)
	}
	if len(w.doubts) != 1 || w.doubts[0].Says != "You already use as.test to log in to https://mcp.test. This login is at https://as.test, and it may give https://second.test access to the same account." {
		t.Fatalf("asked: %+v", w.doubts)
	}
	w.register = nil
	for _, flags := range []launch.Login{{Mode: launch.LoginAuto}, {Mode: launch.LoginAuto, Issuer: "as.test"}} {
		if _, err := w.login(flags); err == nil || !strings.Contains(err.Error(), "gauze login") || len(w.doubts) != 1 || w.register != nil {
			t.Errorf("with --login auto: asked %+v, registered %v, error %v", w.doubts, w.register, err)
		}
	}
	w.agrees = true
	again := func(l Login) {
		t.Helper()
		if err := w.store.Remove(l.Key); err != nil {
			t.Fatal(err)
		}
		w.doubts = nil
		if w.mustLogin(launch.Login{Mode: launch.LoginAuto}); len(w.doubts) != 0 {
			t.Errorf("asked again: %+v", w.doubts)
		}
	}
	again(w.mustLogin(launch.Login{}))
	w.at("https://mcp.test") // whose login is as old as that of the other
	w.mustLogin(launch.Login{Mode: launch.LoginAuto})
	w.second("https://third.test")
	w.doubts = nil
	if w.mustLogin(launch.Login{Issuer: "as.test"}); len(w.doubts) != 0 {
		t.Errorf("asked about what a flag names: %+v", w.doubts)
	}
	w.second("https://fourth.test")
	if _, err := w.login(launch.Login{Issuer: "other.test"}); err == nil || !strings.Contains(err.Error(), "--login-issuer") {
		t.Errorf("a different issuer than the flag's: %v", err)
	}
}

// A login counts as one of the same issuer by its hosts: metadata may call the issuer anything.
func TestAnIssuerOfADifferentNameAtTheSameHost(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	w.tenant("/.well-known/oauth-authorization-server/tenant")
	if l, err := w.login(launch.Login{}); err == nil {
		t.Errorf("logged in without an answer: %v", l)
	}
}

func TestEndpointsElsewhere(t *testing.T) {
	for _, field := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"} {
		for _, host := range []string{"https://big.test", "https://test", "https://notas.test", "https://as.test.evil.test", "https://as.test:444", "https://x.as.test:444"} {
			w := newWorld(t)
			w.meta[field] = host + mustParse(w.meta[field].(string)).Path
			w.anywhere = w.serveIssuer
			for _, o := range []launch.Login{{}, {Mode: launch.LoginAuto, Endpoints: []string{hostOf(host)}}, {Endpoints: []string{"other.test"}}} {
				if l, err := w.login(o); err == nil {
					t.Errorf("%s at %s: logged in without an answer: %v", field, host, l)
				}
			}
			w.checkSecrets()
		}
	}
}

// The answer counts for this issuer and these endpoints.
func TestTheAnswerAboutEndpoints(t *testing.T) {
	w := newWorld(t)
	w.anywhere = w.serveIssuer
	w.meta["token_endpoint"], w.meta["revocation_endpoint"] = "https://api.test/token", "https://api.test/revoke"
	w.agrees = true
	l := w.mustLogin(launch.Login{})
	if len(w.doubts) != 1 || !strings.Contains(w.doubts[0].Says, "takes place at another host: api.test. The authorization server is https://as.test.") || strings.Join(w.doubts[0].Flag, " ") != "--login-endpoint api.test" {
		t.Fatalf("asked: %+v", w.doubts)
	}
	w.store.Remove(l.Key)
	w.agrees = false
	w.mustLogin(launch.Login{Mode: launch.LoginAuto})
	w.meta["authorization_endpoint"] = "https://api.test/authorize"
	if _, err := w.login(launch.Login{}); err == nil {
		t.Error("a different endpoint at the same host was not asked about")
	}
	if w.mustLogin(launch.Login{Endpoints: []string{"api.test"}}); len(w.doubts) != 2 {
		t.Errorf("asked: %+v", w.doubts)
	}
}

func TestEndpointsOfAProgramElsewhere(t *testing.T) {
	w := newWorld(t)
	w.anywhere = w.serveIssuer
	w.meta["authorization_endpoint"], w.meta["token_endpoint"] = "https://pages.test/authorize", "https://api.test/token"
	job := launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary}
	if _, err := w.login(job); err == nil || !strings.Contains(err.Error(), "--login-endpoint api.test") || strings.Contains(err.Error(), "pages.test") {
		t.Errorf("error %v", err)
	}
	w.checkSecrets()
	job.Endpoints = []string{"api.test"}
	w.mustLogin(job)
}

// A server at one path cannot ask for a token for all paths of the host with a document of its own.
func TestAResourceAboveThePathIsOfTheHost(t *testing.T) {
	for _, address := range []string{"https://elsewhere.test/.well-known/oauth-protected-resource", "https://mcp.test/mcp/metadata", "https://mcp.test/mcp/.well-known/oauth-protected-resource"} {
		w := newWorld(t)
		w.resource["resource"] = "https://mcp.test"
		w.challenge = `Bearer resource_metadata="` + address + `"`
		w.prmPath = mustParse(address).Path
		w.hosts["elsewhere.test"] = w.serveResource
		if l, err := w.login(launch.Login{}); err == nil {
			t.Errorf("%s: logged in for %s", address, l.Indicator)
		}
	}
	for address, parent := range map[string]string{"": "https://mcp.test", "/mcp": "https://mcp.test", "/mcp/sse": "https://mcp.test/mcp"} {
		w := newWorld(t)
		w.site, w.resource["resource"], w.prmPath = "https://mcp.test/mcp/sse", parent, wellKnown+address
		w.challenge = `Bearer resource_metadata="https://mcp.test` + w.prmPath + `"`
		h := http.Header{"Www-Authenticate": {w.challenge}}
		source := w.source(launch.Login{})
		source.challenge.Store(&h)
		if err := source.Login(t.Context(), w.browser); err != nil || w.token.Get("resource") != parent {
			t.Errorf("%s: error %v, asked with %v", w.prmPath, err, w.token)
		}
	}
}

// Below the well-known address, a server at one path may find a way to a document of its own.
func TestAResourceAboveThePathIsNotFoundOnTheWay(t *testing.T) {
	for _, address := range []string{wellKnown + "/%2e%2e/%2e%2e/mcp/own.json", wellKnown + "/go?to=/mcp/own.json", wellKnown + "/mcp?to=/mcp/own.json", wellKnown + "/mcp"} {
		w := newWorld(t)
		w.resource["resource"] = "https://mcp.test"
		w.challenge = `Bearer resource_metadata="https://mcp.test` + address + `"`
		w.prmPath = "/mcp/own.json"
		w.hosts["mcp.test"] = func(rw http.ResponseWriter, r *http.Request) {
			switch below := strings.HasPrefix(r.URL.Path, wellKnown); {
			case below && (r.URL.Query().Has("to") || r.URL.Path == wellKnown+"/mcp"):
				http.Redirect(rw, r, cmp.Or(r.URL.Query().Get("to"), w.prmPath), http.StatusFound)
				return
			case below:
				r.URL.Path = path.Clean(r.URL.Path)
			}
			w.serveResource(rw, r)
		}
		w.loginFails(launch.Login{}, "the server's metadata is for")
	}
}

// Only an authorization server that does not know the parameter at all gets a request without it: one
// that does not know this server must not issue a token for a different one.
func TestAResourceThatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		code, says string
		dropped    bool
	}{
		"not supported":     {"invalid_request", "AADSTS901002: The 'resource' request parameter is not supported. Trace ID: 1", true},
		"does not match":    {"invalid_target", "AADSTS9010010: The resource parameter provided in the request doesn't match with the requested scopes.", false},
		"unknown resource":  {"invalid_target", "unknown resource", false},
		"named in the text": {"invalid_target", "no AADSTS901002: here", false},
		"a different error": {"server_error", "AADSTS901002: The 'resource' request parameter is not supported.", false},
	} {
		for _, at := range []string{"/authorize", "/token"} {
			t.Run(name+" at "+at, func(t *testing.T) {
				w := newWorld(t)
				before := w.hosts["as.test"]
				w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
					r.ParseForm()
					switch {
					case r.URL.Path != at || !r.Form.Has("resource"):
						before(rw, r)
					case at == "/token":
						respond(rw, 400, map[string]any{"error": test.code, "error_description": test.says})
					default:
						w.answer.Set("error", test.code)
						w.answer.Set("error_description", test.says)
						w.answer["code"] = nil
						before(rw, r)
						clear(w.answer)
					}
				}
				l, err := w.login(launch.Login{})
				if (err == nil) != test.dropped {
					t.Fatalf("%v, error %v", l, err)
				}
				if err != nil {
					if name == "does not match" && !strings.Contains(err.Error(), "--no-resource") {
						t.Errorf("error %v", err)
					}
					return
				}
				if l.Indicator != w.site || w.asked.Has("resource") || w.token.Has("resource") {
					t.Errorf("asked with %v, then %v", w.asked, w.token)
				}
				w.mustLogin(launch.Login{})
				if w.numAsked != 3 {
					t.Errorf("asked %d times", w.numAsked)
				}
				w.source(launch.Login{}).exchangeOnce(t.Context(), l, l.Refresh)
				if w.token.Get("grant_type") != "refresh_token" || w.token.Has("resource") {
					t.Errorf("renewed with %v", w.token)
				}
			})
		}
	}
}

// Nothing in metadata makes gauze send less than S256.
func TestPKCEIsNotOptional(t *testing.T) {
	for _, methods := range []any{nil, []string{}, []string{"S256", "plain"}} {
		w := newWorld(t)
		w.meta["code_challenge_methods_supported"] = methods
		w.meta["authorization_endpoint"] = "https://as.test/authorize?code_challenge_method=plain&code_challenge=x"
		w.mustLogin(launch.Login{})
		if w.asked.Get("code_challenge_method") != "S256" || len(w.asked["code_challenge"]) != 1 || len(w.pkce) != 43 {
			t.Errorf("%v: asked with %v", methods, w.asked)
		}
	}
}

// A server that is taken over can name an authorization server of the attacker.
func TestAServerThatNamesADifferentIssuer(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.hosts["as2.test"] = w.serveIssuer
	w.resource["authorization_servers"] = []string{"https://as2.test"}
	w.meta = map[string]any{"issuer": "https://as2.test", "authorization_endpoint": "https://as2.test/authorize", "token_endpoint": "https://as2.test/token", "registration_endpoint": "https://as2.test/register"}
	if l, err := w.login(launch.Login{}); err == nil || w.numSent("as2.test", "/token") != 0 {
		t.Errorf("logged in without an answer: %v", l)
	}
	if len(w.doubts) != 1 || w.doubts[0].Says != "You previously logged in to https://mcp.test at https://as.test. It now uses another authorization server, https://as2.test." {
		t.Fatalf("asked: %+v", w.doubts)
	}
	w.agrees = true
	w.mustLogin(launch.Login{})
	w.doubts = nil
	if w.mustLogin(launch.Login{}); len(w.doubts) != 0 {
		t.Errorf("asked again: %+v", w.doubts)
	}
}

// A host has one spelling: with a different one, it would not be known as that of an earlier login.
func TestAHostHasOneSpelling(t *testing.T) {
	for _, host := range []string{"as.test:0443", "as.test:", "as.test:99999", "as.test.", "AS.test", "as.test.:443", "0x9.9.9.9", "9.9.2313", "9.9.9.09", "[::ffff:9.9.9.9]", "[2620:fe:0::fe]", strings.Repeat("a.", 127) + "test"} {
		for _, mode := range []string{"", launch.LoginAuto} {
			w := newWorld(t)
			w.mustLogin(launch.Login{})
			w.second("https://second.test")
			w.resource["authorization_servers"] = []string{"https://" + host}
			for name, address := range w.meta {
				if text, ok := address.(string); ok {
					w.meta[name] = strings.Replace(text, "as.test", host, 1)
				}
			}
			w.anywhere = w.serveIssuer
			if l, err := w.login(launch.Login{Mode: mode}); err == nil {
				t.Errorf("%s, mode %q: logged in without an answer: %v", host, mode, l)
			}
		}
	}
	for _, address := range []string{"https://as.test", "https://as.test:443/x", "https://9.9.9.9:8443", "https://[2620:fe::fe]/mcp", "https://4.as-1.test", "https://AS.test", "https://3scale"} {
		if _, err := newGuard(mustParse("https://mcp.test")).parse(t.Context(), address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A question begins with what the server chose least visibly, and fits on a screen.
func TestALongIssuer(t *testing.T) {
	w := newWorld(t)
	named := func(length int) {
		path := "/" + strings.Repeat("x", length-len("https://as.test/"))
		w.resource["authorization_servers"] = []string{"https://as.test" + path}
		w.metaPath = "/.well-known/oauth-authorization-server" + path
		w.meta["issuer"], w.meta["token_endpoint"] = "https://as.test"+path, "https://collector.test/token"
	}
	if named(201); w.loginFails(launch.Login{}, "longer than 200 bytes") && len(w.doubts) != 0 {
		t.Errorf("asked: %+v", w.doubts)
	}
	if named(200); w.loginFails(launch.Login{}, "not agree") && (len(w.doubts) != 1 || strings.Index(w.doubts[0].Says, "collector.test") > 60) {
		t.Errorf("asked: %+v", w.doubts)
	}
	long := Page{Server: "https://mcp.test/" + strings.Repeat("y", 5000), Issuer: "https://as.test"}
	if who := long.Who(); len(who) > 300 || !strings.HasPrefix(who, "https://mcp.test/yyy") || !strings.HasSuffix(who, " asks you to log in at https://as.test.") {
		t.Errorf("says %s", who)
	}
}

// loginFails reports whether a login fails with an error that contains text, and fails the test if not.
func (w *world) loginFails(o launch.Login, text string) bool {
	w.t.Helper()
	l, err := w.login(o)
	if err == nil || !strings.Contains(err.Error(), text) {
		w.t.Errorf("%v, error %v, want %q", l, err, text)
		return false
	}
	return true
}

// An answer counts once the login worked: one that was attacked is asked about again.
func TestAnAnswerIsOfALoginThatWorked(t *testing.T) {
	for name, attack := range map[string]func(w *world){
		"a different issuer answers": func(w *world) { w.answer.Set("iss", "https://somebody.test") },
		"no token is issued":         func(w *world) { w.issued = map[string]any{"error": "invalid_grant"} },
	} {
		w := newWorld(t)
		w.mustLogin(launch.Login{})
		w.second("https://second.test")
		w.agrees = true
		issued := w.issued
		attack(w)
		if l, err := w.login(launch.Login{}); err == nil || len(w.doubts) != 1 {
			t.Fatalf("%s: %v, asked %+v", name, l, w.doubts)
		}
		w.agrees, w.issued = false, issued
		clear(w.answer)
		for _, mode := range []string{"", launch.LoginAuto} {
			if l, err := w.login(launch.Login{Mode: mode}); err == nil {
				t.Errorf("%s, then mode %q: logged in without an answer: %v", name, mode, l)
			}
		}
	}
}

// A login that is asked for twice has one question.
func TestARegistrationThatWasDeletedIsAskedAboutOnce(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	w.agrees = true
	before, tokens := w.hosts["as.test"], 0
	w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			if tokens++; tokens == 1 {
				respond(rw, 401, map[string]any{"error": "invalid_client"})
				return
			}
		}
		before(rw, r)
	}
	if w.mustLogin(launch.Login{}); len(w.doubts) != 1 || tokens != 2 {
		t.Errorf("asked %+v, %d requests for tokens", w.doubts, tokens)
	}
}

// The users of gauze serve are different people: what one uses says nothing about another, and is not
// told to them.
func TestThePeopleOfAServerAreAskedAboutTheirOwnLogins(t *testing.T) {
	one, two := launch.ClientAccount("one"), launch.ClientAccount("two")
	for _, c := range []struct {
		first, second string // first logs in to a server, and second to a different one
		asked         bool
	}{
		{one, one, true}, {one, two, false}, {one, "", false}, {one, "work", false},
		{"", one, false}, {"", "work", true}, {"work", "", true},
	} {
		w := newWorld(t)
		w.mustLogin(launch.Login{Account: c.first})
		w.second("https://second.test")
		w.agrees = true
		if w.mustLogin(launch.Login{Account: c.second}); (len(w.doubts) > 0) != c.asked {
			t.Errorf("%q after %q: asked %+v", c.second, c.first, w.doubts)
		}
	}
	w := newWorld(t)
	w.mustLogin(launch.Login{Account: one})
	w.second("https://second.test")
	w.mustLogin(launch.Login{Account: two})
	w.agrees = true
	if w.mustLogin(launch.Login{Account: one}); len(w.doubts) != 1 {
		t.Errorf("%q was not asked, because %q has logged in here: %+v", one, two, w.doubts)
	}
}

// One account at a server says nothing about a different one.
func TestASecondAccountIsAskedAbout(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	w.agrees = true
	for n, account := range []string{"", "work", "work"} {
		w.mustLogin(launch.Login{Account: account})
		if want := min(n+1, 2); len(w.doubts) != want {
			t.Errorf("%d questions after login %d, want %d", len(w.doubts), n+1, want)
		}
	}
}

// What is said about an account is what is known: where the person logs in to other servers.
func TestAHostThatIsShared(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	w.tenant("/.well-known/oauth-authorization-server/tenant")
	w.loginFails(launch.Login{}, "not agree")
	if len(w.doubts) != 1 || w.doubts[0].Says != "You already use as.test to log in to https://mcp.test. This login is at https://as.test/tenant, and it may give https://second.test access to the same account." {
		t.Errorf("asked: %+v", w.doubts)
	}
}

// Flags of an entry, which a project or an agent may have written, do not answer for the person. They only
// restrict.
func TestFlagsOfAnEntry(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	w.entry = true
	w.loginFails(launch.Login{Issuer: "as.test"}, "not agree")
	w.loginFails(launch.Login{Issuer: "other.test"}, "--login-issuer")

	w = newWorld(t)
	w.entry, w.anywhere = true, w.serveIssuer
	w.meta["token_endpoint"] = "https://api.test/token"
	w.loginFails(launch.Login{Endpoints: []string{"api.test"}}, "not agree")
	w.agrees = true
	w.loginFails(launch.Login{Endpoints: []string{"other.test"}}, "api.test is not a host set with --login-endpoint")
	w.mustLogin(launch.Login{Endpoints: []string{"api.test"}})
}

// A login without the resource parameter is one that the person asked for: the next one has it again.
func TestNoResourceIsForOneLogin(t *testing.T) {
	w := newWorld(t)
	l := w.mustLogin(launch.Login{NoResource: true})
	w.source(launch.Login{}).exchangeOnce(t.Context(), l, l.Refresh)
	if w.asked.Has("resource") || w.token.Has("resource") {
		t.Errorf("asked with %v, renewed with %v", w.asked, w.token)
	}
	if l = w.mustLogin(launch.Login{}); l.Unbound || w.asked.Get("resource") != w.site || w.token.Get("resource") != w.site {
		t.Errorf("asked with %v, then %v", w.asked, w.token)
	}
}

// An authorization server cannot make a login begin again and again.
func TestALoginIsRepeatedOnce(t *testing.T) {
	w := newWorld(t)
	before := w.hosts["as.test"]
	w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		switch {
		case r.URL.Path == "/token" && r.Form.Has("resource") && w.numAsked > 1:
			respond(rw, 400, map[string]any{"error": "invalid_request", "error_description": resourceUnknown})
		case r.URL.Path == "/token":
			respond(rw, 401, map[string]any{"error": "invalid_client"})
		default:
			before(rw, r)
		}
	}
	if l, err := w.login(launch.Login{}); err == nil || w.numAsked != 2 {
		t.Errorf("%v, error %v, asked %d times", l, err, w.numAsked)
	}
}

// An issuer that is named as a whole is that one, and not a different one at its host.
func TestAnIssuerThatIsNamedAsAWhole(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.second("https://second.test")
	w.tenant("/.well-known/oauth-authorization-server/tenant")
	w.loginFails(launch.Login{Issuer: "https://as.test"}, "--login-issuer")
	if w.mustLogin(launch.Login{Issuer: "https://as.test/tenant"}); len(w.doubts) != 0 {
		t.Errorf("asked: %+v", w.doubts)
	}
}
