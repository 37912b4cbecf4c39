package attacks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// auto opens the browser without a question.
const auto = "--login=auto"

// attack is one script. Its bait is an address that the attacker wants to be asked for, which must have
// been, or the script proves nothing.
type attack struct {
	name, bait string
	run        func(w *world)
}

// TestAttacks runs all scripts. No secret may reach a host that it was not issued for.
func TestAttacks(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a.run(w)
			if !w.received(a.bait) {
				t.Errorf("nothing was sent to %s", a.bait)
			}
			w.judge()
		})
	}
}

var attacks = slices.Concat(consent, mixUp, changes, redirects, names, commands, people, answers)

const (
	evilMetadata    = "https://mcp.evil.example/.well-known/oauth-protected-resource/mcp"
	hostileMetadata = "https://login.evil.example/.well-known/oauth-authorization-server"
)

// consent: a hostile server names the issuer of a service that the person is logged in to. It remembers
// that the person agreed.
var consent = []attack{
	{"a server names the issuer of a login, gauze login", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.login(evilURL)
	}},
	{"a server names the issuer of a login, gauze login at a terminal", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.types = "\n"
		w.alice.login(evilURL)
	}},
	{"a server names the issuer of a login, mode ask", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.lazy = true
		w.evil.names(w.lenient.origin)
		w.alice.run(evilURL)
	}},
	{"a server names the issuer of a login, mode auto", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.run(evilURL, auto)
	}},
	{"a server names the issuer of a login, then mode auto again", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.run(evilURL, auto)
		w.alice.run(evilURL, auto)
	}},
	{"a server names the issuer of a login with a slash at its end", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin + "/")
		w.alice.run(evilURL, auto)
	}},
	{"a server names the issuer of a login in upper case", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names("https://LOGIN.LENIENT.EXAMPLE")
		w.alice.run(evilURL, auto)
	}},
	{"a server names the issuer of a login with its port", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin + ":443")
		w.alice.run(evilURL, auto)
	}},
	{"a server names the issuer of a login after one of its own", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.mustLogin(evilURL)
		w.evil.names(w.lenient.origin)
		w.hostile.end()
		w.alice.run(evilURL, auto)
	}},
	{"a server names the resource of another, gauze login", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.evil.meta["resource"] = mailURL
		w.alice.login(evilURL)
	}},
	{"a server names the resource of another, mode auto", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.evil.meta["resource"] = mailURL
		w.alice.run(evilURL, auto)
	}},
	{"a server names the resource of another with a strict provider", evilMetadata, func(w *world) {
		w.alice.mustLogin(bankURL)
		w.evil.names(w.strict.origin)
		w.evil.meta["resource"] = bankURL
		w.alice.run(evilURL, auto)
	}},
	{"a server names a strict provider", evilMetadata, func(w *world) {
		w.alice.mustLogin(bankURL)
		w.evil.names(w.strict.origin)
		w.alice.run(evilURL, auto)
	}},
	{"a server names the metadata of another", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.challenge = w.mail.challenge
		w.alice.run(evilURL, auto)
	}},
	{"a server publishes the metadata of a parent path", "https://shared.example/evil/mcp", func(w *world) {
		w.lenient.usual = w.tenant("https://shared.example/good/mcp").url
		w.alice.mustLogin(w.lenient.usual)
		evil := w.tenant("https://shared.example/evil/mcp")
		evil.meta["resource"] = "https://shared.example/"
		w.alice.run(evil.url, auto)
	}},
	{"a server at a sibling path names the same issuer", "https://shared.example/evil/mcp", func(w *world) {
		w.lenient.usual = w.tenant("https://shared.example/good/mcp").url
		w.alice.mustLogin(w.lenient.usual)
		w.alice.run(w.tenant("https://shared.example/evil/mcp").url, auto)
	}},
	{"a server at a different port names the same issuer", "https://mcp.mail.example:8443/mcp", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.run(w.tenant("https://mcp.mail.example:8443/mcp").url, auto)
	}},
	{"a server at a subdomain names the same issuer", "https://evil.mcp.mail.example/mcp", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.run(w.tenant("https://evil.mcp.mail.example/mcp").url, auto)
	}},
	{"a server uses the client ID that the person chose for another", evilMetadata, func(w *world) {
		w.lenient.addClient("known", "", loopback)
		w.alice.mustLogin(mailURL, "--client-id=known")
		w.evil.names(w.lenient.origin)
		w.alice.run(evilURL, auto, "--client-id=known")
	}},
	{"a server uses the client ID metadata document of another", evilMetadata, func(w *world) {
		const document = "https://gauze.example/client.json"
		w.lenient.meta["client_id_metadata_document_supported"] = true
		w.lenient.addClient(document, "", loopback)
		w.alice.mustLogin(mailURL, "--client-id="+document)
		w.evil.names(w.lenient.origin)
		w.alice.run(evilURL, auto, "--client-id="+document)
	}},
}

