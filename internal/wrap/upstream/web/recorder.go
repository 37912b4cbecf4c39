package web

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

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// maxResponses limits what is recorded for one connection.
const maxResponses = 64

// Recorder is a RoundTripper that records every response.
type Recorder struct {
	Remote *Remote
	next   http.RoundTripper

	mu    sync.Mutex
	stage life.Stage // how far the network got: life.Nowhere, life.Located or life.Started
	all   []*life.Response
}

// NewRecorder prepares to reach a server and to record its responses. allow, if not nil, decides
// about every address before it is dialled.
func NewRecorder(spec launch.Spec, allow func(netip.AddrPort) error) (*Recorder, error) {
	remote, err := NewRemote(spec, Access{Allow: allow})
	if err != nil {
		return nil, err
	}
	r := &Recorder{Remote: remote, next: remote.client.Transport}
	remote.client.Transport = r
	return r, nil
}

// CloseIdleConnections lets http.Client reach the connections of the wrapped transport.
func (r *Recorder) CloseIdleConnections() {
	r.next.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var conn atomic.Pointer[watchedConn]
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		ConnectStart: func(string, string) { r.reach(life.Located) },
		GotConn: func(info httptrace.GotConnInfo) {
			conn.Store(watched(info.Conn))
			r.reach(life.Started)
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				r.reach(life.Started)
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
		r.note(&life.Response{Method: req.Method, URL: publicURL(req.URL), Failed: cleaned(errText(err), r.Remote.secrets.get()), Errno: life.Errno(err)})
		return res, err
	}
	seen := responseOf(res, r.Remote.secrets.get())
	r.note(&seen)
	res.Body = &recordedBody{ReadCloser: res.Body, r: r, seen: &seen, streams: contentType(res) == "text/event-stream"}
	return res, nil
}

// responseOf returns everything but the body of a response.
func responseOf(res *http.Response, secret redact.Secrets) life.Response {
	header := func(name string) string { return cleaned(res.Header.Get(name), secret) }
	seen := life.Response{
		Method: res.Request.Method, URL: publicURL(res.Request.URL), Status: res.StatusCode,
		ContentType: header("Content-Type"), Authenticate: header("WWW-Authenticate"), Allow: header("Allow"),
		Session: res.Header.Get("Mcp-Session-Id") != "",
	}
	if at, err := res.Location(); err == nil {
		seen.Location = cleaned(publicURL(at), secret)
	}
	return seen
}

func (r *Recorder) reach(stage life.Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stage = max(r.stage, stage)
}

func (r *Recorder) note(seen *life.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < maxResponses {
		r.all = append(r.all, seen)
	}
}

// cleaned returns the value of a header, without secrets and limited in length.
func cleaned(text string, secret redact.Secrets) string {
	text = secret.Redact(text)
	return text[:min(len(text), life.MaxTextBytes)]
}

// publicURL returns an address without parts that may be secret.
func publicURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// recordedBody records the first bytes of a body.
type recordedBody struct {
	io.ReadCloser
	r       *Recorder
	seen    *life.Response
	streams bool
	ended   bool // guarded by the recorder's mutex
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	b.ended = b.ended || err != nil
	b.seen.Body = append(b.seen.Body, p[:min(n, life.MaxTextBytes-len(b.seen.Body))]...)
	return n, err
}

// bodyTimeout limits reading the first bytes of a body that is not needed.
const bodyTimeout = 500 * time.Millisecond

// Close reads the first bytes if they have not been read: they may explain the error.
func (b *recordedBody) Close() error {
	b.r.mu.Lock()
	want := life.MaxTextBytes - len(b.seen.Body)
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

// Finish ends the recording and returns how far the network got and what was recorded.
func (r *Recorder) Finish() (life.Stage, []life.Response) {
	r.Remote.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []life.Response
	for _, seen := range r.all {
		kept := *seen
		kept.Body = []byte(r.Remote.secrets.Redact(string(seen.Body)))
		all = append(all, kept)
	}
	return r.stage, all
}

// Redact hides the credentials that requests had, including those of a login.
func (r *Recorder) Redact(text string) string { return r.Remote.secrets.Redact(text) }

// Transport returns "http" or "sse".
func (r *Recorder) Transport() string {
	if r.Remote.transport.Load() == httpSSE {
		return "sse"
	}
	return "http"
}
