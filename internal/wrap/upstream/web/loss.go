package web

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// maxRetryAfter is the longest Retry-After that gauze honors; beyond it the caller decides.
const maxRetryAfter = time.Minute

// refusal interprets a status that is not a success: whether the request ran, and whether a retry
// can help. The body is not a JSON-RPC response.
func (r *Remote) refusal(res *http.Response, body []byte, now time.Time) life.Loss {
	status := res.StatusCode
	l := life.Loss{Delivery: fault.Unknown, Code: fault.HTTPRefused, Detail: r.statusLine(res, body), Final: true, Status: status}
	after, _ := pause.RetryAfter(res.Header, now)
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
		l.Code, l.Final, l.After = fault.RateLimited, false, max(after, time.Second)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		l.Final, l.After = false, after
	case status == http.StatusServiceUnavailable:
		// It likely did not run, but that is not proven.
		l.Code, l.Final, l.After = fault.HTTPUnavailable, false, after
	case status >= 500:
		l.Code, l.Final = fault.HTTPUnavailable, false
	case status >= 300 && status < 400:
		l.Code = fault.RedirectRefused
		l.Detail = fmt.Sprintf("HTTP %d redirect to %s", status, redact.Quote(target(res)))
		if res.Request != nil && redirect(res.Request.URL, res) != nil && r.redirected(res.Request.URL, res) == nil {
			l.Detail += "; the login is not valid for that address"
		}
	case status >= 200 && status < 300:
		// It may have run. Of an unexpected body only the media type is reported.
		l.Code = fault.NotMCP
		l.Detail = fmt.Sprintf("HTTP %d with content that is not an MCP message", status)
		if kind := contentType(res); mediaType.MatchString(kind) {
			l.Detail = fmt.Sprintf("HTTP %d with content of type %s", status, kind)
		}
	}
	if _, renewed := res.Body.(*renewedBody); renewed {
		l.Final = false
		l.Code, l.Detail = fault.OutcomeUnknown, fmt.Sprintf("HTTP %d; gauze renewed the login for later calls", status)
	}
	if body, ok := res.Body.(*unauthorizedBody); ok && r.logins != nil {
		r.judgeLogin(&l, res, body.reason)
	} else if ok {
		l.Detail = "authorization failed: " + redact.Quote(body.reason.Error()) + "; " + l.Detail
	}
	if l.After > maxRetryAfter {
		l.Final = true
		l.Detail += fmt.Sprintf("; retry after %v", l.After)
	}
	l.Detail = r.secrets.Redact(l.Detail)
	return l
}

var mediaType = regex.New(`^[a-z]{1,20}/[a-z0-9.+-]{1,40}$`)

// refuses reports whether a status says that the request was rejected. That does not allow sending
// it again: some servers act first and then answer 404 or 429. Other statuses say even less; 303 is
// for requests that ran.
func refuses(status int) bool {
	return status >= 400 && status < 500 || status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
}

// statusLine returns the status and quotes the body unless it is a web page.
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

// contentType returns the media type of a response without its parameters.
func contentType(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Type")))
	}
	return kind
}

// credentials describes which credential was sent, where it came from, and what the server asked
// for. It never contains a value.
func credentials(res *http.Response, sent []launch.Header) string {
	var all []string
	for _, h := range sent {
		all = append(all, h.Name+" from "+h.Source)
	}
	if len(all) == 0 {
		switch {
		case res.Request.URL.User != nil:
			all = append(all, "the user name and password in the URL")
		case res.Request.Header.Get("Authorization") != "":
			all = append(all, "an Authorization header")
		default:
			all = append(all, "none")
		}
	}
	text := fmt.Sprintf("HTTP %d; credentials sent: %s", res.StatusCode, strings.Join(all, ", "))
	if asked := res.Header.Get("WWW-Authenticate"); asked != "" {
		scheme, rest, _ := strings.Cut(asked[:min(len(asked), 300)], " ")
		text += "; the server requires the authentication scheme " + redact.Quote(scheme)
		if rest != "" { // quoted on its own: after the scheme it would look like a credential
			text += " with " + redact.Quote(rest)
		}
	}
	return text
}

// refusesSession recognizes how servers reject a session that they do not know. The specification
// says 404; servers built like the examples of the TypeScript SDK answer 400 with one of these
// phrases after a restart. named reports whether the body names the session as the reason.
func refusesSession(status int, body []byte) (refused, named bool) {
	named = (status == http.StatusNotFound || status == http.StatusBadRequest) && sessionWords.Match(body)
	return status == http.StatusNotFound || named, named
}

// StickySessions is the advice for a server that forgets its sessions.
const StickySessions = "replicas behind a load balancer require sticky sessions"

// sessionWords matches what SDKs and their examples say about a session that they do not know, or a
// request without one.
var sessionWords = regex.New(`(?i)session (id )?(was )?(not found|not exist|does not exist|(is )?(required|missing|invalid|unknown))` +
	`|(no valid|no active|invalid|missing|unknown|expired|could not find|cannot find) session|session (has )?(been )?(expired|terminated|closed)` +
	`|no transport found for session|session_?id (is )?(required|missing)|mcp-session-id|not initialized`)
