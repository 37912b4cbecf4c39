//go:build unix

package refusing

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

func TestAPortRefusesAndStaysTaken(t *testing.T) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(t)))
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial %s: %v, want a refusal", address, err)
	}
	for _, taken := range []string{address, ":" + strconv.Itoa(Port(t))} {
		if listener, err := net.Listen("tcp", taken); err == nil {
			listener.Close()
			t.Errorf("a second listener was accepted at %s", taken)
		}
	}
}
