package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// What a file forbids is forbidden to the clients that are connected as well: a lock holds for their next call, and tools that
// are no longer allowed end a session that would have all of them.
func TestALockThatIsAddedHoldsForSessions(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	entry := fmt.Sprintf("servers:\n  faulty:\n    command: [faultyserver, -era, legacy, -tools-change=describe, -state, %q]\n", filepath.Join(s.dir, "state"))
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(s.file, []byte(entry+more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	w := s.connect(t.TempDir(), "A=1", "faulty").initialize()
	w.request("tools/list", `{}`)
	w.until(`"name":"echo"`)
	echo := func() string {
		t.Helper()
		id := w.call("echo", `{"text":"x"}`)
		return w.until(fmt.Sprintf(`"id":%d,`, id))
	}
	if got := echo(); !strings.Contains(got, `"content"`) {
		t.Fatal(got)
	}
	write("    lock: block\n")
	for began := time.Now(); ; {
		got := echo()
		if strings.Contains(got, "has not accepted it") {
			break
		}
		if !strings.Contains(got, `"text":"x"`) || time.Since(began) > patience.Limit() {
			t.Fatalf("the lock does not hold: %s", got)
		}
	}
	write("    tools: {deny: [echo]}\n")
	rest, err := io.ReadAll(w.out)
	if err != nil {
		t.Fatal(err)
	}
	w.wantEnd(2)
	if said := w.stderr.String(); !strings.Contains(said, `only some tools of the server "faulty" are allowed`) {
		t.Errorf("the session ended with %q and said %q", rest, said)
	}
}
