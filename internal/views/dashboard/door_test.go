package dashboard

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/testonly/dashlogin"
)

const (
	testToken = "0123456789abcdef0123456789abcdef"
	testRun   = "this run"
)

// front is a dashboard on a real listener.
type front struct {
	t    *testing.T
	dir  string
	addr string
	d    *Dashboard
	door *Door

	codes   *Codes
	session string // the cookie that page sends
}

// serve serves a dashboard with its pages below prefix. A browser logs in at the path above that, or,
// as most tests do, there.
func serve(t *testing.T, prefix string) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{t: t, dir: t.TempDir(), addr: l.Addr().String()}
	path := prefix[:max(0, strings.LastIndexByte(prefix, '/'))]
	if f.d, err = New(Options{Dir: f.dir, Prefix: prefix, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	f.codes = NewCodes(testToken, f.addr, testRun)
	f.door = NewDoor(f.d, Entrance{Addr: l.Addr(), Path: path, Codes: f.codes, Token: testToken, Again: "gauze again"})
	server := httpguard.Server(f.door)
	go server.Serve(l)
	t.Cleanup(func() {
		f.d.Close()
		server.Close()
	})
	return f
}

// exchange sends a request as it is written. HOST is the address, PORT its port, COOKIE a valid
// session, CODE a new code. It returns nil if the connection was closed without an answer.
func (f *front) exchange(text, cookie string) *http.Response {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	_, port, _ := net.SplitHostPort(f.addr)
	head, body, _ := strings.Cut(text, "\n\n")
	head = strings.ReplaceAll(head+"\n\n", "\n", "\r\n")
	sent := strings.NewReplacer("HOST", f.addr, "PORT", port, "COOKIE", f.door.cookie+"="+cookie, "TOKEN", testToken, "CODE", f.codes.New()).Replace(head + body)
	go io.WriteString(conn, sent)          // the response may come before all is written
	method, _, _ := strings.Cut(text, " ") // HEAD has no body
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil
	}
	content, _ := io.ReadAll(response.Body)
	response.Body = io.NopCloser(strings.NewReader(string(content)))
	return response
}

// login returns the value of a new session's cookie.
func (f *front) login() string {
	f.t.Helper()
	response := f.exchange(form(f.door.Path+"/session", own, "code=CODE"), "")
	if response == nil || response.StatusCode != http.StatusSeeOther || len(response.Cookies()) != 1 {
		f.t.Fatalf("the login was answered with %v", response)
	}
	return response.Cookies()[0].Value
}

// page returns a page to a browser that is logged in.
func (f *front) page(path string) string {
	f.t.Helper()
	if f.session == "" {
		f.session = f.login()
	}
	response := f.exchange("GET "+path+" HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", f.session)
	if response == nil {
		f.t.Fatalf("%s: no response", path)
	}
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != 200 {
		f.t.Fatalf("%s: %d %s", path, response.StatusCode, text)
	}
	return string(text)
}

// own are the headers of a form on a page of the dashboard.
const own = "Host: HOST\nOrigin: http://HOST\nSec-Fetch-Site: same-origin\nContent-Type: application/x-www-form-urlencoded\n"

func form(path, head, body string) string {
	length := len(strings.NewReplacer("TOKEN", testToken, "CODE", NewCodes("", "", "").New()).Replace(body))
	return "POST " + path + " HTTP/1.1\n" + head + fmt.Sprintf("Content-Length: %d\n\n", length) + body
}

func get(head string) string { return "GET / HTTP/1.1\n" + head + "\n" }

// restart is a form that would act, with a valid session.
func restart(head string) string {
	return form("/servers/1-1/restart", head+"Cookie: COOKIE\n", "")
}

// entry is a login with a new code.
func entry(head string) string { return form("/session", head, "code=CODE") }

const formType = "Content-Type: application/x-www-form-urlencoded\n"

