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

// Response is a response of a server at a URL, or the reason why there was none. It contains no
// secrets of the user.
type Response struct {
	Method       string
	URL          string // without parts that may be secret
	Status       int    // 0 if the request got no response
	Failed       string // why there was none
	Errno        string // the name of that error, if it has one
	ContentType  string
	Authenticate string // the WWW-Authenticate header
	Location     string // the target of a redirect, without its query; never followed to a different host
	Allow        string
	Session      bool   // the response named a session
	Body         []byte // the first bytes
}

// maxResponses limits what is recorded for one connection.
const maxResponses = 64

// recorder is a RoundTripper that records every response.
type recorder struct {
	remote *Remote
	next   http.RoundTripper

	mu    sync.Mutex
	stage Stage // how far the network got: Nowhere, Located or Started
	all   []*Response
}

func newRecorder(spec launch.Spec, allow func(netip.AddrPort) error) (*recorder, error) {
	remote, err := NewRemoteVia(spec, Access{Allow: allow})
	if err != nil {
		return nil, err
	}
	r := &recorder{remote: remote, next: remote.client.Transport}
	remote.client.Transport = r
	return r, nil
}

// CloseIdleConnections lets http.Client reach the connections of the wrapped transport.
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
	if req.Method == http.MethodDelete { // the end of the session, which many servers do not support
		return res, err
	}
	if err != nil {
		if errors.Is(err, req.Context().Err()) {
			return res, err // canceled by gauze
		}
		err = conn.Load().reason(err)
		r.note(&Response{Method: req.Method, URL: publicURL(req.URL), Failed: cleaned(errText(err), r.remote.secrets.get()), Errno: Errno(err)})
		return res, err
	}
	seen := responseOf(res, r.remote.secrets.get())
	r.note(&seen)
	res.Body = &recordedBody{ReadCloser: res.Body, r: r, seen: &seen, streams: contentType(res) == "text/event-stream"}
	return res, nil
}

// responseOf returns everything but the body of a response.
func responseOf(res *http.Response, secret redact.Secrets) Response {
	header := func(name string) string { return cleaned(res.Header.Get(name), secret) }
	seen := Response{
		Method: res.Request.Method, URL: publicURL(res.Request.URL), Status: res.StatusCode,
		ContentType: header("Content-Type"), Authenticate: header("WWW-Authenticate"), Allow: header("Allow"),
		Session: res.Header.Get("Mcp-Session-Id") != "",
	}
	if at, err := res.Location(); err == nil {
		seen.Location = cleaned(publicURL(at), secret)
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

// cleaned returns the value of a header, without secrets and limited in length.
func cleaned(text string, secret redact.Secrets) string {
	text = secret.Redact(text)
	return text[:min(len(text), MaxTextBytes)]
}

// publicURL returns an address without parts that may be secret.
func publicURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// recordedBody records the first bytes of a body.
type recordedBody struct {
	io.ReadCloser
	r       *recorder
	seen    *Response
	streams bool
	ended   bool // guarded by the recorder's mutex
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	b.ended = b.ended || err != nil
	b.seen.Body = append(b.seen.Body, p[:min(n, MaxTextBytes-len(b.seen.Body))]...)
	return n, err
}

// bodyTimeout limits reading the first bytes of a body that is not needed.
const bodyTimeout = 500 * time.Millisecond

// Close reads the first bytes if they have not been read: they may explain the error.
func (b *recordedBody) Close() error {
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
		kept.Body = []byte(r.remote.secrets.Redact(string(seen.Body)))
		all = append(all, kept)
	}
	return r.stage, all
}
