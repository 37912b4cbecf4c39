package login

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// hostile is a world in which a server, its metadata or its authorization server is hostile. All
// other hosts answer whatever is asked, so only gauze itself keeps a secret from reaching them.
type hostile struct {
	name   string
	change func(w *world)
	agreed []string // the hosts that secrets may be sent to; none if the login must fail
}

// badAddresses are addresses that a public server must not lead to.
var badAddresses = []string{
	"javascript:alert(document.domain)//https://as.test",
	"data:text/html,<script>x</script>",
	"file:///etc/passwd",
	"vbscript:x",
	"http://as.test",
	"http://127.0.0.1:9",
	"http://localhost:9",
	"http://127.0.0.1.as.test",
	"https://127.0.0.1:9",
	"https://localhost",
	"https://[::1]",
	"https://[::ffff:127.0.0.1]",
	"https://10.1.2.3",
	"https://192.168.0.1",
	"https://172.16.0.1:8443",
	"https://100.64.0.1",
	"https://169.254.169.254",
	"https://[fd00::1]",
	"https://[fec0::1]",
	"https://[64:ff9b::10.0.0.1]",
	"https://[64:ff9b::169.254.169.254]",
	"https://[2002:7f00:1::]",
	"https://0.1.2.3",
	"https://[fe80::1]",
	"https://0.0.0.0",
	"https://224.0.0.1",
	"https://user@as.test",
	"https://as.test:443@evil.test",
	"https://as.test\\@evil.test",
	"https://as.test/\u202eevil",
	"https://as.test/ \x1b[31m",
	"https://as.test/x#fragment",
	"https:as.test",
	"https:///x",
	"//evil.test/x",
	"/relative",
	"https://as.tëst",
	"https://as.test/" + strings.Repeat("x", 4000),
	"ftp://as.test",
	"x",
}

// badFields are the places in which metadata has addresses.
var badFields = map[string]func(w *world, address string){
	"resource_metadata": func(w *world, a string) {
		w.challenge = `Bearer resource_metadata="` + strings.ReplaceAll(a, `\`, `\\`) + `"`
	},
	"authorization_servers":  func(w *world, a string) { w.resource["authorization_servers"] = []string{a}; w.meta["issuer"] = a },
	"authorization_endpoint": func(w *world, a string) { w.meta["authorization_endpoint"] = a },
	"token_endpoint":         func(w *world, a string) { w.meta["token_endpoint"] = a },
	"registration_endpoint":  func(w *world, a string) { w.meta["registration_endpoint"] = a },
	"revocation_endpoint":    func(w *world, a string) { w.meta["revocation_endpoint"] = a },
}

// badDocuments are responses that are not the document that was asked for.
var badDocuments = map[string]string{
	"huge":          `{"x":"` + strings.Repeat("x", 1<<20) + `"}`,
	"huge and true": `{"issuer":"https://as.test","authorization_endpoint":"https://as.test/authorize","token_endpoint":"https://as.test/token","registration_endpoint":"https://as.test/register","resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"],"access_token":"x","client_id":"x","x":"` + strings.Repeat("x", 1<<20) + `"}`,
	"deep":          `{"x":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`,
	"cut":           `{"issuer":"https://as.test","resource":"https://mcp.test/mcp","authorization_servers":["https://`,
	"other types":   `{"issuer":{},"resource":[],"authorization_servers":"https://as.test","client_id":7,"access_token":{}}`,
	"garbage":       "{\x00\xff\xfe",
	"other case":    `{"Issuer":"https://as.test","Authorization_Endpoint":"https://as.test/authorize","Token_Endpoint":"https://as.test/token","Registration_Endpoint":"https://as.test/register","Resource":"https://mcp.test/mcp","Authorization_Servers":["https://as.test"],"Access_Token":"x","Token_Type":"Bearer","Client_Id":"x"}`,
	"twice":         `{"issuer":"https://evil.test","resource":"https://evil.test/mcp","access_token":"y","issuer":"https://as.test","authorization_endpoint":"https://as.test/authorize","token_endpoint":"https://as.test/token","registration_endpoint":"https://as.test/register","resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"],"access_token":"x","token_type":"Bearer","client_id":"x"}`,
}

// places are the documents that gauze reads.
var places = map[string]string{"resource": "/.well-known/oauth-protected-resource/mcp", "issuer": "/.well-known/oauth-authorization-server", "registration": "/register", "token": "/token"}

// instead makes all hosts answer requests to a path differently.
func (w *world) instead(path string, handler http.HandlerFunc) {
	for host, before := range w.hosts {
		w.hosts[host] = func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				handler(rw, r)
				return
			}
			before(rw, r)
		}
	}
}

