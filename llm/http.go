package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

// unsent returns the error for a request without a response.
func (c *client) unsent(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // its text contains the whole URL
		err = wrapped.Err
	}
	kind := Unreachable
	if network := net.Error(nil); errors.As(err, &network) && network.Timeout() {
		kind = TimedOut // the HTTPClient has a timeout of its own
	}
	return &Error{Kind: kind, Detail: err.Error(), cause: err}
}

// broken are the errors of a connection that existed and broke.
var broken = []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE,
	syscall.Errno(10053), syscall.Errno(10054)} // WSAECONNABORTED and WSAECONNRESET of Windows

func brokeOff(err error) bool {
	return slices.ContainsFunc(broken, func(known error) bool { return errors.Is(err, known) })
}

// incomplete returns the error for a body that is not JSON: it was cut, or it is something else.
func incomplete(body []byte) *Error {
	var value any
	err := json.Unmarshal(body, &value)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(body)) && len(body) > 0 {
		return &Error{Kind: CutShort, Status: http.StatusOK, Detail: "the response is incomplete"}
	}
	return &Error{Kind: NotAPI, Status: http.StatusOK, Detail: "the response is not JSON"}
}

// failed returns the error for a response that is not a success.
func (c *client) failed(response *http.Response, body []byte) *Error {
	words, structured := serverWords(body)
	words = redact.KnownSecrets(c.Key).Quote(words)
	e := &Error{Kind: kindOf(response.StatusCode, words, structured), Status: response.StatusCode, Detail: "status " + strconv.Itoa(response.StatusCode)}
	if words != "" {
		e.Detail += ": " + words
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		e.Detail += ", a redirect to " + redirectTarget(response)
	}
	e.RetryAfter, e.asked = pause.RetryAfter(response.Header, c.now())
	return e
}

// kindOf returns the kind of an error by the status of the response. structured is whether the
// response says in JSON what is wrong, as every API of a model does, and no proxy.
func kindOf(status int, words string, structured bool) Kind {
	ofProxy := !structured && words != ""
	switch {
	case status >= 300 && status < 400, status == http.StatusProxyAuthRequired,
		ofProxy && (status == http.StatusForbidden || status == http.StatusNotFound):
		return NotAPI
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && strings.Contains(strings.ToLower(words), "api key not valid"): // Gemini
		return Unauthorized
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusNotImplemented:
		return Rejected
	case status >= 500:
		return Overloaded
	}
	return Rejected
}

// redirectTarget returns the origin that a response redirects to.
func redirectTarget(response *http.Response) string {
	to, err := response.Location()
	if err != nil {
		return "nowhere"
	}
	return redact.Quote(to.Scheme + "://" + to.Host)
}

// serverWords returns the message in the body of an error, whose form differs between servers, and
// whether the body is JSON. A page for people has no message.
func serverWords(body []byte) (words string, structured bool) {
	if len(body) > maxBody {
		return "", false
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // Gemini's compatible API
		body = list[0]
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		text := strings.TrimSpace(string(body[:min(len(body), 1000)]))
		if strings.HasPrefix(text, "<") {
			text = "an HTML page"
		}
		return text, false
	}
	for _, name := range []string{"error", "message", "detail"} {
		switch value := fields[name].(type) {
		case string:
			return value, true
		case map[string]any:
			if message, ok := value["message"].(string); ok {
				return message, true
			}
		}
	}
	return "", true
}

// count is a number of tokens. A server that sends something else sends 0.
type count int

func (n *count) UnmarshalJSON(raw []byte) error {
	value, err := strconv.Atoi(string(raw))
	if err != nil || value < 0 || value > 1e9 {
		value = 0
	}
	*n = count(value)
	return nil
}
