package sockets_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/sockets"
)

// accepted connects to a socket as dial does, and returns the other end.
func accepted(t *testing.T, dial func(path string) (net.Conn, error)) net.Conn {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze-peer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, open := range []string{dir, path} {
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	client, err := dial(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestThePeerIsThisUser(t *testing.T) {
	conn := accepted(t, func(path string) (net.Conn, error) { return net.Dial("unix", path) })
	if err := sockets.CheckPeer(conn); err != nil {
		t.Error(err)
	}
}

func TestThePeerIsADifferentUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can connect as a different user")
	}
	conn := accepted(t, func(path string) (conn net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // the thread ends with the goroutine
			const nobody = 65534
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				err = errno
				return
			}
			conn, err = net.Dial("unix", path)
		}()
		<-done
		return conn, err
	})
	if err := sockets.CheckPeer(conn); err == nil {
		t.Error("a different user was accepted")
	}
}