func redirectTo(status int, address string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Location", address)
		rw.WriteHeader(status)
	}
}

func hostileCases() (cases []hostile) {
	add := func(name string, change func(w *world), agreed ...string) {
		cases = append(cases, hostile{name, change, agreed})
	}
	for field, set := range badFields {
		for _, address := range badAddresses {
			add(field+" "+address[:min(len(address), 40)], func(w *world) { set(w, address) })
		}
	}
	for document, path := range places {
		for name, text := range badDocuments {
			if document == "registration" && name == "twice" {
				continue // it has one client_id
			}
			add(document+" is "+name, func(w *world) {
				w.instead(path, func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", "application/json")
					io.WriteString(rw, text)
				})
			}, map[string][]string{"token": {"as.test"}}[document]...)
		}
		for _, status := range []int{301, 302, 303, 307, 308} {
			add(fmt.Sprintf("%s redirects with %d", document, status), func(w *world) {
				w.instead(path, redirectTo(status, "https://evil.test"+path))
			}, map[string][]string{"token": {"as.test"}}[document]...)
		}
		for _, to := range []string{"http://as.test", "https://as.test:444", "https://10.0.0.1", "http://127.0.0.1:9", "javascript:x", "https://as.test.evil.test"} {
			add(document+" redirects to "+to, func(w *world) { w.instead(path, redirectTo(307, to+path)) }, map[string][]string{"token": {"as.test"}}[document]...)
		}
		add(document+" redirects to itself", func(w *world) { w.instead(path, redirectTo(307, path)) }, map[string][]string{"token": {"as.test"}}[document]...)
	}
	for _, issuer := range []string{"", "https://evil.test", "HTTPS://AS.TEST", "https://as.test/other", "https://as.test:443", "https://as.test//", "https://as.test?x", "as.test"} {
		add("metadata of the issuer "+issuer, func(w *world) { w.meta["issuer"] = issuer })
	}
	for _, resource := range []string{"", "https://evil.test/mcp", "http://mcp.test/mcp", "https://mcp.test:444/mcp", "https://mcp.test/mc", "https://mcp.test/mcp/deeper", "https://x@mcp.test/mcp",
		"https://mcp.test/mcp#x", "https://mcp.test/mcp/..", "https://mcp.test/mcp?x=1", "https://mcp.test.evil.test/mcp", "javascript:x", "mcp.test/mcp", "\x00"} {
		add("metadata of the resource "+resource, func(w *world) { w.resource["resource"] = resource })
	}
	for _, iss := range []string{"https://evil.test", "https://as.test/", "HTTPS://as.test", "https://as.test:443", "javascript:x", "https://as.test\x00"} {
		add("response of "+iss, func(w *world) { w.answer.Set("iss", iss) })
	}
	add("no issuer in the response", func(w *world) { w.meta["authorization_response_iss_parameter_supported"] = true })
	add("PKCE without S256", func(w *world) { w.meta["code_challenge_methods_supported"] = []string{"plain"} })
	add("only private issuers", func(w *world) {
		w.resource["authorization_servers"] = slices.Repeat([]string{"https://10.0.0.1"}, 10000)
	})
	add("an error in the metadata", func(w *world) {
		w.instead(places["issuer"], func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) })
	})
	add("no token", func(w *world) { w.issued = map[string]any{} }, "as.test")
	add("a token with a line break", func(w *world) { w.issued["access_token"] = "a\r\nX: y" }, "as.test")
	add("a token of a strange type", func(w *world) { w.issued["token_type"] = "mac" }, "as.test")
	add("a client without an ID", func(w *world) { w.client = map[string]any{} })
	add("a client with a huge ID", func(w *world) { w.client["client_id"] = strings.Repeat("x", 100000) })
	add("a client with a strange method", func(w *world) {
		w.client["client_secret"] = secretCanary
		w.client["token_endpoint_auth_method"] = "tls_client_auth"
	})
	add("a client with a script", func(w *world) { w.client["redirect_uris"] = []string{"javascript:x"} })
	add("the server is not secure", func(w *world) { w.site = "http://mcp.test/mcp" })
	add("the server has a password", func(w *world) { w.site = "https://a:b@mcp.test/mcp" })
	add("a private server leads to this machine", func(w *world) { w.at("https://10.0.0.5"); w.issuer("https://127.0.0.1:9") })
	add("a server on the intranet leads to this machine", func(w *world) { w.at("https://intranet.test"); w.issuer("https://127.0.0.1:9") })
	add("a local server leads to link-local addresses", func(w *world) { w.at("http://127.0.0.1:9"); w.issuer("https://169.254.169.254") })
	add("a local server leads to http elsewhere", func(w *world) { w.at("http://127.0.0.1:9"); w.issuer("http://evil.test") })
	return cases
}

