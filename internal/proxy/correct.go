package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
	"github.com/gauze-mcp/gauze/llm"
)

// A call that the server rejected, or that strict mode refuses, may be corrected by a model. Until
// the model has answered, the call is in the state consulting and keeps the answer that it would get
// without a model. It then gets that answer, or is sent once more with the corrected arguments.

const (
	// maxConsultations limits the models that are asked at the same time, for one session.
	maxConsultations = 4
	// maxModelTimeout limits a question to a model that sets no limit itself.
	maxModelTimeout = time.Hour
	// askAgainAfter is how long no model is asked about a call whose correction was not sent or
	// failed.
	askAgainAfter = time.Minute
	// maxUncorrected limits the calls that are remembered for askAgainAfter.
	maxUncorrected = 1000
)

// correction is a call's question to a model and what came of it. Its fields are guarded by
// Session.mu, except those that are set before the question is asked.
type correction struct {
	held   wire.Message // the server's rejection; without an id: strict mode refused the call
	said   response
	number event.CallID
	client string
	since  time.Time      // when the rejected call arrived
	conn   *upstream.Conn // where the corrected call may be sent
	sign   uint64         // of the rejected call
	model  llm.Model
	call   correct.Call
	policy correct.Policy
	failed *upstream.FailedCall // what the doctor is asked before the model; nil: nothing
	end    context.CancelFunc   // ends the question

	proposal correct.Proposal
	asked    correct.Consultation
	sent     bool // the corrected call was sent
	offered  bool // the correction is shown to the caller instead
}

// correctPolicy returns what the user configured about corrections of a tool.
func (o *Options) correctPolicy(tool string) correct.Policy {
	return o.Tools[tool].Correct.Over(o.Tools[AllTools].Correct)
}

// holdRejection keeps the server's response to a call while a model is asked to correct the call. It
// reports whether it does. The caller holds the lock.
func (s *Session) holdRejection(c *call, m *wire.Message, said response) bool {
	if !said.failed || s.Models == nil || c.own != nil || c.conn != s.conn || len(said.all) > maxFailureLen {
		return false
	}
	k := s.newCorrection(c, correct.Rejection{Text: said.all, Code: said.Code, BeforeRun: c.fitting.RejectedBeforeRun(said.Text)})
	if k == nil {
		return false
	}
	k.held, k.said = keep(m), said
	c.failed = c.conn.LastHeard()
	if failed, ok := failedCall(c, m, said); ok && s.Calls != nil {
		failed.Arguments = k.call.Arguments
		conn, since := c.conn, c.sent
		failed.Stderr = func() string { return conn.StderrSince(since) }
		k.failed = &failed
	}
	s.quarantine.clear(c.sign)
	s.beginCorrection(c, k)
	return true
}

// holdRefusal is holdRejection for a call that strict mode refuses.
func (s *Session) holdRefusal(c *call) bool {
	if s.Models == nil || !c.fitting.Misfit() {
		return false
	}
	k := s.newCorrection(c, correct.Rejection{Text: c.fitting.refusal.Message, Unsent: true})
	if k == nil {
		return false
	}
	s.arrivals++
	c.seq, c.order = s.arrivals, s.sends
	s.beginCorrection(c, k)
	return true
}

// newCorrection returns the question about a rejected call, or nil if no model is asked.
func (s *Session) newCorrection(c *call, r correct.Rejection) *correction {
	known, listed := s.catalog.tools[c.tool]
	switch {
	case c.msg.Method != "tools/call", c.correction != nil, c.repeated(), s.mute(), s.conn == nil:
		return nil
	case !listed || !s.catalog.licenses() || known.shape != c.shape || !c.fitting.Checked():
		return nil
	case s.consulting >= maxConsultations, c.arrived.Before(s.uncorrected[c.sign]), inDialogue(c):
		return nil
	}
	policy := s.correctPolicy(c.tool)
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	class := correct.ClassifyCall(r, known.schema, arguments)
	if policy.Off || policy.NoModel || !policy.Allows(class) {
		return nil
	}
	model := s.modelFor(policy.Model)
	if model == nil {
		return nil
	}
	return &correction{
		number: c.number, client: c.client, since: c.arrived, conn: s.conn, sign: c.sign, model: model, policy: policy,
		call: correct.Call{
			Tool: c.tool, About: known.about, Goal: goalOf(c), Schema: known.schema, Arguments: bytes.Clone(arguments),
			Safe: !s.classNow(c).writes(), Tried: c.fitting.Receipt.Changes, Rejection: r, Class: class,
			Secrets: s.secrets.Load().Redact,
		},
	}
}

// goalOf returns what the client says that a call is for, if it does.
func goalOf(c *call) (goal string) {
	meta, err := wire.Field(c.msg.Params, "_meta")
	if err != nil || meta == nil {
		return ""
	}
	if raw, err := wire.Field(meta, fault.GoalKey); err == nil && raw != nil && json.Unmarshal(raw, &goal) != nil {
		return ""
	}
	return goal
}

// inDialogue reports whether a call creates a task or is a later part of a dialogue with the server.
func inDialogue(c *call) bool {
	var values [3][]byte
	return wire.Fields(c.msg.Params, values[:], "task", "inputResponses", "requestState") != nil ||
		values[0] != nil || values[1] != nil || values[2] != nil
}

// beginCorrection asks the model, away from the connection's goroutine.
func (s *Session) beginCorrection(c *call, k *correction) {
	ctx, end := context.WithTimeout(s.life, s.consultationTimeout(c, k.policy))
	k.end, c.correction = end, k
	s.move(c, consulting)
	s.background.Go(func() {
		defer end()
		s.correctCall(ctx, c, k)
	})
}

