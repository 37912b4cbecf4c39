package kernel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// loginStory is a story whose server requires a login.
type loginStory struct {
	*story
	as     *logintest.Server
	opened *addresses
}

// addresses are what a browser was asked to open.
type addresses struct {
	mu  sync.Mutex
	all []string
}

func (a *addresses) add(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, address)
}

func (a *addresses) number() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

// authServer starts a server that requires a login, and gives the test a store of its own.
func authServer(t *testing.T, c logintest.Config) *logintest.Server {
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	t.Setenv("GAUZE_KEYRING", "off")
	c.Mark = "canary"
	return logintest.New(t, c)
}

// logIn logs in as gauze login does, in a different process.
func logIn(t *testing.T, as *logintest.Server, scopes ...string) {
	t.Helper()
	logInTo(t, as, launch.Login{Scopes: scopes}, nil)
}

func logInTo(t *testing.T, as *logintest.Server, o launch.Login, store *login.Store) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	source := login.New(as.MCP(), o, login.Config{Store: store, Client: &http.Client{Transport: transport}})
	show := func(_ context.Context, p login.Page) error {
		address := p.Address
		go browse(address)
		return nil
	}
	if err := source.Login(context.Background(), show); err != nil {
		t.Fatal(err)
	}
}

// browse is a person who opens an address and is led back to gauze.
func browse(address string) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if res, err := client.Get(address); err == nil {
		res.Body.Close()
	}
}

