package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/journal"
	"github.com/gauze-mcp/gauze/internal/plaintext"
)

const (
	maxHistoryServer = 16 // characters of a server's name in a line
	maxHistoryLine   = 80
)

// historyLine formats a record as one line of at most 80 columns.
func historyLine(r journal.Record, p paint) string {
	at := r.Time.Local().Format("02 Jan 15:04:05")
	server := plaintext.Cap(r.Server, maxHistoryServer)
	text := plaintext.Cap(historyText(r.Event()), maxHistoryLine-len(at)-maxHistoryServer-4)
	return fmt.Sprintf("%s  %s%s  %s", p.in("2", at), server, strings.Repeat(" ", max(0, maxHistoryServer-len([]rune(server)))), text)
}

// historyText says in a few words what happened. The words of gauze run are longer: they have a
// line each, and tell what to do.
func historyText(e event.Event) string {
	took := e.Took.Round(time.Millisecond)
	call := cmp.Or(e.Tool, e.Method, "a call")
	why := cmp.Or(e.Detail, e.Cause.Explanation)
	switch e.Kind {
	case event.Started:
		return fmt.Sprintf("started, pid %d", e.PID)
	case event.Ready:
		return fmt.Sprintf("ready after %v", took)
	case event.Restored:
		return fmt.Sprintf("running again after %v, session restored", took)
	case event.Died:
		if e.PID == 0 {
			return "connection lost" + after(": ", why)
		}
		return fmt.Sprintf("exited after %v%s", took, after(": ", why))
	case event.Waiting:
		return fmt.Sprintf("next attempt in %v", took)
	case event.Opened:
		return fmt.Sprintf("too many restarts; next attempt in %v", took)
	case event.GaveUp:
		return "cannot be started: " + cmp.Or(e.Cause.Code, string(e.Code)) + after(": ", why)
	case event.Refused:
		return "rejects every request" + after(": ", why)
	case event.HealthChanged:
		return e.From + " -> " + e.To
	case event.ProbeMissed:
		return "did not respond to a liveness probe"
	case event.Hung:
		return "hung and replaced" + after(": ", why)
	case event.Treating:
		return "trying a fix" + after(": ", why)
	case event.ListChanged:
		return "its lists changed" + after(": ", why)
	case event.Replayed, event.Repaired:
		return fmt.Sprintf("%s %s%s", e.Kind, call, after(": ", why))
	case event.Unknown, event.TimedOut, event.Failed, event.Quarantined:
		return fmt.Sprintf("answered %s with %s%s", call, e.Code, after(": ", why))
	case event.Corrected:
		return fmt.Sprintf("a model corrected %s%s", call, after(": ", why))
	case event.Proposed:
		return fmt.Sprintf("a model proposed a correction of %s%s", call, after(": ", why))
	case event.Uncorrected:
		return fmt.Sprintf("a model could not correct %s%s", call, after(": ", why))
	case event.Cancelled:
		return "the client cancelled " + call
	case event.Unverified:
		return fmt.Sprintf("did not check the arguments of %s%s", call, after(": ", why))
	case event.Explained:
		return fmt.Sprintf("rejected %s; explained to the model", call)
	case event.Diagnosed:
		return fmt.Sprintf("%s failed: %s%s", call, e.Cause.Code, after(": ", why))
	case event.Stray:
		return "wrote a line that is not a message" + after(": ", why)
	case event.Dropped:
		return "response dropped" + after(": ", why)
	case journal.Unrecorded:
		return plaintext.Count(e.Count, "event") + " could not be recorded"
	}
	return string(e.Kind) + after(": ", why) // healed, stopping, stopped, and kinds of a newer gauze
}

// after returns a text with what separates it from the text before, or nothing.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
