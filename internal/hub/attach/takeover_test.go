package attach_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
)

// A gauze up that the user starts takes the place of one that was started on demand, whose clients stay.
func TestTakeOver(t *testing.T) {
	p := place(t)
	old, err := attach.ListenOnDemand(t.Context(), p, "v1", attach.DefaultIdle)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- old.Serve(context.Background(), echo) }()
	client := dial(t, p, attach.Hello{})
	l, err := attach.TakeOver(t.Context(), p, "v2")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Serve(ctx, func(_ context.Context, _ attach.Hello, _ io.Reader, out io.Writer) error {
			_, err := io.WriteString(out, "the new one")
			return err
		})
	}()
	defer func() {
		stop()
		<-done
	}()
	if said, err := io.ReadAll(dial(t, p, attach.Hello{})); string(said) != "the new one" || err != nil {
		t.Errorf("the next client got %q, %v", said, err)
	}
	if _, err := attach.TakeOver(t.Context(), p, "v3"); !errors.Is(err, attach.ErrRunning) {
		t.Errorf("the place of one that the user started: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the old one has left its client: %v", err)
	default:
	}
	io.WriteString(client, "still here")
	client.CloseWrite()
	if said, err := io.ReadAll(client); string(said) != "still here" || err != nil {
		t.Errorf("the client of the old one got %q, %v", said, err)
	}
	<-ended
}

// A service is known to run by its own process: one that a client has started in the meantime does not count.
func TestTheHolderIsNotOneOnDemand(t *testing.T) {
	t.Parallel()
	p := place(t)
	if pid := p.Holder(t.Context()); pid != 0 {
		t.Errorf("the holder of a free place is %d", pid)
	}
	serve := func(l *attach.Listener, err error) (end func()) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- l.Serve(t.Context(), nil) }()
		return func() { l.Close(); <-done }
	}
	end := serve(attach.ListenOnDemand(t.Context(), p, "v1", time.Hour))
	if pid := p.Holder(t.Context()); pid != 0 {
		t.Errorf("the holder is %d, which was started on demand", pid)
	}
	end()
	end = serve(attach.Listen(t.Context(), p, "v1"))
	defer end()
	if pid := p.Holder(t.Context()); pid != os.Getpid() || !p.Changed(t.Context(), 0) {
		t.Errorf("the holder is %d, want %d", pid, os.Getpid())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if p.Changed(ended, os.Getpid()) {
		t.Error("the process before counts as a new one")
	}
}
