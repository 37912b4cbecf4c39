package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// maxTokenBytes is the size of the largest response of a token endpoint that is read.
const maxTokenBytes = 1 << 20

// refusal is a response of a token endpoint that is not a token.
type refusal struct {
	host   string
	status int
	code   string // the OAuth error, such as "invalid_grant"; empty if there is none
	detail string // what the server says about it, safe to show
	retry  bool
	after  time.Duration // what the server asks to wait
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the authorization server %s responded with HTTP %d", r.host, r.status) + r.explanation()
}

// explanation returns the error and its description in parentheses.
func (r *refusal) explanation() string {
	switch {
	case r.code == "":
		return ""
	case r.detail == "":
		return " (" + r.code + ")"
	}
	return " (" + r.code + ": " + r.detail + ")"
}

func isCode(err error, code string) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// patiently returns the login that request obtains. It tries again while a server cannot answer, as
// long as ctx allows. An attempt that has begun may end after ctx.
func (s *Source) patiently(ctx context.Context, request func(ctx context.Context) (Login, error)) (Login, error) {
	attempt := func() (Login, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.attempt)
		defer cancel()
		return request(ctx)
	}
	for wait := s.limits.backoff; ; wait *= 2 {
		l, err := attempt()
		if !passes(err) {
			return l, err
		}
		next := jittered(wait)
		if r, ok := errors.AsType[*refusal](err); ok && r.after > 0 {
			next = r.after
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < next || !pause.For(ctx, next) {
			return l, err
		}
	}
}

// exchange returns l renewed with a refresh token.
func (s *Source) exchange(ctx context.Context, l Login, refresh string) (Login, error) {
	return s.patiently(ctx, func(ctx context.Context) (Login, error) { return s.exchangeOnce(ctx, l, refresh) })
}

// exchangeOnce sends one request to the token endpoint that was recorded when the person logged in.
func (s *Source) exchangeOnce(ctx context.Context, l Login, refresh string) (Login, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	if !l.Unbound {
		form.Set("resource", cmp.Or(l.Indicator, l.Resource))
	}
	secret := l.Client.Secret
	if s.options.ClientSecret != "" && s.options.ClientID == l.Client.ID {
		secret = s.options.ClientSecret
	}
	req, err := tokenRequest(ctx, l.TokenURL, l.Client, secret, form)
	if err != nil {
		return Login{}, err
	}
	client := s.client()
	client.Timeout = 0 // ctx has the limit
	asked := s.now()
	t, err := requestToken(client, req, redact.KnownSecrets(refresh, secret, l.Access, l.Refresh, l.Previous))
	if err != nil {
		return Login{}, err
	}
	return t.renew(l, refresh, asked), nil
}

const unsupportedType = "unsupported_token_type"

// requestToken sends a request to a token endpoint and returns the tokens in the response. The error
// is a *refusal, or passing if the server did not answer, unless the guard rejected the address.
func requestToken(c *http.Client, req *http.Request, hidden redact.Secrets) (t tokenResponse, err error) {
	host := req.URL.Host
	res, err := c.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return t, passing{fmt.Errorf("the authorization server %s did not respond in time", host)}
		}
		why := cause(err)
		err = fmt.Errorf("the authorization server %s cannot be reached: %s", host, hidden.Quote(why.Error()))
		if passes(why) {
			err = passing{err}
		}
		return t, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTokenBytes))
	if err == nil {
		t, err = parseToken(body)
	}
	switch {
	case res.StatusCode/100 != 2, err == nil && t.Code != "": // some servers send errors with status 200
		return t, refused(host, res, t, hidden)
	case err != nil, t.Access == "":
		return t, passing{fmt.Errorf("the authorization server %s sent an incomplete response", host)}
	case t.Type != "" && !strings.EqualFold(string(t.Type), "bearer"):
		return t, &refusal{host: host, status: res.StatusCode, code: unsupportedType, detail: hidden.Quote(string(t.Type))}
	case !fitsHeader(t.Access):
		return t, &refusal{host: host, status: res.StatusCode, code: "invalid_token", detail: "it issued a token that cannot be sent in a header"}
	}
	return t, nil
}

