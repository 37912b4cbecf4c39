package login

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

const (
	callbackPath    = "/callback"
	callbackTimeout = 3 * time.Second // to deliver the last page
)

// callback is the loopback address that the browser returns to after a login. It accepts one
// response, recognised by its state.
type callback struct {
	redirect string // the address, exactly as the authorization server gets it
	state    string
	answers  chan answer

	opens    *url.URL               // leads to the page of the login; its path is random
	leads    atomic.Pointer[string] // that page until it was opened
	twice    atomic.Bool            // it was opened again
	reopened chan struct{}          // closed when it was opened again and the browser has been told
	reopen   func()                 // closes reopened
	at       *url.URL
	server   *http.Server
	answered atomic.Bool
	outcome  chan string   // has what the browser shows in the end
	served   chan struct{} // closed when it was sent
}

// answer is the response of an authorization server.
type answer struct {
	code, iss           string
	failed, description string // an OAuth error code
}

// listen opens the callback at a loopback address, or at a free port if that has none.
func listen(redirect string) (*callback, error) {
	if redirect == "" {
		redirect = "http://127.0.0.1" + callbackPath
	}
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Scheme != "http" || !launch.IsLoopback(u.Hostname()) || u.User != nil || u.Fragment != "" || u.RawQuery != "":
		return nil, fmt.Errorf("invalid redirect URL %q: must be an http address on this machine, such as http://127.0.0.1:8765%s", shown(redirect), callbackPath)
	case u.Path == "":
		u.Path = "/"
	}
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	port := u.Port()
	if port == "" {
		port = "0"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPortTaken, cause(err))
	}
	listeners := []net.Listener{listener}
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	if u.Hostname() == "localhost" { // which browsers may resolve to either
		if second, err := net.Listen("tcp", net.JoinHostPort("::1", port)); err == nil {
			listeners = append(listeners, second)
		}
	}
	if u.Port() != port {
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	c := &callback{
		redirect: u.String(),
		opens:    &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/" + rand.Text()},
		state:    rand.Text(),
		answers:  make(chan answer, 1),
		at:       u,
		outcome:  make(chan string, 1),
		served:   make(chan struct{}),
	}
	c.reopened = make(chan struct{})
	c.reopen = sync.OnceFunc(func() { close(c.reopened) })
	c.server = httpguard.Server(c)
	for _, l := range listeners {
		go c.server.Serve(l)
	}
	return c, nil
}

// errPortTaken means that the callback cannot listen at the address.
var errPortTaken = errors.New("the port is not available")

// close ends the callback. A browser that waits for the outcome is shown text. Connections that
// browsers open in advance are not waited for.
func (c *callback) close(text string) {
	c.outcome <- text
	if c.answered.Load() {
		select {
		case <-c.served:
		case <-time.After(callbackTimeout):
		}
	}
	c.server.Close()
}

// ServeHTTP accepts the response of the authorization server, which the browser brings. Any web page
// and any program on this machine can send requests here, so one without the state changes nothing.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case !strings.EqualFold(r.Host, c.at.Host):
		page(w, http.StatusForbidden, "This Host header is not allowed.")
	case r.URL.Path != c.at.Path && r.URL.Path != c.opens.Path || r.URL.Host != "":
		page(w, http.StatusNotFound, "This page does not exist.")
	case r.Method != http.MethodGet:
		page(w, http.StatusMethodNotAllowed, "Only GET is allowed.")
	case r.URL.Path == c.opens.Path:
		c.open(w)
	case err != nil || len(query["state"]) != 1 || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(c.state)) != 1:
		page(w, http.StatusBadRequest, "This response is for a different login. Use the page that gauze opened last.")
	case len(query["code"]) > 1 || len(query["iss"]) > 1 || len(query["error"]) > 1:
		page(w, http.StatusBadRequest, "This response is ambiguous: a parameter is repeated.")
	case c.answered.Swap(true):
		page(w, http.StatusGone, "A response to this login has already been received.")
	default:
		defer close(c.served)
		c.answers <- answer{query.Get("code"), query.Get("iss"), query.Get("error"), query.Get("error_description")}
		select {
		case text := <-c.outcome:
			page(w, http.StatusOK, text)
		case <-r.Context().Done():
		}
	}
}

// open leads the browser to the page of the login, once: other users of this machine can read the
// command line that the browser was opened with. The second time ends the login.
func (c *callback) open(w http.ResponseWriter) {
	to := c.leads.Swap(nil)
	if to == nil {
		c.twice.Store(true) // before anyone can act on the page
		page(w, http.StatusGone, "This address has already been opened, possibly by someone else. The login was stopped.")
		c.reopen()
		return
	}
	w.Header().Set("Location", *to)
	page(w, http.StatusSeeOther, "The login continues at the authorization server.")
}

// errReopened means that a login is not used because someone else may have been first.
var errReopened = errors.New("the login address was opened twice, so someone else on this machine may have used it. Log in again")

// page writes a page that contains text and loads nothing.
func page(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address has a code in it
	h.Set("X-Content-Type-Options", "nosniff")
	text = "<!doctype html>\n<title>Gauze</title>\n<p>" + html.EscapeString(text) + "</p>\n"
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	io.WriteString(w, text)
	http.NewResponseController(w).Flush()
}

// check returns an error unless the answer is a code of the authorization server that was asked
// (RFC 9207). The issuer is compared as it is, without normalization.
func (r answer) check(a *authority) error {
	switch {
	case r.iss != "" && r.iss != a.meta.Issuer:
		return fmt.Errorf("the response is from the authorization server %q, not from %s", shown(r.iss), a.meta.Issuer)
	case r.iss == "" && a.meta.NamesItself:
		return fmt.Errorf(`the response has no issuer ("iss"), although the authorization server %s declares that it always sends one`, a.meta.Issuer)
	case r.failed == "access_denied":
		return fmt.Errorf("the login was declined: %w", responseError{r.failed, r.description})
	case r.failed != "":
		return fmt.Errorf("the authorization server %s reported an error: %w", a.meta.Issuer, responseError{r.failed, r.description})
	case r.code == "":
		return fmt.Errorf("the response from the authorization server %s has no code", a.meta.Issuer)
	}
	return nil
}