// consultationTimeout returns how long a call waits for a model: as long as the user configured, and
// no longer than the call itself may take. A model ends its own questions long before maxModelTimeout.
func (s *Session) consultationTimeout(c *call, p correct.Policy) time.Duration {
	limit := cmp.Or(p.Timeout, s.ModelTimeout, maxModelTimeout)
	if own := s.timeout(c); own > 0 {
		limit = min(limit, own)
	}
	if s.MaxTime > 0 {
		limit = min(limit, time.Until(c.arrived.Add(s.MaxTime)))
	}
	return limit
}

// correctCall asks for a correction, and sends it or answers the call. A failure with a known cause
// in the server's setup is not corrected.
func (s *Session) correctCall(ctx context.Context, c *call, k *correction) {
	if why := s.causeOf(ctx, k); why.Known() {
		s.answerHeld(c, k, why)
		return
	}
	proposal, asked, err := correct.Ask(context.WithValue(ctx, callKey{}, c), k.model, k.call, k.policy)
	k.proposal, k.asked = proposal, asked
	if err != nil {
		s.reportUncorrected(k, err)
		s.answerHeld(c, k, fault.Cause{})
		return
	}
	why := proposal.NotSent(k.call, k.policy)
	if why == "" {
		if why = s.sendCorrected(c, k); why == "" {
			return
		}
	}
	if why == callEnded {
		s.reportUncorrected(k, errors.New(why))
		return
	}
	s.reportProposed(k, why)
	s.answerHeld(c, k, fault.Cause{})
}

// causeOf returns the cause of a rejection in the server's setup, as examineCall does.
func (s *Session) causeOf(ctx context.Context, k *correction) (why fault.Cause) {
	if k.failed == nil || !s.Calls.Suspects(s.Spec, *k.failed) || !s.beginExamination() {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, s.examineTimeout)
	defer cancel()
	why = s.Calls.Examine(ctx, s.Spec, *k.failed)
	s.endExamination(k.number, k.client, k.failed.Tool, why)
	return why
}

// callEnded is why a call is not sent that was cancelled meanwhile.
const callEnded = "the call has ended"

// sendCorrected sends a call once more, with corrected arguments. It returns why it does not.
func (s *Session) sendCorrected(c *call, k *correction) (why string) {
	arguments := k.proposal.Arguments
	decision := s.gate.Admit(repair.Call{Tool: k.call.Tool, Arguments: arguments}, (*listedTools)(s))
	if decision.Verdict != repair.Valid || decision.Adjusted(arguments) {
		return "it does not match the tool's schema any more"
	}
	s.update(func() {
		if why = s.cannotSend(c, k); why != "" {
			return
		}
		receipt := &decision.Receipt
		receipt.Called, receipt.Tool = c.fitting.Receipt.Called, c.fitting.Receipt.Tool
		receipt.Changes = slices.Clone(c.fitting.Receipt.Changes)
		for _, change := range k.proposal.Changes {
			change.Tier = max(change.Tier, repair.Told) // the caller's model reads what a different one changed
			receipt.Changes = append(receipt.Changes, change)
		}
		receipt.Model, receipt.Reason = k.asked.Model, k.proposal.Reason
		before, _ := wire.Field(c.msg.Params, "arguments")
		if err := s.rewrite(c, c.tool, before, arguments); err != nil {
			why = err.Error()
			return
		}
		s.classify(c)
		c.fitting = fitting{Decision: decision}
		c.arrived = time.Now() // from here on it waits like a new call
		k.sent = true
		s.dispatch(c)
		s.later(s.Flush)
	})
	return why
}

// cannotSend returns why a corrected call must not be sent; empty: it may be. It is admitted as a new
// call. The caller holds the lock.
func (s *Session) cannotSend(c *call, k *correction) string {
	barred := time.Now().Before(s.quarantine.barred[sign(c.tool, k.proposal.Arguments)])
	switch {
	case c.state != consulting:
		return callEnded
	case s.closing:
		return "the session is ending"
	case s.conn != k.conn:
		return "the server was restarted meanwhile"
	case !s.catalog.licenses() || s.catalog.tools[c.tool].shape != c.shape:
		return "the tool changed meanwhile"
	case barred:
		return "the server crashed twice while running this call"
	case c.class.writes() && s.writtenSince(c):
		return "other calls that may write were sent meanwhile"
	}
	return ""
}

// writtenSince reports whether a call of this session that may write came after c. Those of other
// sessions do not matter: c itself had no effect.
func (s *Session) writtenSince(c *call) bool {
	return s.lastWrite > c.order || slices.ContainsFunc(s.queue, func(other *call) bool { return other.class.writes() && other.seq > c.seq })
}

// answerHeld gives a call the answer that was held, unless the call has ended.
func (s *Session) answerHeld(c *call, k *correction, why fault.Cause) {
	if k.held.ID == nil {
		s.update(func() {
			if c.state == consulting {
				s.fail(c, k.withOffer(c.fitting.refusal))
			}
		})
		return
	}
	held := false
	s.updateAndTell(func() {
		if held = c.state == consulting; held {
			s.move(c, done)
			s.noteEnd(c, outcomeOf(k.said, true), time.Now())
			s.counters.Answered++
			s.budget.earn()
		}
	}, func() {
		if held {
			s.putAnswer(c, &k.held, k.said, why)
			s.out.flush()
		}
	})
}