// logInBeside returns a login that is in a different store.
func logInBeside(t *testing.T, as *logintest.Server) login.Login {
	t.Helper()
	store := login.Open(t.TempDir())
	logInTo(t, as, launch.Login{}, store)
	all, err := store.All()
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

// beginLogin starts a session with a server that requires a login.
func beginLogin(t *testing.T, as *logintest.Server, o Options) *loginStory {
	t.Helper()
	s := &loginStory{&story{t: t, ended: make(chan error, 1)}, as, &addresses{}}
	if o.Remote == nil {
		o.Spec.URL = as.MCP()
	}
	if o.OpenBrowser == nil {
		o.OpenBrowser = func(address string) error {
			s.opened.add(address)
			go browse(address)
			return nil
		}
	}
	if o.Confirm.After == 0 {
		o.Confirm.After = -1 // as after a pause before each call
	}
	t.Cleanup(func() { // after the end of the session: no token was ever shown
		shown := s.told() + fmt.Sprintf("%+v", s.events)
		for _, secret := range as.Secrets() {
			if strings.Contains(shown, secret) {
				t.Errorf("%s was shown\n%s", secret, shown)
			}
		}
	})
	s.run(o)
	return s
}

// auto are options with which gauze opens the browser.
func auto() Options {
	o := unprobed()
	o.Spec.Login.Mode = launch.LoginAuto
	return o
}

// greet does the handshake of a client that can open addresses.
func (s *loginStory) greet() *loginStory {
	s.t.Helper()
	const params = `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"test","version":"1"}}`
	if m := s.answer(s.request("initialize", params)); m.Error != nil {
		s.t.Fatalf("%s\n%s", m.raw, s.told())
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.answer(s.request("tools/list", ""))
	return s
}

// ran is how many tool calls the server ran.
func (s *loginStory) ran() (n int) {
	for _, r := range s.as.Ledger("mcp") {
		if r.Method == "tools/call" && r.Status == 200 {
			n++
		}
	}
	return n
}

// wantOneSession checks that the connection was never replaced.
func (s *loginStory) wantOneSession() {
	s.t.Helper()
	if n := s.happened(event.Died); n != 0 {
		s.t.Errorf("the connection ended %d times\n%s", n, s.told())
	}
}

// wantAdvice checks that an answer says how to log in.
func (s *loginStory) wantAdvice(m message, command string) {
	s.t.Helper()
	if !strings.Contains(m.raw, command) {
		s.t.Errorf("no %q in %s", command, m.raw)
	}
}

func TestLoginExpiresMidSession(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	for round := 1; round <= 3; round++ {
		as.Expire()
		var ids []string
		for i := range 12 {
			ids = append(ids, s.start("write", fmt.Sprintf(`{"n":%d}`, i)))
		}
		for i, id := range ids {
			if got := s.text(s.answer(id)); got != fmt.Sprintf(`{"n":%d}`, i) {
				t.Errorf("answer %q", got)
			}
		}
		if as.Renewals() != round || s.ran() != 12*round {
			t.Errorf("%d renewals and %d calls that ran, want %d and %d", as.Renewals(), s.ran(), round, 12*round)
		}
	}
	if as.Logins() != 1 || as.Reused() != 0 {
		t.Errorf("%d logins, %d tokens used twice", as.Logins(), as.Reused())
	}
	s.await(event.LoginRenewed, 3)
	s.wantOneSession()
}

// Tokens that expire soon after they were renewed have worked: the login is renewed again each time.
func TestLoginExpiresAgainAndAgain(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	for round := 1; round <= 8; round++ {
		as.Expire()
		if got := s.text(s.answer(s.start("write", `{"n":1}`))); got != `{"n":1}` {
			t.Fatalf("round %d: %q", round, got)
		}
	}
	if as.Renewals() != 8 || as.Logins() != 1 || s.ran() != 8 {
		t.Errorf("%d renewals, %d logins, %d calls ran", as.Renewals(), as.Logins(), s.ran())
	}
}

func TestInitializeWithoutALogin(t *testing.T) {
	as := authServer(t, logintest.Config{})
	o := unprobed()
	o.Spec.Login.Account = "work"
	s := beginLogin(t, as, o)
	m := s.wantFault(s.request("initialize", helloParams), fault.AuthRequired)
	s.wantAdvice(m, "gauze login "+as.MCP()+" --account work")
	if e := s.await(event.LoginNeeded, 1); e.Cause.Code == "" {
		t.Errorf("%+v", e)
	}
	if o := s.session.Observe(false); o.LastReason != upstream.ReasonLogin {
		t.Errorf("the reason is %q", o.LastReason)
	}
	logInTo(t, as, launch.Login{Account: "work"}, nil)
	s.initialize() // as a client that is asked to reconnect
	s.call("write", "")
	if o := s.session.Observe(false); o.LastReason != "" {
		t.Errorf("the reason is %q", o.LastReason)
	}
	s.wantOneSession()
}

func TestLoginEndsMidSessionAndADifferentProcessLogsIn(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	as.Revoke()
	for range 3 {
		m := s.wantFault(s.start("write", ""), fault.AuthRequired)
		s.wantAdvice(m, "gauze login "+as.MCP())
	}
	if n := s.happened(event.LoginEnded); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := s.happened(event.LoginNeeded); n != 1 {
		t.Errorf("%d events", n)
	}
	logIn(t, as)
	s.call("write", "")
	if s.ran() != 1 || s.opened.number() != 0 {
		t.Errorf("%d calls ran, %d pages were opened", s.ran(), s.opened.number())
	}
	s.wantOneSession()
}

// The server forgets the session while nobody is logged in: it is restored as soon as somebody is.
func TestSessionIsRestoredAfterALoginElsewhere(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	as.Revoke()
	gone := logintest.Status(http.StatusNotFound, "")
	as.Fail("/mcp", gone, gone)
	s.wantFault(s.start("write", ""), fault.AuthRequired)
	s.await(event.GaveUp, 1)
	if e := s.await(event.Died, 2); e.Reason != upstream.ReasonLogin {
		t.Errorf("the reason is %q", e.Reason)
	}
	s.wantFault(s.start("write", ""), fault.AuthRequired)
	logIn(t, as)
	s.await(event.Restored, 1)
	s.call("write", "")
}

func TestElicitationAccepted(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.greet()
	as.Revoke()
	var ids []string
	for range 5 {
		ids = append(ids, s.start("write", ""))
	}
	asked := s.notice("elicitation/create", 1)
	var params struct{ Mode, URL, ElicitationID, Message string }
	if err := json.Unmarshal(asked.Params, &params); err != nil || params.Mode != "url" || params.ElicitationID == "" || params.Message == "" {
		t.Fatalf("%v: %s", err, asked.raw)
	}
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, asked.ID))
	browse(params.URL)
	for _, id := range ids {
		s.text(s.answer(id))
	}
	if done := s.notice("notifications/elicitation/complete", 1); !strings.Contains(done.raw, params.ElicitationID) {
		t.Errorf("%s", done.raw)
	}
	if s.notices("elicitation/create") != 1 || as.Logins() != 2 || s.ran() != 5 {
		t.Errorf("asked %d times, %d logins, %d calls ran", s.notices("elicitation/create"), as.Logins(), s.ran())
	}
	s.wantOneSession()
}

