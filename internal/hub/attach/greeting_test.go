package attach_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/sockets"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// raw connects to the socket of a place without a greeting.
func raw(t *testing.T, p attach.Place) net.Conn {
	t.Helper()
	file, _, _ := p.Files()
	var about struct{ Network, Address string }
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &about)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial(about.Network, about.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience.Limit()))
	return conn
}

func frame(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// never fails the test if a client is served.
func never(t *testing.T) serveFunc {
	return func(context.Context, attach.Hello, io.Reader, io.Writer) error {
		t.Error("it was served")
		return nil
	}
}

func TestAClientThatDoesNotKnowTheToken(t *testing.T) {
	opening := frame(`{"protocol":1,"nonce":"x"}`)
	for _, c := range []struct {
		name string
		said []byte
	}{
		{"a wrong proof", append(opening, frame(string(make([]byte, 32))+`{"dir":"","env":""}`)...)},
		{"no proof", append(opening, frame("{}")...)},
		{"not a greeting", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"a long message", []byte{255, 255, 255, 255}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := place(t)
			listen(t, p, never(t))
			conn := raw(t, p)
			if _, err := conn.Write(c.said); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is still open")
			}
		})
	}
}

func TestAClientThatSaysNothingIsDropped(t *testing.T) {
	p := place(t)
	attach.SetGreetingTimeout(time.Millisecond)
	t.Cleanup(func() { attach.SetGreetingTimeout(patience.Limit()) }) // after the listener has ended
	listen(t, p, never(t))
	if _, err := io.ReadAll(raw(t, p)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}

// impostor listens at a place in place of a gauze up, and answers the first message.
func impostor(t *testing.T, p attach.Place, answer func(nonce string) string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen(t, p, echo).Close() // creates the directory
	file, _, _ := p.Files()
	text, _ := json.Marshal(map[string]any{"pid": 7, "network": "tcp", "address": l.Addr().String(), "token": "t"})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		head := make([]byte, 4)
		io.ReadFull(conn, head)
		said := make([]byte, binary.BigEndian.Uint32(head))
		io.ReadFull(conn, said)
		var o struct{ Nonce string }
		json.Unmarshal(said, &o)
		conn.Write(frame(answer(o.Nonce)))
		io.Copy(io.Discard, conn)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

func TestADifferentVersion(t *testing.T) {
	p := place(t)
	impostor(t, p, func(nonce string) string {
		text, _ := json.Marshal(map[string]any{"protocol": 2, "version": "v9", "nonce": "n", "proof": sockets.Proof("t", "up", nonce, "n", "v9")})
		return string(text)
	})
	_, err := attach.Dial(patience.Context(t), p, attach.Hello{})
	var differs *attach.VersionError
	if !errors.As(err, &differs) || differs.Version != "v9" || differs.PID != 7 {
		t.Errorf("%v", err)
	}
}

// A gauze up that does not answer is not taken for one that is not running: its place is not free.
func TestAGauzeUpThatDoesNotAnswer(t *testing.T) {
	p := place(t)
	hangs := make(chan struct{})
	impostor(t, p, func(string) string { <-hangs; return "{}" })
	t.Cleanup(func() { close(hangs) })
	attach.SetGreetingTimeout(time.Millisecond)
	t.Cleanup(func() { attach.SetGreetingTimeout(patience.Limit()) })
	_, err := attach.Dial(patience.Context(t), p, attach.Hello{})
	if err == nil || errors.Is(err, attach.ErrNotRunning) {
		t.Errorf("%v", err)
	}
}
