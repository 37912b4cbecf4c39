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

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Bounds of one answer.
const (
	maxAnswer = 4 << 20
	maxCursor = 512
	maxETag   = 128
	patience  = 15 * time.Second
)

// Check says what is wrong with the registry's address.
func (s Source) Check() error {
	_, err := s.base()
	return err
}

// base is the address of the registry without a slash at its end. Words typed by a person go there, so it must be
// encrypted unless it is this machine, and it takes no password along.
func (s Source) base() (string, error) {
	address := s.URL
	if address == "" {
		address = Official
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return "", errors.New("the registry's address cannot be read: want something like " + Official)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the registry's address must have no user, no ? and no #")
	case u.Scheme != "https" && (u.Scheme != "http" || !thisMachine(u.Hostname())):
		return "", errors.New("the registry's address must begin with https://")
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

func thisMachine(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// prefix is in front of all paths of the API we speak.
const prefix = "/v0.1/"

// listPath asks for the newest versions of servers whose name contains a text.
func listPath(text, cursor string) string {
	query := url.Values{"search": {text}, "version": {"latest"}, "limit": {"100"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return prefix + "servers?" + query.Encode()
}

// serverPath asks for the newest version of one server.
func serverPath(name string) string {
	return prefix + "servers/" + url.PathEscape(name) + "/versions/latest"
}

// ask gets one answer. It is nil if what has that etag is still right.
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
		return nil, "", errors.New("the registry was asked too often: try again in a minute")
	case code != http.StatusOK:
		return nil, "", fmt.Errorf("the registry at %s answered with status %d", request.URL.Host, code)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, "", unreachable(request.URL.Host, err)
	case len(body) > maxAnswer:
		return nil, "", fmt.Errorf("the registry's answer is larger than %d MB", maxAnswer>>20)
	}
	return body, plainTag(response.Header.Get("ETag")), nil
}

// client follows redirects only within the registry: a redirect must not tell somebody else what was asked.
func (s Source) client() *http.Client {
	client := &http.Client{Timeout: patience, CheckRedirect: sameHost}
	if s.HTTP != nil {
		client.Transport = s.HTTP.Transport
		if s.HTTP.Timeout > 0 {
			client.Timeout = s.HTTP.Timeout
		}
	}
	return client
}

func sameHost(request *http.Request, via []*http.Request) error {
	const most = 3
	first := via[0].URL
	switch {
	case request.URL.Host != first.Host || request.URL.Scheme != first.Scheme || request.URL.User != nil:
		return errors.New("it sends us to another address, which we do not follow")
	case len(via) > most:
		return errors.New("it sends us in circles")
	}
	return nil
}

// unreachable says what went wrong, without the address of the request, which repeats what was asked.
func unreachable(host string, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		if outer.Timeout() {
			return fmt.Errorf("the registry at %s did not answer in time", host)
		}
		err = outer.Err
	}
	return fmt.Errorf("the registry at %s cannot be reached: %s", host, fault.Quote(err.Error()))
}

// plainTag is an etag that can be sent back as it came.
func plainTag(tag string) string {
	if len(tag) > maxETag || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return tag
}
