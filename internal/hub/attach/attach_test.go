package attach_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

func TestMain(m *testing.M) {
	attach.DetachIfAsked()
	actIfAsked()
	attach.SetGreetingTimeout(patience.Limit())
	os.Exit(census.Run(m))
}

// place returns a place whose path is short enough for a socket.
func place(t *testing.T) attach.Place {
	t.Helper()
	census.Mark(t)
	dir, err := os.MkdirTemp("", "gauze-up-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return attach.Place{State: dir, File: filepath.Join(dir, "up.yaml")}
}

type serveFunc = func(context.Context, attach.Hello, io.Reader, io.Writer) error

// echo sends back what the client sends, until its end.
func echo(_ context.Context, _ attach.Hello, in io.Reader, out io.Writer) error {
	_, err := io.Copy(out, in)
	return err
}

// listen starts to serve at a place until the test ends.
func listen(t *testing.T, p attach.Place, serve serveFunc) *attach.Listener {
	t.Helper()
	l, err := begin(t, p, serve)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// begin is listen for any goroutine.
func begin(t *testing.T, p attach.Place, serve serveFunc) (*attach.Listener, error) {
	l, err := attach.Listen(t.Context(), p, "v1")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Serve(ctx, serve)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return l, nil
}

func dial(t *testing.T, p attach.Place, h attach.Hello) *attach.Conn {
	t.Helper()
	conn, err := attach.Dial(patience.Context(t), p, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestAClientIsServedToTheEndOfItsInput(t *testing.T) {
	p := place(t)
	hello := make(chan attach.Hello, 1)
	listen(t, p, func(ctx context.Context, h attach.Hello, in io.Reader, out io.Writer) error {
		hello <- h
		return echo(ctx, h, in, out)
	})
	want := attach.Hello{Server: "notes", Profile: "review", Dir: "/a/\xff", Version: "v2", Env: []string{"A=1", "B=\xfe\n", "=C:=C:\\", "EMPTY="}}
	conn := dial(t, p, want)
	text := bytes.Repeat([]byte("0123456789abcdef\n"), 300_000) // more than fits into buffers and one frame
	go func() {
		conn.Write(text)
		conn.CloseWrite()
	}()
	back, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(back, text) {
		t.Errorf("%d bytes came back (%v), want %d", len(back), err, len(text))
	}
	if got := <-hello; fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("the hello arrived as %q, want %q", got, want)
	}
}

func TestWithoutAGauzeUp(t *testing.T) {
	p := place(t)
	if _, err := attach.Dial(patience.Context(t), p, attach.Hello{}); !errors.Is(err, attach.ErrNotRunning) {
		t.Errorf("%v", err)
	}
	l := listen(t, p, echo)
	l.Close()
	if _, err := attach.Dial(patience.Context(t), p, attach.Hello{}); !errors.Is(err, attach.ErrNotRunning) {
		t.Errorf("after Close: %v", err)
	}
	file, socket, _ := p.Files()
	for _, path := range []string{file, socket} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

// A suspended client has full buffers: a write to it is in progress until it reads, which may be never.
func TestAClientThatDoesNotReadDoesNotKeepServeFromReturning(t *testing.T) {
	more := make([]byte, 32<<20)
	for name, serve := range map[string]serveFunc{
		"the session waits for its write": func(_ context.Context, _ attach.Hello, _ io.Reader, out io.Writer) error {
			_, err := out.Write(more)
			return err
		},
		"the session leaves its write": func(ctx context.Context, _ attach.Hello, _ io.Reader, out io.Writer) error {
			go out.Write(more)
			<-ctx.Done()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			l, err := attach.Listen(t.Context(), p, "v1")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			returned := make(chan struct{})
			go func() {
				defer close(returned)
				l.Serve(ctx, serve)
			}()
			conn := dial(t, p, attach.Hello{})
			if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil { // the write is in progress
				t.Fatal(err)
			}
			stop()
			select {
			case <-returned:
			case <-patience.Context(t).Done():
				t.Error("Serve has not returned")
			}
		})
	}
}

func TestARefusalHasAReason(t *testing.T) {
	p := place(t)
	listen(t, p, func(context.Context, attach.Hello, io.Reader, io.Writer) error {
		return errors.New("unknown server \"x\"\x1b[2J; did you mean \"y\"?")
	})
	_, err := attach.Dial(patience.Context(t), p, attach.Hello{Server: "x"})
	var refused *attach.Refusal
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, `did you mean "y"?`) || strings.Contains(refused.Reason, "\x1b") {
		t.Errorf("%v", err)
	}
}

func TestAnErrorEndsTheSessionWithItsReason(t *testing.T) {
	p := place(t)
	listen(t, p, func(_ context.Context, _ attach.Hello, _ io.Reader, out io.Writer) error {
		io.WriteString(out, "some")
		return errors.New("the file has no servers")
	})
	back, err := io.ReadAll(dial(t, p, attach.Hello{}))
	var refused *attach.Refusal
	if string(back) != "some" || !errors.As(err, &refused) || refused.Reason != "the file has no servers" {
		t.Errorf("%q, %v", back, err)
	}
}

func TestOnlyTheFirstListens(t *testing.T) {
	p := place(t)
	first := listen(t, p, echo)
	if _, err := attach.Listen(patience.Context(t), p, "v1"); !errors.Is(err, attach.ErrRunning) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%v", err)
	}
	other := attach.Place{State: p.State, File: p.File + "2"}
	listen(t, other, echo)
	first.Close()
	listen(t, p, echo)
	dial(t, p, attach.Hello{})
}

func TestClientsOfAClosedListenerStay(t *testing.T) {
	p := place(t)
	l := listen(t, p, func(ctx context.Context, h attach.Hello, in io.Reader, out io.Writer) error {
		return errors.Join(echo(ctx, h, in, out), ctx.Err())
	})
	conn := dial(t, p, attach.Hello{})
	l.Close()
	listen(t, p, func(context.Context, attach.Hello, io.Reader, io.Writer) error { return errors.New("the new one") })
	io.WriteString(conn, "still here")
	conn.CloseWrite()
	if back, err := io.ReadAll(conn); string(back) != "still here" || err != nil {
		t.Errorf("%q, %v", back, err)
	}
}

func TestWhatAKilledProcessLeftIsReplaced(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"nothing that can be read", "{"},
		{"a socket without a listener", `{"pid":1,"network":"unix","address":"SOCKET","token":"t"}`},
		{"an address of a different program", `{"pid":1,"network":"tcp","address":"PROGRAM","token":"t"}`},
		{"an address of a different machine", `{"pid":1,"network":"tcp","address":"192.0.2.1:80","token":"t"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			windowstest.Skip(t)
			p := place(t)
			listen(t, p, echo).Close() // creates the directory
			program := stranger(t)
			file, socket, _ := p.Files()
			text := strings.NewReplacer("SOCKET", filepath.ToSlash(socket), "PROGRAM", program).Replace(c.text)
			for path, text := range map[string]string{file: text, socket: ""} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := attach.Dial(patience.Context(t), p, attach.Hello{Env: []string{"SECRET=hunter2"}}); !errors.Is(err, attach.ErrNotRunning) {
				t.Errorf("%v", err)
			}
			listen(t, p, echo)
			dial(t, p, attach.Hello{})
		})
	}
}

// stranger is a program that answers, and does not know the token. It fails the test if it is told
// anything about the client.
func stranger(t *testing.T) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answer := `{"protocol":1,"version":"v1","nonce":"x","proof":"AAAA"}`
			conn.Write(append([]byte{0, 0, 0, byte(len(answer))}, answer...))
			if heard, _ := io.ReadAll(conn); bytes.Contains(heard, []byte("hunter2")) || bytes.Contains(heard, []byte("aHVudGVyMg")) {
				t.Errorf("a program without the token was told %q", heard)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestOnlyTheUserMayReadTheFiles(t *testing.T) {
	windowstest.Skip(t)
	p := place(t)
	listen(t, p, echo)
	file, socket, lock := p.Files()
	for path, want := range map[string]os.FileMode{filepath.Dir(file): 0o700, file: 0o600, socket: 0o600, lock: 0o600} {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestAnEnvironmentIsLimited(t *testing.T) {
	p := place(t)
	listen(t, p, echo)
	dial(t, p, attach.Hello{Env: []string{"A=" + strings.Repeat("x", 1<<20-100)}})
	if _, err := attach.Dial(patience.Context(t), p, attach.Hello{Env: []string{"A=" + strings.Repeat("x", 1<<20)}}); err == nil || !strings.Contains(err.Error(), "environment") {
		t.Errorf("%v", err)
	}
}

// The path of a socket is limited; the address is then one of the loopback interface.
func TestALongPath(t *testing.T) {
	p := place(t)
	p.State = filepath.Join(p.State, strings.Repeat("d", 90))
	if err := os.Mkdir(p.State, 0o700); err != nil {
		t.Fatal(err)
	}
	listen(t, p, echo)
	conn := dial(t, p, attach.Hello{})
	io.WriteString(conn, "x")
	conn.CloseWrite()
	if back, err := io.ReadAll(conn); string(back) != "x" {
		t.Errorf("%q, %v", back, err)
	}
}

// The session of a client that is gone ends: its context does, also after the end of its input.
func TestAClientThatIsGoneIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*attach.Conn)
	}{
		{"at any time", func(conn *attach.Conn) { conn.Close() }},
		{"after the end of its input", func(conn *attach.Conn) { conn.CloseWrite(); conn.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := place(t)
			ended := make(chan error, 1)
			listen(t, p, func(ctx context.Context, _ attach.Hello, in io.Reader, _ io.Writer) error {
				io.Copy(io.Discard, in)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil
			})
			c.end(dial(t, p, attach.Hello{}))
			select {
			case err := <-ended:
				if !errors.Is(err, attach.ErrLost) {
					t.Errorf("the session ended because of %v", err)
				}
			case <-patience.Context(t).Done():
				t.Error("the session did not end")
			}
		})
	}
}

// The end of the input is not the end of the session.
func TestAHalfClosedClientIsStillServed(t *testing.T) {
	p := place(t)
	listen(t, p, func(ctx context.Context, _ attach.Hello, in io.Reader, out io.Writer) error {
		io.Copy(io.Discard, in)
		if ctx.Err() == nil {
			io.WriteString(out, "late answer")
		}
		return nil
	})
	conn := dial(t, p, attach.Hello{})
	conn.CloseWrite()
	if back, err := io.ReadAll(conn); string(back) != "late answer" {
		t.Errorf("%q, %v", back, err)
	}
}

func TestManyClientsAtTheSameTime(t *testing.T) {
	p := place(t)
	listen(t, p, func(ctx context.Context, h attach.Hello, in io.Reader, out io.Writer) error {
		fmt.Fprintln(out, h.Server)
		return echo(ctx, h, in, out)
	})
	var results []chan string
	for i := range 20 {
		result := make(chan string, 1)
		results = append(results, result)
		go func() {
			conn, err := attach.Dial(patience.Context(t), p, attach.Hello{Server: fmt.Sprint(i)})
			if err != nil {
				result <- err.Error()
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%d", i)
			conn.CloseWrite()
			back, _ := io.ReadAll(conn)
			result <- string(back)
		}()
	}
	for i, result := range results {
		if got, want := <-result, fmt.Sprintf("%d\n%d", i, i); got != want {
			t.Errorf("client %d got %q", i, got)
		}
	}
}

// A gauze up that was started on demand ends without a client, and leaves its place.
func TestAnIdleListenerEnds(t *testing.T) {
	p := place(t)
	l, err := attach.Listen(t.Context(), p, "v1")
	if err != nil {
		t.Fatal(err)
	}
	l.Idle = time.Millisecond
	if err := l.Serve(patience.Context(t), never(t)); err != nil {
		t.Error(err)
	}
	if _, err := attach.Dial(patience.Context(t), p, attach.Hello{}); !errors.Is(err, attach.ErrNotRunning) {
		t.Error(err)
	}
	listen(t, p, echo)
	dial(t, p, attach.Hello{})
}

// Of clients that find no gauze up, one starts it, and all attach.
func TestOneClientStarts(t *testing.T) {
	p := place(t)
	starts := make(chan struct{}, 100)
	connected := make(chan error, 100)
	const clients = 8
	for range clients {
		go func() {
			conn, err := attach.Connect(patience.Context(t), p, attach.Hello{}, func(context.Context) error {
				starts <- struct{}{}
				_, err := begin(t, p, echo)
				return err
			})
			if err == nil {
				conn.Close()
			}
			connected <- err
		}()
	}
	for range clients {
		if err := <-connected; err != nil {
			t.Error(err)
		}
	}
	if n := len(starts); n != 1 {
		t.Errorf("%d clients started a gauze up", n)
	}
}

func TestAStartThatFails(t *testing.T) {
	p := place(t)
	broken := errors.New("the file is broken")
	if _, err := attach.Connect(patience.Context(t), p, attach.Hello{}, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := attach.Connect(patience.Context(t), p, attach.Hello{}, func(context.Context) error { return nil }); !errors.Is(err, attach.ErrNotRunning) {
		t.Errorf("%v", err)
	}
}
