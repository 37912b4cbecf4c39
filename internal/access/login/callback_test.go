package login

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// occupy listens at the port of an address until the test ends.
func occupy(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", u.Port()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func TestThePortOfARegistrationIsTaken(t *testing.T) {
	w := newWorld(t)
	first := w.mustLogin(launch.Login{})
	occupy(t, first.Client.RedirectURL)
	w.client["client_id"] = "registered-2"
	l := w.mustLogin(launch.Login{})
	if l.Client.ID != "registered-2" || l.Client.RedirectURL == first.Client.RedirectURL || w.asked.Get("redirect_uri") != l.Client.RedirectURL {
		t.Errorf("client %v at %s", l.Client, l.Client.RedirectURL)
	}
}

func TestThePortOfTheRedirectURLIsTaken(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address := "http://" + l.Addr().String() + "/callback"
	_, err = w.login(launch.Login{ClientID: "mine", RedirectURL: address})
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "--redirect-url") {
		t.Errorf("error %v", err)
	}
	if len(w.shown) > 0 {
		t.Error("the browser was opened")
	}
}

// failed asserts that nothing was stored, and that the next login works.
func (w *world) failed() {
	w.t.Helper()
	if l, err := w.store.Find(Resource(w.site), ""); !errors.Is(err, ErrNone) {
		w.t.Errorf("stored %v, %v", l, err)
	}
	w.answer = url.Values{}
	w.mustLogin(launch.Login{})
}

func TestTheBrowserNeverReturns(t *testing.T) {
	w := newWorld(t)
	var address string
	for timeout := 50 * time.Millisecond; address == ""; timeout *= 2 { // a busy machine may not even open the browser in time
		if timeout > patience.Limit() {
			t.Fatal("the browser was not opened")
		}
		address = w.abandon(timeout)
	}
	u, _ := url.Parse(address)
	if _, err := http.Get(u.Query().Get("redirect_uri")); err == nil {
		t.Error("the callback still listens")
	}
	w.failed()
}

// abandon begins a login that nobody completes. It returns the address that was shown, if that
// happened within the timeout.
func (w *world) abandon(timeout time.Duration) (address string) {
	w.t.Helper()
	f, err := w.source(launch.Login{}).newFlow(timeout)
	if err != nil {
		w.t.Fatal(err)
	}
	shown := make(chan string, 1) // a login does not wait for the browser to open
	err = f.run(w.t.Context(), func(_ context.Context, p Page) error { shown <- p.Address; return nil })
	if err == nil || !strings.Contains(err.Error(), "not completed within "+timeout.String()) {
		w.t.Errorf("error %v", err)
	}
	select {
	case address = <-shown:
	default:
	}
	return address
}

func TestALoginCanBeCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.source(launch.Login{}).Login(ctx, func(context.Context, Page) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("error %v", err)
	}
	w.failed()
}

func TestThePersonSaysNo(t *testing.T) {
	w := newWorld(t)
	w.answer = url.Values{"code": nil, "error": {"access_denied"}, "error_description": {"no \x1b[31mthanks\u202e"}}
	var page string
	err := w.source(launch.Login{}).Login(t.Context(), w.reading(&page))
	if err == nil || !strings.Contains(err.Error(), "the login was declined") || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("error %q", err)
	}
	w.pages.Wait()
	if !strings.Contains(page, "declined") {
		t.Errorf("the page is %q", page)
	}
	if w.numSent("as.test", "/token") > 0 {
		t.Error("a token was asked for")
	}
	w.failed()
}

func TestThePersonDoesNotOpenTheAddress(t *testing.T) {
	w := newWorld(t)
	declined := errors.New("declined")
	err := w.source(launch.Login{}).Login(t.Context(), func(context.Context, Page) error { return declined })
	if !errors.Is(err, declined) {
		t.Errorf("error %v", err)
	}
	w.failed()
}