// crafted are requests of which none must be accepted, although each has a valid code, token or session.
var crafted = func() (all []struct{ name, text string }) {
	add := func(name, text string) { all = append(all, struct{ name, text string }{name, text}) }
	for name, host := range map[string]string{
		"foreign": "evil.example.com", "foreign with our port": "evil.example.com:PORT", "different port": "127.0.0.1:1", "no port": "127.0.0.1",
		"trailing dot": "localhost.:PORT", "prefix": "localhost.evil.example.com:PORT", "suffix": "evil-localhost:PORT", "userinfo": "HOST@evil.example.com",
		"long ::1": "[0:0:0:0:0:0:0:1]:PORT", "mapped": "[::ffff:127.0.0.1]:PORT", "short": "127.1:PORT", "decimal": "2130706433:PORT", "octal": "0177.0.0.1:PORT",
		"all addresses": "0.0.0.0:PORT", "empty": "", "list": "HOST, evil.example.com", "different loopback": "127.0.0.2:PORT",
	} {
		add("GET with the host: "+name, get("Host: "+host+"\nCookie: COOKIE\n"))
		add("login with the host: "+name, entry("Host: "+host+"\nOrigin: http://HOST\nSec-Fetch-Site: same-origin\n"+formType))
	}
	for name, origin := range map[string]string{
		"foreign": "https://evil.example.com", "null": "null", "empty": "", "different port": "http://127.0.0.1:1", "userinfo": "http://HOST@evil.example.com",
		"prefix": "http://HOST.evil.example.com", "path": "http://HOST/", "file": "file://", "extension": "chrome-extension://HOST", "list": "http://HOST, https://evil.example.com",
	} {
		add("GET from the origin: "+name, get("Host: HOST\nCookie: COOKIE\nOrigin: "+origin+"\n"))
		add("restart from the origin: "+name, restart("Host: HOST\nOrigin: "+origin+"\nSec-Fetch-Site: same-origin\n"+formType))
		add("login from the origin: "+name, entry("Host: HOST\nOrigin: "+origin+"\nSec-Fetch-Site: same-origin\n"+formType))
	}
	for _, header := range []string{"Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: evil.example.com", "X-Forwarded-Proto: https", "X-Real-IP: 192.0.2.1", "Via: 1.1 proxy",
		"X-Forwarded-For:", "x-forwarded-prefix: /d"} {
		add("GET through a proxy: "+header, get("Host: HOST\nCookie: COOKIE\n"+header+"\n"))
		add("login through a proxy: "+header, entry(own+header+"\n"))
		add("metrics through a proxy: "+header, "GET /metrics HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN\n"+header+"\n\n")
	}
	for _, site := range []string{"cross-site", "same-site", "Same-Origin", "same-origin, none", "x"} {
		add("GET from the site: "+site, get("Host: HOST\nCookie: COOKIE\nSec-Fetch-Site: "+site+"\n"))
		add("restart from the site: "+site, restart("Host: HOST\nOrigin: http://HOST\nSec-Fetch-Site: "+site+"\n"+formType))
	}
	add("restart without an origin", restart("Host: HOST\nSec-Fetch-Site: same-origin\n"+formType))
	add("restart without a site", restart("Host: HOST\nOrigin: http://HOST\n"+formType))
	add("restart typed into the address bar", restart("Host: HOST\nOrigin: http://HOST\nSec-Fetch-Site: none\n"+formType))
	add("restart with two sites", restart("Host: HOST\nOrigin: http://HOST\nSec-Fetch-Site: same-origin\nSec-Fetch-Site: same-origin\n"+formType))
	add("restart without a session", form("/servers/1-1/restart", own, ""))
	add("restart with the token as a header", form("/servers/1-1/restart", own+"Authorization: Bearer TOKEN\n", ""))
	add("restart with a GET", "GET /servers/1-1/restart HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n")
	add("restart with an override", "GET /servers/1-1/restart HTTP/1.1\nHost: HOST\nCookie: COOKIE\nX-HTTP-Method-Override: POST\n\n")
	for _, kind := range []string{"text/plain", "application/json", "multipart/form-data; boundary=x", "text/plain;application/x-www-form-urlencoded", ""} {
		add("restart with the content type "+kind, restart("Host: HOST\nOrigin: http://HOST\nSec-Fetch-Site: same-origin\nContent-Type: "+kind+"\n"))
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "get", "post"} {
		add("the method "+method, method+" / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nOrigin: http://HOST\nSec-Fetch-Site: same-origin\n\n")
	}
	for _, cookie := range []string{"gauze-dashboard-PORT=x", "gauze-dashboard-PORT=", "COOKIE; COOKIE", "COOKIEx", "other=TOKEN", "gauze-dashboard-PORT=TOKEN"} {
		add("the cookie "+cookie, get("Host: HOST\nCookie: "+cookie+"\n"))
	}
	for _, sent := range []string{"Bearer TOKEN", "Bearer CODE", "Bearer", "Bearer x", "Basic TOKEN", "TOKEN", "Bearer TOKENx", "Bearer x\nAuthorization: Bearer TOKEN"} {
		add("the header "+sent, get("Host: HOST\nAuthorization: "+sent+"\n"))
	}
	for _, path := range []string{"//", "/./", "/static/../", "/static/", "/static", "/static/%2e%2e/timeline", "/timeline/", "//evil.example.com/", "/%2f", "/session", "/static/../templates/layout.html",
		"/static/%2e%2e/templates/layout.html", "/templates/layout.html", "/\\", "/?token=TOKEN", "/?code=CODE", "/metrics"} {
		add("the path "+path, "GET "+path+" HTTP/1.1\nHost: HOST\n\n")
	}
	add("an absolute target", "GET http://HOST/ HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n")
	add("an authority as target", "CONNECT HOST HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n")
	add("a star as target", "OPTIONS * HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n")
	add("HTTP/1.0", "GET / HTTP/1.0\nHost: HOST\nCookie: COOKIE\n\n")
	add("HTTP/2", "PRI * HTTP/2.0\n\nSM\n\n")
	add("two hosts", get("Host: HOST\nHost: evil.example.com\nCookie: COOKIE\n"))
	add("no host", get("Cookie: COOKIE\n"))
	add("two lengths", "POST /session HTTP/1.1\n"+own+"Content-Length: 2\nContent-Length: 3\n\nxx")
	add("a length and chunks", "POST /session HTTP/1.1\n"+own+"Content-Length: 4\nTransfer-Encoding: chunked\n\n0\r\n\r\n")
	add("a GET with a body", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nContent-Length: 2\n\nxx")
	add("giant headers", get("Host: HOST\nCookie: COOKIE\nX-A: "+strings.Repeat("a", httpguard.MaxHeaderBytes+8<<10)+"\n"))
	add("a giant form", form("/session", own, "x="+strings.Repeat("a", maxForm)+"&code=CODE"))
	add("an encoded form", entry(own+"Content-Encoding: gzip\n"))
	for _, body := range []string{"", "code=", "code=TOKEN", "token=TOKEN", "token=CODE", "code=x.y.z", "code=CODEx", "code=.CODE", "code=..", "code=TOKEN&code=CODE"} {
		add("a login with "+body, form("/session", own, body))
	}
	add("a login with the code in the address", form("/session?code=CODE", own, ""))
	add("a login with a GET", "GET /session?code=CODE HTTP/1.1\nHost: HOST\n\n")
	add("the stream without a session", "GET /live HTTP/1.1\nHost: HOST\n\n")
	return all
}()

func TestNoCraftedRequestIsAccepted(t *testing.T) {
	if len(crafted) < 100 {
		t.Errorf("only %d requests", len(crafted))
	}
	f := serve(t, "")
	session := f.login()
	for _, c := range crafted {
		t.Run(c.name, func(t *testing.T) {
			f.door.tokens.Guesses = httpguard.NewGuesses() // they are many
			response := f.exchange(c.text, session)
			if response != nil && (response.StatusCode < 400 || len(response.Cookies()) > 0) {
				t.Errorf("status %d", response.StatusCode)
			}
			if response != nil && response.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("a foreign page may read the response")
			}
		})
	}
	// After all of this the browser of the user is served.
	if response := f.exchange(get("Host: HOST\nSec-Fetch-Site: none\nCookie: COOKIE\n"), session); response == nil || response.StatusCode != 200 {
		t.Errorf("an honest browser was answered with %v", response)
	}
	if response := f.exchange(restart(own), session); response == nil || response.StatusCode != 404 {
		t.Errorf("an honest form was answered with %v, want that there is no such server", response)
	}
}

