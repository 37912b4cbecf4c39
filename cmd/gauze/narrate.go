package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// narrate writes to w what gauze did: one line per event that a person should know about, and none
// for a consequence of a failure that was already explained. finish writes the rest and returns the
// code of the last failure that was explained and still lasts.
func narrate(events *event.Stream, w *os.File) (finish func() fault.Code) {
	received, stop := events.Subscribe(256)
	done := make(chan struct{})
	n := newNarrator(w, bool(terminal.PaintFor(w)))
	go func() {
		defer close(done)
		for e := range received {
			n.tell(e)
		}
		n.finish(time.Now())
	}()
	return func() fault.Code {
		stop()
		if !within(done) {
			return ""
		}
		return n.code
	}
}

// narrator remembers what it wrote, so that it does not repeat itself.
type narrator struct {
	w        io.Writer
	color    bool
	lines    folded
	stopping int         // number of sessions that are stopping
	away     bool        // a server is waited for
	lost     event.Event // about a lost server, held back in case a better one follows
	code     fault.Code  // of the failure that was explained and still lasts
	cause    string      // the code of its cause
}

func newNarrator(w io.Writer, color bool) *narrator {
	n := &narrator{w: w, color: color}
	n.lines.write = func(line string) { fmt.Fprintln(w, fault.LogMark+" "+redact.Passage(line)) }
	return n
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
		n.code, n.away = "", false
		n.lines.forget(e.Time)
	case event.Waiting:
		n.away = true
	case event.Ready:
		if !n.away || e.PID != 0 { // a process that is ready may still not work
			return
		}
		n.code, n.away = "", false
		n.lines.forget(e.Time)
	case event.HealthChanged:
		if e.From == health.Degraded.String() && e.To == health.Healthy.String() {
			n.code = "" // it answers again
		}
	case event.LoginRenewed:
		if n.code == fault.AuthRequired {
			n.code = ""
		}
	case event.LoginNeeded:
		n.code = "" // it is reported once each time
		fallthrough
	case event.GaveUp, event.Refused:
		if n.lost = (event.Event{}); n.code != e.Code || n.cause != e.Cause.Code {
			n.code, n.cause = e.Code, e.Cause.Code
			n.lines.release(e.Time)
			f := fault.Fault{Code: e.Code, Server: e.Server, Detail: e.Detail, Cause: e.Cause, Attempts: e.Count, At: e.Time}
			fmt.Fprintln(n.w, f.Terminal(n.color))
		}
		return
	case event.Died:
		if e.Took >= worked {
			n.code = ""
		}
		if n.stopping > 0 || e.Reason == upstream.ReasonIdle {
			return // expected
		}
		if e.PID == 0 {
			n.lost = e
			return
		}
	case event.Failed:
		if e.Code == n.code {
			return
		}
	}
	n.say(n.lost)
	n.lost = event.Event{}
	n.say(e)
}

// finish writes what was held back.
func (n *narrator) finish(now time.Time) { n.lines.release(now) }

// say writes the line about an event, if there is one. Events whose lines differ in numbers only
// repeat each other.
func (n *narrator) say(e event.Event) {
	line := lineFor(e)
	if line == "" {
		return
	}
	alike := e
	alike.Took, alike.Generation, alike.Count = 0, 0, 0
	n.lines.say(e.Server+"\n"+e.Client+"\n"+lineFor(alike), e.Time, func(often string) string {
		switch {
		case often == "":
			return line
		case e.Kind == event.Waiting:
			return timeline.StillAway(e) + " (" + often + ")"
		}
		return line + " (" + often + ")"
	})
}

// lineFor returns the line about an event, or "".
func lineFor(e event.Event) string {
	switch e.Kind {
	case event.Died, event.Ready, event.Restored, event.Waiting, event.Opened, event.Hung, event.Treating, event.Healed, event.LoginRenewed, event.LoginEnded, event.LoginUnsaved,
		event.Replayed, event.Repaired, event.Explained, event.Diagnosed, event.Corrected, event.Proposed, event.Uncorrected, event.Unverified,
		event.Unknown, event.TimedOut, event.Failed, event.Quarantined:
		return timeline.Sentence(e)
	}
	return ""
}

// explained writes why the server could not be kept running, unless narrate already did, and returns
// an exit status. told is the code that narrate explained.
func explained(err error, told fault.Code, w *os.File) error {
	var f *fault.Fault
	if err == nil {
		return nil
	}
	if !errors.As(err, &f) {
		fmt.Fprintln(w, fault.LogMark, err)
		return exitStatus(1)
	}
	if f.Code != told {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fmt.Fprintln(w, f.Terminal(bool(terminal.PaintFor(w))))
		}()
		within(done)
	}
	return exitStatus(1)
}

// lastOutputTimeout is how long the end of gauze waits for output: the reader of our stderr may be
// stuck, or a disk. The tests set it.
var lastOutputTimeout = 500 * time.Millisecond

// within waits for the last output.
func within(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(lastOutputTimeout):
		return false
	}
}

// serverLog returns a writer for the server's stderr. On a terminal it removes control characters.
func serverLog(w *os.File) io.Writer {
	if terminal.Is(w) {
		return cleaner{w}
	}
	return w
}

type cleaner struct{ w io.Writer }

func (c cleaner) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		end := ""
		if bytes.HasSuffix(line, []byte("\n")) {
			end = "\n"
		}
		if _, err := io.WriteString(c.w, plaintext.Clean(string(bytes.TrimRight(line, "\r\n")))+end); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