// What any web page or program can send to the callback does not end a login, let alone complete it.
func TestOnlyTheResponseOfTheLoginIsAccepted(t *testing.T) {
	w := newWorld(t)
	err := w.source(launch.Login{}).Login(t.Context(), func(_ context.Context, p Page) error {
		back, err := w.visit(p.Address)
		if err != nil {
			return err
		}
		with := func(change func(u *url.URL, q url.Values)) string {
			u, _ := url.Parse(back)
			q := u.Query()
			change(u, q)
			u.RawQuery = q.Encode()
			return u.String()
		}
		attempts := []struct {
			name, method, address, host string
			status                      int
		}{
			{"foreign Host", "GET", back, "evil.test", 403},
			{"foreign Host with the port", "GET", back, "evil.test:" + mustParse(back).Port(), 403},
			{"POST", "POST", back, "", 405},
			{"HEAD", "HEAD", back, "", 405},
			{"other path", "GET", with(func(u *url.URL, _ url.Values) { u.Path = "/" }), "", 404},
			{"longer path", "GET", with(func(u *url.URL, _ url.Values) { u.Path += "/x" }), "", 404},
			{"wrong state", "GET", with(func(_ *url.URL, q url.Values) { q.Set("state", "guessed") }), "", 400},
			{"no state", "GET", with(func(_ *url.URL, q url.Values) { q.Del("state") }), "", 400},
			{"two states", "GET", with(func(_ *url.URL, q url.Values) { q.Add("state", "x") }), "", 400},
			{"two codes", "GET", with(func(_ *url.URL, q url.Values) { q.Add("code", "x") }), "", 400},
			{"an error without the state", "GET", with(func(_ *url.URL, q url.Values) { q.Set("error", "x"); q.Del("state") }), "", 400},
		}
		for _, a := range attempts {
			req, _ := http.NewRequest(a.method, a.address, nil)
			if a.host != "" {
				req.Host = a.host
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Errorf("%s: %v", a.name, err)
				continue
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != a.status {
				t.Errorf("%s: status %d, want %d", a.name, res.StatusCode, a.status)
			}
			if bytes.Contains(body, []byte(codeCanary)) || !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s: page %q, policy %q", a.name, body, res.Header.Get("Content-Security-Policy"))
			}
		}
		go http.Get(back)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.numSent("as.test", "/token") != 1 {
		t.Error("more than one code was exchanged")
	}
}

func mustParse(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return u
}

func TestAResponseIsAcceptedOnce(t *testing.T) {
	c, err := listen("")
	if err != nil {
		t.Fatal(err)
	}
	address := c.redirect + "?code=x&state=" + c.state
	var first sync.WaitGroup
	first.Go(func() {
		res, err := http.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 || !strings.Contains(string(text), "&lt;done&gt;") {
			t.Errorf("status %d, page %q", res.StatusCode, text)
		}
	})
	if got := <-c.answers; got.code != "x" {
		t.Errorf("answer %v", got)
	}
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusGone {
		t.Errorf("status %d", res.StatusCode)
	}
	c.close("<done>")
	first.Wait()
}

// The address that the browser is opened with works once, and only for a browser.
func TestTheAddressThatIsOpenedLeadsToTheLoginOnce(t *testing.T) {
	w := newWorld(t)
	looked := make(chan struct{})
	err := w.source(launch.Login{}).Login(t.Context(), func(_ context.Context, p Page) error {
		defer close(looked)
		if u := mustParse(p.Opens); !launch.IsLoopback(u.Hostname()) || u.RawQuery != "" || len(u.Path) < 20 || p.Server != w.site || p.Issuer != "https://as.test" {
			t.Errorf("%+v", p)
		}
		open := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		for _, want := range []struct {
			method, location string
			status           int
		}{
			{http.MethodPost, "", http.StatusMethodNotAllowed},
			{http.MethodGet, p.Address, http.StatusSeeOther},
			{http.MethodGet, "", http.StatusGone},
		} {
			req, _ := http.NewRequest(want.method, p.Opens, nil)
			res, err := open.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			h := res.Header
			if res.StatusCode != want.status || h.Get("Location") != want.location || h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s: %s %v", want.method, res.Status, h)
			}
		}
		return nil
	})
	if <-looked; !errors.Is(err, errReopened) {
		t.Errorf("error %v", err)
	}
}

// Someone who read the command line may have opened the address first, and may log in with an account of
// their own before the person's browser comes.
func TestALoginThatWasOpenedTwiceIsNotStored(t *testing.T) {
	w := newWorld(t)
	var opens string
	before := w.hosts["as.test"]
	w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			for range 2 {
				if res, err := (&http.Transport{}).RoundTrip(httptest.NewRequest(http.MethodGet, opens, nil)); err == nil {
					res.Body.Close()
				}
			}
		}
		before(rw, r)
	}
	err := w.source(launch.Login{}).Login(t.Context(), func(ctx context.Context, p Page) error {
		opens = p.Opens
		return w.browser(ctx, p)
	})
	if !errors.Is(err, errReopened) {
		t.Errorf("error %v", err)
	}
	if l, err := w.store.Find(Resource(w.site), ""); err == nil {
		t.Errorf("stored %v", l)
	}
}

