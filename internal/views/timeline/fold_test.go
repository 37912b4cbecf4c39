package timeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// What repeats itself is one item, whatever other servers do meanwhile.
func TestFold(t *testing.T) {
	var records []journal.Record
	failed := func(server, tool string) {
		records = append(records, journal.Record{Kind: event.Failed, Server: server, Method: "tools/call", Tool: tool, Call: fmt.Sprint(len(records)), Code: fault.ServerUnreachable})
	}
	crashed := func(server string, generation int) {
		records = append(records,
			journal.Record{Kind: event.Died, Server: server, Generation: generation, PID: 1, Reason: "exit", Detail: "it exited (exit status 1)"},
			journal.Record{Kind: event.Started, Server: server, Generation: generation + 1, PID: 2},
			journal.Record{Kind: event.Restored, Server: server, Generation: generation + 1, PID: 2},
			journal.Record{Kind: event.Ready, Server: server, Generation: generation + 1, PID: 2})
	}
	failed("far", "get")
	failed("far", "put")
	for n := range 181 {
		if n%60 == 0 {
			crashed("near", n+1)
		}
		failed("far", "get")
	}
	failed("near", "get")
	items := timeline.Items(sequence(records...))
	now := items[len(items)-1].Time.Add(2 * time.Second)
	var got []string
	for _, it := range timeline.Fold(items) {
		got = append(got, strings.TrimSpace(it.Server+" "+it.Sentence()+" "+it.Repeated(now)))
	}
	const unreachable = ": the server cannot be reached; answered with server-unreachable"
	want := []string{
		"far get" + unreachable,
		"far put" + unreachable,
		"near the server exited (exit status 1); restarted in 2.0 s, session restored 4 times, last 4 s ago",
		"far get" + unreachable + " 181 times, last 3 s ago",
		"near get" + unreachable,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
