package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
)

// failures are calls of one tool that failed alike, a second apart. The last one was 3 s before now.
func failures(n int, now time.Time) (records []journal.Record) {
	for i := range n {
		records = append(records, journal.Record{Seq: i + 1, Time: now.Add(time.Duration(i-n-2) * time.Second), Kind: event.Failed, Server: "far", Method: "tools/call",
			Tool: "get", Call: event.CallID(i + 1).String(), Code: fault.ServerUnreachable})
	}
	return records
}

func TestHistoryFoldsWhatRepeatsItself(t *testing.T) {
	now := time.Now()
	f := &historyFlags{}
	lines := f.lines(failures(181, now), now)
	const want = "  far: get: the server cannot be reached; answered with server-unreachable (181 times, last 3 s ago)\n"
	if len(lines) != 1 || !strings.HasSuffix(strings.Join(strings.Fields(string(lines[0])), " ")+"\n", strings.TrimSpace(want)+"\n") {
		t.Errorf("%d lines, want one that ends with %s%s", len(lines), want, lines)
	}
}

// --follow writes each entry when it happens, and those that repeat it as a number before the next.
func TestHistoryThatFollowsFolds(t *testing.T) {
	now := time.Now()
	var out strings.Builder
	w := follower{f: &historyFlags{}, out: &out}
	records := failures(181, now)
	records = append(records, journal.Record{Seq: 200, Time: now, Kind: event.LoginEnded, Server: "far", Detail: "it was revoked"})
	for _, r := range records {
		if err := w.take([]journal.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	if n := strings.Count(text, "cannot be reached"); n != 2 || !strings.Contains(text, "(181 times, last 3 s ago)") || !strings.HasSuffix(text, "the login is no longer valid: it was revoked") {
		t.Errorf("%d lines about it:\n%s", n, out.String())
	}
}
