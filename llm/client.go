package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

// Defaults and limits.
const (
	DefaultTimeout   = 20 * time.Second
	DefaultMaxTokens = 1024

	maxAttempts    = 3
	maxBody        = 4 << 20 // bytes of a response
	thinkingTokens = 4096    // extra tokens where models may think before they answer
)

// Options are where a model is and how it is asked. Model is required; the other fields have
// defaults.
type Options struct {
	// URL is the base URL, such as http://127.0.0.1:11434/v1. Default: the provider's own.
	URL string
	// Key is sent to URL and to no other host.
	Key string
	// Model is the name of the model, as the provider lists it.
	Model string
	// Timeout limits a question, including retries. Default 20s.
	Timeout time.Duration
	// HTTPClient sends the requests. Redirects are not followed, whatever its CheckRedirect says.
	HTTPClient *http.Client
	// Prices are what the tokens cost. Default: the cost is not counted.
	Prices Prices
}

// Prices are in US dollars for one million tokens.
type Prices struct {
	Input  float64 // Input is the price of a question's tokens.
	Output float64 // Output is the price of an answer's tokens.
}

func (p Prices) cost(input, output int) float64 {
	return (p.Input*float64(input) + p.Output*float64(output)) / 1e6
}

// dialect is the format of one provider.
type dialect interface {
	// request returns a question as the provider expects it. With plain, the schema is in the
	// prompt instead of in a field of its own.
	request(q Question, plain bool) outgoing
	// read returns the model's answer from the body of a response.
	read(body []byte) (reply, *Error)
	// unsupported reports whether an error says that the server does not support the schema.
	unsupported(status int, words string) bool
}

// outgoing is a request.
type outgoing struct {
	path     string // relative to the base URL
	body     any
	enforced bool // the schema is in a field of its own
}

// reply is what a model said.
type reply struct {
	text  string
	model string
	input int // tokens
	out   int
}

// client asks a model over HTTP.
type client struct {
	dialect
	Options
	base   *url.URL
	header http.Header
	http   http.Client
	plain  atomic.Bool // the server does not support schemas
	sleep  func(context.Context, time.Duration) error
	now    func() time.Time
}

// isBase reports whether a path can be added to a URL.
func isBase(u *url.URL) bool {
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	return isHTTP && u.Host != "" && u.RawQuery+u.Fragment == ""
}

func newClient(o Options, d dialect, defaultURL string, header http.Header) (Model, error) {
	base, err := url.Parse(strings.TrimRight(cmp.Or(o.URL, defaultURL), "/"))
	switch {
	case o.Model == "":
		return nil, errors.New("the model name is missing")
	case err != nil || !isBase(base) || base.User != nil:
		return nil, fmt.Errorf("invalid model URL %q: must be a URL such as https://example.com/v1", redact.Quote(redact.MaskAddress(o.URL)))
	case strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("invalid model key: it contains a space or a character that is not ASCII")
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	c := &client{dialect: d, Options: o, base: base, header: header, sleep: sleep, now: time.Now}
	if o.HTTPClient != nil {
		c.http = *o.HTTPClient
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// Ask implements Model.
func (c *client) Ask(ctx context.Context, q Question) (Answer, error) {
	began := c.now()
	answer := Answer{Model: c.Model}
	schema, err := compileSchema(q.Schema)
	if err != nil {
		return answer, err
	}
	q = q.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	said, enforced, failure := c.exchange(ctx, q)
	answer.Enforced = enforced
	if said.model != "" {
		answer.Model = redact.Quote(said.model)
	}
	answer.Usage = Usage{said.input, said.out, c.Prices.cost(said.input, said.out)}
	if failure == nil {
		if answer.JSON, err = schema.read(said.text); err != nil {
			failure = &Error{Kind: InvalidAnswer, Detail: err.Error()}
		}
	}
	answer.Took = c.now().Sub(began)
	if failure != nil {
		return answer, c.named(failure)
	}
	return answer, nil
}

// named adds the model to an error and removes the key from it.
func (c *client) named(e *Error) *Error {
	e.Server, e.Model = c.base.Host, c.Model
	e.Detail = redact.KnownSecrets(c.Key).Quote(e.Detail)
	return e
}

// exchange sends a question, if necessary a second time without the schema in a field of its own.
func (c *client) exchange(ctx context.Context, q Question) (reply, bool, *Error) {
	plain := c.plain.Load()
	for {
		request := c.request(q, plain)
		said, failure := c.persist(ctx, request)
		switch {
		case failure == nil || failure.Status == http.StatusOK:
			if plain {
				c.plain.Store(true)
			}
			return said, request.enforced, failure
		case plain || !request.enforced || !c.unsupported(failure.Status, failure.Detail):
			return said, false, failure
		}
		plain = true
	}
}

// persist sends a request until it succeeds, fails permanently, or the attempts or the time are
// used up.
func (c *client) persist(ctx context.Context, request outgoing) (said reply, failure *Error) {
	body, err := json.Marshal(request.body)
	if err != nil {
		return said, &Error{Kind: Rejected, Detail: "the request cannot be encoded as JSON", cause: err}
	}
	for attempt := 1; ; attempt++ {
		var again bool
		if said, failure, again = c.send(ctx, request.path, body); failure == nil || !again || attempt == maxAttempts {
			return said, failure
		}
		wait := backoff(attempt)
		if failure.asked {
			wait = failure.RetryAfter
		}
		if until, ok := ctx.Deadline(); ok && c.now().Add(wait).After(until) {
			return said, failure
		}
		if c.sleep(ctx, wait) != nil {
			return said, stopped(ctx)
		}
	}
}

// backoff returns the time before the next attempt: half of it fixed, half of it random.
func backoff(attempt int) time.Duration {
	half := time.Duration(attempt) * time.Second / 2
	return half + rand.N(half)
}

func sleep(ctx context.Context, d time.Duration) error {
	pause.For(ctx, d)
	return ctx.Err()
}

// send sends a request once. again means that a second attempt may help.
func (c *client) send(ctx context.Context, path string, body []byte) (said reply, failure *Error, again bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return said, &Error{Kind: Unreachable, Detail: err.Error()}, false
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return said, c.unsent(ctx, err), ctx.Err() == nil && brokeOff(err)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case ctx.Err() != nil:
		return said, stopped(ctx), false
	case response.StatusCode != http.StatusOK:
		failure = c.failed(response, received)
		return said, failure, failure.Kind == RateLimited || failure.Kind == Overloaded
	case err != nil:
		return said, &Error{Kind: CutShort, Detail: "the connection was lost during the response", cause: err}, true
	case len(received) > maxBody:
		return said, &Error{Kind: InvalidAnswer, Status: http.StatusOK, Detail: fmt.Sprintf("the response is longer than %d bytes", maxBody)}, false
	case !json.Valid(received):
		return said, incomplete(received), false
	}
	said, failure = c.read(received)
	if failure != nil {
		failure.Status = http.StatusOK
	}
	return said, failure, false
}
