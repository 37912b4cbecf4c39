package dashboard

import (
	"crypto/rand"
	"mime"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
)

// Door lets the user's browser reach a Dashboard, and nothing else: no other page, no other user, no
// other machine. The browser sends a code once and gets a cookie. Browsers send a cookie to every port
// of a host, so the pages are below a path that only a browser that is logged in knows (see SecretPath),
// and so is the cookie: a different server of this machine cannot make the browser send it.
type Door struct {
	Entrance
	dashboard *Dashboard
	names     httpguard.Names
	tokens    httpguard.Tokens
	cookie    string // its name. Cookies do not differ by port, so the name does.

	mu       sync.Mutex
	sessions []httpguard.Principal // has the oldest first
}

// Entrance is what everybody may know about a Door, and how its user is recognized.
type Entrance struct {
	Addr  net.Addr
	Path  string // where a browser logs in, without a slash at the end; usually empty. Below it are the metrics.
	Codes *Codes // what browsers log in with
	Token string // what programs that read the metrics send
	Again string // the command that prints a new address
}

const (
	maxLogins   = 64       // sessions of browsers; a new one replaces the oldest
	maxForm     = 64 << 10 // bytes
	formTimeout = 10 * time.Second
	pageTimeout = 30 * time.Second
)

// SecretPath returns a path for the pages of a process. It is in no log and no message: only in the
// pages, and in the history of the user's browser, where it is useless once the process has ended.
func SecretPath() string { return "/" + strings.ToLower(rand.Text()) }

// NewDoor returns a Door for browsers that log in at e, and get to the pages of d.
func NewDoor(d *Dashboard, e Entrance) *Door {
	_, port, _ := net.SplitHostPort(e.Addr.String())
	return &Door{Entrance: e, dashboard: d, names: httpguard.NewNames(e.Addr, nil, nil), tokens: httpguard.NewTokens([]string{e.Token}),
		cookie: "gauze-dashboard-" + port}
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
	if refused := o.refuse(r); refused != nil {
		if refused.Status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, POST")
		}
		http.Error(w, refused.Text, refused.Status)
		return
	}
	below, inside := strings.CutPrefix(r.URL.Path, o.dashboard.Prefix+"/")
	outer := strings.TrimPrefix(r.URL.EscapedPath(), o.Path+"/")
	switch {
	case r.Method == http.MethodPost && outer == "session":
		o.login(w, r)
	case outer == "metrics" && o.isProgram(r), isStatic(r.Method, outer):
		r.URL.Path, r.URL.RawPath = o.dashboard.Prefix+"/"+outer, ""
		o.dashboard.ServeHTTP(w, r)
	case inside && o.isLoggedIn(r):
		o.dashboard.ServeHTTP(w, r)
	case r.Method == http.MethodGet && !(inside && below == "live"):
		o.askCode(w, http.StatusUnauthorized, "")
	default:
		http.Error(w, "log in first: run "+o.Again, http.StatusUnauthorized)
	}
}

// refuse returns why a request is rejected regardless of its sender, else nil. A form must come from
// a page of this dashboard.
func (o *Door) refuse(r *http.Request) *httpguard.Refusal {
	if refused := o.names.Check(r); refused != nil {
		return refused
	}
	switch {
	case httpguard.IsProxied(r):
		return &httpguard.Refusal{Status: http.StatusForbidden, Text: "this request came through a proxy: the dashboard accepts connections from this machine only"}
	case !o.isPath(r.URL.EscapedPath()):
		return &httpguard.Refusal{Status: http.StatusNotFound, Text: "not found"}
	case r.Method == http.MethodGet && r.ContentLength == 0:
		return nil
	case r.Method == http.MethodGet:
		return &httpguard.Refusal{Status: http.StatusBadRequest, Text: "a GET request must not have a body"}
	case r.Method != http.MethodPost:
		return &httpguard.Refusal{Status: http.StatusMethodNotAllowed, Text: "method not allowed"}
	case r.Header.Get("Origin") == "" || !slices.Equal(r.Header.Values("Sec-Fetch-Site"), []string{"same-origin"}):
		return &httpguard.Refusal{Status: http.StatusForbidden, Text: "only the dashboard's own pages may send this request"}
	case !isForm(r):
		return &httpguard.Refusal{Status: http.StatusUnsupportedMediaType, Text: "the body must be a form"}
	}
	return nil
}

// isPath reports whether target is a clean path here. The only ones with a slash at the end are the first
// pages, also those of a process that has ended: the browser remembers them, and is told what to do.
func (o *Door) isPath(target string) bool {
	below, found := strings.CutPrefix(target, o.Path+"/")
	if home, slash := strings.CutSuffix(below, "/"); slash && home != "" && !strings.Contains(home, "/") {
		below = home
	}
	return target == o.Path || found && path.Clean("/"+below) == "/"+below
}

// isStatic reports whether a request is for a file that is the same for everybody.
func isStatic(method, below string) bool {
	return method == http.MethodGet && strings.HasPrefix(below, "static/") && !strings.HasSuffix(below, "/")
}

func isForm(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 || r.Header.Get("Content-Encoding") != "" {
		return false
	}
	kind, _, err := mime.ParseMediaType(types[0])
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// isProgram reports whether a program sent the token, to read.
func (o *Door) isProgram(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 || r.Method != http.MethodGet {
		return false
	}
	token, bearer := strings.CutPrefix(given[0], "Bearer ")
	_, known := o.tokens.Find(token)
	return known && bearer
}

// isLoggedIn reports whether the browser has the cookie of a session.
func (o *Door) isLoggedIn(r *http.Request) bool {
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

// login exchanges a code for a cookie.
func (o *Door) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	if why := o.Codes.use(r.PostForm.Get("code")); why != "" {
		if !o.tokens.Guesses.Allow() {
			w.Header().Set("Retry-After", "1")
			o.askCode(w, http.StatusTooManyRequests, "Too many attempts. Wait a moment, then try again.")
			return
		}
		o.askCode(w, http.StatusForbidden, why)
		return
	}
	id := rand.Text()
	hash := httpguard.NewTokens([]string{id}).All[0]
	o.mu.Lock()
	o.sessions = append(o.sessions[max(0, len(o.sessions)-maxLogins+1):len(o.sessions):len(o.sessions)], hash)
	o.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: o.cookie, Value: id, Path: o.dashboard.Prefix + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, o.dashboard.Prefix+"/", http.StatusSeeOther)
}

// askCode shows the page on which a browser logs in. It does so by itself if the address has a code in
// its fragment, which browsers do not send. It does not contain the path of the pages.
func (o *Door) askCode(w http.ResponseWriter, status int, what string) {
	o.dashboard.write(w, status, "login", frame{Title: "Log in", Prefix: o.Path, Version: o.dashboard.Version, Locked: true,
		Data: struct{ What, Again string }{what, o.Again}})
}