func TestAPastedAddress(t *testing.T) {
	w := newWorld(t)
	in, typed := io.Pipe()
	var out lockedBuffer
	defer typed.Close()
	paste := Paste(in, &out)
	err := w.source(launch.Login{}).Login(t.Context(), func(ctx context.Context, p Page) error {
		if err := paste(ctx, p); err != nil {
			return err
		}
		back, err := w.visit(p.Address)
		if err != nil {
			return err
		}
		go func() {
			for _, line := range []string{
				"", "what?", "https://evil.test/callback?code=a&state=b", p.Address,
				strings.Replace(back, "state=", "state=x", 1), mustParse(back).Query().Get("redirect_uri"), "  " + back + " ",
			} {
				io.WriteString(typed, line+"\n")
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.Contains(text, "https://as.test/authorize?") || strings.Count(text, "this is not the callback address") != 3 || strings.Count(text, "is for a different login") != 1 {
		t.Errorf("written:\n%s", text)
	}
	if strings.Contains(text, codeCanary) {
		t.Error("the code was written")
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func TestOnlyHTTPSAndThisMachineAreOpened(t *testing.T) {
	t.Setenv("BROWSER", "this-program-does-not-exist")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	t.Setenv("WSL_DISTRO_NAME", "")
	for _, bad := range []string{
		"", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://example.com/", "ftp://example.com/", "https:", "https:///x", "//example.com",
		"-version", "https://user@example.com/", "https://example.com/\nx", "https://example.com/\u202e", "vbscript:x", "http://127.0.0.1.evil.test/", "HTTPS:evil",
	} {
		if err := openable(bad); err == nil {
			t.Errorf("%q may be opened", bad)
		}
		if err := OpenBrowser(bad); err == nil || strings.Contains(err.Error(), "browser") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"https://example.com/a?b=c", "http://127.0.0.1:80/", "http://localhost/x", "http://[::1]:8/"} {
		if err := openable(good); err != nil {
			t.Error(err)
		}
	}
}

func TestBrowsers(t *testing.T) {
	const address = "https://as.test/a?b=c&d=$(x);e"
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	tests := []struct {
		system string
		env    func(string) string
		want   string
	}{
		{"linux", env(), ""},
		{"linux", env("DISPLAY", ":0"), "[xdg-open URL]"},
		{"linux", env("BROWSER", "firefox --new-tab %s"), "[firefox --new-tab URL]"},
		{"linux", env("BROWSER", "w3m", "WAYLAND_DISPLAY", "w"), "[w3m URL] [xdg-open URL]"},
		{"linux", env("WSL_DISTRO_NAME", "U"), "[wslview URL] [xdg-open URL]"},
		{"darwin", env(), "[open URL]"},
		{"windows", env(), "[rundll32 url.dll,FileProtocolHandler URL]"},
	}
	for _, test := range tests {
		var got []string
		for _, command := range browsers(test.system, address, test.env) {
			for i, word := range command {
				if word == address {
					command[i] = "URL"
				}
			}
			got = append(got, "["+strings.Join(command, " ")+"]")
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", test.system, got, test.want)
		}
	}
}

func TestADamagedLoginIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	if err := os.WriteFile(onlyFile(t, w.store), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := w.mustLogin(launch.Login{}); l.Access != accessCanary {
		t.Errorf("stored %v", l)
	}
}
