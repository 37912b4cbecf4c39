package proxy

import (
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/correction"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/diagnosis"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/gate"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/login"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/observation"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/repetition"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/trace"
)

// stages are the parts of a session besides its kernel.
type stages struct {
	observation *observation.Stage
	trace       *trace.Stage // nil: calls are not followed
	login       *login.Stage
	repetition  *repetition.Stage
	correction  *correction.Stage // nil without a model
	diagnosis   *diagnosis.Stage  // nil without a doctor for calls
	gate        *gate.Stage
	lock        *lock // nil: all tools may be called
}

// newStages returns the stages of a session, except for their kernel.
func newStages(o *Options, label string, words *words) *stages {
	mode := func(tool string) repair.Mode { return repair.Mode(o.Tools[tool].repairMode(o.Repair)) }
	policy := func(tool string) correct.Policy { return o.Tools[tool].Correct.Over(o.Tools[AllTools].Correct) }
	s := &stages{
		login:      &login.Stage{Label: label, OpenBrowser: o.OpenBrowser, Mode: mode, Redact: words.Redact},
		repetition: &repetition.Stage{Mode: mode, Policy: policy, Redact: words.Redact, Pause: o.Waits.Pause},
		gate:       gate.New(o.Explain),
	}
	s.gate.Mode, s.gate.Redact = mode, words.Redact
	s.observation = &observation.Stage{Redact: words.Redact, RedactPart: words.RedactPart, NeedsLogin: s.login.Needed,
		Policy: func(tool string, hinted kernel.Class) (kernel.Class, string) {
			p := o.Tools[tool]
			return p.kernel(o.Repair).Class(hinted), p.shown()
		}}
	if o.Known.locks() {
		s.lock = newLock(o, label)
	}
	if o.Tracer != nil {
		s.trace = &trace.Stage{Tracer: o.Tracer, Server: o.Name, Session: o.SessionID}
	}
	if o.Calls != nil {
		s.diagnosis = &diagnosis.Stage{Doctor: o.Calls, Spec: words.given, Mode: mode, Redact: words.Redact, Timeout: o.Waits.Examine}
		s.diagnosis.Remember()
	}
	if o.Models != nil {
		s.correction = &correction.Stage{Gate: s.gate, Diagnosis: s.diagnosis, Policy: policy, Redact: words.Redact, Models: o.Models, Timeout: o.Waits.Model}
	}
	return s
}

// inOrder is the order in which the stages are asked about a call that arrives, fails or is answered. Those that
// count and follow calls see them as the client sent them; a login comes before what the server says of the
// arguments; a pause before a model; a model before the doctor, which it asks itself. What is added to a response,
// and the end of a call, come in the reverse order: the gate explains first, and those that count
// see what the others did.
func (s *stages) inOrder() []kernel.Stage {
	all := []kernel.Stage{s.observation}
	if s.trace != nil {
		all = append(all, s.trace)
	}
	all = append(all, s.login, s.repetition)
	if s.correction != nil {
		all = append(all, s.correction)
	}
	if s.diagnosis != nil {
		all = append(all, s.diagnosis)
	}
	all = append(all, s.gate)
	if s.lock != nil { // after the gate, which may correct the name of a tool
		all = append(all, s.lock)
	}
	return all
}

// join tells the stages which kernel asks them.
func (s *stages) join(k *kernel.Session) {
	s.observation.Kernel, s.login.Kernel, s.repetition.Kernel, s.gate.Kernel = k, k, k, k
	if s.lock != nil {
		s.lock.kernel = k
	}
	if s.correction != nil {
		s.correction.Kernel = k
	}
	if s.diagnosis != nil {
		s.diagnosis.Kernel = k
	}
}