// fitsHeader reports whether a header can contain a token.
func fitsHeader(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokenRequest returns a request to a token endpoint, authenticated as the client was registered.
func tokenRequest(ctx context.Context, endpoint string, c Client, secret string, form url.Values) (*http.Request, error) {
	basic := secret != "" && (c.Method == "" || c.Method == "client_secret_basic")
	if !basic {
		if c.ID != "" {
			form.Set("client_id", c.ID)
		}
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the token endpoint's address is not valid")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if basic {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(secret)) // RFC 6749, section 2.3.1
	}
	return req, nil
}

// tokenResponse is a response of a token endpoint.
type tokenResponse struct {
	Access    string   `json:"access_token"`
	Refresh   string   `json:"refresh_token"`
	Type      jsonText `json:"token_type"`
	ExpiresIn jsonText `json:"expires_in"`
	Scope     jsonText `json:"scope"`
	IDToken   jsonText `json:"id_token"`
	Code      jsonText `json:"error"`
	Detail    jsonText `json:"error_description"`
}

// parseToken parses the body of a response of a token endpoint: JSON, or a form, which some servers
// send whatever they are asked for.
func parseToken(body []byte) (t tokenResponse, err error) {
	err = wire.DecodeExact(body, &t)
	if form, failed := url.ParseQuery(strings.TrimSpace(string(body))); err != nil && failed == nil && (form.Has("access_token") || form.Has("error")) {
		text := func(name string) jsonText { return jsonText(form.Get(name)) }
		return tokenResponse{
			Access: form.Get("access_token"), Refresh: form.Get("refresh_token"), Type: text("token_type"),
			ExpiresIn: text("expires_in"), Scope: text("scope"), IDToken: text("id_token"),
			Code: text("error"), Detail: text("error_description"),
		}, nil
	}
	return t, err
}

// expires returns when the access token expires that was asked for at a time; zero if the server did
// not say.
func (t tokenResponse) expires(asked time.Time) time.Time {
	if seconds, err := strconv.ParseFloat(string(t.ExpiresIn), 64); err == nil && seconds > 0 {
		return asked.Add(time.Duration(min(seconds, 1e9) * float64(time.Second)))
	}
	return time.Time{}
}

// jsonText is a string or a number in JSON. Anything else is empty, not an error: a response must not be
// lost with the tokens in it because of a detail.
type jsonText string

func (t *jsonText) UnmarshalJSON(raw []byte) error {
	var value any
	switch json.Unmarshal(raw, &value); value := value.(type) {
	case string:
		*t = jsonText(value)
	case float64:
		*t = jsonText(strconv.FormatFloat(value, 'f', -1, 64))
	}
	return nil
}

// renew returns l with the tokens of the response to a request with a refresh token.
func (t tokenResponse) renew(l Login, used string, asked time.Time) Login {
	l.Access, l.Expires, l.Refreshed = t.Access, t.expires(asked), asked
	l.Refresh, l.Previous = used, ""
	if t.Refresh != "" && t.Refresh != used {
		l.Refresh, l.Previous = t.Refresh, used
	}
	if t.Scope != "" {
		l.Scopes = scopesOf(string(t.Scope))
	}
	return l
}

// isOAuthCode reports whether code has the form of OAuth's errors. Anything else is text of a server.
func isOAuthCode(code string) bool {
	return code != "" && len(code) <= 40 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == ""
}

func refused(host string, res *http.Response, t tokenResponse, hidden redact.Secrets) error {
	r := &refusal{host: host, status: res.StatusCode}
	if isOAuthCode(string(t.Code)) {
		r.code, r.detail = string(t.Code), hidden.Quote(string(t.Detail))
	}
	r.retry = res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusRequestTimeout ||
		r.code == "temporarily_unavailable" || r.code == "server_error"
	if r.retry {
		r.code = "" // it says nothing about the login
		r.after, _ = pause.RetryAfter(res.Header, time.Now())
	}
	return r
}

// client returns what sends the requests to authorization servers.
func (s *Source) client() *http.Client {
	server, err := url.Parse(s.url)
	if err != nil {
		server = &url.URL{} // which may lead to public addresses only
	}
	return newGuard(server).client(s.config.Client)
}
