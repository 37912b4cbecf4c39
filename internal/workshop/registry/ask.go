package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Limits of one request.
const (
	maxAnswer      = 4 << 20
	maxCursor      = 512
	maxETag        = 128
	requestTimeout = 15 * time.Second
)

// Check returns an error if the registry's address is invalid.
func (s Source) Check() error {
	_, err := s.base()
	return err
}

// base returns the address of the registry without a trailing slash. It receives what users type,
// so it must be encrypted unless it is on this machine, and it must not contain a password.
func (s Source) base() (string, error) {
	address := s.URL
	if address == "" {
		address = Official
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return "", errors.New("invalid registry address: must be a URL such as " + Official)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("invalid registry address: must not contain a user name, a query or a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !launch.IsLoopback(u.Hostname())):
		return "", errors.New("invalid registry address: must start with https://")
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

// listPath is the path of the latest versions of all servers whose name contains text.
func listPath(text, cursor string) string {
	query := url.Values{"search": {text}, "version": {"latest"}, "limit": {"100"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return "/v0.1/servers?" + query.Encode()
}

// ask sends one request. The body is nil if the response with that etag is still current.
func (s Source) ask(ctx context.Context, address, etag string) (body []byte, newTag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "gauze")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := s.client().Do(request)
	if err != nil {
		return nil, "", unreachable(request.URL.Host, err)
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code == http.StatusNotModified && etag != "":
		return nil, etag, nil
	case code == http.StatusTooManyRequests:
		return nil, "", errors.New("the registry's rate limit has been reached: try again in a minute")
	case code != http.StatusOK:
		return nil, "", fmt.Errorf("the registry at %s replied with status %d", request.URL.Host, code)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, "", unreachable(request.URL.Host, err)
	case len(body) > maxAnswer:
		return nil, "", fmt.Errorf("the registry's response is larger than %d MB", maxAnswer>>20)
	}
	return body, plainTag(response.Header.Get("ETag")), nil
}

// client follows redirects only within the registry: a redirect must not disclose the request to
// another host.
func (s Source) client() *http.Client {
	client := &http.Client{Timeout: requestTimeout, CheckRedirect: sameHost}
	if s.HTTP != nil {
		client.Transport = s.HTTP.Transport
		if s.HTTP.Timeout > 0 {
			client.Timeout = s.HTTP.Timeout
		}
	}
	return client
}

func sameHost(request *http.Request, via []*http.Request) error {
	const maxRedirects = 3
	first := via[0].URL
	switch {
	case request.URL.Host != first.Host || request.URL.Scheme != first.Scheme || request.URL.User != nil:
		return errors.New("it redirects to another host, which is not allowed")
	case len(via) > maxRedirects:
		return errors.New("it redirects too many times")
	}
	return nil
}

// unreachable describes a failed request without its URL, which contains what the user typed.
func unreachable(host string, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		if outer.Timeout() {
			return fmt.Errorf("the request to the registry at %s timed out", host)
		}
		err = outer.Err
	}
	return fmt.Errorf("the registry at %s cannot be reached: %s", host, redact.Quote(err.Error()))
}

// plainTag returns tag if it can be sent back unchanged, otherwise "".
func plainTag(tag string) string {
	if len(tag) > maxETag || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return tag
}