// loopback is the redirect address of a client that was registered by hand.
const loopback = "http://127.0.0.1/callback"

// tenant adds a server whose tokens lenient issues.
func (w *world) tenant(address string) *service {
	return w.newService(address, w.lenient.origin, func(token string) string { return w.lenient.owner(token, address) })
}

// mixUp: a hostile issuer leads to an honest one, to get its codes, verifiers and secrets.
var mixUp = []attack{
	{"the authorization endpoint of another issuer, gauze login", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.hostile.meta["authorization_endpoint"] = w.lenient.origin + "/authorize"
		w.registersAs(w.lenient.onlyClient())
		w.alice.login(evilURL)
	}},
	{"the authorization endpoint of another issuer, gauze login at a terminal", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.hostile.meta["authorization_endpoint"] = w.lenient.origin + "/authorize"
		w.registersAs(w.lenient.onlyClient())
		w.alice.types = "\n"
		w.alice.login(evilURL)
	}},
	{"the authorization endpoint of another issuer, mode ask", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.lazy = true
		w.hostile.meta["authorization_endpoint"] = w.lenient.origin + "/authorize"
		w.registersAs(w.lenient.onlyClient())
		w.alice.run(evilURL)
	}},
	{"the authorization endpoint of another issuer, mode auto", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.hostile.meta["authorization_endpoint"] = w.lenient.origin + "/authorize"
		w.registersAs(w.lenient.onlyClient())
		w.alice.run(evilURL, auto)
	}},
	{"the authorization endpoint of another issuer, with a client of the attacker", hostileMetadata, func(w *world) {
		w.hostile.meta["authorization_endpoint"] = w.lenient.origin + "/authorize"
		w.registersAs("attacker")
		w.alice.login(evilURL)
	}},
	{"the authorization endpoint of a strict provider", hostileMetadata, func(w *world) {
		w.alice.mustLogin(bankURL)
		w.hostile.meta["authorization_endpoint"] = w.strict.origin + "/authorize?resource=" + url.QueryEscape(bankURL)
		w.registersAs(w.strict.onlyClient())
		w.alice.login(evilURL)
	}},
	{"the token endpoint of another issuer", hostileMetadata, func(w *world) {
		w.hostile.meta["token_endpoint"] = w.lenient.origin + "/token"
		w.alice.login(evilURL)
	}},
	{"the registration endpoint of another issuer", hostileMetadata, func(w *world) {
		w.hostile.meta["registration_endpoint"] = w.lenient.origin + "/register"
		w.hostile.meta["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
		w.at(w.hostile.origin+"/authorize", func(rw http.ResponseWriter, r *http.Request) {
			w.hostile.answer(rw, r, r.URL.Query(), url.Values{"code": {"anything"}})
		})
		w.alice.login(evilURL)
	}},
	{"the revocation endpoint of another issuer", hostileMetadata, func(w *world) {
		w.hostile.meta["revocation_endpoint"] = w.lenient.origin + "/revoke"
		w.alice.login(evilURL)
		w.alice.gauze(evilURL, "logout", evilURL)
	}},
	{"the metadata of another issuer", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.hostile.meta["issuer"] = w.lenient.origin
		w.alice.login(evilURL)
	}},
	{"an issuer that is another's name in the user part", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names("https://login.lenient.example@login.evil.example")
		w.alice.login(evilURL)
	}},
	{"a page that leads on to another issuer", "https://login.evil.example/authorize", func(w *world) {
		w.lenient.addClient("known", "", loopback)
		w.alice.mustLogin(mailURL, "--client-id=known")
		w.leadsTo(w.lenient, "known")
		w.alice.run(evilURL, auto)
	}},
	{"a page that leads on to another issuer, iss announced and missing", "https://login.evil.example/authorize", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.hostile.meta["authorization_response_iss_parameter_supported"] = true
		w.leadsTo(w.lenient, "attacker")
		w.alice.run(evilURL, auto)
	}},
	{"a page that leads on to another issuer, which names itself", "https://login.evil.example/authorize", func(w *world) {
		w.alice.mustLogin(bankURL)
		w.leadsTo(w.strict, "attacker")
		w.alice.run(evilURL, auto)
	}},
	{"an iss that is almost right", "https://login.lenient.example/.well-known/oauth-authorization-server", func(w *world) {
		w.at(w.lenient.origin+"/authorize", func(rw http.ResponseWriter, r *http.Request) {
			w.note(secret{kind: kindCode, value: "code-evil", issuer: w.hostile.origin})
			w.hostile.answer(rw, r, r.URL.Query(), url.Values{"code": {"code-evil"}, "iss": {w.lenient.origin + "/"}})
		})
		w.alice.login(mailURL)
	}},
}

