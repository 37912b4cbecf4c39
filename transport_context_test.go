package gauze_test

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/gauze-mcp/gauze"
)

func TestWriteReturnsWhenItsContextIsDone(t *testing.T) {
	conn, err := faulty(t.TempDir(), "both").Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Write returned %v, want context.Canceled", err)
	}
}

func TestCloseReturnsWhyTheServerCouldNotBeKeptRunning(t *testing.T) {
	gaveUp := make(chan struct{}, 100)
	transport := &gauze.Transport{Command: []string{"no-such-bin-xyz"}, OnEvent: func(e gauze.Event) {
		if e.Kind == "gave-up" {
			gaveUp <- struct{}{}
		}
	}}
	conn, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-gaveUp
	if err := conn.Close(); err == nil {
		t.Error("Close returned nil")
	}
}
