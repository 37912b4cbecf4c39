package web

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Access changes how requests to a URL are sent. The zero value sends them with the user's login.
type Access struct {
	// Client sends the requests. Its CheckRedirect is not used.
	Client *http.Client
	// Header returns headers to add to one request.
	Header func(context.Context) (http.Header, error)
	// Authorize is called with a response of status 401 or 403. If it returns nil the request is
	// sent once more, unless it may have had an effect.
	Authorize func(context.Context, *http.Request, *http.Response) error
	// Allow decides about every address before it is dialled. It applies to the default Client.
	Allow func(netip.AddrPort) error
}

// NewRemote prepares to reach the server at the URL of spec, with requests that are sent as access
// specifies.
func NewRemote(spec launch.Spec, access Access) (*Remote, error) {
	r, err := newRemote(spec, access.Allow)
	if err != nil {
		return nil, err
	}
	if given := access.Client; given != nil {
		r.client.Jar, r.client.Timeout = given.Jar, given.Timeout
		if given.Transport != nil {
			r.client.Transport, r.opaque = given.Transport, true
		}
	}
	var header func(*http.Request) (http.Header, error)
	if access.Header != nil {
		header = func(req *http.Request) (http.Header, error) { return access.Header(req.Context()) }
	}
	if access.Client == nil && access.Header == nil && access.Authorize == nil && spec.LogsIn() {
		r.logins = newLogins(spec, r)
		header, access.Authorize = r.logins.header, r.logins.source.Authorize
	}
	if header != nil || r.opaque {
		r.client.Transport = &accessTransport{remote: r, next: r.client.Transport, header: header}
	}
	r.authorize = access.Authorize
	return r, nil
}

// accessTransport is a RoundTripper that adds headers which are determined for each request. Its
// responses name their request, which other transports may leave out.
type accessTransport struct {
	remote *Remote
	next   http.RoundTripper
	header func(*http.Request) (http.Header, error) // nil: none
}

func (h *accessTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if h.header != nil {
		var err error
		if req, err = h.withHeader(req); err != nil {
			return nil, err
		}
	}
	res, err := h.next.RoundTrip(req)
	if res != nil && res.Request == nil {
		res.Request = req
	}
	if l := h.remote.logins; l != nil && err == nil && res.StatusCode < 300 && req.Header.Get("Authorization") != "" {
		l.works.Store(true)
		l.source.Accepted(req)
	}
	return res, err
}

// withHeader returns the request with the headers that are added to it. If there is an error the
// body of the request is closed.
func (h *accessTransport) withHeader(req *http.Request) (*http.Request, error) {
	added, err := h.header(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	if len(added) == 0 {
		return req, nil
	}
	req = req.WithContext(req.Context()) // a RoundTripper must not change the request that it is given
	req.Header = maps.Clone(req.Header)
	for name, values := range added {
		name = http.CanonicalHeaderKey(name)
		for _, value := range values {
			if err := launch.CheckHeader(name, value); err != nil {
				if req.Body != nil {
					req.Body.Close()
				}
				return nil, err
			}
			h.remote.secrets.add(value)
		}
		if name == "Host" && len(values) > 0 {
			req.Host = values[0]
			continue
		}
		req.Header[name] = slices.Clone(values)
	}
	return req, nil
}

// CloseIdleConnections lets http.Client reach the connections of the wrapped transport.
func (h *accessTransport) CloseIdleConnections() {
	if closer, ok := h.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// maxRefusalBytes is how much of a 401 or 403 response Authorize can read.
const maxRefusalBytes = 64 << 10

// authorized reports whether a request that was answered with res can be sent again because it has
// been authorized since. If not, res can still be read.
func (r *Remote) authorized(ctx context.Context, res *http.Response) bool {
	if r.authorize == nil || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return false
	}
	body := readAndClose(res, maxRefusalBytes)
	res.Body = io.NopCloser(bytes.NewReader(body))
	err := r.authorize(ctx, res.Request, res)
	if err == nil {
		return true
	}
	res.Body = &unauthorizedBody{Reader: bytes.NewReader(body), reason: err}
	return false
}

// do sends a request, and sends it once more if it was rejected as unauthorized and has been
// authorized since. A body must be available from GetBody.
func (r *Remote) do(req *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := send(req)
	if err != nil || !r.authorized(req.Context(), res) {
		return res, err
	}
	res.Body.Close()
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	if res, err = send(again); err == nil && r.logins != nil && res.StatusCode == http.StatusUnauthorized {
		r.logins.source.Rejected(res.Request)
	}
	return res, err
}

// unauthorizedBody is the body of a response to a request that could not be authorized.
type unauthorizedBody struct {
	io.Reader
	reason error
}

func (*unauthorizedBody) Close() error { return nil }

// renewedBody is the body of a response to a request that was rejected as unauthorized, and is not sent
// again although the login was renewed.
type renewedBody struct{ io.ReadCloser }

// remoteSecrets holds the values that no message about a server may show: those of its Spec, and
// the latest values of headers that change.
type remoteSecrets struct {
	all atomic.Pointer[redact.Secrets]

	mu     sync.Mutex
	fixed  redact.Secrets
	latest []string
}

// maxLatestSecrets is how many header values are remembered. Tokens expire.
const maxLatestSecrets = 32

func (s *remoteSecrets) init(fixed redact.Secrets) {
	s.fixed = fixed
	s.all.Store(&fixed)
}

func (s *remoteSecrets) get() redact.Secrets {
	if all := s.all.Load(); all != nil {
		return *all
	}
	return redact.Secrets{}
}

// Redact hides the secrets in text.
func (s *remoteSecrets) Redact(text string) string { return s.get().Redact(text) }

func (s *remoteSecrets) add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.latest, value); at >= 0 {
		s.latest = append(slices.Delete(s.latest, at, at+1), value) // the last to be forgotten
		return
	}
	s.latest = append(s.latest, value)
	s.latest = s.latest[max(0, len(s.latest)-maxLatestSecrets):]
	all := redact.JoinSecrets(s.fixed, redact.KnownSecrets(s.latest...))
	s.all.Store(&all)
}