// onlyClient returns the only client that is registered.
func (p *provider) onlyClient() string {
	for id := range p.clients {
		return id
	}
	p.world.Fatal("no client is registered")
	return ""
}

// registersAs makes the hostile issuer register everybody as a client of lenient, or as one that the
// attacker registers there.
func (w *world) registersAs(id string) {
	w.at(w.hostile.origin+"/register", func(rw http.ResponseWriter, r *http.Request) {
		var asked struct {
			Redirects []string `json:"redirect_uris"`
		}
		if json.NewDecoder(r.Body).Decode(&asked) == nil && w.lenient.clients[id] == nil {
			w.lenient.addClient(id, "", asked.Redirects[0])
		}
		respond(rw, 201, map[string]any{"client_id": id, "token_endpoint_auth_method": "none"})
	})
}

// leadsTo makes the hostile issuer's page send the browser on to another issuer, as a client of that or
// one that the attacker registers there.
func (w *world) leadsTo(p *provider, id string) {
	w.at(w.hostile.origin+"/authorize", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if p.clients[id] == nil {
			p.addClient(id, "", q.Get("redirect_uri"))
		}
		q.Set("client_id", id)
		q.Set("resource", p.usual)
		http.Redirect(rw, r, p.origin+"/authorize?"+q.Encode(), http.StatusFound)
	})
}

// changes: what was honest at the first login is hostile later.
var changes = []attack{
	{"the issuer changes between two logins", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.mail.names(w.hostile.origin)
		w.alice.login(mailURL)
	}},
	{"the issuer changes during a session", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.during(mailURL, func(s *session) error {
			w.mail.names(w.hostile.origin)
			w.lenient.expire()
			return s.call()
		})
	}},
	{"the issuer changes after a login has ended", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.mail.names(w.hostile.origin)
		w.lenient.end()
		w.alice.run(mailURL, auto)
	}},
	{"the token endpoint changes before a renewal", "https://login.lenient.example/token", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.lenient.meta["token_endpoint"] = w.hostile.origin + "/token"
		w.lenient.expire()
		w.alice.run(mailURL)
	}},
	{"the issuer changes for a client with a secret, gauze login", bankURL, func(w *world) {
		w.alice.secretLogin(w.strict)
		w.bank.names(w.hostile.origin)
		w.alice.login(bankURL, secretFlags...)
	}},
	{"the issuer changes for a client with a secret, mode auto", bankURL, func(w *world) {
		w.alice.secretLogin(w.strict)
		w.bank.names(w.hostile.origin)
		w.strict.end()
		w.alice.run(bankURL, append(secretFlags, auto)...)
	}},
	{"the issuer changes for a program without a person", bankURL, func(w *world) {
		w.strict.addClient("program", "secret-of-a-program", loopback)
		w.alice.more = []string{"CLIENT_SECRET=secret-of-a-program"}
		flags := append(secretFlags, "--grant=client-credentials")
		w.alice.mustLogin(bankURL, flags...)
		w.bank.names(w.hostile.origin)
		w.strict.expire()
		w.alice.run(bankURL, flags...)
	}},
	{"metadata that is different the second time", hostileMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.registersAs(w.lenient.onlyClient())
		w.alice.mustLogin(evilURL)
		w.hostile.meta["authorization_endpoint"] = w.lenient.origin + "/authorize"
		w.hostile.end()
		w.alice.run(evilURL, auto)
	}},
}