func TestElicitationDeclined(t *testing.T) {
	for _, action := range []string{`"result":{"action":"decline"}`, `"result":{"action":"cancel"}`, `"error":{"code":-32602,"message":"no"}`} {
		t.Run(action, func(t *testing.T) {
			as := authServer(t, logintest.Config{})
			logIn(t, as)
			s := beginLogin(t, as, unprobed())
			s.greet()
			as.Revoke()
			id := s.start("write", "")
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, s.notice("elicitation/create", 1).ID, action))
			s.wantAdvice(s.wantFault(id, fault.AuthRequired), "gauze login "+as.MCP())
			s.wantFault(s.start("write", ""), fault.AuthRequired) // without being asked again
			if n := s.notices("elicitation/create"); n != 1 {
				t.Errorf("asked %d times", n)
			}
			logIn(t, as)
			s.call("write", "")
			s.wantOneSession()
		})
	}
}

// A client that is asked may also see that somebody logs in elsewhere.
func TestElicitationUnansweredAndADifferentProcessLogsIn(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.greet()
	as.Revoke()
	id := s.start("write", "")
	s.notice("elicitation/create", 1)
	other := logInBeside(t, as)
	if err := login.Open(os.Getenv("GAUZE_STATE_DIR")).Add(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	s.text(s.answer(id))
	s.notice("notifications/elicitation/complete", 1)
}

func TestAutoLoginAtInitialize(t *testing.T) {
	as := authServer(t, logintest.Config{})
	s := beginLogin(t, as, auto())
	s.initialize()
	s.call("write", "")
	if s.opened.number() != 1 || as.Logins() != 1 {
		t.Errorf("%d pages, %d logins", s.opened.number(), as.Logins())
	}
	s.wantOneSession()
}

func TestAutoLoginDuringDiscover(t *testing.T) {
	as := authServer(t, logintest.Config{})
	s := beginLogin(t, as, auto())
	m := s.answer(s.request("server/discover", "{"+modernMeta+"}")) // which this server does not have
	if m.Error == nil || m.Error.Code != -32601 || as.Logins() != 1 {
		t.Errorf("%d logins, %s", as.Logins(), m.raw)
	}
}

func TestAutoLoginWithoutABrowser(t *testing.T) {
	as := authServer(t, logintest.Config{})
	o := auto()
	o.OpenBrowser = func(string) error { return errors.New("there is no browser") }
	s := beginLogin(t, as, o)
	m := s.wantFault(s.request("initialize", helloParams), fault.AuthRequired)
	s.wantAdvice(m, "there is no browser")
	s.wantAdvice(m, "gauze login "+as.MCP())
}

// Sessions that share a Remote, as those of gauze serve do, ask once.
func TestSharedLoginIsAskedForOnce(t *testing.T) {
	as := authServer(t, logintest.Config{})
	spec := launch.Spec{URL: as.MCP(), Login: launch.Login{Mode: launch.LoginAuto}}
	remote, err := upstream.NewRemote(spec)
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	var opened addresses
	o := unprobed()
	o.Remote, o.Spec = remote, spec
	o.OpenBrowser = func(address string) error {
		opened.add(address)
		go func() {
			<-release
			browse(address)
		}()
		return nil
	}
	first, second := beginLogin(t, as, o), beginLogin(t, as, o)
	a, b := first.request("initialize", helloParams), second.request("initialize", helloParams)
	first.await(event.LoginNeeded, 1)
	second.await(event.LoginNeeded, 1)
	close(release)
	if first.answer(a).Error != nil || second.answer(b).Error != nil {
		t.Error(first.told(), second.told())
	}
	if opened.number() != 1 || as.Logins() != 1 {
		t.Errorf("%d pages, %d logins", opened.number(), as.Logins())
	}
	first.end()
	second.end()
	remote.Close()
}

// The session that asked for a login ends before the person has logged in.
func TestSharedLoginOutlivesTheSessionThatAsked(t *testing.T) {
	as := authServer(t, logintest.Config{})
	spec := launch.Spec{URL: as.MCP(), Login: launch.Login{Mode: launch.LoginAuto}}
	remote, err := upstream.NewRemote(spec)
	if err != nil {
		t.Fatal(err)
	}
	var opened addresses
	shown := make(chan string, 10)
	o := unprobed()
	o.Remote, o.Spec = remote, spec
	o.OpenBrowser = func(address string) error {
		opened.add(address)
		shown <- address
		return nil
	}
	first := beginLogin(t, as, o)
	first.request("initialize", helloParams)
	page := <-shown
	second := beginLogin(t, as, o)
	waiting := second.request("initialize", helloParams)
	second.await(event.LoginNeeded, 1)
	first.end()
	browse(page)
	if m := second.answer(waiting); m.Error != nil || opened.number() != 1 || as.Logins() != 1 {
		t.Errorf("%d pages, %d logins, %s", opened.number(), as.Logins(), m.raw)
	}
	second.end()
	remote.Close()
}

// The page is of no use once nobody waits: the attempt ends with the last session.
func TestLoginAttemptEndsWithTheLastSession(t *testing.T) {
	as := authServer(t, logintest.Config{})
	o := auto()
	shown := make(chan string, 1)
	o.OpenBrowser = func(address string) error {
		shown <- address
		return nil
	}
	s := beginLogin(t, as, o)
	s.request("initialize", helloParams)
	page := <-shown
	s.end()
	store := login.Open(os.Getenv("GAUZE_STATE_DIR"))
	unlock, err := store.LockFlow(t.Context(), login.Resource(as.MCP()), "") // until the attempt has ended
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	browse(page)
	if _, err := store.Find(login.Resource(as.MCP()), ""); !errors.Is(err, login.ErrNone) {
		t.Error("the login was completed:", err)
	}
}

func TestStepUp(t *testing.T) {
	as := authServer(t, logintest.Config{ToolScopes: map[string]string{"write": "notes:write"}})
	logIn(t, as, "notes:read")
	s := beginLogin(t, as, auto())
	s.initialize()
	s.call("echo", "")
	s.call("write", "")
	if s.opened.number() != 1 || s.ran() != 2 {
		t.Errorf("%d pages, %d calls ran", s.opened.number(), s.ran())
	}
	asked := as.Ledger("authorize")
	if scope := asked[len(asked)-1].Scope; !strings.Contains(scope, "notes:read") || !strings.Contains(scope, "notes:write") {
		t.Errorf("asked for %q", scope)
	}
	s.wantOneSession()
}

func TestStepUpIsBounded(t *testing.T) {
	as := authServer(t, logintest.Config{ToolScopes: map[string]string{"write": "notes:write"}, Granted: []string{"notes:read"}})
	logIn(t, as, "notes:read")
	s := beginLogin(t, as, auto())
	s.initialize()
	for range 4 {
		m := s.wantFault(s.start("write", ""), fault.AuthDenied)
		s.wantAdvice(m, "gauze login "+as.MCP()+" --scope notes:write")
	}
	s.until("a page was opened", func() bool { return s.opened.number() > 0 })
	if n := s.opened.number(); n > 2 {
		t.Errorf("%d pages", n)
	}
	if s.ran() != 0 {
		t.Errorf("%d calls ran", s.ran())
	}
}

func TestForbiddenIsNotALoginMatter(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, auto())
	s.initialize()
	as.Fail("/mcp", logintest.Status(http.StatusForbidden, ""), logintest.Status(http.StatusForbidden, ""))
	s.wantFault(s.start("write", ""), fault.AuthDenied)
	if s.opened.number() != 0 || as.Renewals() != 0 {
		t.Errorf("%d pages, %d renewals", s.opened.number(), as.Renewals())
	}
}

