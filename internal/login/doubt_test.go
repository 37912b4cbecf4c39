package login

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/launch"
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
	if len(w.doubts) != 1 || w.doubts[0].Says != "You already use https://as.test to log in to https://mcp.test. With this login, https://second.test may get access to the same account." {
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
	if len(w.doubts) != 1 || !strings.Contains(w.doubts[0].Says, "https://as.test names a different host for a part of the login: api.test.") || strings.Join(w.doubts[0].Flag, " ") != "--login-endpoint api.test" {
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
