package gauze

// This file is the only one that knows both the public types and the internal ones.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/verdict"
	"github.com/gauze-mcp/gauze/llm"
	publicrepair "github.com/gauze-mcp/gauze/repair"
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

// session returns the options of a session for valid options. remote may be nil.
func (o Options) session(remote *upstream.Remote) proxy.Options {
	return proxy.Options{
		Spec: o.spec(), Remote: remote,
		Name: o.Name, Tools: o.policies(), Models: o.models(), Repair: string(o.Repair),
		Timeout: o.Timeout, MaxTime: o.MaxTime, Patience: o.Patience, StartTimeout: o.StartTimeout,
		ProbeInterval: o.ProbeInterval, ProbeTimeout: o.ProbeTimeout, IdleProbe: o.IdleProbe, HangGrace: o.HangGrace,
		Window: o.Window, RetryBudget: o.RetryBudget, Quarantine: o.Quarantine,
		Restart: upstream.Restart(o.Restart),
		Doctor:  doctor.Live(doctor.ThisMachine(), !o.NoHeal && remote == nil),
		Calls:   &doctor.CallDoctor{Machine: doctor.ThisMachine()},
		Stderr:  o.Stderr,
		Explain: internalExplain(o.Explain),
	}
}

// internalExplain returns the function for a repair gate; nil: there is none.
func internalExplain(word func(Explanation) string) func(repair.Explanation) string {
	if word == nil {
		return nil
	}
	return func(e repair.Explanation) string { return word(Explanation(e)) }
}

// policies returns the policies of the tools of valid options.
func (o Options) policies() map[string]proxy.Policy {
	policies := make(map[string]proxy.Policy, len(o.Tools)+1)
	all, _ := o.Correct.internal() // checked before
	policies[proxy.AllTools] = proxy.Policy{Correct: all}
	for name, p := range o.Tools {
		policy := proxy.Policy{Replay: string(p.Replay), Timeout: p.Timeout, MaxInFlight: p.MaxInFlight, Repair: string(p.Repair)}
		if p.Correct != nil {
			policy.Correct, _ = p.Correct.internal()
			if p.Correct.Model != nil {
				policy.Correct.Model = name
			}
		}
		if name == proxy.AllTools {
			policy.Correct = policy.Correct.Over(all)
		}
		policies[name] = policy
	}
	return policies
}

// models returns the models by the names that policies uses for them, or nil if there are none. The
// name of a tool's model is that of the tool.
func (o Options) models() func(name string, client proxy.Sampler) llm.Model {
	known := map[string]llm.Model{"": o.Correct.model(o.Model)}
	for name, p := range o.Tools {
		if p.Correct != nil && p.Correct.Model != nil {
			known[name] = p.Correct.Model
		}
	}
	if len(known) == 1 && known[""] == nil {
		return nil
	}
	return func(name string, _ proxy.Sampler) llm.Model {
		if model := known[name]; model != nil {
			return guarded{model}
		}
		return nil
	}
}

// internal returns the policy, or an error that says which field has an unusable value. It does not
// contain the model.
func (p CorrectionPolicy) internal() (policy correct.Policy, err error) {
	set := func(key string, value any) { err = cmp.Or(err, policy.Set(key, fmt.Sprint(value))) }
	if p.Enabled != nil {
		set("enabled", *p.Enabled)
	}
	if p.MaxRetries != nil {
		set("max_retries", *p.MaxRetries)
	}
	if p.UseModel != nil {
		set("use_model", *p.UseModel)
	}
	if p.Timeout != 0 {
		set("timeout", p.Timeout)
	}
	if p.CorrectableErrors != nil {
		var kinds []string
		for _, kind := range p.CorrectableErrors {
			kinds = append(kinds, string(kind))
		}
		set("correctable_errors", strings.Join(kinds, ","))
	}
	if p.Open != nil {
		set("open", *p.Open)
	}
	return policy, err
}

func publicChanges(changes []repair.Change) (public []Change) {
	for _, c := range changes {
		public = append(public, Change{Path: c.Path, Before: c.Before, After: c.After, Rule: c.Rule, Tier: publicrepair.Tier(c.Tier)})
	}
	return public
}

func publicConsultation(c correct.Consultation, reason string) *Consultation {
	return &Consultation{
		Model: c.Model, InputTokens: c.Usage.InputTokens, OutputTokens: c.Usage.OutputTokens, Cost: c.Usage.Cost,
		Reason: reason, Before: c.Before, After: c.After,
	}
}

func publicEvent(e event.Event) Event {
	return Event{
		Seq: e.Seq, Time: e.Time, Kind: EventKind(e.Kind), Server: e.Server, Generation: e.Generation,
		Method: e.Method, Tool: e.Tool, From: State(e.From), To: State(e.To), Code: Code(e.Code),
		Cause: publicCause(e.Cause), Detail: e.Detail, Took: e.Took, Count: e.Count, PID: e.PID, Task: e.Task,
		Model: (*Consultation)(e.Model), Reason: e.Reason, Client: e.Client, Call: uint64(e.Call), Told: e.Told, Without: e.Without,
		Changes: convertAll(e.Changes, func(c event.Change) EventChange { return EventChange(c) }),
	}
}

