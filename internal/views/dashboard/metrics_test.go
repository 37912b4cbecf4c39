package dashboard

import (
	"context"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
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

// Verdicts that were recorded before the first scrape that could read the journal are not counted.
func TestAFailedScrapeIsNotTheFirst(t *testing.T) {
	s := newSite(t)
	events := event.New()
	r := journal.NewRecorder(journalPath(s.d.Dir), events, func(err error) { t.Error(err) })
	events.Emit(event.Event{Kind: event.Judged, Server: "cursor/notes", Client: "gauze task", To: "stop_task"})
	<-r.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.d.records.verdicts(canceled); err == nil {
		t.Fatal("no error")
	}
	if added, err := s.d.records.verdicts(t.Context()); err != nil || len(added) != 0 {
		t.Errorf("%v, %v", added, err)
	}
}
