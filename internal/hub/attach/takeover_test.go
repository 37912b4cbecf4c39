package attach_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
)

// A gauze up that the user starts takes the place of one that was started on demand, whose clients stay.
func TestTakeOver(t *testing.T) {
	p := place(t)
	old, err := attach.Listen(t.Context(), p, "v1")
	if err != nil {
		t.Fatal(err)
	}
	old.Idle = attach.DefaultIdle
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
