package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
)

// narrate says on stderr what was healed: one line for what a person would
// want to know, nothing for what is usual. The returned function says the
// rest and ends it.
func narrate(events *event.Stream, w io.Writer) (finish func()) {
	heard, stop := events.Subscribe(256)
	done := make(chan struct{})
	go func() {
		defer close(done)
		stopping := 0 // sessions
		for e := range heard {
			switch {
			case e.Kind == event.Stopping:
				stopping++
			case e.Kind == event.Stopped:
				stopping--
			case e.Kind == event.Died && stopping > 0:
				continue // it was asked to
			}
			if line := told(e); line != "" {
				fmt.Fprintln(w, fault.LogMark+" "+fault.Passage(line))
			}
		}
	}()
	return func() {
		stop()
		within(done)
	}
}

func told(e event.Event) string {
	took := e.Took.Round(time.Millisecond)
	what := strings.TrimSpace(e.Method + " " + e.Tool)
	switch e.Kind {
	case event.Died:
		if e.PID == 0 { // behind a URL: nothing of ours has stopped
			return "the server is lost: " + e.Detail
		}
		return fmt.Sprintf("the server stopped after %v: %s", took, e.Detail)
	case event.Restored:
		return fmt.Sprintf("the server is back, session restored (generation %d, %v)", e.Generation, took)
	case event.Waiting:
		return fmt.Sprintf("next try in %v", took)
	case event.Opened:
		return fmt.Sprintf("too many restarts (%s); next try in %v", e.Detail, took)
	case event.GaveUp:
		return fmt.Sprintf("giving up (gauze explain %s): %s", e.Code, e.Detail)
	case event.Hung:
		return "the server hangs and is replaced: " + e.Detail
	case event.Replayed:
		return fmt.Sprintf("sent again: %s (%s)", what, e.Detail)
	case event.Treating:
		return "trying another way: " + e.Detail
	case event.Refused:
		return fmt.Sprintf("the server takes no request of ours (gauze explain %s): %s", e.Code, e.Detail)
	case event.Healed:
		return "healed the server: " + e.Detail
	case event.Repaired:
		return fmt.Sprintf("repaired %s: %s", what, e.Detail)
	case event.Explained:
		return fmt.Sprintf("the server rejected %s; added what to change (gauze explain %s)", what, e.Code)
	case event.Unverified:
		return fmt.Sprintf("a call of %s passes unchecked: %s", e.Tool, e.Detail)
	case event.Unknown, event.TimedOut, event.Failed, event.Quarantined:
		return fmt.Sprintf("answered %s with %s (gauze explain %s)", what, e.Code, e.Code)
	}
	return ""
}

// explained turns the reason a server could not be kept into a message for
// people and an exit status.
func explained(err error, w *os.File) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fmt.Fprintln(w, f.Terminal(term.IsTerminal(w.Fd())))
		}()
		within(done)
		return exitStatus(1)
	}
	return err
}

// within waits for last words, but not for a reader of our stderr that does
// not read.
func within(done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(500 * time.Millisecond):
	}
}

// serverLog passes the server's stderr on: as it is to a file or a client, but
// without control characters to a person's terminal.
func serverLog(w *os.File) io.Writer {
	if term.IsTerminal(w.Fd()) {
		return harmless{w}
	}
	return w
}

type harmless struct{ w io.Writer }

func (h harmless) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		end := ""
		if bytes.HasSuffix(line, []byte("\n")) {
			end = "\n"
		}
		if _, err := io.WriteString(h.w, fault.Clean(string(bytes.TrimRight(line, "\r\n")))+end); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
