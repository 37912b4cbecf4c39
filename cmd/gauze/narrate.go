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
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// narrate writes to w what was healed: one line for each thing a person would
// want to know, nothing for what is usual. A consequence is not repeated after
// its cause. finish writes the rest, ends it, and returns the code of the
// trouble that was explained last and lasts.
func narrate(events *event.Stream, w *os.File) (finish func() fault.Code) {
	heard, stop := events.Subscribe(256)
	done := make(chan struct{})
	n := narrator{w: w, color: colourful(w)}
	go func() {
		defer close(done)
		for e := range heard {
			n.tell(e)
		}
	}()
	return func() fault.Code {
		stop()
		if !within(done) {
			return ""
		}
		return n.code
	}
}

// narrator remembers what was said, so that nothing is said twice.
type narrator struct {
	w        io.Writer
	color    bool
	stopping int        // sessions
	lost     string     // the line about a lost server, until it is clear that no better one follows
	code     fault.Code // of the trouble that was explained and lasts
	cause    string     // the code of its cause
}

// worked is how long a server must have run for its end to be a new trouble.
const worked = 10 * time.Second

func (n *narrator) tell(e event.Event) {
	switch e.Kind {
	case event.Stopping:
		n.stopping++
	case event.Stopped:
		n.stopping--
	case event.Restored:
		n.code = ""
	case event.HealthChanged:
		if e.From == health.Degraded.String() && e.To == health.Healthy.String() {
			n.code = "" // it answers again
		}
	case event.GaveUp, event.Refused:
		if n.lost = ""; n.code != e.Code || n.cause != e.Cause.Code {
			n.code, n.cause = e.Code, e.Cause.Code
			f := fault.Fault{Code: e.Code, Server: e.Server, Detail: e.Detail, Cause: e.Cause, Attempts: e.Count, At: e.Time}
			fmt.Fprintln(n.w, f.Terminal(n.color))
		}
		return
	case event.Died:
		if e.Took >= worked {
			n.code = ""
		}
		if n.stopping > 0 {
			return // it was asked to
		}
		if e.PID == 0 {
			n.lost = told(e)
			return
		}
	case event.Failed:
		if e.Code == n.code {
			return
		}
	}
	n.say(n.lost)
	n.lost = ""
	n.say(told(e))
}

func (n *narrator) say(line string) {
	if line != "" {
		fmt.Fprintln(n.w, fault.LogMark+" "+redact.Passage(line))
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
	case event.Hung:
		return "the server hangs and is replaced: " + e.Detail
	case event.Replayed:
		return fmt.Sprintf("sent again: %s (%s)", what, e.Detail)
	case event.Treating:
		return "trying another way: " + e.Detail
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
// people, unless narrate has given it, and an exit status.
func explained(err error, said fault.Code, w *os.File) error {
	var f *fault.Fault
	if err == nil {
		return nil
	}
	if !errors.As(err, &f) {
		fmt.Fprintln(w, fault.LogMark, err)
		return exitStatus(1)
	}
	if f.Code != said {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fmt.Fprintln(w, f.Terminal(colourful(w)))
		}()
		within(done)
	}
	return exitStatus(1)
}

// within waits for the last output, but not for a reader of our stderr that
// does not read.
func within(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(500 * time.Millisecond):
		return false
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
		if _, err := io.WriteString(h.w, plaintext.Clean(string(bytes.TrimRight(line, "\r\n")))+end); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