// at moves the server.
func (w *world) at(base string) {
	w.site, w.challenge = base+"/mcp", ""
	w.resource["resource"] = base + "/mcp"
	w.hosts[mustParse(base).Host] = w.serveResource
}

// issuer moves the authorization server.
func (w *world) issuer(base string) {
	w.resource["authorization_servers"] = []string{base}
	w.meta["issuer"] = base
	for _, endpoint := range []string{"authorize", "token", "register"} {
		field := map[string]string{"authorize": "authorization_endpoint", "token": "token_endpoint", "register": "registration_endpoint"}[endpoint]
		w.meta[field] = base + "/" + endpoint
	}
	delete(w.meta, "revocation_endpoint")
}

func TestHostileMetadata(t *testing.T) {
	cases := hostileCases()
	if len(cases) < 100 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%q", c.name), func(t *testing.T) {
			w := newWorld(t)
			w.anywhere = w.serveIssuer
			c.change(w)
			l, err := w.login(launch.Login{})
			if err == nil {
				t.Errorf("logged in: %v", l)
			} else if text := err.Error(); len(text) > 1500 || strings.ContainsAny(text, "\x00\x1b\u202e\r") || strings.Contains(text, "CODE-") || strings.Contains(text, "SECRET-") {
				t.Errorf("error %.2000q", text)
			}
			w.checkSecrets(c.agreed...)
		})
	}
}

