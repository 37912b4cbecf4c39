package gauze

import (
	"encoding/json"
	"log/slog"
	"time"
)

// EventKind is what happened. The values are stable.
type EventKind string

// Events of the server.
const (
	EventStarted       EventKind = "started"        // a server process was started
	EventReady         EventKind = "ready"          // the first handshake succeeded
	EventRestored      EventKind = "restored"       // the session was restored on a new server process or connection
	EventDied          EventKind = "died"           // the process exited or the connection was lost
	EventWaiting       EventKind = "waiting"        // gauze waits before the next start
	EventOpened        EventKind = "opened"         // crash loop: restarts are paused
	EventGaveUp        EventKind = "gave-up"        // the failure is permanent, and the server is not started again
	EventHealthChanged EventKind = "health-changed" // the state changed from From to To
	EventProbeMissed   EventKind = "probe-missed"   // a liveness probe timed out
	EventHung          EventKind = "hung"           // the server is unresponsive and idle, and is being replaced
	EventHealed        EventKind = "healed"         // a fix works; Detail describes it
	EventTreating      EventKind = "treating"       // a fix is being tried; Detail describes it
	EventRefused       EventKind = "refused"        // the server is reachable but rejects every request; Detail says why
	EventListChanged   EventKind = "list-changed"   // the server's tools, resources or prompts changed with a restart
	EventLoginRenewed  EventKind = "login-renewed"  // the login to the server was renewed
	EventLoginEnded    EventKind = "login-ended"    // the login to the server can no longer be used; Detail says why
	EventLoginUnsaved  EventKind = "login-unsaved"  // the renewed login could not be stored, and is only in memory; Detail says why
	EventLoginNeeded   EventKind = "login-needed"   // a person has to log in to the server; Cause says why, and how
	EventJudged        EventKind = "judged"         // a task decided about a server that fails; Detail says what and why
	EventStopping      EventKind = "stopping"       // the server is being stopped
	EventStopped       EventKind = "stopped"        // the server was stopped
)

// Events of a call.
const (
	EventReplayed    EventKind = "replayed"    // the call was sent again
	EventUnknown     EventKind = "unknown"     // the call was answered with CodeOutcomeUnknown
	EventFailed      EventKind = "failed"      // the call was answered with another Fault
	EventTimedOut    EventKind = "timed-out"   // the call exceeded its timeout
	EventCancelled   EventKind = "cancelled"   // the client cancelled the call
	EventQuarantined EventKind = "quarantined" // the call was in flight at two consecutive crashes and is rejected for a while
	EventRepaired    EventKind = "repaired"    // the arguments or the tool's name were repaired
	EventSaved       EventKind = "saved"       // the call would have failed without gauze, and succeeded; Detail says how: replayed, waited, repaired or corrected
	EventUnverified  EventKind = "unverified"  // calls of this tool cannot be validated; reported once for each tool
	EventExplained   EventKind = "explained"   // the server rejected the arguments, and gauze added what to change
	EventDiagnosed   EventKind = "diagnosed"   // the call failed because of the server's setup, such as a database that is down; Cause says why
	EventCorrected   EventKind = "corrected"   // a model corrected a rejected call, and the corrected call was sent; Model says how
	EventProposed    EventKind = "proposed"    // a model corrected a rejected call, and the caller was shown the correction; it was not sent
	EventUncorrected EventKind = "uncorrected" // a model was asked to correct a rejected call, without success; Detail says why
)

// Events of messages that the client does not receive.
const (
	EventStray   EventKind = "stray"   // the server wrote a line to stdout that is not a message
	EventDropped EventKind = "dropped" // the server sent a late, duplicate or unrequested response
)

