package web

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// dial connects to a URL.
func dial(remote *Remote, reader life.Reader) *Session {
	w := Dial(remote, life.NewRecord(reader, io.Discard), Confirm{}, wire.MaxLine)
	go w.Serve()
	return w
}

// ear is a Reader that notes what it hears.
type ear struct{ heard []string }

func (e *ear) Lost([]byte, life.Loss)     {}
func (e *ear) Gap()                       {}
func (e *ear) Message(m *wire.Message)    { e.heard = append(e.heard, string(m.Raw)) }
func (e *ear) TooLong(long *wire.TooLong) { e.heard = append(e.heard, long.Error()) }
func (e *ear) Stray(line []byte)          { e.heard = append(e.heard, "stray "+string(line)) }
func (e *ear) Rest()                      {}

// exchanged sends one message to a server that answers with handle.
func exchanged(t *testing.T, handle http.HandlerFunc) (*exchange, *http.Response, error) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return exchangedAt(t, server.URL+"/mcp", headerTimeout)
}

func exchangedAt(t *testing.T, address string, headerWait time.Duration) (*exchange, *http.Response, error) {
	t.Helper()
	census.Mark(t)
	remote, err := NewRemote(launch.Spec{URL: address}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	remote.headerWait = headerWait
	w := dial(remote, &ear{})
	t.Cleanup(func() { w.rec.End("the test is over", true); <-w.rec.Done(); remote.Close() })
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	x := newExchange(w, 1, m, Sending{})
	res, err := x.send(x.ctx)
	if err == nil {
		t.Cleanup(func() { res.Body.Close() })
	}
	return x, res, err
}

// Once there was a response, the TCP connection serves others: that their
// writes fail says nothing about ours.
func TestAConnectionTestifiesOnlyUntilItsResponse(t *testing.T) {
	t.Parallel()
	x, res, err := exchanged(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	if conn := x.try.Load().conn; conn != nil {
		conn.writeFailed.Store(true) // the next request's write
	}
	if got := x.delivered(); got != fault.Unknown {
		t.Errorf("%v: it was read and answered", got)
	}
}

func TestWhatWasReadAndCutOffIsUnknown(t *testing.T) {
	t.Parallel()
	x, _, err := exchanged(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
	if err == nil {
		t.Fatal("it was answered")
	}
	if got := x.delivered(); got != fault.Unknown {
		t.Errorf("%v", got)
	}
}

// The transport may read the body on after it reported an error: what it gets
// then must not be sent.
func TestASealedBodyIsNotReadOn(t *testing.T) {
	t.Parallel()
	x := &exchange{}
	try := &try{body: []byte(`{"a":1}`)}
	x.try.Store(try)
	body := &meteredBody{t: try}
	if n, err := body.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	try.seal()
	if n, err := body.Read(make([]byte, 9)); n != 0 || err == nil {
		t.Errorf("%d bytes after the seal", n)
	}
	if got := x.delivered(); got != fault.Unsent {
		t.Errorf("%v: its last byte was never handed over", got)
	}
}

// A header that comes byte by byte holds nobody up for ever. One that does not
// come at all is another matter: the tool may take its time.
func TestFaultW29SlowHeader(t *testing.T) {
	t.Parallel()
	server := faultyhttp.New(faultyhttp.Config{})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.Arm(faultyhttp.SlowHeaders, 1, faultyhttp.Match{Method: "*"})
	x, _, err := exchangedAt(t, server.URL(), 50*time.Millisecond)
	if !errors.Is(err, errSlowHeader) {
		t.Fatalf("%v", err)
	}
	if got := x.delivered(); got != fault.Unknown {
		t.Errorf("%v", got)
	}
}

// A server whose certificate only a file of the user's vouches for, over
// HTTP/2.
func TestAFileMayVouchForAServer(t *testing.T) {
	proto := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		proto <- r.Proto
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	x, _, err := exchangedAt(t, server.URL+"/mcp", headerTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-proto; got != "HTTP/2.0" {
		t.Errorf("spoke %s", got)
	}
	if got := x.delivered(); got != fault.Unknown {
		t.Errorf("%v", got)
	}
}

// Over TLS the transport's own goodbye fails on a connection that was reset:
// that says nothing about the request, which was read and executed.
func TestAGoodbyeThatFailsProvesNothing(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
		conn.(*tls.Conn).NetConn().Close()
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	for range 5 {
		x, _, err := exchangedAt(t, server.URL+"/mcp", headerTimeout)
		if err == nil {
			t.Fatal("it was answered")
		}
		if got := x.delivered(); got != fault.Unknown {
			t.Errorf("%v: it was read (%v)", got, err)
		}
	}
}

// A server that redirects before it has read the request: the transport
// reports on the first try when the second is long under way.
func TestALateReportIsAboutItsOwnTry(t *testing.T) {
	t.Parallel()
	x := &exchange{}
	first, second := &try{body: []byte("{}")}, &try{body: []byte("{}")}
	x.try.Store(first)
	x.try.Store(second)
	io.ReadAll(&meteredBody{t: second})
	first.writeFailed = true
	if got := x.delivered(); got != fault.Unknown {
		t.Errorf("%v: the second try was sent whole", got)
	}
}

// Servers of the old transport may answer before they say that they took the
// question.
func TestAnAnswerMayOvertakeItsReceipt(t *testing.T) {
	t.Parallel()
	x, _, err := exchanged(t, func(http.ResponseWriter, *http.Request) {})
	if err != nil {
		t.Fatal(err)
	}
	w := x.s
	w.live[x.end] = x
	w.answered(x.id)
	w.park(x)
	if x.isParked() {
		t.Error("nobody will ever take it out")
	}
	w.close(x, true)
}

func TestWhatWaitsToBeSentCanBeDropped(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent <- struct{}{} }))
	defer server.Close()
	remote, err := NewRemote(launch.Spec{URL: server.URL}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	w := dial(remote, &ear{})
	end, err := w.Put(Sending{}, [][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")})
	if err != nil {
		t.Fatal(err)
	}
	w.Drop(end)
	w.Flush()
	w.rec.End("the test is over", true)
	<-w.rec.Done()
	remote.Close()
	if len(sent) != 0 {
		t.Error("it was sent all the same")
	}
}
