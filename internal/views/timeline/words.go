package timeline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Sentence says in one line what happened, in lower case and without a full stop. It may quote the
// server, and is not cleaned.
func Sentence(e event.Event) string {
	took := e.Took.Round(time.Millisecond)
	what := cmp.Or(strings.TrimSpace(e.Method+" "+e.Tool), "a request")
	switch e.Kind {
	case event.Started:
		if e.PID == 0 {
			return "connecting to the server"
		}
		return fmt.Sprintf("started the server, pid %d", e.PID)
	case event.Ready:
		return fmt.Sprintf("the server is ready after %v", took)
	case event.Died:
		return Ended(e)
	case event.Restored:
		return fmt.Sprintf("the server is running again, session restored (generation %d, %v)", e.Generation, took)
	case event.Waiting:
		return fmt.Sprintf("next attempt in %v", took)
	case event.Opened:
		return fmt.Sprintf("too many restarts (%s); next attempt in %v", e.Detail, took)
	case event.GaveUp:
		return "the server cannot be started: " + cmp.Or(e.Cause.Code, string(e.Code)) + after(": ", cmp.Or(e.Detail, e.Cause.Explanation))
	case event.Refused:
		return "the server rejects every request" + after(": ", cmp.Or(e.Detail, e.Cause.Explanation))
	case event.HealthChanged:
		return "the state changed from " + e.From + " to " + e.To
	case event.ProbeMissed:
		return "the server did not respond to a liveness probe"
	case event.Hung:
		return "replacing the hung server: " + e.Detail
	case event.Treating:
		return "trying a fix: " + e.Detail
	case event.Healed:
		return "healed the server: " + e.Detail
	case event.LoginRenewed:
		return "renewed the login"
	case event.LoginEnded:
		return "the login is no longer valid" + after(": ", e.Detail)
	case event.LoginUnsaved:
		return "the renewed login could not be stored" + after(": ", e.Detail)
	case event.LoginNeeded:
		return cmp.Or(clause(e.Cause.Explanation), "the server requires a login")
	case event.Judged:
		return "the task decided to " + decided(e.To) + after(": ", e.Detail)
	case event.ListChanged:
		return strings.TrimSuffix(e.Method, "/list") + " changed when the server restarted"
	case event.Stopping:
		return "stopping the server"
	case event.Stopped:
		return "the server was stopped"
	case event.Stray:
		return "the server wrote a line that is not a message" + after(": ", e.Detail)
	case event.Dropped:
		return "dropped a message" + after(": ", e.Detail)
	case journal.Unrecorded:
		return plaintext.Count(e.Count, "event") + " could not be recorded"
	}
	return ofOneCall(e, what)
}

// Ended says how a server, or the connection to one at a URL, ended.
func Ended(e event.Event) string {
	ran := ""
	if e.Took > 0 && e.PID != 0 {
		ran = fmt.Sprintf(" after %v", e.Took.Round(time.Millisecond))
	}
	if why, byGauze := strings.CutPrefix(e.Detail, stoppedByGauze); byGauze {
		if e.PID == 0 {
			return "gauze closed the connection: " + why
		}
		return "gauze stopped the server" + ran + ": " + why
	}
	if what, found := strings.CutPrefix(e.Detail, "it "); found { // exited (exit status 1)
		return "the server " + what + ran
	}
	if e.PID == 0 {
		return "the connection to the server failed" + after(": ", strings.TrimPrefix(e.Detail, connectionFailed))
	}
	return "the server exited" + ran + after(": ", e.Detail)
}

// StillAway says that one of several attempts to start or reach a server failed.
func StillAway(e event.Event) string {
	return "another attempt failed" + after(": ", strings.TrimPrefix(e.Detail, connectionFailed))
}

// ofOneCall is Sentence for the events of a call.
func ofOneCall(e event.Event, what string) string {
	switch e.Kind {
	case event.Replayed:
		return fmt.Sprintf("replayed %s (%s)", what, e.Detail)
	case event.Repaired:
		return fmt.Sprintf("repaired %s: %s", what, e.Detail)
	case event.Saved:
		return fmt.Sprintf("saved %s: %s", what, e.Detail)
	case event.Explained:
		return fmt.Sprintf("the server rejected %s; told the model what to change (gauze explain %s)", what, e.Code)
	case event.Diagnosed:
		return fmt.Sprintf("%s failed: %s %s (gauze explain %s)", what, e.Cause.Explanation, e.Cause.Remedy, e.Cause.Code)
	case event.Corrected:
		return fmt.Sprintf("%s corrected %s: %s%s", asked(e), what, e.Detail, spent(e))
	case event.Proposed:
		return fmt.Sprintf("%s suggested a correction for %s, which was shown to the caller but not sent: %s%s", asked(e), what, e.Detail, spent(e))
	case event.Uncorrected:
		return fmt.Sprintf("%s was not corrected: %s%s", what, e.Detail, spent(e))
	case event.Unverified:
		return fmt.Sprintf("sent a call to %s unchanged: %s", e.Tool, e.Detail)
	case event.Cancelled:
		return "the client cancelled " + what
	case event.Unknown, event.TimedOut, event.Failed, event.Quarantined:
		return fmt.Sprintf("answered %s with %s (gauze explain %s)", what, e.Code, e.Code)
	}
	return string(e.Kind) + after(": ", cmp.Or(e.Detail, e.Cause.Explanation)) // a kind of a newer gauze
}

// decided returns a verdict in words.
func decided(action string) string {
	switch action {
	case "continue":
		return "continue"
	case "retry_connection":
		return "reconnect"
	case "stop_task":
		return "stop"
	}
	return action
}

// asked returns the name of the model that was asked.
func asked(e event.Event) string {
	if e.Model == nil {
		return "a model"
	}
	return cmp.Or(e.Model.Model, "a model")
}

// spent returns the time, the tokens and the money that a question to a model took.
func spent(e event.Event) string {
	took := e.Took.Round(time.Millisecond).String()
	if e.Model == nil {
		return " (" + took + ")"
	}
	return " (" + took + after(", ", e.Model.Spent()) + ")"
}

// Duration returns a duration with the precision that a person needs, such as 350 ms, 1.2 s, 45 s,
// 12 min, 5 h or 3 d.
func Duration(d time.Duration) string {
	switch {
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f d", d.Hours()/24)
}

// after returns a text with what separates it from the text before, or nothing.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// clause returns a sentence without its full stop, to be continued.
func clause(sentence string) string {
	if rest, found := strings.CutPrefix(sentence, "The "); found {
		sentence = "the " + rest
	}
	return strings.TrimSuffix(sentence, ".")
}
