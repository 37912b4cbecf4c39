package login

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestAProgramLogsIn(t *testing.T) {
	assertion := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(assertion, []byte("eyJ.workload.sig\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		options launch.Login
		want    map[string]string
		basic   bool
	}{
		"client secret":     {launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary}, map[string]string{"grant_type": "client_credentials"}, true},
		"client assertion":  {launch.Login{Grant: launch.GrantClient, ClientID: "job", AssertionFile: assertion}, map[string]string{"grant_type": "client_credentials", "client_assertion": "eyJ.workload.sig", "client_assertion_type": assertionType, "client_id": "job"}, false},
		"workload identity": {launch.Login{Grant: launch.GrantAssertion, AssertionFile: assertion}, map[string]string{"grant_type": grantJWT, "assertion": "eyJ.workload.sig"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta["scopes_supported"] = []string{"read", "offline_access"}
			delete(w.meta, "authorization_endpoint")
			delete(w.meta, "registration_endpoint")
			l := w.mustLogin(test.options)
			if l.Access != accessCanary || l.Refresh != "" || l.Client.Secret != "" || len(w.shown) > 0 {
				t.Errorf("stored %+v, shown %q", l.Status(), w.shown)
			}
			test.want["resource"], test.want["scope"] = "https://mcp.test/mcp", "read"
			for param, want := range test.want {
				if got := w.token.Get(param); got != want {
					t.Errorf("%s is %q, want %q", param, got, want)
				}
			}
			if basic := w.basic == "Basic "+base64.StdEncoding.EncodeToString([]byte("job:"+secretCanary)); basic != test.basic {
				t.Errorf("authenticated with %q", w.basic)
			}
			w.checkSecrets("as.test")
			// The same without a login in the store, as a renewal does it.
			w.issued["access_token"] = accessCanary + "2"
			if l, err := w.source(test.options).machineToken(t.Context(), ""); err != nil || l.Access != accessCanary+"2" {
				t.Errorf("renewed %v, %v", l, err)
			}
		})
	}
}

