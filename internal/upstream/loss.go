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
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
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
	Session  bool          // refused only because the server no longer knows the session
}

// MayHaveKilled reports whether the request may be what ended the server, or
// the connection it came on: it was delivered, and no response came back.
func (l Loss) MayHaveKilled() bool {
	return l.Delivery == fault.Unknown && l.Status == 0 && l.Code != fault.AnswerMissing
}

// retryAfterMost is how long we let a server put us off: beyond it the caller
// decides.
const retryAfterMost = time.Minute

// refusal reads a status that is no success: did the request run, and can a
// second try help? The body was no JSON-RPC answer.
func (r *Remote) refusal(res *http.Response, body []byte, now time.Time) Loss {
	status := res.StatusCode
	l := Loss{Delivery: fault.Unknown, Code: fault.HTTPRefused, Detail: r.statusLine(res, body), Final: true, Status: status}
	if refuses(status) {
		l.Delivery = fault.Refused
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
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		l.Final, l.After = false, retryAfter(res, now)
	case status == http.StatusServiceUnavailable:
		// Likely it did not run, but nobody has proved it.
		l.Code, l.Final, l.After = fault.HTTPUnavailable, false, retryAfter(res, now)
	case status >= 500:
		l.Code, l.Final = fault.HTTPUnavailable, false
	case status >= 300 && status < 400:
		l.Code = fault.RedirectRefused
		l.Detail = fmt.Sprintf("HTTP %d to %s", status, redact.Quote(target(res)))
	case status >= 200 && status < 300:
		// It may have run, whatever this is. Of a page only its type is told, if
		// it is one.
		l.Code = fault.NotMCP
		l.Detail = fmt.Sprintf("HTTP %d with content that is no message of MCP", status)
		if kind := contentType(res); mediaType.MatchString(kind) {
			l.Detail = fmt.Sprintf("HTTP %d with content of type %s", status, kind)
		}
	}
	if body, ok := res.Body.(*unauthorizedBody); ok {
		l.Detail = "authorization failed: " + redact.Quote(body.reason.Error()) + "; " + l.Detail
	}
	if l.After > retryAfterMost {
		l.Final = true
		l.Detail += fmt.Sprintf("; it asks to wait for %v", l.After)
	}
	l.Detail = r.secrets.Redact(l.Detail)
	return l
}

var mediaType = regexp.MustCompile(`^[a-z]{1,20}/[a-z0-9.+-]{1,40}$`)

// refuses reports whether a status says that the request was refused. That
// licenses no repetition: there are servers that act first and then answer 404
// or 429. Every other status says even less; 303 is for requests that ran.
func refuses(status int) bool {
	return status >= 400 && status < 500 || status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
}

// statusLine quotes what a server says with a status, unless it is a page for
// people.
func (r *Remote) statusLine(res *http.Response, body []byte) string {
	line := fmt.Sprintf("HTTP %d", res.StatusCode)
	if kind := contentType(res); len(body) > 0 && (kind == "text/plain" || kind == "application/json") {
		line += ": " + redact.Quote(r.secrets.Redact(string(bytes.TrimSpace(body[:min(len(body), 300)]))))
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
func credentials(res *http.Response, sent []launch.Header) string {
	var all []string
	for _, h := range sent {
		all = append(all, h.Name+" from "+h.Source)
	}
	if len(all) == 0 {
		switch {
		case res.Request.URL.User != nil:
			all = append(all, "the name and password in the URL")
		case res.Request.Header.Get("Authorization") != "":
			all = append(all, "an Authorization header")
		default:
			all = append(all, "no credential")
		}
	}
	text := fmt.Sprintf("HTTP %d; sent was %s", res.StatusCode, strings.Join(all, ", "))
	if asked := res.Header.Get("WWW-Authenticate"); asked != "" {
		scheme, rest, _ := strings.Cut(asked[:min(len(asked), 300)], " ")
		text += "; the server asks for the scheme " + redact.Quote(scheme)
		if rest != "" { // on its own: behind the scheme it would look like a credential
			text += " with " + redact.Quote(rest)
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

// refusesSession recognises how transports refuse a session they do not know:
// the spec says 404; servers built like the TypeScript SDK's examples, when
// they were restarted, say 400 and one of these phrases. worded reports whether
// the body names the session as the reason.
func refusesSession(status int, body []byte) (refused, worded bool) {
	worded = (status == http.StatusNotFound || status == http.StatusBadRequest) && sessionWords.Match(body)
	return status == http.StatusNotFound || worded, worded
}

// StickySessions is the advice for a server that forgets its sessions.
const StickySessions = "replicas behind a load balancer need sticky sessions"

// sessionWords are what SDKs and their examples say of a session they do not
// know, or of a request that names none.
var sessionWords = regexp.MustCompile(`(?i)session (id )?(was )?(not found|not exist|does not exist|(is )?(required|missing|invalid|unknown))` +
	`|(no valid|no active|invalid|missing|unknown|expired|could not find|cannot find) session|session (has )?(been )?(expired|terminated|closed)` +
	`|no transport found for session|session_?id (is )?(required|missing)|mcp-session-id|not initialized`)