func TestRenewalFailsForNow(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, auto())
	s.initialize()
	as.Expire()
	as.Fail("/token", logintest.Status(http.StatusServiceUnavailable, "3600"))
	m := s.wantFault(s.start("write", ""), fault.LoginUnavailable)
	if !strings.Contains(m.raw, "retry-later") || strings.Contains(m.raw, "gauze login") || s.opened.number() != 0 {
		t.Errorf("%d pages: %s", s.opened.number(), m.raw)
	}
	s.wantOneSession()
	s.until("the login works again", func() bool {
		code, _ := s.faultOf(s.answer(s.start("write", "")))
		return code == ""
	})
	if as.Logins() != 1 || s.ran() != 1 {
		t.Errorf("%d logins, %d calls ran", as.Logins(), s.ran())
	}
}

// A result may say that the token is not valid. A call that reads is sent again, once.
func TestResultRejectsTheToken(t *testing.T) {
	for name, policy := range map[string]string{"reads": "", "writes": "never"} {
		t.Run(name, func(t *testing.T) {
			as := authServer(t, logintest.Config{})
			logIn(t, as)
			o := unprobed()
			o.Tools = map[string]Policy{"tokenless": {Replay: policy}}
			s := beginLogin(t, as, o)
			s.initialize()
			m := s.answer(s.start("tokenless", ""))
			if !strings.Contains(m.raw, "Error 401: the access token has expired") {
				t.Errorf("%s", m.raw)
			}
			ran := 2
			if policy != "" {
				ran = 1
			}
			if told := strings.Contains(m.raw, "renew the login"); told != (policy != "") || s.ran() != ran {
				t.Errorf("%d calls ran: %s", s.ran(), m.raw)
			}
			s.call("echo", "")
			if as.Renewals() != 1 {
				t.Errorf("%d renewals", as.Renewals())
			}
			s.answer(s.start("tokenless", "")) // renewing again would not help
			s.call("echo", "")
			if as.Renewals() != 1 {
				t.Errorf("%d renewals", as.Renewals())
			}
		})
	}
}

