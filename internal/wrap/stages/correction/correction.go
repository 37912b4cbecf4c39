// Package correction is the stage in which a model may correct a call that the server rejected, or that the gate
// refuses. Until the model has answered, the call is held; it then gets the answer that it would have had, or is
// sent once more with the corrected arguments.
//
// A model is asked at most once about a call, never about one that succeeded, was lost before, or belongs to a
// task or a dialogue, never if the doctor knows a cause in the setup, and about at most maxConsultations calls at
// a time. A call whose correction failed is not asked about again for a while. Package correct decides whether the
// corrected call may be sent at all: to a tool that writes, only if the rejection proves that the tool did not run.
// It then passes the gate again, and the kernel refuses it (Held.SendRewritten) if the call was cancelled, the
// server restarted, the tool changed, or a later write was sent. A question to the client's own model (sampling.go)
// is sent only if the client offered sampling.
package correction

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/diagnosis"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/gate"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"github.com/gauze-mcp/gauze/llm"
)

const (
	maxConsultations = 4         // models that are asked at the same time, for one session
	maxModelTimeout  = time.Hour // limits a question to a model that sets no limit itself
	maxFailureLen    = 16 << 10  // bytes of the longest rejection that a model is asked about

	// askAgainAfter is how long no model is asked about a call whose correction was not sent or
	// failed.
	askAgainAfter = time.Minute
	// maxUncorrected limits the calls that are remembered for askAgainAfter.
	maxUncorrected = 1000
)

// Stage corrects the calls of one session.
type Stage struct {
	kernel.Bystander
	Kernel    *kernel.Session
	Gate      *gate.Stage
	Diagnosis *diagnosis.Stage // nil: there is none
	Policy    func(tool string) correct.Policy
	Redact    func(string) string // masks secrets
	// Models returns the model with the name that a policy specifies, or the configured one if name is empty;
	// nil: there is none. client asks the model of the client, and is nil if the client does not offer one.
	Models func(name string, client Sampler) llm.Model
	// Timeout is how long the response to a rejected call waits for a model, unless a policy says otherwise.
	Timeout time.Duration

	mu          sync.Mutex
	consulting  int                  // models that are being asked
	models      map[string]llm.Model // by the name in a policy
	uncorrected map[uint64]time.Time // until when no model is asked about a call, by its sign
}

// correction is a call's question to a model and what came of it.
type correction struct {
	number  event.CallID
	client  string
	sign    uint64 // of the rejected call
	model   llm.Model
	call    correct.Call
	policy  correct.Policy
	refusal *fault.Fault         // of the gate; nil: the server rejected the call
	failed  *upstream.FailedCall // what the doctor is asked before the model; nil: nothing

	proposal correct.Proposal
	asked    correct.Consultation
	sent     bool // the corrected call was sent
	offered  bool // the correction is shown to the caller instead
}

var correctionOf = kernel.NewSlot[*correction]()

// Respond holds the server's rejection of a call while a model is asked to correct the call.
func (s *Stage) Respond(c *kernel.Call, r *kernel.Response) kernel.Ruling {
	if !r.Failed || len(r.All) > maxFailureLen {
		return kernel.Pass
	}
	k := s.newCorrection(c, correct.Rejection{Text: r.All, Code: r.Code, BeforeRun: gate.DecisionOf(c).RejectedBeforeRun(r.Text)})
	if k == nil {
		return kernel.Pass
	}
	if s.Diagnosis != nil {
		if failed, ok := s.Diagnosis.Failed(c, r); ok {
			failed.Arguments = k.call.Arguments
			k.failed = &failed
		}
	}
	return s.hold(c, k)
}

// Fail does the same for a call that the gate refuses.
func (s *Stage) Fail(c *kernel.Call, f *kernel.Failure) kernel.Ruling {
	if f.Loss != nil || f.Trouble != nil || !gate.DecisionOf(c).Misfit() {
		return kernel.Pass
	}
	k := s.newCorrection(c, correct.Rejection{Text: f.Fault.Message, Unsent: true})
	if k == nil {
		return kernel.Pass
	}
	k.refusal = f.Fault
	return s.hold(c, k)
}

// hold asks the model while the kernel holds the call.
func (s *Stage) hold(c *kernel.Call, k *correction) kernel.Ruling {
	timeout := s.timeout(c, k.policy)
	correctionOf.Keep(c, k)
	return kernel.Hold(func(ctx context.Context, h *kernel.Held) {
		defer s.endConsultation()
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		s.correct(ctx, h.Call(), h, k) // which may not be c: a call that waited for the list was checked as a copy
	}).Unless(s.endConsultation)
}

