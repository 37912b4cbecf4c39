package dashboard

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// A stream reports each server that is permanently dead once, without secrets, and again only after it ran.
func TestEachDeathIsReportedOnce(t *testing.T) {
	f := serve(t, "")
	gaveUp := func(generation int) event.Event {
		e := event.Event{Time: time.Now(), Kind: event.GaveUp, Server: "search", Generation: generation}
		e.Cause.Code, e.Cause.Explanation = "key-rejected", "The key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD was rejected.\nevent: forged"
		return e
	}
	f.say(live.Server{Name: "search", PID: os.Getpid(), State: "dead"})
	f.say(live.Server{Name: "notes", PID: os.Getpid(), State: "dead"}) // it is being restarted
	f.record(append(crash("notes", time.Now()), gaveUp(1))...)
	told := map[string]bool{}
	said := f.d.deathMessages(t.Context(), told)
	_, data, found := strings.Cut(strings.TrimSuffix(said, "\n\n"), "event: death\ndata: ")
	var one death
	if err := json.Unmarshal([]byte(data), &one); !found || err != nil || one.ID == "" {
		t.Fatalf("%q: %v", said, err)
	}
	if one.Title != "search is not running" || !strings.Contains(one.Text, "was rejected") || strings.Contains(said, "abcdefghijklm") || strings.Contains(said, "\nevent: forged") {
		t.Errorf("%q", said)
	}
	if again := f.d.deathMessages(t.Context(), told); again != "" {
		t.Errorf("reported again: %q", again)
	}
	if other := f.d.deathMessages(t.Context(), map[string]bool{}); other != said {
		t.Errorf("another stream gets %q", other)
	}
	f.record(event.Event{Time: time.Now(), Kind: event.Restored, Server: "search", Generation: 2})
	if alive := f.d.deathMessages(t.Context(), map[string]bool{}); alive != "" {
		t.Errorf("it runs again: %q", alive)
	}
	f.record(gaveUp(2))
	if second := f.d.deathMessages(t.Context(), told); second == "" || second == said {
		t.Errorf("the second death: %q", second)
	}
}
