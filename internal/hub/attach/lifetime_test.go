package attach_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

func TestALifetimeEndsAfterTheLastClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		begin := time.Now()
		l := attach.NewLifetime(time.Minute, func() { ended = time.Since(begin) })
		time.Sleep(59 * time.Second)
		for range 2 {
			if !l.Enter() {
				t.Fatal("a client in time was refused")
			}
		}
		l.Leave()
		time.Sleep(time.Hour) // one is left
		synctest.Wait()
		if ended != 0 {
			t.Fatalf("it ended after %v, with a client", ended)
		}
		l.Leave()
		time.Sleep(30 * time.Second)
		if !l.Enter() {
			t.Fatal("a client in time was refused")
		}
		l.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := time.Hour + 59*time.Second + 90*time.Second; ended != want {
			t.Errorf("it ended after %v, want %v", ended, want)
		}
		if l.Enter() {
			t.Error("a client entered after the end")
		}
	})
}

func TestALifetimeWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attach.NewLifetime(0, func() { t.Error("it ended") })
		l.Enter()
		l.Leave()
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if !l.Enter() {
			t.Error("a client was refused")
		}
	})
}

// A gauze up that was started on demand ends also after a client that was killed.
func TestIdleAfterAClientThatIsGone(t *testing.T) {
	p := place(t)
	l, err := attach.Listen(t.Context(), p, "v1")
	if err != nil {
		t.Fatal(err)
	}
	l.Idle = time.Second
	served, returned := make(chan struct{}), make(chan error, 1)
	go func() {
		returned <- l.Serve(patience.Context(t), func(ctx context.Context, _ attach.Hello, in io.Reader, _ io.Writer) error {
			close(served)
			io.Copy(io.Discard, in)
			return nil
		})
	}()
	conn := dial(t, p, attach.Hello{})
	<-served
	conn.Close() // as the system does it for a process that was killed
	if err := <-returned; err != nil {
		t.Error(err)
	}
}
