package gateway

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// A stopped process makes the gateway unready as soon as somebody asks, and its successor makes it ready.
func TestReadinessIsThatOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.IdleProbe, o.Session.Timing.ProbeTimeout, o.Session.Timing.HangGrace = 10*time.Millisecond, time.Second, time.Second
	f := serve(t, o)
	var said struct {
		StructuredContent struct{ PID int }
	}
	if err := json.Unmarshal(f.client().initialize("2025-06-18").call("1", "pid", `{}`).result().Result, &said); err != nil || said.StructuredContent.PID == 0 {
		t.Fatalf("%v: %+v", err, said)
	}
	f.awaitReady(http.StatusOK)
	if err := faultyserver.Suspend(said.StructuredContent.PID); err != nil {
		t.Fatal(err)
	}
	if now := f.awaitReady(http.StatusServiceUnavailable); now.Upstream != "unresponsive" {
		t.Errorf("%+v", now)
	}
	f.awaitReady(http.StatusOK) // it is replaced
}