func TestResultAboutATokenIsLeftAlone(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	s.call("echo", `{"text":"HTTP 401: the access token has expired"}`)
	s.call("echo", "")
	if as.Renewals() != 0 || s.ran() != 2 {
		t.Errorf("%d renewals, %d calls ran", as.Renewals(), s.ran())
	}
}

// A server that requires no login is sent the same requests as without one.
func TestServerWithoutALogin(t *testing.T) {
	as := authServer(t, logintest.Config{Open: true})
	s := beginLogin(t, as, auto())
	s.initialize()
	s.call("write", "")
	for _, r := range as.Ledger() {
		if r.Kind != "mcp" {
			t.Errorf("a request of kind %s", r.Kind)
		}
	}
}

// A server that rejects one tool with 401 is not reported as one that is not available, or that
// accepts no login: the others work.
func TestOneToolIsRejected(t *testing.T) {
	as := authServer(t, logintest.Config{Forbidden: "write"})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	s.call("echo", `{}`)
	for range 2 {
		m := s.wantFault(s.start("write", `{}`), fault.AuthRequired)
		for part, want := range map[string]bool{
			"The MCP server rejected this call, so the call most likely did not run": true, "accepted the login for other requests, but not for this one": true, "gauze login " + as.MCP(): true,
			"is not available": false, launch.LoginMissing: false,
		} {
			if strings.Contains(m.raw, part) != want {
				t.Errorf("%q: want %v: %s", part, want, m.raw)
			}
		}
		s.call("echo", `{}`)
	}
	s.wantOneSession()
}

// A server that requires a login for one tool alone is not said to have accepted one.
func TestOneToolNeedsALogin(t *testing.T) {
	as := authServer(t, logintest.Config{Open: true, Forbidden: "write"})
	s := beginLogin(t, as, unprobed())
	s.initialize()
	s.call("echo", `{}`)
	m := s.wantFault(s.start("write", `{}`), fault.AuthRequired)
	for part, want := range map[string]bool{launch.LoginMissing: true, "gauze login " + as.MCP(): true, "accepted the login": false} {
		if strings.Contains(m.raw, part) != want {
			t.Errorf("%q: want %v: %s", part, want, m.raw)
		}
	}
	s.call("echo", `{}`)
	s.wantOneSession()
}

// Other users can read the command line of a program that opens the browser.
func TestTheBrowserIsOpenedWithoutTheState(t *testing.T) {
	as := authServer(t, logintest.Config{})
	s := beginLogin(t, as, auto())
	s.initialize()
	for _, address := range s.opened.all {
		if strings.Contains(address, "state=") || strings.Contains(address, "code_challenge") || len(address) > 80 {
			t.Errorf("opened with %s", address)
		}
	}
}

