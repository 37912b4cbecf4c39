package upstream

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// exchanged sends one message to a server that answers with handle.
func exchanged(t *testing.T, handle http.HandlerFunc) (*exchange, *http.Response, error) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return exchangedAt(t, server.URL+"/mcp", headerTimeout)
}

func exchangedAt(t *testing.T, address string, patient time.Duration) (*exchange, *http.Response, error) {
	t.Helper()
	remote, err := NewRemote(Spec{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	remote.patient = patient
	c := dial(remote, 1, &ear{}, io.Discard)
	t.Cleanup(func() { c.End("the test is over", true); <-c.Done(); remote.Close() })
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	x := newExchange(c.link.(*web), 1, m, nil)
	res, err := x.send(x.ctx)
	if err == nil {
		t.Cleanup(func() { res.Body.Close() })
	}
	return x, res, err
}

// Once there was a response, the TCP connection serves others: that their
// writes fail says nothing about ours.
func TestAConnectionTestifiesOnlyUntilItsResponse(t *testing.T) {
	x, res, err := exchanged(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	if conn := x.conn; conn != nil {
		conn.spilt.Store(true) // the next request's write
	}
	if got := x.delivered(); got != fault.Unknown {
		t.Errorf("%v: it was read and answered", got)
	}
}

func TestWhatWasReadAndCutOffIsUnknown(t *testing.T) {
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
	x := &exchange{body: []byte(`{"a":1}`)}
	body := &measured{x: x}
	if n, err := body.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	x.seal()
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