// What is odd but does not lead anywhere else does not keep a person from logging in.
func TestOddMetadata(t *testing.T) {
	for _, c := range []hostile{
		{"a second issuer", func(w *world) { w.resource["authorization_servers"] = []string{"javascript:x", "https://as.test"} }, nil},
		{"many scopes", func(w *world) { w.challenge = ""; w.resource["scopes_supported"] = manyScopes(10000) }, nil},
		{"a huge scope", func(w *world) {
			w.challenge = ""
			w.resource["scopes_supported"] = []string{strings.Repeat("x", 500000)}
		}, nil},
		{"scopes with line breaks", func(w *world) { w.challenge = ""; w.resource["scopes_supported"] = []string{"a\r\nb", "\x1b[1m", "ok"} }, nil},
		{"many challenges", func(w *world) { w.challenge = strings.Repeat(`Basic realm="x", `, 1000) + w.challenge }, nil},
		{"a resource in upper case", func(w *world) { w.resource["resource"] = "https://MCP.test/mcp" }, nil},
		{"a token endpoint elsewhere", func(w *world) {
			w.agrees = true
			w.meta["token_endpoint"] = "https://tokens.test/token"
			w.hosts["tokens.test"] = w.serveIssuer
		}, []string{"tokens.test"}},
		{"a token endpoint below the issuer", func(w *world) {
			w.meta["token_endpoint"] = "https://tokens.as.test/token"
		}, []string{"tokens.as.test"}},
		{"parameters in the endpoint", func(w *world) {
			w.meta["authorization_endpoint"] = "https://as.test/authorize?tenant=7&state=x&redirect_uri=https://evil.test/"
		}, nil},
		{"a page instead of OpenID", func(w *world) {
			w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/.well-known/oauth") {
					io.WriteString(rw, "<html>welcome")
					return
				}
				w.metaPath = "/.well-known/openid-configuration"
				w.serveIssuer(rw, r)
			}
		}, nil},
		{"a redirect within the origin", func(w *world) {
			w.metaPath = "/elsewhere"
			w.instead(places["issuer"], redirectTo(302, "https://as.test/elsewhere"))
		}, nil},
		{"a private server with a private issuer", func(w *world) { w.at("https://10.0.0.5"); w.issuer("https://10.0.0.6") }, []string{"10.0.0.6"}},
		{"a server on the intranet", func(w *world) { w.at("https://intranet.test"); w.issuer("https://10.0.0.6") }, []string{"10.0.0.6"}},
		{"a local server with a public issuer", func(w *world) { w.at("http://127.0.0.1:9") }, nil},
		{"an absurd expiry", func(w *world) { w.issued["expires_in"] = 1e18 }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.change(w)
			w.anywhere = w.serveIssuer
			if l := w.mustLogin(launch.Login{}); l.Access != accessCanary {
				t.Errorf("stored %v", l)
			}
			if agreed := c.agreed; agreed != nil {
				w.checkSecrets(agreed...)
			} else {
				w.checkSecrets("as.test")
			}
			for _, address := range w.shown {
				u := mustParse(address)
				if len(address) > 8000 || len(u.Query()["state"]) != 1 || len(u.Query()["redirect_uri"]) != 1 || !launch.IsLoopback(mustParse(u.Query().Get("redirect_uri")).Hostname()) {
					t.Errorf("shown: %.9000s", address)
				}
			}
		})
	}
}

func manyScopes(n int) (scopes []string) {
	for i := range n {
		scopes = append(scopes, fmt.Sprint("scope-", i))
	}
	return scopes
}

// slowly is a transport whose responses never end.
type slowly struct{ path string }

func (s slowly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path != s.path {
		return &http.Response{StatusCode: 404, Body: http.NoBody, Request: req}, nil
	}
	return &http.Response{StatusCode: 200, Body: endless{req}, Request: req}, nil
}

type endless struct{ req *http.Request }

func (e endless) Read(p []byte) (int, error) {
	<-e.req.Context().Done()
	return 0, e.req.Context().Err()
}

func (endless) Close() error { return nil }

func TestASlowDocumentEndsWithTheLogin(t *testing.T) {
	w := newWorld(t)
	s := New(w.site, launch.Login{}, Config{Store: w.store, Client: &http.Client{Transport: slowly{places["resource"]}}})
	f, err := s.newFlow(50 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if f.client.Timeout != oauthTimeout {
		t.Errorf("one request may take %v", f.client.Timeout)
	}
	if err := f.run(t.Context(), w.browser); err == nil || !strings.Contains(err.Error(), "not completed") {
		t.Errorf("error %v", err)
	}
}

func TestTheDialledAddressIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		server  string
		allowed bool
	}{
		"public":   {"https://9.9.9.9/mcp", false},
		"private":  {"https://10.0.0.5/mcp", false},
		"loopback": {"http://127.0.0.1:1/mcp", true},
	} {
		t.Run(name, func(t *testing.T) {
			u, _ := url.Parse(test.server)
			c, err := listen("")
			if err != nil {
				t.Fatal(err)
			}
			defer c.close("")
			// A name is resolved when it is dialled.
			conn, err := newGuard(u).dial(t.Context(), "tcp", "localhost:"+c.at.Port())
			if (err == nil) != test.allowed {
				t.Errorf("error %v", err)
			}
			if err == nil {
				conn.Close()
			}
		})
	}
}
