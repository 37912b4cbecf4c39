package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Progress returns a function that replaces the current line of a terminal, and clears it if the new
// line is empty. It does nothing if w is not a terminal, or quiet is set.
func Progress(w io.Writer, quiet bool) func(line string) {
	if quiet || !Is(w) {
		return func(string) {}
	}
	last := ""
	return func(line string) {
		if line == last {
			return // drawing it again would only flicker
		}
		last = line
		width, _ := Size(w)
		fmt.Fprint(w, progressLine(line, width))
	}
}

// progressLine replaces the current line of a terminal that has this width. It leaves the last
// column free, because some terminals wrap there. What remains of the line before is cleared last:
// clearing it first would flicker.
func progressLine(line string, width int) string {
	return "\r" + plaintext.Cap(redact.Quote(line), max(width-1, 10)) + "\x1b[K"
}

// waitDelay is how long something may take without a line that says what is waited for.
const waitDelay = time.Second

// Wait says after a second what is waited for, and how long it has taken, until done is called. It
// does nothing if w is not a terminal, or quiet is set.
func Wait(w io.Writer, quiet bool, what string) (done func()) {
	if quiet || !Is(w) {
		return func() {}
	}
	return wait(Progress(w, false), what)
}

// wait is Wait with the function that shows a line.
func wait(show func(line string), what string) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(stopped)
		second := time.NewTicker(waitDelay)
		defer second.Stop()
		for {
			select {
			case <-stop:
				show("")
				return
			case <-second.C:
				show(fmt.Sprintf("waiting for %s (%.0f s)", what, time.Since(began).Seconds()))
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}
