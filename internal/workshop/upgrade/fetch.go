package upgrade

import (
	"cmp"
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

// Limits of what is downloaded.
const (
	maxSums        = 1 << 20
	maxSignature   = 4 << 10
	maxArchive     = 64 << 20
	maxRedirects   = 5
	listTimeout    = 30 * time.Second
	archiveTimeout = 15 * time.Minute
	stallTimeout   = 30 * time.Second // without a byte
)

var errStalled = errors.New("the server stopped sending data")

// Check returns an error if this program cannot verify releases, or if their address is invalid.
func (r Releases) Check() error {
	if _, err := parseKey(r.Key); err != nil {
		return err
	}
	_, err := r.base()
	return err
}

// base returns the address of the releases without a trailing slash. It must be encrypted unless it is
// on this machine, so that only the server knows who is about to upgrade.
func (r Releases) base() (*url.URL, error) {
	address := r.URL
	if address == "" {
		address = Address
	}
	u, err := url.Parse(strings.TrimRight(address, "/"))
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("invalid GAUZE_RELEASES: must be a URL such as " + Address)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("invalid GAUZE_RELEASES: must not contain a user name, a query or a fragment")
	case u.Scheme != "https" && !isLocal(u):
		return nil, errors.New("invalid GAUZE_RELEASES: must start with https://, unless it is on this machine")
	}
	return u, nil
}

// isLocal reports whether an address is plain HTTP on this machine.
func isLocal(u *url.URL) bool { return u.Scheme == "http" && launch.IsLoopback(u.Hostname()) }

// get downloads a file of at most so many bytes.
func (r Releases) get(ctx context.Context, address string, most int64, limit time.Duration, progress func(done, total int64)) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := cmp.Or(r.stallTimeout, stallTimeout)
	stalled := time.AfterFunc(patience, func() { cancel(errStalled) })
	defer stalled.Stop()

	failed := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return unreachable(address, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(err)
	}
	request.Header.Set("User-Agent", "gauze")
	request.Header.Set("Accept-Encoding", "identity") // what is limited, counted and hashed is what is sent
	response, err := r.client(request.URL).Do(request)
	if err != nil {
		return nil, failed(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, rejected(address, response.StatusCode)
	case response.ContentLength > most:
		return nil, tooLarge(address, most)
	}
	counted := &counter{from: io.LimitReader(response.Body, most+1), total: response.ContentLength, each: func(done, total int64) {
		stalled.Reset(patience)
		if progress != nil {
			progress(done, total)
		}
	}}
	content, err := io.ReadAll(counted)
	switch {
	case err != nil:
		return nil, failed(err)
	case int64(len(content)) > most:
		return nil, tooLarge(address, most)
	}
	return content, nil
}

// client follows redirects, because releases are stored elsewhere, but only to encrypted addresses.
// From a server on this machine it also follows them to this machine.
func (r Releases) client(first *url.URL) *http.Client {
	return &http.Client{Transport: r.HTTP, CheckRedirect: func(request *http.Request, via []*http.Request) error {
		switch {
		case request.URL.Scheme != "https" && !(isLocal(first) && isLocal(request.URL)):
			return errors.New("it redirects to " + request.URL.Scheme + "://" + request.URL.Host + ", which is not encrypted")
		case len(via) > maxRedirects:
			return errors.New("it redirects too many times")
		}
		return nil
	}}
}

// counter reports what was read.
type counter struct {
	from        io.Reader
	done, total int64
	each        func(done, total int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if n > 0 {
		c.done += int64(n)
		c.each(c.done, c.total)
	}
	return n, err
}

// unreachable describes a failed download.
func unreachable(address string, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	why := redact.Quote(err.Error())
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		why = "the connection was closed before the end of the file"
	case errors.Is(err, context.DeadlineExceeded):
		why = "it took too long"
	}
	return fmt.Errorf("%s could not be downloaded: %s; nothing was changed\nnext: check the network connection, and try again", address, why)
}

// rejected describes a download that the server answered with an error.
func rejected(address string, status int) error {
	next := "try again later"
	if status == http.StatusNotFound {
		next = "check that this release exists: " + Address
	}
	return fmt.Errorf("%s could not be downloaded: the server replied with status %d; nothing was changed\nnext: %s", address, status, next)
}

// tooLarge describes a file that cannot be that of a release.
func tooLarge(address string, most int64) error {
	return fmt.Errorf("%s is larger than %d bytes, the maximum for this file; nothing was changed%s", address, most, suspicious)
}
