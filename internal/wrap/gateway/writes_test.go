package gateway

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// Every legacy client has a process of its own, but all of them write to the
// same place: repeating set(x,1) after another client's set(x,2) undoes it.
func TestAnotherClientsWriteIsNotUndone(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	first, second := f.client().initialize("2025-06-18"), f.client().initialize("2025-06-18")
	for _, c := range []*client{first, second} {
		c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).want(200).result()
	}
	endRequest := make(chan *reply, 1)
	go func() {
		a, err := first.try("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"set","arguments":{"key":"x","value":"1","ms":60000}}}`)
		if err == nil {
			endRequest <- a.next()
		}
	}()
	pid := f.untilEffect("1").PID
	second.call("2", "set", `{"key":"x","value":"2"}`).want(200).result().wantText(t, "x is 2")
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := f.awaitAny(event.Unknown, event.Replayed); e.Kind != event.Unknown {
		t.Fatalf("%s was repeated after another client's write", e.Tool)
	}
	if m := <-endRequest; !strings.Contains(m.raw, "outcome-unknown") {
		t.Errorf("told %s", m.raw)
	}
	second.call("3", "get", `{"key":"x"}`).want(200).result().wantText(t, `"2"`)
}

// untilEffect waits until a server has written this value.
func (f *front) untilEffect(value string) faultyserver.Entry {
	f.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience.Limit()); ; {
		entries, _, _ := faultyserver.ReadLedger(f.ledger)
		for _, e := range entries {
			if e.Value == value {
				return e
			}
		}
		select {
		case <-look.C:
		case <-limit:
			f.t.Fatalf("no server wrote %q", value)
		}
	}
}