// addOther stores a login to a different server at the issuer of this one.
func addOther(t *testing.T, as *logintest.Server) {
	t.Helper()
	store := login.Open(os.Getenv("GAUZE_STATE_DIR"))
	other := login.Login{Key: login.Key{Resource: "https://other.test/mcp", Issuer: as.URL}}
	if err := store.Add(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	store.Remove(login.Key{Resource: as.MCP(), Issuer: as.URL})
}

func TestAutoLoginDoesNotUseTheLoginOfADifferentServer(t *testing.T) {
	as := authServer(t, logintest.Config{})
	addOther(t, as)
	s := beginLogin(t, as, auto())
	m := s.wantFault(s.request("initialize", helloParams), fault.AuthRequired)
	s.wantAdvice(m, "gauze login "+as.MCP())
	s.wantAdvice(m, "https://other.test")
	if s.opened.number() != 0 || len(as.Ledger("register")) != 0 {
		t.Errorf("opened %v", s.opened.all)
	}
}

// A client that opens the address before its user has agreed gets no token.
func TestElicitationAboutTheLoginOfADifferentServer(t *testing.T) {
	for _, action := range []string{"accept", "decline"} {
		t.Run(action, func(t *testing.T) {
			as := authServer(t, logintest.Config{})
			logIn(t, as)
			s := beginLogin(t, as, unprobed())
			s.greet()
			as.Revoke()
			addOther(t, as)
			id := s.start("write", "")
			asked := s.notice("elicitation/create", 1)
			var params struct{ URL, Message string }
			if err := json.Unmarshal(asked.Params, &params); err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{as.MCP(), as.URL, "https://other.test", "only if"} {
				if !strings.Contains(params.Message, part) {
					t.Errorf("no %q in %q", part, params.Message)
				}
			}
			back, err := as.Redirect(params.URL)
			if err != nil {
				t.Fatal(err)
			}
			go browse(back)
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, asked.ID, action))
			if action == "accept" {
				s.text(s.answer(id))
				return
			}
			s.wantFault(id, fault.AuthRequired)
			if len(as.Ledger("code")) != 1 {
				t.Error("the code was exchanged")
			}
		})
	}
}

// A client may give up the call before its user has logged in.
func TestElicitationIsCompleteAfterItsCallWasCancelled(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.greet()
	as.Revoke()
	id := s.start("write", "")
	asked := s.notice("elicitation/create", 1)
	var params struct{ URL string }
	if err := json.Unmarshal(asked.Params, &params); err != nil {
		t.Fatal(err)
	}
	s.withdraw(id)
	s.await(event.Cancelled, 1)
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, asked.ID))
	browse(params.URL)
	s.notice("notifications/elicitation/complete", 1)
	s.call("write", "")
	if s.answers(id) != 0 || s.ran() != 1 {
		t.Errorf("%d answers, %d calls ran", s.answers(id), s.ran())
	}
}

// What gauze answers without the server does not mean that the server accepts requests.
func TestAListFromTheCacheIsNoLogin(t *testing.T) {
	as := authServer(t, logintest.Config{})
	logIn(t, as)
	s := beginLogin(t, as, unprobed())
	s.initialize()
	as.Revoke()
	gone := logintest.Status(http.StatusNotFound, "")
	as.Fail("/mcp", gone, gone)
	s.wantFault(s.start("write", ""), fault.AuthRequired)
	s.await(event.GaveUp, 1)
	s.await(event.Died, 2)
	s.wantFault(s.start("write", ""), fault.AuthRequired)
	s.until("the server is down", func() bool { return s.session.Inside().Conn == nil })
	before := s.session.Observe(false)
	s.answer(s.request("tools/list", ""))
	if after := s.session.Observe(false); s.session.Counters().FromCache != 1 || before.LastReason != upstream.ReasonLogin || after.State != before.State || !after.LastDeath.Equal(before.LastDeath) {
		t.Errorf("%s %q %v, then %s %q %v", before.State, before.LastReason, before.LastDeath, after.State, after.LastReason, after.LastDeath)
	}
}