// Event is something that happened to the server or to a call. Fields that do not apply are zero.
type Event struct {
	Seq        uint64        // Seq counts from 1. A gap means that OnEvent was too slow and missed events.
	Time       time.Time     // Time is when it happened.
	Kind       EventKind     // Kind is what happened.
	Server     string        // Server is the server's name.
	Generation int           // Generation counts the server's processes or connections, from 1.
	Method     string        // Method is the MCP method of the call.
	Tool       string        // Tool is the name of the tool that was called.
	From, To   State         // From and To are the states of an EventHealthChanged.
	Code       Code          // Code is the fault that the call was answered with.
	Cause      *Cause        // Cause is why the server failed, or nil.
	Detail     string        // Detail is free text, and may quote the server.
	Took       time.Duration // Took is how long it took.
	Count      int           // Count is the number of attempts, restarts or messages, depending on Kind.
	PID        int           // PID is the server's process ID.
	Model      *Consultation // Model is the question to a model, or nil. Took is how long its answer took.
	Task       string        // Task is the id of the task that uses the server, if one does.
	Reason     string        // Reason is why the server ended in an EventDied: one word, such as exit, signal or hung.
	Client     string        // Client is the name with which the client introduced itself.
	Call       uint64        // Call identifies the call among all events; 0 if there is none.
	Changes    []EventChange // Changes are what gauze changed in the arguments.
	Told       string        // Told is what gauze added to the response for the caller's model.
	Without    time.Duration // Without is when the call of an EventSaved would have failed without gauze, 0 if that is not known.
}

// EventChange is one change of a call's arguments.
type EventChange struct {
	Path   string `json:"path"`             // Path is the place in the arguments, such as filter.limit.
	Rule   string `json:"rule"`             // Rule is the name of the rule.
	Reason string `json:"reason,omitempty"` // Reason is why the rule applies.
	Before string `json:"before,omitempty"` // Before is the value that was sent, as JSON, secrets masked.
	After  string `json:"after,omitempty"`  // After is the value that the server received.
}

// Consultation is one question to a model and what came of it.
type Consultation struct {
	Model        string          // Model is the name of the model.
	InputTokens  int             // InputTokens is the length of the question.
	OutputTokens int             // OutputTokens is the length of the answer.
	Cost         float64         // Cost is in US dollars, 0 if prices are not configured.
	Reason       string          // Reason is the model's, and untrusted text.
	Before       json.RawMessage // Before is the arguments as the model saw them, with placeholders for secrets.
	After        json.RawMessage // After is the model's arguments, with placeholders for secrets; nil if it sent none.
}

// String formats e as one line without control characters or secrets, such as
//
//	12:00:01.250 died filesystem g2 pid 4131: signal: killed (3.2s)
func (e Event) String() string { return internalEvent(e).String() }

// LogValue implements [slog.LogValuer].
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(append([]slog.Attr{slog.String("kind", string(e.Kind))}, e.attrs()...)...)
}

// attrs returns the fields that are set, except Kind, without secrets.
func (e Event) attrs() (attrs []slog.Attr) {
	clean := internalEvent(e).Quoted()
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	number := func(key string, value int) {
		if value != 0 {
			attrs = append(attrs, slog.Int(key, value))
		}
	}
	text("server", clean.Server)
	number("generation", clean.Generation)
	number("pid", clean.PID)
	text("method", clean.Method)
	text("tool", clean.Tool)
	text("task", clean.Task)
	text("client", clean.Client)
	text("ended", clean.Reason)
	text("from", clean.From)
	text("to", clean.To)
	number("count", clean.Count)
	text("code", string(clean.Code))
	text("detail", clean.Detail)
	text("cause", clean.Cause.Code)
	text("explanation", clean.Cause.Explanation)
	text("remedy", clean.Cause.Remedy)
	if m := clean.Model; m != nil {
		text("model", m.Model)
		text("reason", m.Reason)
		text("before", string(m.Before))
		text("after", string(m.After))
		number("input_tokens", m.InputTokens)
		number("output_tokens", m.OutputTokens)
		if m.Cost > 0 {
			attrs = append(attrs, slog.Float64("cost", m.Cost))
		}
	}
	if clean.Took > 0 {
		attrs = append(attrs, slog.Duration("took", clean.Took))
	}
	return attrs
}

// level returns the level at which an event is logged. stopping is whether the server is being
// stopped, so that its exit is expected.
func (k EventKind) level(stopping bool) slog.Level {
	switch k {
	case EventDied:
		if !stopping {
			return slog.LevelWarn
		}
	case EventGaveUp:
		return slog.LevelError
	case EventOpened, EventHung, EventRefused, EventLoginEnded, EventLoginUnsaved, EventLoginNeeded, EventUnknown, EventFailed, EventTimedOut, EventQuarantined:
		return slog.LevelWarn
	case EventProbeMissed, EventStray, EventDropped:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
