package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Response is one answer of a server behind a URL, or why there was none. The
// user's secrets are not in it.
type Response struct {
	Method       string
	URL          string // without what may be secret in it
	Status       int    // 0: there was no answer
	Failed       string // why
	Errno        string // the same, if it has a name
	ContentType  string
	Authenticate string // WWW-Authenticate
	Location     string // where it points to, without the query; it is never followed to another host
	Allow        string
	Session      bool   // it named a session
	Body         []byte // its first bytes
}

// maxResponses bounds what is remembered of one attempt.
const maxResponses = 64

// recorder stands before the transport of an attempt's Remote and notes every
// answer.
type recorder struct {
	remote *Remote
	next   http.RoundTripper
	secret redact.Secrets

	mu    sync.Mutex
	stage Stage // of the network: Nowhere, Located, Started
	all   []*Response
}

func newRecorder(spec launch.Spec, allow func(netip.AddrPort) error) (*recorder, error) {
	remote, err := newRemote(spec, allow)
	if err != nil {
		return nil, err
	}
	r := &recorder{remote: remote, next: remote.client.Transport, secret: spec.Secrets()}
	remote.client.Transport = r
	return r, nil
}

// CloseIdleConnections is what the client asks its transport for.
func (r *recorder) CloseIdleConnections() {
	r.next.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var conn atomic.Pointer[watchedConn]
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		ConnectStart: func(string, string) { r.reach(Located) },
		GotConn: func(info httptrace.GotConnInfo) {
			conn.Store(watched(info.Conn))
			r.reach(Started)
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				r.reach(Started)
			}
		},
	})
	res, err := r.next.RoundTrip(req.WithContext(ctx))
	if req.Method == http.MethodDelete { // our goodbye, which many servers know nothing of
		return res, err
	}
	if err != nil {
		if errors.Is(err, req.Context().Err()) {
			return res, err // we hung up
		}
		err = conn.Load().reason(err)
		r.note(&Response{Method: req.Method, URL: openly(req.URL), Failed: cleaned(plain(err), r.secret), Errno: Errno(err)})
		return res, err
	}
	seen := responseOf(res, r.secret)
	r.note(&seen)
	res.Body = &overheard{ReadCloser: res.Body, r: r, seen: &seen, streams: contentType(res) == "text/event-stream"}
	return res, nil
}

// responseOf is what an answer says beside its body.
func responseOf(res *http.Response, secret redact.Secrets) Response {
	header := func(name string) string { return cleaned(res.Header.Get(name), secret) }
	seen := Response{
		Method: res.Request.Method, URL: openly(res.Request.URL), Status: res.StatusCode,
		ContentType: header("Content-Type"), Authenticate: header("WWW-Authenticate"), Allow: header("Allow"),
		Session: res.Header.Get("Mcp-Session-Id") != "",
	}
	if at, err := res.Location(); err == nil {
		seen.Location = cleaned(openly(at), secret)
	}
	return seen
}

func (r *recorder) reach(stage Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stage = max(r.stage, stage)
}

func (r *recorder) note(seen *Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < maxResponses {
		r.all = append(r.all, seen)
	}
}

// cleaned is a header's value, without secrets and bounded.
func cleaned(text string, secret redact.Secrets) string {
	text = secret.Redact(text)
	return text[:min(len(text), MaxTextBytes)]
}

// openly is an address without what may be secret in it.
func openly(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// overheard keeps the first bytes of a body that somebody else reads.
type overheard struct {
	io.ReadCloser
	r       *recorder
	seen    *Response
	streams bool
	ended   bool // guarded by the recorder
}

func (b *overheard) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	b.ended = b.ended || err != nil
	b.seen.Body = append(b.seen.Body, p[:min(n, MaxTextBytes-len(b.seen.Body))]...)
	return n, err
}

// bodyTimeout is the time for the first bytes of a body that nobody wanted.
const bodyTimeout = 500 * time.Millisecond

// Close has a look at what nobody read: a page that says what is wrong.
func (b *overheard) Close() error {
	b.r.mu.Lock()
	want := MaxTextBytes - len(b.seen.Body)
	if b.ended || b.streams {
		want = 0
	}
	b.r.mu.Unlock()
	if want > 0 {
		alarm := time.AfterFunc(bodyTimeout, func() { b.ReadCloser.Close() })
		io.Copy(io.Discard, io.LimitReader(b, int64(want)))
		alarm.Stop()
	}
	return b.ReadCloser.Close()
}

// finish ends the recording and returns how far the network got and what was recorded.
func (r *recorder) finish() (Stage, []Response) {
	r.remote.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Response
	for _, seen := range r.all {
		kept := *seen
		kept.Body = []byte(r.secret.Redact(string(seen.Body)))
		all = append(all, kept)
	}
	return r.stage, all
}