func TestAProgramIsRejected(t *testing.T) {
	options := launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary}
	for name, test := range map[string]struct {
		options   launch.Login
		change    func(w *world)
		temporary bool
		want      string
	}{
		"by the authorization server": {options, func(w *world) {
			w.issued = map[string]any{"error": "invalid_client", "error_description": "wrong: " + secretCanary}
		}, false, "invalid_client"},
		"with a form": {options, func(w *world) {
			w.instead("/token", func(rw http.ResponseWriter, _ *http.Request) {
				io.WriteString(rw, "error=invalid_client&error_description=no")
			})
		}, false, "invalid_client"},
		"without a description": {options, func(w *world) { w.issued = map[string]any{"error": "invalid_client"} }, false, "invalid_client"},
		"while it is down": {options, func(w *world) {
			w.instead("/token", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) })
		}, true, "503"},
		"while its metadata is down": {options, func(w *world) {
			w.instead(places["issuer"], func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(502) })
		}, true, "502"},
		"by the guard":         {options, func(w *world) { w.meta["token_endpoint"] = "https://10.0.0.1/" }, false, "10.0.0.1"},
		"without a secret":     {launch.Login{Grant: launch.GrantClient, ClientID: "job"}, func(*world) {}, false, "client secret"},
		"without an ID":        {launch.Login{Grant: launch.GrantClient}, func(*world) {}, false, "client ID"},
		"without a file":       {launch.Login{Grant: launch.GrantAssertion}, func(*world) {}, false, "file"},
		"with a missing file":  {launch.Login{Grant: launch.GrantAssertion, AssertionFile: filepath.Join(t.TempDir(), "none")}, func(*world) {}, false, "cannot read the workload"},
		"with a strange grant": {launch.Login{Grant: "magic"}, func(*world) {}, false, `invalid grant "magic"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			_, err := w.source(test.options).machineToken(t.Context(), "")
			_, temporary := errors.AsType[*Temporary](err)
			_, needed := errors.AsType[*Needed](err)
			if temporary != test.temporary || needed == test.temporary || !strings.Contains(redact.Passage(err.Error()), test.want) || strings.Contains(err.Error(), secretCanary) {
				t.Errorf("error %T %v", err, err)
			}
		})
	}
}

// The login of a program is renewed as that of a person is: it is tried again while a server cannot
// answer, and not if the answer would be the same.
func TestALoginOfAProgramIsTriedAgain(t *testing.T) {
	const metadata = "/.well-known/oauth-authorization-server"
	status := func(status int, retryAfter string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", retryAfter)
			rw.WriteHeader(status)
		}
	}
	reply := func(text string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, text) }
	}
	for name, test := range map[string]struct {
		path  string
		fault http.HandlerFunc
		times int // how often the fault happens
		asked int // how many requests the path gets
		want  any // the type of the error
	}{
		"500":                          {"/token", status(500, ""), 2, 3, nil},
		"429 for some seconds":         {"/token", status(429, "7"), 1, 2, nil},
		"429 for an hour":              {"/token", status(429, "3600"), 9, 1, &Temporary{}},
		"not JSON":                     {"/token", reply("<html>welcome</html>"), 2, 3, nil},
		"its metadata are unavailable": {metadata, status(502, ""), 2, 3, nil},
		"403 without a reason":         {"/token", status(403, ""), 1, 1, &Temporary{}},
		"rejected":                     {"/token", reply(`{"error":"invalid_client"}`), 1, 1, &Needed{}},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t)
			options := launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary}
			w.mustLogin(options)
			before := w.numSent("as.test", test.path)
			serve, left := w.hosts["as.test"], test.times
			w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == test.path && left > 0 {
					left--
					test.fault(rw, r)
					return
				}
				serve(rw, r)
			}
			w.issued["access_token"] = accessCanary + "2"
			s := w.source(options)
			req, _ := http.NewRequest(http.MethodPost, w.site, nil)
			req.Header.Set("Authorization", "Bearer "+accessCanary)
			err := s.Authorize(t.Context(), req, &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {w.challenge}}})
			if fmt.Sprintf("%T", err) != fmt.Sprintf("%T", test.want) {
				t.Errorf("error %T %v, want %T", err, err, test.want)
			}
			if renewed := s.look(true).token() == accessCanary+"2"; renewed != (test.want == nil) {
				t.Error("renewed:", renewed)
			}
			if n := w.numSent("as.test", test.path) - before; n != test.asked {
				t.Errorf("%s got %d requests, want %d", test.path, n, test.asked)
			}
			Wait(t.Context())
		})
	}
}

func TestCredentialsStayWithTheirIssuer(t *testing.T) {
	for name, options := range map[string]launch.Login{
		"a program":              {Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary},
		"a client with a secret": {ClientID: "app", ClientSecret: secretCanary},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustLogin(options)
			const other = "https://evil.test"
			w.mu.Lock()
			w.hosts["evil.test"] = w.serveIssuer
			w.resource["authorization_servers"] = []string{other}
			for _, field := range []string{"issuer", "authorization_endpoint", "token_endpoint"} {
				w.meta[field] = strings.Replace(w.meta[field].(string), "https://as.test", other, 1)
			}
			w.mu.Unlock()
			s := w.source(options)
			rejected := &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {w.challenge}}}
			req, _ := http.NewRequest(http.MethodPost, w.site, nil)
			req.Header.Set("Authorization", "Bearer "+accessCanary)
			err := s.Authorize(t.Context(), req, rejected)
			if options.Grant == "" { // the browser opens by itself, and that page sends it back immediately
				err = s.Login(t.Context(), w.browser)
			} else if _, needed := errors.AsType[*Needed](err); !needed {
				t.Error("not told that a person is needed:", err)
			}
			if err == nil || !strings.Contains(err.Error(), other) {
				t.Error("error", err)
			}
			if w.numSent("evil.test", "/token") != 0 {
				t.Error("the credentials were sent to a different authorization server")
			}
		})
	}
}

func TestALoginIsRevoked(t *testing.T) {
	w := newWorld(t)
	w.client["client_secret"] = secretCanary
	l := w.mustLogin(launch.Login{})
	client := &http.Client{Transport: w}
	if err := w.store.Revoke(t.Context(), l, client); err != nil {
		t.Fatal(err)
	}
	var revoked []string
	for _, s := range w.sent {
		if s.path == "/revoke" {
			revoked = append(revoked, s.text)
		}
	}
	if len(revoked) != 2 || !strings.Contains(revoked[0], "token="+refreshCanary) || !strings.Contains(revoked[1], "token="+accessCanary) || !strings.Contains(revoked[0], "Basic ") {
		t.Errorf("sent %q", revoked)
	}
	w.checkSecrets("as.test")

	w.instead("/revoke", redirectTo(307, "https://evil.test/revoke"))
	w.anywhere = w.serveIssuer
	if err := w.store.Revoke(t.Context(), l, client); err == nil || strings.Contains(err.Error(), refreshCanary) {
		t.Errorf("error %v", err)
	}
	l.RevocationURL = "https://10.0.0.1/revoke"
	if err := w.store.Revoke(t.Context(), l, client); err == nil {
		t.Error("a token was sent to a private address")
	}
	w.checkSecrets("as.test")
	l.RevocationURL = ""
	if err := w.store.Revoke(t.Context(), l, client); err != nil {
		t.Error(err)
	}
}

// silent is a keyring that does not respond.
type silent struct {
	respond chan struct{}
	asked   atomic.Int32
}

func (r *silent) Get(string, string) (string, error) {
	r.asked.Add(1)
	<-r.respond
	return "", errors.New("it did not respond")
}

func (r *silent) Set(string, string, string) error { return errors.New("it did not respond") }

// A keyring that does not respond delays no request to a server without a login, and none of a
// program: its token has no successor that could be lost.
func TestNoRequestWaitsForTheKeyringToStore(t *testing.T) {
	w := newWorld(t)
	ring := &silent{respond: make(chan struct{})}
	w.store.key.ring, w.store.key.timeout = ring, time.Hour
	if h, err := w.source(launch.Login{}).header(t.Context()); h != nil || err != nil {
		t.Error(h, err)
	}
	if n := ring.asked.Load(); n != 0 {
		t.Errorf("without a login, the keyring was asked %d times", n)
	}
	s := w.source(launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary})
	req, _ := http.NewRequest(http.MethodPost, w.site, nil)
	rejected := &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {w.challenge}}}
	if err := s.Authorize(t.Context(), req, rejected); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if h, err := s.header(t.Context()); err != nil || h.Get("Authorization") != "Bearer "+accessCanary {
			t.Error(h, err)
		}
	}
	close(ring.respond)
	Wait(t.Context())
	if l, err := w.store.Find(Resource(w.site), ""); err != nil || l.Access != accessCanary {
		t.Error("not stored:", l, err)
	}
}

// A program whose store cannot be written logs in whenever it has to, and the error is reported once.
func TestAProgramWithoutAStoreLogsInAgain(t *testing.T) {
	w := newWorld(t)
	options := launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary}
	store := testStore(t, nil)
	store.write = func(path string, _ []byte) error {
		return &os.PathError{Op: "write", Path: path, Err: syscall.EROFS}
	}
	var unsaved atomic.Int32
	s := New(w.site, options, Config{Store: store, Client: &http.Client{Transport: w}, Unsaved: func(error) { unsaved.Add(1) }})
	for n, token := range []string{"a", "b", "c"} {
		w.issued["access_token"] = token
		if err := s.renew(t.Context(), s.look(true).token(), true); err != nil || s.look(true).token() != token {
			t.Fatalf("renewal %d: %q, %v", n, s.look(true).token(), err)
		}
		Wait(t.Context())
	}
	if n := unsaved.Load(); n != 1 || s.look(true).token() != "c" {
		t.Errorf("reported %d times, and the token is %q", n, s.look(true).token())
	}
}

// Without a state directory, a program logs in all the same: its token stays in memory. A person, whose
// login would be lost, is told about the directory.
func TestAProgramLogsInWithoutAStateDirectory(t *testing.T) {
	t.Setenv("GAUZE_STATE_DIR", "relative")
	w := newWorld(t)
	w.store = nil
	rejected := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}}
	s := w.source(launch.Login{Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary})
	for _, token := range []string{accessCanary, accessCanary + "2"} { // the second is renewed
		w.issued["access_token"] = token
		if err := s.Authorize(t.Context(), &http.Request{Header: must(s.header(t.Context()))}, rejected); err != nil {
			t.Fatalf("%s: %v", token, err)
		}
		if h := must(s.header(t.Context())); h.Get("Authorization") != "Bearer "+token {
			t.Errorf("%v, want %s", h, token)
		}
	}
	err := w.source(launch.Login{}).Authorize(t.Context(), &http.Request{Header: http.Header{}}, rejected)
	if n, ok := errors.AsType[*Needed](err); !ok || !strings.HasPrefix(n.Next, "set GAUZE_STATE_DIR to") || strings.Contains(n.Why, "\n") {
		t.Errorf("%+v", err)
	}
}

func must(h http.Header, err error) http.Header {
	if err != nil {
		panic(err)
	}
	return h
}
