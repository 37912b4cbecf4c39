package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const pingOne = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// dialStored connects to a server at which the user is logged in with the tokens "first" and
// "renewable", or not at all.
func dialStored(t *testing.T, server *httptest.Server, loggedIn bool, reader life.Reader) *Session {
	t.Helper()
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	t.Setenv("GAUZE_KEYRING", "off")
	if loggedIn {
		storeLogin(t, server)
	}
	remote, err := NewRemote(launch.Spec{URL: server.URL + "/mcp"}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	w := dial(remote, reader)
	t.Cleanup(func() { w.rec.End("the test is over", true); <-w.rec.Done(); remote.Close() })
	return w
}

// storeLogin stores a login to a server with the tokens "first" and "renewable".
func storeLogin(t *testing.T, server *httptest.Server) {
	t.Helper()
	if err := login.Open(os.Getenv("GAUZE_STATE_DIR")).Put(login.Login{
		Key:      login.Key{Resource: login.Resource(server.URL + "/mcp"), Issuer: server.URL},
		Client:   login.Client{ID: "gauze"},
		TokenURL: server.URL + "/token", Access: "first", Refresh: "renewable", Began: time.Now().Add(-time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
}

func ping(t *testing.T, w *Session) *exchange {
	t.Helper()
	m, _, err := wire.Scan([]byte(pingOne))
	if err != nil {
		t.Fatal(err)
	}
	return newExchange(w, 1, m, Sending{})
}

// lossEar notes the losses.
type lossEar struct {
	ear
	lost []life.Loss
}

func (e *lossEar) Lost(_ []byte, l life.Loss) { e.lost = append(e.lost, l) }

// A server without OAuth may explain in a JSON-RPC response of status 401 which key it requires. Only
// a server that asks for a token is answered for by gauze.
func TestServersAnswerWithStatus401(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"set the header X-Api-Key"}}`
	for _, c := range []struct {
		challenge, body string
		delivered       bool
		unasked         bool
	}{
		{"", answer, true, false},
		{`Basic realm="x"`, answer, true, false},
		{`Bearer realm="x"`, answer, false, false},
		{"", "no", false, true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.challenge != "" {
				w.Header().Set("WWW-Authenticate", c.challenge)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, c.body)
		}))
		defer server.Close()
		heard := &lossEar{}
		w := dialStored(t, server, false, heard)
		x := ping(t, w)
		res, err := x.send(x.ctx)
		if err != nil {
			t.Fatal(err)
		}
		x.refused(res)
		if got := len(heard.heard) == 1 && heard.heard[0] == answer; got != c.delivered {
			t.Errorf("%q: delivered %q", c.challenge, heard.heard)
		}
		if c.delivered {
			continue
		}
		if len(heard.lost) != 1 || heard.lost[0].Login == nil || heard.lost[0].Login.Unasked != c.unasked {
			t.Fatalf("%q: lost %+v", c.challenge, heard.lost)
		}
		if remedy := heard.lost[0].Cause().Remedy; strings.Contains(remedy, "--header-env") != c.unasked || !strings.Contains(remedy, "gauze login") {
			t.Errorf("%q: %s", c.challenge, remedy)
		}
	}
}

// renewing is a server whose token endpoint issues the same token each time.
func renewing(t *testing.T, issued string, renewals *atomic.Int32, mcp http.HandlerFunc) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		renewals.Add(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"`+issued+`","token_type":"Bearer","expires_in":3600}`)
	})
	mux.HandleFunc("/mcp", mcp)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// A renewed token may be the same string. The request is sent once more.
func TestRenewedTokenIsTheSameString(t *testing.T) {
	for issued, rejections := range map[string]int32{"second": 1, "first": 1} {
		var renewals, requests atomic.Int32
		server := renewing(t, issued, &renewals, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) <= rejections {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
		w := dialStored(t, server, true, &ear{})
		x := ping(t, w)
		res, err := x.send(x.ctx)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Request.Header.Get("Authorization") != "Bearer "+issued || renewals.Load() != 1 || requests.Load() != rejections+1 {
			t.Errorf("%s: %s after %d requests and %d renewals", issued, res.Status, requests.Load(), renewals.Load())
		}
	}
}

// A server that rejects the standing stream with any token has none. The login is not renewed for it
// again and again.
func TestStandingStreamThatIsAlwaysRejected(t *testing.T) {
	var renewals atomic.Int32
	server := renewing(t, "second", &renewals, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	w := dialStored(t, server, true, &ear{})
	w.listen(func() {})
	if renewals.Load() != 1 {
		t.Errorf("%d renewals", renewals.Load())
	}
}
