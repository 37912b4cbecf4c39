package gauze

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// numbered returns the notification number n.
func numbered(n int) *jsonrpc.Request {
	return &jsonrpc.Request{Method: fmt.Sprint("notifications/", n)}
}

// A session that accepts nothing blocks Write. A Write that is cancelled then returns, sends nothing,
// and leaves the others whole and in order.
func TestABlockedWriteCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accept := make(chan struct{})
		var received []string
		c := newConnection(context.Background(), func(_ context.Context, in io.Reader, _ io.Writer) error {
			<-accept
			for lines := bufio.NewScanner(in); lines.Scan(); {
				received = append(received, lines.Text())
			}
			return nil
		})
		if err := c.Write(context.Background(), numbered(1)); err != nil { // taken by the sender, which waits
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		returned := make(chan error, 1)
		go func() { returned <- c.Write(ctx, numbered(2)) }()
		synctest.Wait()
		select {
		case err := <-returned:
			t.Fatalf("Write did not block: %v", err)
		default:
		}
		cancel()
		if err := <-returned; !errors.Is(err, context.Canceled) {
			t.Errorf("Write returned %v, want context.Canceled", err)
		}
		close(accept)
		if err := c.Write(context.Background(), numbered(3)); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got, want := fmt.Sprint(received), `[{"jsonrpc":"2.0","method":"notifications/1"} {"jsonrpc":"2.0","method":"notifications/3"}]`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// What the session says at its end is read before its error.
func TestTheLastMessageIsReadBeforeTheError(t *testing.T) {
	reason := errors.New("gone")
	for range 100 {
		c := newConnection(t.Context(), func(_ context.Context, _ io.Reader, out io.Writer) error {
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/1"}`)
			return reason
		})
		<-c.done
		if m, err := c.Read(t.Context()); err != nil {
			t.Fatalf("%v, %v", m, err)
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, reason) {
			t.Fatalf("Read returned %v, want %v", err, reason)
		}
		if err := c.Write(t.Context(), numbered(1)); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("Write returned %v", err)
		}
		if err := c.Close(); !errors.Is(err, reason) {
			t.Fatalf("Close returned %v", err)
		}
	}
}

// A session that reads nothing, because its server reads nothing, is ended by its context.
func TestCloseEndsASessionThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(context.Background(), func(ctx context.Context, _ io.Reader, _ io.Writer) error {
			<-ctx.Done()
			return nil
		})
		if err := c.Write(context.Background(), numbered(1)); err != nil { // taken by the sender, which waits
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