// newCorrection returns the question about a rejected call, or nil if no model is asked.
func (s *Stage) newCorrection(c *kernel.Call, r correct.Rejection) *correction {
	facts := s.Kernel.Facts(c)
	tool, listed := facts.Tool.(*gate.Tool)
	asksNobody := !c.IsTool() || correctionOf.Of(c) != nil || facts.Repeated || facts.Mute || !facts.Current
	if asksNobody || !listed || !facts.Same || !gate.DecisionOf(c).Checked() || c.InDialogue() {
		return nil
	}
	policy := s.Policy(c.Tool())
	arguments := c.Arguments()
	class := correct.ClassifyCall(r, tool.Schema, arguments)
	if policy.Off || policy.NoModel || !policy.Allows(class) {
		return nil
	}
	model := s.begin(c, policy.Model)
	if model == nil {
		return nil
	}
	return &correction{
		number: c.Number(), client: c.Client(), sign: c.Sign(), model: model, policy: policy,
		call: correct.Call{
			Tool: c.Tool(), About: tool.About, Goal: goalOf(c), Schema: tool.Schema, Arguments: bytes.Clone(arguments),
			Safe: !facts.Writes, Tried: gate.DecisionOf(c).Receipt.Changes, Rejection: r, Class: class,
			Secrets: s.Redact,
		},
	}
}

// begin returns the model that is asked about a call; nil: none is. A session asks for each model once, so
// that the model can limit what it is asked.
func (s *Stage) begin(c *kernel.Call, name string) llm.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.consulting >= maxConsultations || c.Arrived().Before(s.uncorrected[c.Sign()]) {
		return nil
	}
	model := s.models[name]
	if model == nil {
		if model = s.Models(name, s.sampler()); model == nil {
			return nil
		}
		if s.models == nil {
			s.models = map[string]llm.Model{}
		}
		s.models[name] = model
	}
	s.consulting++
	return model
}

func (s *Stage) endConsultation() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consulting--
}

// goalOf returns what the client says that a call is for, if it does.
func goalOf(c *kernel.Call) (goal string) {
	meta, err := wire.Field(c.Params(), "_meta")
	if err != nil || meta == nil {
		return ""
	}
	if raw, err := wire.Field(meta, fault.GoalKey); err == nil && raw != nil && json.Unmarshal(raw, &goal) != nil {
		return ""
	}
	return goal
}

// timeout returns how long a call waits for a model: as long as the user configured, and
// no longer than the call itself may take. A model ends its own questions long before maxModelTimeout.
func (s *Stage) timeout(c *kernel.Call, p correct.Policy) time.Duration {
	facts := s.Kernel.Facts(c)
	limit := cmp.Or(p.Timeout, s.Timeout, maxModelTimeout)
	if facts.Timeout > 0 {
		limit = min(limit, facts.Timeout)
	}
	if facts.MaxTime > 0 {
		limit = min(limit, time.Until(c.Arrived().Add(facts.MaxTime)))
	}
	return limit
}

// correct asks for a correction, and sends it or answers the call. A failure with a known cause
// in the server's setup is not corrected.
func (s *Stage) correct(ctx context.Context, c *kernel.Call, h *kernel.Held, k *correction) {
	if k.failed != nil && s.Diagnosis.Examine(ctx, c, *k.failed) {
		h.Answer()
		return
	}
	proposal, asked, err := correct.Ask(context.WithValue(ctx, callKey{}, c), k.model, k.call, k.policy)
	k.proposal, k.asked = proposal, asked
	if err != nil {
		s.reportUncorrected(k, err)
		h.Answer()
		return
	}
	why := proposal.NotSent(k.call, k.policy)
	if why == "" {
		if why = s.send(c, h, k); why == "" {
			return
		}
	}
	if why == kernel.Ended {
		s.reportUncorrected(k, errors.New(why))
		return
	}
	s.reportProposed(k, why)
	if k.refusal != nil {
		h.Fail(k.withOffer(k.refusal))
		return
	}
	h.Answer()
}

// send sends a call once more, with corrected arguments. It returns why it does not.
func (s *Stage) send(c *kernel.Call, h *kernel.Held, k *correction) (why string) {
	decision, valid := s.Gate.Readmit(c, k.proposal.Arguments)
	if !valid {
		return "it no longer matches the tool's schema"
	}
	last := gate.DecisionOf(c).Receipt
	return h.SendRewritten(k.proposal.Arguments, func() {
		receipt := &decision.Receipt
		receipt.Called, receipt.Tool = last.Called, last.Tool
		receipt.Changes = slices.Clone(last.Changes)
		for _, change := range k.proposal.Changes {
			change.Tier = max(change.Tier, repair.Told) // the caller's model reads what a different one changed
			receipt.Changes = append(receipt.Changes, change)
		}
		receipt.Model, receipt.Reason = k.asked.Model, k.proposal.Reason
		gate.Replace(c, decision)
		k.sent = true
	})
}