func TestLogin(t *testing.T) {
	f := serve(t, "/dashboard/secret")
	for _, path := range []string{"/dashboard", "/dashboard/", "/dashboard/old/", "/dashboard/old/timeline?healed=1", "/dashboard/secret/", "/dashboard/secret/timeline"} {
		response := f.exchange("GET "+path+" HTTP/1.1\nHost: HOST\nSec-Fetch-Site: none\n\n", "")
		text, _ := io.ReadAll(response.Body)
		if response.StatusCode != 401 || len(response.Cookies()) > 0 {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
		wantAll(t, string(text), "login.js", `action="/dashboard/session"`, "gauze again")
		wantNone(t, string(text), "secret") // the path of the cookie
	}
	response := f.exchange(form("/dashboard/session", own, "code=CODE"), "")
	if response.StatusCode != 303 || response.Header.Get("Location") != "/dashboard/secret/" {
		t.Errorf("a code leads to %q (%d)", response.Header.Get("Location"), response.StatusCode)
	}
	c := response.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/dashboard/secret/" || len(c.Value) < 26 {
		t.Errorf("the cookie is %v", c)
	}
	for path, status := range map[string]int{"/dashboard/secret/": 200, "/dashboard/secret/timeline": 200, "/dashboard/": 401, "/dashboard/secret/static/": 404} {
		if response := f.exchange("GET "+path+" HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", c.Value); response.StatusCode != status {
			t.Errorf("%s with the cookie: %d, want %d", path, response.StatusCode, status)
		}
	}
	if response := f.exchange("GET /dashboard/static/login.js HTTP/1.1\nHost: HOST\n\n", ""); response.StatusCode != 200 {
		t.Errorf("login.js: %d", response.StatusCode)
	}
}

