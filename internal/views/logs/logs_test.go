package logs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/logs"
)

var noon = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

func at(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }

func shown(lines []logs.Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%d %s: %s\n", l.Time.Second(), l.From, l.Text)
	}
	return b.String()
}

func records() []journal.Record {
	return []journal.Record{
		{Time: at(1), Kind: event.Started, Server: "notes", Gauze: 7, PID: 70, Generation: 1},
		{Time: at(2), Kind: event.Stray, Server: "notes", Gauze: 7, Detail: "hello"},
		{Time: at(3), Kind: event.Died, Server: "notes", Gauze: 7, PID: 70, Generation: 1, Detail: "it exited (exit status 1)", Output: []string{"Error: no such file"}},
		{Time: at(4), Kind: event.HealthChanged, Server: "notes", Gauze: 7, From: "healthy", To: "degraded"},
	}
}

// Of a wrap that has ended, the journal has the last lines before a failure.
func TestMergeOfAWrapThatHasEnded(t *testing.T) {
	want := "1 gauze: started the server, pid 70\n2 stdout: hello\n3 stderr: Error: no such file\n3 gauze: the server exited (exit status 1)\n"
	if got := shown(logs.Merge(nil, records())); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// What a running wrap still has is not shown a second time.
func TestMergeShowsEachLineOnce(t *testing.T) {
	wrap := logs.Wrap{Server: live.Server{Name: "notes", PID: 7}, Lines: []live.Line{
		{Time: at(1), From: live.Stderr, Text: "starting"}, {Time: at(2), From: live.Stdout, Text: "hello"},
		{Time: at(3), From: live.Stderr, Text: "Error: no such file"}, {Time: at(5), From: live.Stderr, Text: "Name: ", Open: true}}}
	want := "1 stderr: starting\n1 gauze: started the server, pid 70\n2 stdout: hello\n3 stderr: Error: no such file\n" +
		"3 gauze: the server exited (exit status 1)\n5 stderr: Name: \n"
	if got := shown(logs.Merge([]logs.Wrap{wrap}, records())); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	wrap.Lines = wrap.Lines[3:] // the others were too many
	if got := shown(logs.Merge([]logs.Wrap{wrap}, records())); !strings.Contains(got, "3 stderr: Error: no such file\n") {
		t.Errorf("what the wrap has dropped is missing:\n%s", got)
	}
}