// secretFlags are of a client with a secret.
var secretFlags = []string{"--client-id=program", "--client-secret-env=CLIENT_SECRET"}

// secretLogin logs in at a provider with a client that has a secret.
func (p *person) secretLogin(at *provider) {
	p.world.Helper()
	at.addClient("program", "secret-of-a-program", loopback)
	p.more = []string{"CLIENT_SECRET=secret-of-a-program"}
	p.mustLogin(at.usual, secretFlags...)
}

// redirects: an honest host redirects to a hostile one.
var redirects = []attack{
	{"an endpoint that redirects to another host", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.at(mailURL, redirect(307, evilURL))
		w.alice.run(mailURL)
	}},
	{"an endpoint that redirects calls to another host", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.during(mailURL, func(s *session) error {
			w.at(mailURL, redirect(308, evilURL))
			return s.call()
		})
	}},
	{"an endpoint that redirects to http", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.at(mailURL, redirect(307, "http://mcp.mail.example/mcp"))
		w.alice.run(mailURL)
	}},
	{"an endpoint that redirects to a different port", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.at(mailURL, redirect(307, "https://mcp.mail.example:8443/mcp"))
		w.alice.run(mailURL)
	}},
	{"an event stream whose messages go to another host", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.at(mailURL, func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				rw.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, "event: endpoint\ndata: "+evilURL+"\n\n")
		})
		w.alice.run(mailURL)
	}},
	{"metadata that redirects to another host", "https://mcp.mail.example/.well-known/oauth-protected-resource/mcp", func(w *world) {
		w.at("https://mcp.mail.example/.well-known/oauth-protected-resource/mcp", redirect(302, evilMetadata))
		w.evil.meta["resource"] = mailURL
		w.alice.login(mailURL)
	}},
	{"metadata of an issuer that redirects to another host", "https://login.lenient.example/.well-known/oauth-authorization-server", func(w *world) {
		w.at(w.lenient.origin+"/.well-known/oauth-authorization-server", redirect(302, hostileMetadata))
		w.hostile.meta["issuer"] = w.lenient.origin
		w.alice.login(mailURL)
	}},
	{"a token endpoint that redirects to another host", "https://login.lenient.example/token", func(w *world) {
		w.at(w.lenient.origin+"/token", redirect(307, w.hostile.origin+"/token"))
		w.alice.login(mailURL)
	}},
	{"a token endpoint that redirects a renewal to another host", "https://login.lenient.example/token", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.at(w.lenient.origin+"/token", redirect(308, w.hostile.origin+"/token"))
		w.lenient.expire()
		w.alice.run(mailURL)
	}},
	{"a registration endpoint that redirects to another host", "https://login.lenient.example/register", func(w *world) {
		w.at(w.lenient.origin+"/register", redirect(307, w.hostile.origin+"/register"))
		w.alice.login(mailURL)
	}},
	{"a revocation endpoint that redirects to another host", "https://login.lenient.example/revoke", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.at(w.lenient.origin+"/revoke", redirect(307, w.hostile.origin+"/revoke"))
		w.alice.gauze(mailURL, "logout", mailURL)
	}},
}