// Who has not logged in does not learn the path of the pages: with it, a server on a different port could
// make the browser send the cookie.
func TestThePathOfTheCookieIsNotShown(t *testing.T) {
	f := serve(t, "/dashboard/5ecret")
	for _, below := range []string{"", "/", "/x", "/x/", "/session", "/metrics", "/live", "/static", "/static/", "/static/x", "/static/vendor", "/static/login.js", "/static/index.html", "/static/%2e%2e/x",
		"/static/%2e%2e%2fx", "/static/..%2f", "/%35ecret/timeline", "//", "/./"} {
		for _, text := range []string{"GET /dashboard" + below + " HTTP/1.1\nHost: HOST\n\n", "GET /dashboard" + below + " HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN\n\n", form("/dashboard"+below, own, "")} {
			response := f.exchange(text, "")
			page, _ := io.ReadAll(response.Body)
			if strings.Contains(string(page)+fmt.Sprint(response.Header), "5ecret") {
				t.Errorf("%q is answered with %d %v %s", text, response.StatusCode, response.Header, page)
			}
		}
	}
}

// A reverse proxy makes every browser one of this machine. It is recognized by what it adds to a request,
// and if it adds nothing, by the origin of the browser that wants to log in.
func TestABrowserBehindAReverseProxyCannotLogIn(t *testing.T) {
	for name, rewrite := range map[string]func(*httputil.ProxyRequest, *url.URL){
		"it says so":                          func(r *httputil.ProxyRequest, to *url.URL) { r.SetURL(to); r.SetXForwarded() },
		"it does not, and sends its own Host": func(r *httputil.ProxyRequest, to *url.URL) { r.SetURL(to) },
		"it does not, and keeps the Host":     func(r *httputil.ProxyRequest, to *url.URL) { r.SetURL(to); r.Out.Host = r.In.Host },
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, "/secret")
			to := &url.URL{Scheme: "http", Host: f.addr}
			proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { rewrite(r, to) }})
			defer proxy.Close()
			if _, _, err := dashlogin.Open(proxy.URL + "/#code=" + f.codes.New()); err == nil {
				t.Error("it is logged in")
			}
			f.login()
		})
	}
	f := serve(t, "")
	response := f.exchange(get("Host: HOST\nX-Forwarded-For: 192.0.2.1\n"), "")
	if text, _ := io.ReadAll(response.Body); response.StatusCode != 403 || !strings.Contains(string(text), "proxy") {
		t.Errorf("%d %s", response.StatusCode, text)
	}
}