func convertAll[A, B any](all []A, convert func(A) B) (converted []B) {
	for _, one := range all {
		converted = append(converted, convert(one))
	}
	return converted
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
		Cause: internalCause(e.Cause), Detail: e.Detail, Took: e.Took, Count: e.Count, PID: e.PID, Task: e.Task,
		Model: (*event.Consultation)(e.Model), Reason: e.Reason, Client: e.Client, Call: event.CallID(e.Call), Told: e.Told, Without: e.Without,
		Changes: convertAll(e.Changes, func(c EventChange) event.Change { return event.Change(c) }),
	}
}

func publicHealth(s health.Snapshot) Health {
	return Health{
		State: State(s.State.String()), Since: s.Since, Generation: s.Generation, ConsecutiveFailures: s.ConsecutiveFailures,
		LastSuccess: s.LastSuccess, LastFailure: s.LastFailure, LastCause: s.LastCause, NextTry: s.NextTry, Restarts: s.Restarts, Closures: s.Closures,
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

// knownCause is the confidence of a cause that is given without one.
const knownCause = 0.7

// internalSituation returns a situation as the rules read it at a point in time.
func internalSituation(s Situation, now time.Time) verdict.Situation {
	since := func(at time.Time) time.Duration { return max(0, now.Sub(at)) }
	in := verdict.Situation{
		Server: s.Server, Health: string(s.Health.State), Busy: s.Busy, Reconnecting: s.Reconnecting, Consecutive: s.Health.ConsecutiveFailures,
		Reconnects: s.Reconnects, Automatic: s.Automatic, MaxReconnects: s.MaxReconnects,
		Cause: verdict.Cause{Permanent: s.Permanent, Confidence: s.CauseConfidence},
		Task:  verdict.Task{Goal: s.Task.Goal, Done: s.Task.Done, Total: s.Task.Total, Needs: verdict.Need(s.Task.Needs), OthersHealthy: s.Task.OthersHealthy, Completed: s.Task.Completed},
		Hide:  redact.EnvironSecrets(os.Environ()).Redact,
	}
	if c := s.Cause; c != nil {
		in.Cause.Code, in.Cause.Explanation, in.Cause.Permanent = c.Code, c.Explanation, s.Permanent || doctor.Permanent(c.Code)
		in.Cause.Confidence = cmp.Or(s.CauseConfidence, knownCause)
	} else if s.Permanent {
		in.Cause.Confidence = cmp.Or(s.CauseConfidence, 1)
	}
	if at := s.Health.LastSuccess; !at.IsZero() {
		in.Answered, in.SinceSuccess = true, since(at)
	}
	if at := s.Task.Deadline; !at.IsZero() {
		in.Task.HasDeadline, in.Task.Left = true, at.Sub(now)
	}
	if s.NextTry.After(now) {
		in.RetryIn = s.NextTry.Sub(now)
	}
	for _, f := range s.Failures {
		in.Failures = append(in.Failures, verdict.Failure{Kind: verdict.Kind(f.Kind), Detail: f.Detail, Cause: verdict.Why(f.Cause, f.Output), Ran: f.Ran, Ago: since(f.At)})
	}
	for _, r := range s.Task.Remaining {
		in.Task.Remaining = append(in.Task.Remaining, verdict.Step{Name: r.Name, Needs: r.NeedsServer, Required: r.Required})
	}
	return in
}

func publicVerdict(v verdict.Verdict) Verdict {
	out := Verdict{Action: Action(v.Action), Reason: v.Reason, Confidence: v.Confidence, ByModel: v.By == verdict.ByModel}
	if c := v.Consulted; c != nil {
		out.Asked, out.Model, out.Usage, out.Took, out.Rejected = true, c.Model, c.Usage, c.Took, c.Rejected
	}
	return out
}

func publicFailure(f health.Failure) Failure {
	return Failure{Kind: FailureKind(f.Kind), Detail: f.Detail, At: f.At, Cause: f.Cause, Output: f.Output, Ran: f.Ran}
}

// situationOf returns the situation of a running server. t is nil unless the server is unavailable.
func situationOf(name string, h Health, failures []Failure, t *upstream.Trouble, now time.Time) Situation {
	s := Situation{Server: name, Health: h, Failures: failures}
	if t == nil {
		return s
	}
	s.Reconnects = max(0, t.Attempts-1) // the first attempt was the connection that was lost
	if t.Code == fault.CrashLoop {      // it connected each time, and failed again
		s.Reconnects = max(s.Reconnects, len(failures)-1)
	}
	s.Automatic = s.Reconnects
	s.NextTry, s.Permanent, s.Cause = h.NextTry, t.Permanent, publicCause(t.Cause)
	if s.Cause == nil {
		s.Cause = &Cause{Code: string(t.Code), Explanation: redact.Passage(t.Detail)}
	}
	s.Reconnecting = !t.NextTry.IsZero() && !t.NextTry.After(now)
	if t.Certain() {
		s.CauseConfidence = 1 // gauze does not try again either
	} else if t.Permanent {
		s.CauseConfidence = knownCause
	}
	return s
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
	At         time.Time       `json:"at"`
	Since      time.Time       `json:"since"`
	NextTry    time.Time       `json:"nextTry"`
	State      State           `json:"state"`
	Closures   uint64          `json:"closures"`
	Recoveries uint64          `json:"recoveries"`
	Attempts   int             `json:"attempts"`
	WaitedMS   int64           `json:"waitedMs"`
	LimitMS    int64           `json:"limitMs"`
	Report     json.RawMessage `json:"report"`
	Evidence   *struct {
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
		State: w.State, Closures: w.Closures, Recoveries: w.Recoveries,
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
