package gauze

// This file is the only one that knows both the public types and the internal ones.

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// spec returns the server that valid options describe.
func (o Options) spec() launch.Spec {
	if o.URL == "" {
		return launch.Spec{Command: o.Command[0], Args: o.Command[1:], Dir: o.Dir, Env: o.Env}
	}
	spec := launch.Spec{URL: o.URL}
	for name, values := range o.Header {
		for _, value := range values {
			spec.Header = append(spec.Header, launch.Header{Name: name, Value: value, Source: "Options.Header"})
		}
	}
	return spec
}

func internalPolicies(tools map[string]Policy) map[string]proxy.Policy {
	policies := make(map[string]proxy.Policy, len(tools))
	for name, p := range tools {
		policies[name] = proxy.Policy{Replay: string(p.Replay), Timeout: p.Timeout, MaxInFlight: p.MaxInFlight, Repair: string(p.Repair)}
	}
	return policies
}

func publicEvent(e event.Event) Event {
	return Event{
		Seq: e.Seq, Time: e.Time, Kind: EventKind(e.Kind), Server: e.Server, Generation: e.Generation,
		Method: e.Method, Tool: e.Tool, From: State(e.From), To: State(e.To), Code: Code(e.Code),
		Cause: publicCause(e.Cause), Detail: e.Detail, Took: e.Took, Count: e.Count, PID: e.PID,
		Model: (*Consultation)(e.Model),
	}
}

func publicCause(c fault.Cause) *Cause {
	if !c.Known() && len(c.Changes) == 0 {
		return nil
	}
	return (*Cause)(&c)
}

func internalCause(c *Cause) fault.Cause {
	if c == nil {
		return fault.Cause{}
	}
	return fault.Cause(*c)
}

func internalEvent(e Event) event.Event {
	return event.Event{
		Seq: e.Seq, Time: e.Time, Kind: event.Kind(e.Kind), Server: e.Server, Generation: e.Generation,
		Method: e.Method, Tool: e.Tool, From: string(e.From), To: string(e.To), Code: fault.Code(e.Code),
		Cause: internalCause(e.Cause), Detail: e.Detail, Took: e.Took, Count: e.Count, PID: e.PID,
		Model: (*event.Consultation)(e.Model),
	}
}

func publicHealth(s health.Snapshot) Health {
	return Health{
		State: State(s.State.String()), Since: s.Since, Generation: s.Generation, ConsecutiveFailures: s.ConsecutiveFailures,
		LastSuccess: s.LastSuccess, LastFailure: s.LastFailure, Restarts: s.Restarts, Closures: s.Closures,
		Recoveries: s.Recoveries, Answered: s.Answered, Missed: s.Missed, Late: s.Late,
	}
}

func publicRecoveries(all []upstream.Recovery) []Recovery {
	recoveries := make([]Recovery, len(all))
	for i, r := range all {
		recoveries[i] = Recovery(r)
	}
	return recoveries
}

// wireFault is a fault as internal/fault encodes it.
type wireFault struct {
	Source   string   `json:"source"`
	Code     Code     `json:"code"`
	Title    string   `json:"title"`
	Delivery Delivery `json:"delivery"`
	Retry    Advice   `json:"retry"`
	Safe     bool     `json:"safe"`
	Server   string   `json:"server"`
	Method   string   `json:"method"`
	Tool     string   `json:"tool"`
	Detail   string   `json:"detail"`
	Cause    *struct {
		Code        string   `json:"code"`
		Explanation string   `json:"explanation"`
		Remedy      string   `json:"remedy"`
		Changes     []string `json:"changes"`
	} `json:"cause"`
	At       time.Time       `json:"at"`
	Since    time.Time       `json:"since"`
	NextTry  time.Time       `json:"nextTry"`
	Attempts int             `json:"attempts"`
	WaitedMS int64           `json:"waitedMs"`
	LimitMS  int64           `json:"limitMs"`
	Report   json.RawMessage `json:"report"`
	Evidence *struct {
		Exit   string   `json:"exit"`
		RanMS  int64    `json:"ranMs"`
		Stderr []string `json:"stderr"`
		Stdout []string `json:"stdout"`
	} `json:"evidence"`
}

// decodeFault returns the fault in the data of a JSON-RPC error, or nil if there is none.
func decodeFault(data []byte) *Fault {
	var w wireFault
	if json.Unmarshal(data, &w) != nil || w.Source != fault.Source || w.Code == "" {
		return nil
	}
	f := &Fault{
		Code: w.Code, Title: w.Title, Delivery: w.Delivery, Retry: w.Retry, Safe: w.Safe,
		Server: w.Server, Method: w.Method, Tool: w.Tool, Detail: w.Detail,
		At: w.At, Since: w.Since, NextTry: w.NextTry, Attempts: w.Attempts,
		Waited: time.Duration(w.WaitedMS) * time.Millisecond, Limit: time.Duration(w.LimitMS) * time.Millisecond,
		Report: w.Report,
	}
	if w.Cause != nil {
		f.Cause = (*Cause)(w.Cause)
	}
	if e := w.Evidence; e != nil {
		f.Evidence = &Evidence{Exit: e.Exit, Ran: time.Duration(e.RanMS) * time.Millisecond, Stderr: e.Stderr, Stdout: e.Stdout}
	}
	return f
}

// faultInMeta returns the fault in the _meta of a result, or nil if there is none.
func faultInMeta(meta map[string]any) *Fault {
	f := decodeFault(encoded(meta[fault.MetaKey]))
	if report, ok := meta[fault.ReportKey]; ok && f != nil {
		f.Report = encoded(report)
	}
	return f
}

// encoded returns a value of a _meta as JSON again.
func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}

// faultError is an error together with the fault it reports. Both are found by errors.As.
type faultError struct {
	error
	fault *Fault
}

func (e *faultError) Unwrap() []error { return []error{e.error, e.fault} }

// withFault makes the fault that an error reports available to errors.As.
func withFault(err error) error {
	var internal *fault.Fault
	f := FaultOf(err)
	if f == nil && errors.As(err, &internal) {
		f = decodeFault(internal.JSON())
	}
	if f == nil {
		return err
	}
	return &faultError{err, f}
}
