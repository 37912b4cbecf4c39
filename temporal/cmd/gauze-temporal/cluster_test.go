package main

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// listen returns a listener on a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// refused returns why a cluster at an address cannot be used.
func refused(t *testing.T, address string) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // without a configuration of Temporal
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	c := &cluster{address: address}
	connected, err := c.dial()
	if err == nil {
		connected.Close()
		t.Fatal("it was accepted as a Temporal server")
	}
	return err.Error()
}

func TestNoServerIsExplained(t *testing.T) {
	l := listen(t)
	l.Close()
	if said := refused(t, l.Addr().String()); !strings.Contains(said, "the Temporal server at "+l.Addr().String()+" cannot be reached: check the address, and that the server is running") {
		t.Error(said)
	}
}

func TestServerThatRequiresTLSIsExplained(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	secure := tls.NewListener(listen(t), web.TLS)
	go func() {
		for {
			conn, err := secure.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake() // it fails: the client does not use TLS
			conn.Close()
		}
	}()
	if said := refused(t, secure.Addr().String()); !strings.Contains(said, "it may require TLS. To use TLS, set TEMPORAL_TLS=true") {
		t.Error(said)
	}
}

func TestServerWithoutTLSIsExplained(t *testing.T) {
	l, plain := listen(t), grpc.NewServer()
	go func() { _ = plain.Serve(l) }()
	defer plain.Stop()
	t.Setenv("TEMPORAL_TLS", "true")
	if said := refused(t, l.Addr().String()); !strings.Contains(said, "does not use TLS. To connect without it") {
		t.Error(said)
	}
}

func TestErrorsOfTheClusterAreExplained(t *testing.T) {
	c := &cluster{address: "localhost:7233", namespace: "teem"}
	for want, err := range map[string]error{
		"temporal operator namespace create --address localhost:7233 --namespace teem": serviceerror.NewNamespaceNotFound("teem"),
		"rejected the credentials for the namespace \"teem\": check TEMPORAL_API_KEY":  status.Error(codes.Unauthenticated, "no"),
		"rejected the credentials for the namespace \"teem\"":                          serviceerror.NewPermissionDenied("no", ""),
		"cannot be reached: check the address, and that the server is running":         serviceerror.NewUnavailable("no"),
	} {
		if said := c.explained(err).Error(); !strings.Contains(said, want) {
			t.Errorf("the message lacks %q: %s", want, said)
		}
	}
	if got := c.ref("report-abc").Resume(); got != "gauze task resume --temporal localhost:7233 --namespace teem report-abc" {
		t.Error(got)
	}
	c.namespace = "default"
	if got := c.ref("report-abc").Resume(); got != "gauze task resume --temporal localhost:7233 report-abc" {
		t.Error(got)
	}
}
