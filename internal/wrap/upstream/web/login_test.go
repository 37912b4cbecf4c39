package web

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// tokenServer has a standing stream that ends when the accepted token changes.
type tokenServer struct {
	*httptest.Server
	opened chan string // the tokens with which the stream was opened

	mu       sync.Mutex
	accepted string
	changed  chan struct{}
}

func newTokenServer(t *testing.T) *tokenServer {
	s := &tokenServer{opened: make(chan string, 10), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		if r.Form.Get("refresh_token") != "renewable" {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":"invalid_grant"}`)
			return
		}
		io.WriteString(w, `{"access_token":"second","token_type":"Bearer","expires_in":3600,"refresh_token":"used up"}`)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		accepted, changed := s.accepted, s.changed
		s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		s.opened <- accepted
		select {
		case <-changed:
		case <-r.Context().Done():
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// accept makes the server accept a different token.
func (s *tokenServer) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = token
	close(s.changed)
	s.changed = make(chan struct{})
}

func TestStandingStreamFollowsTheLogin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GAUZE_STATE_DIR", dir)
	t.Setenv("GAUZE_KEYRING", "off")
	server := newTokenServer(t)
	stored := login.Login{
		Key:      login.Key{Resource: login.Resource(server.URL + "/mcp"), Issuer: server.URL},
		Client:   login.Client{ID: "gauze"},
		TokenURL: server.URL + "/token", Access: "first", Refresh: "renewable", Began: time.Now(),
	}
	store := login.Open(dir)
	if err := store.Put(stored); err != nil {
		t.Fatal(err)
	}
	remote, err := NewRemote(launch.Spec{URL: server.URL + "/mcp"}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	w := dial(remote, &ear{})
	t.Cleanup(func() { w.rec.End("the test is over", true); <-w.rec.Done(); remote.Close() })

	server.accept("second") // the first token has expired
	w.openStanding(t.Context())
	if got := <-server.opened; got != "second" {
		t.Errorf("opened with %q", got)
	}
	server.accept("third") // which can only be had by a new login
	stored.Access, stored.Refresh, stored.Began = "third", "", time.Now().Add(time.Second)
	if err := store.Add(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if got := <-server.opened; got != "third" {
		t.Errorf("opened with %q", got)
	}
	select {
	case <-w.rec.Done():
		t.Error("the connection ended")
	default:
	}
}

func TestLoginAttemptsAreBounded(t *testing.T) {
	logins := newLogins(launch.Spec{URL: "http://127.0.0.1:1/mcp"}, &Remote{})
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	plain, scoped := &login.Needed{}, &login.Needed{Scopes: []string{"b", "a"}}
	attempt, begun := logins.Begin(plain)
	if !begun {
		t.Fatal("not begun")
	}
	if other, begun := logins.Begin(scoped); other != attempt || begun {
		t.Error("two attempts at the same time")
	}
	attempt.End(errors.New("declined"))
	attempt.Run(t.Context(), nil)
	<-attempt.Done()
	if attempt.Err() == nil || logins.MayAsk(plain) {
		t.Errorf("%v: asked again soon after a failure", attempt.Err())
	}
	if !logins.MayAsk(scoped) {
		t.Error("other scopes were not asked for")
	}
	for n := range maxStepUps {
		attempt, begun = logins.Begin(scoped)
		if !begun {
			t.Fatalf("attempt %d was not begun", n)
		}
		attempt.End(errors.New("declined"))
		attempt.Run(t.Context(), nil)
		logins.past["a b"].again = time.Time{} // later
	}
	if logins.MayAsk(&login.Needed{Scopes: []string{"a", "b"}}) {
		t.Error("the same scopes are asked for without end")
	}
}

func TestAPersonWhoDeclinesIsNotAskedForOtherScopesEndlessly(t *testing.T) {
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	logins := newLogins(launch.Spec{URL: "http://127.0.0.1:1/mcp"}, &Remote{})
	begun := 0
	for _, scope := range []string{"a", "b", "c", "d", "e"} {
		attempt, ours := logins.Begin(&login.Needed{Scopes: []string{scope}})
		if !ours {
			continue
		}
		begun++
		attempt.End(errors.New("declined"))
		attempt.Run(t.Context(), nil)
	}
	if begun != maxDeclined {
		t.Errorf("a person was asked %d times", begun)
	}
}

// A server that the doctor finds at a different path gets the login only if that was issued for it.
func TestALoginDoesNotMoveToADifferentPath(t *testing.T) {
	for indicator, want := range map[string]string{
		"https://mcp.test/a": "", "": "", "https://mcp.test": "Bearer first", "https://mcp.test/a/b": "", "https://mcp.test/elsewhere": "Bearer first", "https://mcp.test/else": "",
	} {
		t.Run(indicator, func(t *testing.T) {
			t.Setenv("GAUZE_STATE_DIR", t.TempDir())
			t.Setenv("GAUZE_KEYRING", "off")
			here, there := launch.Spec{URL: "https://mcp.test/a"}, launch.Spec{URL: "https://mcp.test/elsewhere"}
			l := login.Login{Key: login.Key{Resource: here.URL, Issuer: "https://as.test"}, Indicator: indicator, Access: "first", Began: time.Now()}
			if err := login.Open(os.Getenv("GAUZE_STATE_DIR")).Add(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			r, err := NewRemote(here, Access{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if h, err := r.logins.header(r.request(t.Context(), http.MethodPost, r.to())); err != nil || h.Get("Authorization") != "Bearer first" {
				t.Errorf("%v, %v", h, err)
			}
			if !r.Relocate(here, there) {
				t.Fatal("not moved")
			}
			if h, err := r.logins.header(r.request(t.Context(), http.MethodPost, r.to())); err != nil || h.Get("Authorization") != want {
				t.Errorf("after the move: %v, %v", h, err)
			}
		})
	}
}

// A redirect within the host does not take the login to a different path, whether it comes before or
// after the login. One that only adds a slash does.
func TestALoginDoesNotFollowARedirectToADifferentPath(t *testing.T) {
	for _, c := range []struct {
		to              string
		loggedIn, later bool
		follows, sends  bool
	}{
		{to: "/tenant-b/mcp", loggedIn: true},
		{to: "/mcp/", loggedIn: true, follows: true, sends: true},
		{to: "/tenant-b/mcp", follows: true},
		{to: "/tenant-b/mcp", later: true},
		{to: "/mcp/", follows: true, later: true, sends: true},
	} {
		var got []string // what the target of the redirect received
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != c.to {
				http.Redirect(w, r, c.to, http.StatusTemporaryRedirect)
				return
			}
			got = append(got, r.Header.Get("Authorization"))
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}))
		defer server.Close()
		w := dialStored(t, server, c.loggedIn, &ear{})
		if c.later {
			w.remote.moved.Store(w.remote.address.Load().JoinPath("..", c.to)) // before the login
			storeLogin(t, server)
		}
		x := ping(t, w)
		res, err := x.send(x.ctx)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if len(got) > 0 != c.follows {
			t.Errorf("%+v: HTTP %d, and the target received %q", c, res.StatusCode, got)
		}
		for _, token := range got {
			if token != "" != c.sends {
				t.Errorf("%+v: the target received %q", c, got)
			}
		}
		if loss := w.remote.refusal(res, nil, time.Now()); !c.follows && !strings.Contains(loss.Detail, "the login is not valid for that address") {
			t.Errorf("%+v: %+v", c, loss)
		}
	}
}

// The older transport posts to a path that its stream names.
func TestALoginIsSentWhereTheStreamSaysToPost(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/messages":
			got = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: endpoint\ndata: /messages?session=1\n\n")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(server.Close)
	w := dialStored(t, server, true, &ear{})
	x := ping(t, w)
	if res, err := x.send(x.ctx); err != nil || !x.answersElsewhere(res) {
		t.Fatalf("%v, %v: no stream", res, err)
	}
	if res, err := x.send(x.ctx); err != nil || res.StatusCode != http.StatusAccepted || got != "Bearer first" {
		t.Errorf("%v, %v: posted with %q", res, err, got)
	}
}
