package login

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestTheClientAuthenticatesAsItIsRegistered(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("registered-1:"+secretCanary))
	tests := map[string]struct {
		supported []string
		response  string // method in the response to the registration
		secret    bool
		asked     string
		basic     string
		post      bool
	}{
		"public":                    {[]string{"none", "client_secret_basic"}, "", false, "none", "", false},
		"unknown":                   {nil, "", false, "none", "", false},
		"basic":                     {[]string{"client_secret_basic"}, "client_secret_basic", true, "client_secret_basic", basic, false},
		"post":                      {[]string{"client_secret_post"}, "client_secret_post", true, "client_secret_post", "", true},
		"the response decides":      {[]string{"client_secret_basic", "client_secret_post"}, "client_secret_post", true, "client_secret_basic", "", true},
		"a secret without a method": {nil, "", true, "none", basic, false},
		"a method without a secret": {nil, "client_secret_basic", false, "none", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if test.supported != nil {
				w.meta["token_endpoint_auth_methods_supported"] = test.supported
			}
			if test.response != "" {
				w.client["token_endpoint_auth_method"] = test.response
			}
			if test.secret {
				w.client["client_secret"] = secretCanary
			}
			w.mustLogin(launch.Login{})
			if w.register["token_endpoint_auth_method"] != test.asked {
				t.Errorf("asked for %v, want %s", w.register["token_endpoint_auth_method"], test.asked)
			}
			if w.basic != test.basic || (w.token.Get("client_secret") == secretCanary) != test.post {
				t.Errorf("authenticated with %q and %v", w.basic, w.token)
			}
			w.checkSecrets("as.test")
		})
	}
}

func TestConfiguredClients(t *testing.T) {
	const document = "https://gauze.example/client.json"
	t.Run("registered in advance", func(t *testing.T) {
		w := newWorld(t)
		delete(w.meta, "registration_endpoint")
		l := w.mustLogin(launch.Login{ClientID: "mine", ClientSecret: secretCanary})
		if l.Client.ID != "mine" || l.Client.Registered || !strings.HasPrefix(w.basic, "Basic ") {
			t.Errorf("client %v, authenticated with %q", l.Client, w.basic)
		}
		w.checkSecrets("as.test")
	})
	t.Run("metadata document", func(t *testing.T) {
		w := newWorld(t)
		w.meta["client_id_metadata_document_supported"] = true
		w.mustLogin(launch.Login{ClientID: document})
		if w.asked.Get("client_id") != document || w.token.Get("client_id") != document || w.register != nil {
			t.Errorf("client_id %q, registered %v", w.asked.Get("client_id"), w.register)
		}
	})
	t.Run("metadata document that is not supported", func(t *testing.T) {
		w := newWorld(t)
		w.mustLogin(launch.Login{ClientID: document})
		if w.asked.Get("client_id") != "registered-1" {
			t.Errorf("client_id %q", w.asked.Get("client_id"))
		}
	})
	t.Run("none, and no registration", func(t *testing.T) {
		w := newWorld(t)
		delete(w.meta, "registration_endpoint")
		_, err := w.login(launch.Login{})
		if err == nil || !strings.Contains(err.Error(), "--client-id") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a redirect URL", func(t *testing.T) {
		w := newWorld(t)
		w.mustLogin(launch.Login{ClientID: "mine", RedirectURL: "http://localhost/back"})
		if u, _ := url.Parse(w.asked.Get("redirect_uri")); u.Hostname() != "localhost" || u.Port() == "" || u.Path != "/back" {
			t.Errorf("redirect %v", u)
		}
	})
	t.Run("a redirect URL elsewhere", func(t *testing.T) {
		w := newWorld(t)
		for _, bad := range []string{"https://evil.test/back", "http://evil.test/", "http://127.0.0.1@evil.test/", "javascript:1", "http://10.0.0.1:80/"} {
			if _, err := w.login(launch.Login{ClientID: "mine", RedirectURL: bad}); err == nil || !strings.Contains(err.Error(), "invalid redirect URL") {
				t.Errorf("%s: error %v", bad, err)
			}
		}
	})
}

// A page of one issuer can lead the browser on to another, which then does not know the address.
func TestEachIssuerHasARedirectOfItsOwn(t *testing.T) {
	redirect := func(issuer string, o launch.Login) string {
		w := newWorld(t)
		w.hosts["other.test"] = w.serveIssuer
		w.resource["authorization_servers"] = []string{issuer}
		w.meta["issuer"] = issuer
		for name, path := range map[string]string{"authorization": "/authorize", "token": "/token", "registration": "/register"} {
			w.meta[name+"_endpoint"] = issuer + path
		}
		delete(w.meta, "revocation_endpoint")
		w.mustLogin(o)
		u, err := url.Parse(w.asked.Get("redirect_uri"))
		if err != nil {
			t.Fatal(err)
		}
		return u.Path
	}
	one, again, other := redirect("https://as.test", launch.Login{}), redirect("https://as.test", launch.Login{}), redirect("https://other.test", launch.Login{})
	if one != again || one == other || !strings.HasPrefix(one, callbackPath+"/") {
		t.Errorf("%s and %s, and for another issuer %s", one, again, other)
	}
	if own := redirect("https://as.test", launch.Login{ClientID: "mine"}); own != callbackPath {
		t.Errorf("%s for a client that was registered by hand", own)
	}
}
