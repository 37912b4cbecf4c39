package dashboard

import (
	"html"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// The log has what the server printed and what gauze did, in order, and goes on after the wrap has ended.
func TestTheLogShowsWhatHappenedInOrder(t *testing.T) {
	t.Setenv("GAUZE_JOURNAL", "values") // also the last lines before a failure
	f := serve(t, "")
	at := time.Now().Add(-time.Minute)
	second := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	f.record(
		event.Event{Time: second(1), Kind: event.Started, Server: "notes", Generation: 1, PID: 70},
		event.Event{Time: second(4), Kind: event.Died, Server: "notes", Generation: 1, PID: 70, Detail: "it exited (exit status 1)", Output: []string{"Error: the disk is full"}},
		event.Event{Time: second(4), Kind: event.Died, Server: "other", Generation: 1, PID: 71, Detail: "it exited (exit status 9)"},
	)
	s := live.Server{Name: "notes", PID: os.Getpid(), State: "healthy"}
	lines := []live.Line{{Time: second(0), From: live.Stderr, Text: "hello"}, {Time: second(3), From: live.Stderr, Text: "<b>opening</b> the cache"}, {Time: second(4), From: live.Stderr, Text: "Error: the disk is full"}}
	a, err := live.Announce(f.dir, "notes", live.Source{Server: func() live.Server { return s }, Detail: func() live.Detail { return live.Detail{Server: s} }, Log: func() []live.Line { return lines }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	page := f.page("/log?server=notes")
	after := -1
	for _, text := range []string{"hello", "started the server, pid 70", "&lt;b&gt;opening&lt;/b&gt; the cache", "Error: the disk is full", "the server exited (exit status 1)"} {
		if n := strings.Count(page, text); n != 1 || strings.Index(page, text) < after {
			t.Errorf("%q is there %d times, at %d after %d:\n%s", text, n, strings.Index(page, text), after, page)
		}
		after = strings.Index(page, text)
	}
	wantNone(t, page, "exit status 9")
	wantAll(t, page, `href="/servers/`+a.ID+`"`)
	wantAll(t, f.page("/servers/"+a.ID), `href="/log?server=notes"`)
	a.Close()
	page = f.page("/log?server=notes")
	wantAll(t, page, "This server is not running", "Error: the disk is full", "the server exited (exit status 1)")
	wantNone(t, page, "hello")
}

// A long log is cut, and the page says where the rest is.
func TestALongLogIsCut(t *testing.T) {
	f := serve(t, "")
	var events []event.Event
	for range maxLogLines + 10 {
		events = append(events, event.Event{Time: time.Now(), Kind: event.Started, Server: "my notes", Generation: 1, PID: 70})
	}
	f.record(events...)
	page := f.page("/log?server=my+notes")
	if n := strings.Count(page, "started the server"); n != maxLogLines {
		t.Errorf("%d lines", n)
	}
	wantAll(t, page, html.EscapeString(shell.Here().Line("gauze", "logs", "my notes")))
}
