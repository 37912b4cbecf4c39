package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/httpguard"
)

// Door lets the user's browser reach a Dashboard, and nothing else: no other page, no other user, no
// other machine. The browser sends a token once and gets a cookie. Browsers send a cookie to every port
// of a host, so the pages are below SecretPath, and so is the cookie: a different server of this
// machine cannot make the browser send it.
type Door struct {
	dashboard *Dashboard
	names     httpguard.Names
	tokens    httpguard.Tokens
	cookie    string // cookie is its name. Cookies do not differ by port, so the name does.
	metrics   string // metrics is the path at which programs with the token find the metrics.

	mu       sync.Mutex
	sessions []httpguard.Principal // sessions has the oldest first.
}

const (
	maxLogins   = 64       // sessions of browsers; a new one replaces the oldest
	maxForm     = 64 << 10 // bytes
	formTimeout = 10 * time.Second
	pageTimeout = 30 * time.Second
)

// SecretPath returns a path that only those who have the token know.
func SecretPath(token string) string {
	code := hmac.New(sha256.New, []byte(token))
	code.Write([]byte("path of the dashboard"))
	return "/" + hex.EncodeToString(code.Sum(nil))[:24]
}

// NewDoor returns a Door for browsers that reach it at addr and have the token. Programs that send the
// token find the metrics at the path metrics as well.
func NewDoor(d *Dashboard, addr net.Addr, token, metrics string) *Door {
	_, port, _ := net.SplitHostPort(addr.String())
	return &Door{dashboard: d, metrics: metrics, names: httpguard.NewNames(addr, nil, nil), tokens: httpguard.NewTokens([]string{token}), cookie: "gauze-dashboard-" + port}
}

// headers are sent with every response.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin", // with no-referrer, browsers send forms with the Origin null
	"Cache-Control":                "no-store",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// ServeHTTP serves one request, or rejects it.
func (o *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	control, now := http.NewResponseController(w), time.Now()
	control.SetWriteDeadline(now.Add(pageTimeout))
	if r.ContentLength != 0 {
		control.SetReadDeadline(now.Add(formTimeout))
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	}
	if r.URL.EscapedPath() == o.metrics && r.Header.Get("Authorization") != "" {
		r.URL.Path, r.URL.RawPath = o.dashboard.Prefix+"/metrics", ""
	}
	if refused := o.refuse(r); refused != nil {
		if refused.Status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, POST")
		}
		http.Error(w, refused.Text, refused.Status)
		return
	}
	switch below := strings.TrimPrefix(r.URL.Path, o.dashboard.Prefix); {
	case r.Method == http.MethodPost && below == "/session":
		o.login(w, r)
	case strings.HasPrefix(below, "/static/"), o.allows(r): // static files reveal nothing
		o.dashboard.ServeHTTP(w, r)
	case r.Method == http.MethodGet && below != "/live":
		o.askToken(w, http.StatusUnauthorized, "", r.URL.RequestURI())
	default:
		http.Error(w, "log in first: open the address that gauze dashboard prints", http.StatusUnauthorized)
	}
}

// refuse returns why a request is rejected regardless of its sender, else nil. A form must come from
// a page of this dashboard.
func (o *Door) refuse(r *http.Request) *httpguard.Refusal {
	if refused := o.names.Check(r); refused != nil {
		return refused
	}
	target := r.URL.EscapedPath()
	prefix := o.dashboard.Prefix + "/"
	switch {
	case target != prefix && (path.Clean(target) != target || !strings.HasPrefix(target, prefix)):
		return &httpguard.Refusal{Status: http.StatusNotFound, Text: "not found: open the address that gauze dashboard prints"}
	case r.Method == http.MethodGet && r.ContentLength == 0:
		return nil
	case r.Method == http.MethodGet:
		return &httpguard.Refusal{Status: http.StatusBadRequest, Text: "a GET request must not have a body"}
	case r.Method != http.MethodPost:
		return &httpguard.Refusal{Status: http.StatusMethodNotAllowed, Text: "method not allowed"}
	case r.Header.Get("Origin") == "" || !slices.Equal(r.Header.Values("Sec-Fetch-Site"), []string{"same-origin"}):
		return &httpguard.Refusal{Status: http.StatusForbidden, Text: "only pages of the dashboard may send this"}
	case !isForm(r):
		return &httpguard.Refusal{Status: http.StatusUnsupportedMediaType, Text: "the body must be a form"}
	}
	return nil
}

func isForm(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 || r.Header.Get("Content-Encoding") != "" {
		return false
	}
	kind, _, err := mime.ParseMediaType(types[0])
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// allows reports whether the sender has logged in. A program may send the token as a header instead,
// to read.
func (o *Door) allows(r *http.Request) bool {
	if given := r.Header.Values("Authorization"); len(given) == 1 && r.Method == http.MethodGet {
		token, bearer := strings.CutPrefix(given[0], "Bearer ")
		_, known := o.tokens.Find(token)
		return known && bearer
	}
	cookies := r.CookiesNamed(o.cookie)
	if len(cookies) != 1 {
		return false
	}
	o.mu.Lock()
	sessions := httpguard.Tokens{All: o.sessions}
	_, known := sessions.Find(cookies[0].Value)
	o.mu.Unlock()
	return known
}

// login exchanges the token for a cookie.
func (o *Door) login(w http.ResponseWriter, r *http.Request) {
	next := o.dashboard.Prefix + "/"
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	if o.isPage(r.PostForm.Get("next")) {
		next = r.PostForm.Get("next")
	}
	if _, known := o.tokens.Find(r.PostForm.Get("token")); !known {
		if !o.tokens.Guesses.Allow() {
			w.Header().Set("Retry-After", "1")
			o.askToken(w, http.StatusTooManyRequests, "Too many attempts. Wait a moment, then try again.", next)
			return
		}
		o.askToken(w, http.StatusForbidden, "This token is not valid. It may be from a different state directory.", next)
		return
	}
	id := rand.Text()
	hash := httpguard.NewTokens([]string{id}).All[0]
	o.mu.Lock()
	o.sessions = append(o.sessions[max(0, len(o.sessions)-maxLogins+1):len(o.sessions):len(o.sessions)], hash)
	o.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: o.cookie, Value: id, Path: o.dashboard.Prefix + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// isPage reports whether target is a page of this dashboard, so that a login leads nowhere else.
func (o *Door) isPage(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil && strings.HasPrefix(target, o.dashboard.Prefix+"/") &&
		!strings.HasPrefix(target, "//") && !strings.ContainsAny(target, "\\\r\n\t")
}

// askToken shows the page on which a browser logs in. It does so by itself if the address has the
// token in its fragment, which browsers do not send.
func (o *Door) askToken(w http.ResponseWriter, status int, what, next string) {
	d := o.dashboard
	d.write(w, status, "login", frame{Title: "Log in", Prefix: d.Prefix, Version: d.Version, Locked: true,
		Data: struct{ What, Next string }{what, next}})
}