// names: addresses that look like another's.
var names = []attack{
	{"the same server over http", "http://mcp.mail.example/mcp", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.newService("http://mcp.mail.example/mcp", w.lenient.origin, w.anybody)
		w.alice.run("http://mcp.mail.example/mcp", auto)
	}},
	{"another server with the name in the user part", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.run("https://mcp.mail.example@mcp.evil.example/mcp", auto)
	}},
	{"another server with the name in the query", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.run(evilURL+"?"+mailURL, auto)
	}},
	{"another server with the name in front of its own", "https://mcp.mail.example.evil.example/mcp", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.newService("https://mcp.mail.example.evil.example/mcp", w.lenient.origin, w.anybody)
		w.alice.run("https://mcp.mail.example.evil.example/mcp", auto)
	}},
	{"the same server in upper case and with a dot at its end", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.run("https://MCP.MAIL.EXAMPLE/mcp")
		w.alice.run("https://mcp.mail.example./mcp")
	}},
	{"a different path of the same server", "https://mcp.mail.example/other", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.tenant("https://mcp.mail.example/other")
		w.alice.run("https://mcp.mail.example/other")
	}},
	{"a login that was copied to the name of another server", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		from, to := w.alice.loginFile(mailURL, w.lenient.origin), w.alice.loginFile(evilURL, w.lenient.origin)
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			w.Fatal(err)
		}
		w.alice.run(evilURL)
	}},
}

// loginFile returns where a login is stored.
func (p *person) loginFile(resource, issuer string) string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:12])
	}
	return filepath.Join(p.state(), "logins", digest(resource+"\x00")+"-"+digest(issuer)+".login")
}

// commands: what gauze does about a hostile server without being asked for a login.
var commands = []attack{
	{"gauze test of a server that names the issuer of a login", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.gauze(evilURL, "test", "--url", evilURL)
	}},
	{"gauze doctor with a server that names the issuer of a login", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.configure(evilURL)
		w.alice.gauze(evilURL, "doctor")
	}},
	{"gauze mcp is asked to test a server that names the issuer of a login", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.evil.names(w.lenient.origin)
		w.alice.configure(evilURL)
		w.alice.agent("test_connection", map[string]any{"url": evilURL})
		w.alice.agent("check_health", nil)
	}},
}

// configure adds a server to the file of a client.
func (p *person) configure(address string) {
	dir := filepath.Join(p.home, ".cursor")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mcp.json"), fmt.Appendf(nil, `{"mcpServers": {"server": {"url": %q}}}`, address), 0o600)
	}
	if err != nil {
		p.world.Fatal(err)
	}
}

// people: the login of one person is used for another.
var people = []attack{
	{"a second user of the machine", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.bob.run(mailURL)
	}},
	{"two principals of gauze serve", mailURL, func(w *world) {
		w.mail.lazy = true
		serve := w.serve(mailURL)
		w.alice.via(serve, mailURL)
		w.bob.via(serve, mailURL)
	}},
	{"two principals of gauze serve, one after the other's login", mailURL, func(w *world) {
		w.mail.lazy = true
		serve := w.serve(mailURL)
		w.alice.via(serve, mailURL)
		w.alice.via(serve, mailURL)
		w.carol.via(serve, mailURL)
	}},
	{"a login of gauze serve for a hostile server", evilURL, func(w *world) {
		w.erin.mustLogin(mailURL)
		w.evil.lazy = true
		w.evil.names(w.lenient.origin)
		w.alice.via(w.serve(evilURL), evilURL)
	}},
}

