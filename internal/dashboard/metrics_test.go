package dashboard

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/journal"
)

// Tasks end, usually with a verdict, before anyone asks them, so verdicts are counted as they are
// recorded.
func TestVerdictsOfTasksThatEndedAreCounted(t *testing.T) {
	s := newSite(t)
	record := func(verdicts ...string) {
		t.Helper()
		events := event.New()
		r := journal.NewRecorder(journalPath(s.d.Dir), events, func(err error) { t.Error(err) })
		for _, v := range verdicts {
			events.Emit(event.Event{Kind: event.Judged, Server: "cursor/notes", Client: "gauze task", To: v})
		}
		<-r.Close()
	}
	want := func(verdict, n string) {
		t.Helper()
		line := `gauze_verdicts_total{server="cursor/notes",client="gauze task",verdict="` + verdict + `"} ` + n + "\n"
		if text := s.get("/metrics", 200); !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	if text := s.get("/metrics", 200); strings.Contains(text, "gauze_verdicts_total{") {
		t.Errorf("before there is a journal:\n%s", text)
	}
	record("retry_connection", "stop_task")
	want("retry_connection", "1")
	want("stop_task", "1")
	want("continue", "0")
	s.d.records.close() // as when no browser is left
	record("stop_task")
	want("stop_task", "2")
	want("stop_task", "2")
	want("retry_connection", "1")
}