// An address is in the history of the browser, so that it must be useless there.
func TestACodeLogsInOnce(t *testing.T) {
	f := serve(t, "/secret")
	try := func(code string) (status int, page string) {
		t.Helper()
		response := f.exchange(form("/session", own, "code="+code), "")
		text, _ := io.ReadAll(response.Body)
		if (response.StatusCode == 303) != (len(response.Cookies()) == 1) {
			t.Errorf("status %d with %d cookies", response.StatusCode, len(response.Cookies()))
		}
		return response.StatusCode, string(text)
	}
	refused := func(code, why string) {
		t.Helper()
		if status, page := try(code); status != 403 || !strings.Contains(page, why) || !strings.Contains(page, "gauze again") {
			t.Errorf("%d, want a page that says %q and what to do:\n%s", status, why, page)
		}
	}
	code := f.codes.New()
	if status, page := try(code); status != 303 {
		t.Fatalf("a new code: %d %s", status, page)
	}
	refused(code, "has already been used")

	now := time.Now()
	f.codes.now = func() time.Time { return now }
	code, late := f.codes.New(), f.codes.New()
	now = now.Add(CodeLifetime)
	if status, page := try(code); status != 303 {
		t.Errorf("just in time: %d %s", status, page)
	}
	now = now.Add(1)
	refused(late, "has expired")
	now = now.Add(-3 * CodeLifetime) // the clock was set
	refused(late, "has expired")
	f.codes.now = time.Now

	other := NewCodes(testToken, "127.0.0.1:1", testRun)
	refused(other.New(), "is not valid here")
	refused(NewCodes("a different token", f.addr, testRun).New(), "is not valid here")
	if status, page := try(NewCodes(testToken, f.addr, testRun).New()); status != 303 {
		t.Errorf("a code that a different process made: %d %s", status, page)
	}
	// The clock is set back while the dashboard runs, or before it is restarted.
	f.codes.now = func() time.Time { return time.Now().Add(-CodeLifetime / 2) }
	used, code := f.codes.New(), f.codes.New()
	if status, page := try(used); status != 303 {
		t.Errorf("a new code after the clock was set back: %d %s", status, page)
	}
	// After a restart, the codes of before are useless, used or not.
	f.codes.now = func() time.Time { return time.Now().Add(-CodeLifetime) }
	f.codes.run, f.codes.used = "the next run", map[string]bool{}
	refused(used, "is not valid here")
	refused(code, "is not valid here")
}

func TestTheMetricsAreForProgramsWithTheToken(t *testing.T) {
	f := serve(t, "/dashboard/secret")
	for request, status := range map[string]int{
		"GET /dashboard/metrics HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN\n\n":         200,
		"GET /dashboard/metrics HTTP/1.1\nHost: HOST\nAuthorization: Bearer CODE\n\n":          401,
		"GET /dashboard/metrics HTTP/1.1\nHost: HOST\n\n":                                      401,
		"GET /dashboard/secret/metrics HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN\n\n":  401,
		"GET /dashboard/secret/timeline HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN\n\n": 401,
		"GET /dashboard/secret/ HTTP/1.1\nHost: HOST\nAuthorization: Bearer TOKEN\n\n":         401,
	} {
		if response := f.exchange(request, ""); response.StatusCode != status {
			t.Errorf("%q: %d, want %d", request, response.StatusCode, status)
		}
	}
}

func TestACodeCannotBeGuessed(t *testing.T) {
	f := serve(t, "")
	got := map[int]int{}
	burst := f.door.tokens.Guesses.Burst()
	for i := range 2 * burst {
		got[f.exchange(form("/session", own, fmt.Sprintf("code=guess%d", i)), "").StatusCode]++
	}
	if got[403] < burst || got[429] == 0 || got[403]+got[429] != 2*burst {
		t.Errorf("answered %v", got)
	}
	f.login() // whoever guesses must not lock out those who have a code
}

func TestAnOldSessionEndsWhenThereAreTooMany(t *testing.T) {
	f := serve(t, "")
	first, second := f.login(), f.login()
	for range maxLogins - 1 {
		f.login()
	}
	if response := f.exchange(get("Host: HOST\nCookie: COOKIE\n"), first); response.StatusCode != 401 {
		t.Errorf("the first session: %d", response.StatusCode)
	}
	if response := f.exchange(get("Host: HOST\nCookie: COOKIE\n"), second); response.StatusCode != 200 {
		t.Errorf("the second session: %d", response.StatusCode)
	}
}

func TestEveryResponseHasTheHeaders(t *testing.T) {
	f := serve(t, "")
	session := f.login()
	for _, text := range []string{get("Host: HOST\nCookie: COOKIE\n"), get("Host: HOST\n"), get("Host: evil.example.com\n"), "GET /static/style.css HTTP/1.1\nHost: HOST\n\n", "GET /nothing HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n"} {
		response := f.exchange(text, session)
		for name, value := range headers {
			if response.Header.Get(name) != value {
				t.Errorf("%q: %s is %q", text, name, response.Header.Get(name))
			}
		}
	}
}
