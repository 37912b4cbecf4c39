package main

import (
	"os"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/logs"
)

// A wrap that does not answer once has its lines the next time. They are not new.
func TestLogsOfAWrapThatDidNotAnswerAreNotRepeated(t *testing.T) {
	dir, err := os.MkdirTemp("", "gauze-logs-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("GAUZE_STATE_DIR", dir)
	polls := make(chan []live.Line, 1)
	printed := []live.Line{{Time: time.Now(), From: live.Stderr, Text: "first"}}
	server := live.Server{Name: "notes", PID: os.Getpid()}
	a, err := live.Announce(dir, "notes", live.Source{
		Server: func() live.Server { return server },
		Detail: func() live.Detail { return live.Detail{Server: server} },
		Log:    func() []live.Line { return <-polls },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	l := &serverLogs{f: &logsFlags{follow: true}, dir: dir, names: []string{"notes"}, known: map[string]logs.Wrap{}}
	defer l.close()
	read := func(want ...string) {
		t.Helper()
		lines, err := l.read(t.Context())
		if err != nil || len(lines) != len(want) {
			t.Fatalf("%v, %v, want %q", lines, err, want)
		}
		for i, line := range lines {
			if line.Text != want[i] {
				t.Errorf("%q, want %q", line.Text, want[i])
			}
		}
	}
	polls <- printed
	read("first")
	read()       // nothing answers
	polls <- nil // ends the question that was not answered
	printed = append(printed, live.Line{Time: time.Now(), From: live.Stderr, Text: "second"})
	polls <- printed
	read("second")
}
