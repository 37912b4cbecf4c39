package upstream

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Loss is how one request ended without an answer while the connection goes
// on.
type Loss struct {
	Delivery fault.Delivery
	Code     fault.Code    // why
	Detail   string        // the same, of this very case
	Final    bool          // sending it again cannot help
	After    time.Duration // not before; 0: soon
	Status   int           // HTTP; 0: there was none
}

// retryAfterMost is how long we let a server put us off: beyond it the caller
// decides.
const retryAfterMost = time.Minute

// refusal reads a status that is no success: did the request run, and can a
// second try help? The body was no JSON-RPC answer.
func (r *Remote) refusal(res *http.Response, body []byte, now time.Time) Loss {
	status := res.StatusCode
	l := Loss{Delivery: fault.Unknown, Code: fault.HTTPRefused, Detail: r.statusLine(res, body), Final: true, Status: status}
	if turnedAway[status] {
		l.Delivery = fault.Unsent
	}
	switch {
	case status == http.StatusUnauthorized:
		l.Code, l.Detail = fault.AuthRequired, credentials(res, r.header)
	case status == http.StatusForbidden:
		l.Code, l.Detail = fault.AuthDenied, credentials(res, r.header)
	case status == http.StatusRequestEntityTooLarge:
		l.Code = fault.RequestTooLarge
	case status == http.StatusTooManyRequests:
		l.Code, l.Final, l.After = fault.RateLimited, false, max(retryAfter(res, now), time.Second)
	case status == http.StatusServiceUnavailable:
		// Likely it did not run, but nobody has proved it.
		l.Code, l.Final, l.After = fault.HTTPUnavailable, false, retryAfter(res, now)
	case status >= 500:
		l.Code, l.Final = fault.HTTPUnavailable, false
	case status >= 300 && status < 400:
		l.Code = fault.RedirectRefused
		l.Detail = fmt.Sprintf("HTTP %d to %s", status, fault.Quote(target(res)))
	case status >= 200 && status < 300:
		// It may have run, whatever this is. Of a page only its type is told, if
		// it is one.
		l.Code = fault.NotMCP
		l.Detail = fmt.Sprintf("HTTP %d with content that is no message of MCP", status)
		if kind := contentType(res); mediaType.MatchString(kind) {
			l.Detail = fmt.Sprintf("HTTP %d with content of type %s", status, kind)
		}
	}
	if l.After > retryAfterMost {
		l.Final = true
		l.Detail += fmt.Sprintf("; it asks to wait for %v", l.After)
	}
	l.Detail = r.secrets.Redact(l.Detail)
	return l
}

var mediaType = regexp.MustCompile(`^[a-z]{1,20}/[a-z0-9.+-]{1,40}$`)

// turnedAway are the statuses that say the request was not even looked at. With
// every other one it may have run: 303 is what a server says when it has.
var turnedAway = map[int]bool{
	400: true, 401: true, 403: true, 404: true, 405: true, 406: true, 407: true, 411: true, 413: true, 414: true, 415: true,
	421: true, 426: true, 429: true, 431: true, 307: true, 308: true,
}

// statusLine quotes what a server says with a status, unless it is a page for
// people.
func (r *Remote) statusLine(res *http.Response, body []byte) string {
	line := fmt.Sprintf("HTTP %d", res.StatusCode)
	if kind := contentType(res); len(body) > 0 && (kind == "text/plain" || kind == "application/json") {
		line += ": " + fault.Quote(r.secrets.Redact(string(bytes.TrimSpace(body[:min(len(body), 300)]))))
	}
	return line
}

func target(res *http.Response) string {
	at, err := res.Location()
	if err != nil {
		return "nowhere"
	}
	return at.Scheme + "://" + at.Host + at.Path
}

// contentType is the bare type of a response.
func contentType(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Type")))
	}
	return kind
}

// credentials says which credential was sent, from where, and what the server
// asked for. Never a value.
func credentials(res *http.Response, sent []Header) string {
	var all []string
	for _, h := range sent {
		all = append(all, h.Name+" from "+h.Source)
	}
	if len(all) == 0 {
		if res.Request.URL.User != nil {
			all = append(all, "the name and password in the URL")
		} else {
			all = append(all, "no credential")
		}
	}
	text := fmt.Sprintf("HTTP %d; sent was %s", res.StatusCode, strings.Join(all, ", "))
	if asked := res.Header.Get("WWW-Authenticate"); asked != "" {
		scheme, rest, _ := strings.Cut(asked[:min(len(asked), 300)], " ")
		text += "; the server asks for the scheme " + fault.Quote(scheme)
		if rest != "" { // on its own: behind the scheme it would look like a credential
			text += " with " + fault.Quote(rest)
		}
	}
	return text
}

// retryAfter reads both forms of the header; what cannot be read says nothing.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	value := strings.TrimSpace(res.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// gone recognises a server that knows our session no more.
func (x *exchange) gone(res *http.Response, body []byte) bool {
	if x.modern() || !x.bound(res) {
		return false
	}
	if x.w.remote.way.Load() == twoWays && res.StatusCode == http.StatusBadRequest {
		return true // the address we post to is the session, and it is not known there
	}
	return sessionGone(res.StatusCode, body)
}

// sessionGone recognises a server that knows our session no more: 404 is what
// the spec says. Servers built after the TypeScript SDK's examples answer 400
// and words, also when they were restarted and wait for initialize.
func sessionGone(status int, body []byte) bool {
	return status == http.StatusNotFound || status == http.StatusBadRequest && goneWords.Match(body)
}

var goneWords = regexp.MustCompile(`(?i)\bsession\b|not initialized|mcp-session-id`)