// answers: servers and pages that answer with something else.
var answers = []attack{
	{"a token that is repeated in an error", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		for _, status := range []int{400, 401} {
			w.at(mailURL, func(rw http.ResponseWriter, r *http.Request) {
				echo := strings.Join(r.Header["Authorization"], " ")
				rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="invalid_token", error_description=%q`, echo))
				http.Error(rw, "unexpected header: "+echo, status)
			})
			w.alice.run(mailURL)
			w.alice.gauze(mailURL, "test", "--url", mailURL)
		}
	}},
	{"a refresh token that is repeated in an error", "https://login.lenient.example/token", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.lenient.expire()
		w.at(w.lenient.origin+"/token", func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			respond(rw, 400, map[string]any{"error": "invalid_request", "error_description": "bad token " + form.Get("refresh_token")})
		})
		w.alice.run(mailURL)
	}},
	{"a challenge that asks for more scopes", evilURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.alice.mustLogin(evilURL)
		w.evil.names(w.lenient.origin)
		w.insufficient(evilURL, `scope="mail.read mail.send admin"`)
		w.alice.run(evilURL, auto)
	}},
	{"a challenge for more scopes that names the metadata of another", mailURL, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.insufficient(mailURL, `scope="admin", resource_metadata="`+evilMetadata+`"`)
		w.alice.run(mailURL, auto)
	}},
	{"a challenge that names metadata of another host", evilMetadata, func(w *world) {
		w.alice.mustLogin(mailURL)
		w.mail.challenge = `Bearer resource_metadata="` + evilMetadata + `"`
		w.evil.meta["resource"] = mailURL
		w.lenient.end()
		w.alice.run(mailURL, auto)
	}},
	{"a renewal that is answered with another type of token", "https://login.lenient.example/token", func(w *world) {
		w.alice.mustLogin(mailURL)
		w.lenient.expire()
		w.note(secret{kind: kindAccess, value: "access-of-another", issuer: w.hostile.origin})
		w.at(w.lenient.origin+"/token", func(rw http.ResponseWriter, r *http.Request) {
			respond(rw, 200, map[string]any{"access_token": "access-of-another", "token_type": "DPoP", "issuer": w.hostile.origin})
		})
		w.alice.run(mailURL)
	}},
	{"a callback with a wrong state", "https://login.lenient.example/token", func(w *world) {
		w.callback(func(redirect, _ string) []string { return []string{redirect + "?code=code-evil&state=guessed"} })
		w.alice.mustLogin(mailURL)
	}},
	{"a callback from another page", "https://login.lenient.example/token", func(w *world) {
		w.callback(func(redirect, _ string) []string {
			return []string{redirect + "?code=code-evil", redirect + "?error=access_denied", redirect + "?code=code-evil&state=", redirect}
		})
		w.alice.mustLogin(mailURL)
	}},
	{"a callback with two codes", "https://login.lenient.example/token", func(w *world) {
		w.callback(func(redirect, state string) []string {
			return []string{redirect + "?code=code-evil&code=code-evil&state=" + state, redirect + "?code=code-evil&state=x&state=" + state}
		})
		w.alice.mustLogin(mailURL)
	}},
	{"a code that is replayed", "https://login.lenient.example/token", func(w *world) {
		var state string
		w.callback(func(_, s string) []string { state = s; return nil })
		w.at(w.lenient.origin+"/token", func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			visit(form.Get("redirect_uri") + "?code=" + form.Get("code") + "&state=" + state)
			w.lenient.token(rw, r)
		})
		w.alice.mustLogin(mailURL)
	}},
	{"a provider that supports only plain challenges", "https://login.lenient.example/.well-known/oauth-authorization-server", func(w *world) {
		w.lenient.meta["code_challenge_methods_supported"] = []string{"plain"}
		if w.alice.login(mailURL) == nil {
			w.Error("the login succeeded")
		}
	}},
	{"a provider that does not say that it supports PKCE", "https://login.lenient.example/token", func(w *world) {
		delete(w.lenient.meta, "code_challenge_methods_supported")
		w.alice.mustLogin(mailURL)
		if g := slices.Collect(maps.Values(w.lenient.codes)); len(g) != 1 || g[0].challenge == "" {
			w.Errorf("codes without a challenge: %v", g)
		}
	}},
}

// insufficient makes a server reject calls because of their scopes.
func (w *world) insufficient(address, params string) {
	before := w.hosts[address]
	w.at(address, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !strings.Contains(string(body), `"tools/call"`) {
			before.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", `+params)
		rw.WriteHeader(http.StatusForbidden)
	})
}

// callback opens addresses while a person logs in at lenient, before they answer. The code in them is
// one of the attacker.
func (w *world) callback(addresses func(redirect, state string) []string) {
	w.note(secret{kind: kindCode, value: "code-evil", issuer: w.hostile.origin})
	w.at(w.lenient.origin+"/authorize", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			q := r.URL.Query()
			for _, address := range addresses(q.Get("redirect_uri"), q.Get("state")) {
				visit(address)
			}
		}
		w.lenient.authorize(rw, r)
	})
}

// visit opens an address of this machine.
func visit(address string) {
	if res, err := http.Get(address); err == nil {
		res.Body.Close()
	}
}
