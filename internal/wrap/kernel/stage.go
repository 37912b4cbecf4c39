package kernel

import (
	"context"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// A Stage takes part in the calls of a session. The kernel asks its stages in one order, without its lock,
// and carries out what they rule. A stage keeps its own state, guards it, keeps no call beyond its End unless it
// holds it, and never sends to the server:
// a call that it wants sent, or sent again, passes the kernel's licence like any other.
//
// Arrive, Fail and Respond are asked in the order of the stages until one answers or holds the call;
// Add and End in the reverse order.
type Stage interface {
	// Arrive is asked about a request of the client before it is queued: pass, rewrite, refuse or hold.
	Arrive(*Call) Ruling
	// Fail is asked about a call that is about to be answered with a fault: it was lost and may not be
	// repeated, the server cannot be reached, or a stage refused it. Pass or hold.
	Fail(*Call, *Failure) Ruling
	// Respond is asked about the response to a tool call: pass, hold, send again, or answer in place.
	Respond(*Call, *Response) Ruling
	// Add may add to a response that is being passed on, or to a fault.
	Add(*Call, *Response, *Addition)
	// End is told once about each call of the client, before its answer is passed on. What an earlier
	// stage wrote into the record stays visible to the later ones.
	End(*Call, *EndedCall)
	// Event is told what is reported about a call, nil for the session. It must not call the session.
	Event(*Call, event.Event)
}

// Bystander is a Stage that does nothing, for stages to embed.
type Bystander struct{}

func (Bystander) Arrive(*Call) Ruling             { return Pass }
func (Bystander) Fail(*Call, *Failure) Ruling     { return Pass }
func (Bystander) Respond(*Call, *Response) Ruling { return Pass }
func (Bystander) Add(*Call, *Response, *Addition) {}
func (Bystander) End(*Call, *EndedCall)           {}
func (Bystander) Event(*Call, event.Event)        {}

// A Checker is a Stage that is asked again about a call that waited until the tools were listed.
type Checker interface{ Check(*Call) Ruling }

// A Listener is a Stage that is told about every loss of a request, and which connection is prepared.
type Listener interface {
	Lost(upstream.Loss)
	Prepare(*upstream.Conn)
}

// An Attentive is a Stage that is also asked about some results that claim success; the others are asked about
// failures only, or if one of these attends. Attends must be fast.
type Attentive interface{ Attends(*wire.Message) bool }

// A Finisher is a Stage that is told when the response of the server to a call was passed on.
type Finisher interface{ Done(*Call) }

// Ruling is what a stage wants to become of a call.
type Ruling struct {
	edits   []wire.Edit
	refusal *fault.Fault
	hold    func(context.Context, *Held)
	unless  func()
	place   func(context.Context)
	limit   time.Duration
	beside  bool
	again   bool
	stage   int // which one it is of
}

// Pass leaves a call as it is.
var Pass Ruling

// Rewrite replaces parts of the request, which is then read again.
func Rewrite(edits ...wire.Edit) Ruling { return Ruling{edits: edits} }

// Refuse answers a request with a fault, unless another stage holds it.
func Refuse(f *fault.Fault) Ruling { return Ruling{refusal: f} }

// Hold keeps the call: until then returns, it is neither queued nor sent nor answered. If then has not
// decided, the call goes on as if it had not been held. The context ends with the call and the session.
func Hold(then func(context.Context, *Held)) Ruling { return Ruling{hold: then} }

// AndHold holds a call as well, once the other stages were asked.
func (r Ruling) AndHold(then func(context.Context, *Held)) Ruling {
	r.hold = then
	return r
}

// Unless calls instead if the ruling is not carried out, because the call has ended meanwhile.
func (r Ruling) Unless(instead func()) Ruling {
	r.unless = instead
	return r
}

// Again sends a call that reads again on its connection, immediately.
var Again = Ruling{again: true}

// InPlace passes the response on once work has ended, or limit is over, in its place before later
// messages. The call itself is done.
func InPlace(limit time.Duration, work func(context.Context)) Ruling {
	return Ruling{place: work, limit: limit}
}

// Beside passes the response on while work goes on. The session does not end before.
func Beside(limit time.Duration, work func(context.Context)) Ruling {
	return Ruling{place: work, limit: limit, beside: true}
}

// Failure is a fault that a call is about to be answered with.
type Failure struct {
	Fault   *fault.Fault
	Loss    *upstream.Loss    // how it was lost; nil: it was not
	Trouble *upstream.Trouble // why the server cannot be reached; nil: it can
	MayWait bool              // the call may wait and be sent
}

// EndedCall is a call that has ended. It has no results, and arguments only as far as gauze changed them.
type EndedCall struct {
	ID      event.CallID
	Method  string
	Time    time.Time // when it arrived
	Client  string
	Tool    string
	Outcome string // ok, error (the tool's own), cancelled, or the code of a fault
	Took    time.Duration
	Without time.Duration // after what time it would have failed without gauze; 0: it would not have, or that is not known
	Saved   string        // replayed, waited, repaired or corrected; empty: it would not have failed
	Changes []event.Change
	Told    string // what gauze added to its response
}

// How a call ended; otherwise with the code of a fault.
const (
	OutcomeOK        = "ok"
	OutcomeError     = "error" // the tool's own
	OutcomeCancelled = "cancelled"
)

// How gauze saved a call.
const (
	SavedReplayed  = "replayed"
	SavedWaited    = "waited"
	SavedRepaired  = "repaired"
	SavedCorrected = "corrected"
)

// maxSlots is how many slots there may be.
const maxSlots = 8

// Slot is where a stage keeps what it knows of one call.
type Slot[T any] struct{ at int }

var slots int

// NewSlot returns a slot. It is called when packages are initialized.
func NewSlot[T any]() Slot[T] {
	slots++
	if slots > maxSlots {
		panic("kernel: more slots than maxSlots")
	}
	return Slot[T]{slots - 1}
}

// Of returns what is kept of a call, the zero value if nothing is.
func (s Slot[T]) Of(c *Call) T {
	value, _ := c.part.slots[s.at].(T)
	return value
}

// Keep keeps what a stage knows of a call.
func (s Slot[T]) Keep(c *Call, value T) { c.part.slots[s.at] = value }

// drop is called when a ruling was not carried out, or was not needed.
func (r *Ruling) drop() {
	if r.unless != nil {
		r.unless()
	}
}

// panel asks the stages.
type panel struct {
	s         *Session
	stages    []Stage // in their order
	reverse   []Stage
	finishers []Finisher
	attentive []Attentive
}

func newPanel(s *Session, stages []Stage) panel {
	p := panel{s: s, stages: stages, reverse: slices.Clone(stages)}
	slices.Reverse(p.reverse)
	for _, stage := range stages {
		if f, ok := stage.(Finisher); ok {
			p.finishers = append(p.finishers, f)
		}
		if a, ok := stage.(Attentive); ok {
			p.attentive = append(p.attentive, a)
		}
	}
	return p
}

// wants reports whether a stage has to be asked about a response. Most responses are successes that none of them
// looks at.
func (p *panel) wants(m *wire.Message, failed bool) bool {
	if failed {
		return len(p.stages) > 0
	}
	for _, stage := range p.attentive {
		if stage.Attends(m) {
			return true
		}
	}
	return false
}

// arrive asks the stages about a new call. It returns the ruling that refuses or holds it.
func (p *panel) arrive(c *Call) (ruling Ruling, err error) {
	for _, stage := range p.stages {
		r := stage.Arrive(c)
		if err := p.s.rewriteAs(c, r); err != nil {
			return Pass, err
		}
		if r.hold != nil && ruling.hold == nil {
			ruling.hold = r.hold
		}
		if r.refusal != nil {
			return p.refused(c, r.refusal), nil
		}
	}
	return ruling, nil
}

// recheck asks the stages again about a call that has waited for the list of the tools.
func (p *panel) recheck(c *Call) (ruling Ruling, err error) {
	for _, stage := range p.stages {
		checker, ok := stage.(Checker)
		if !ok {
			continue
		}
		r := checker.Check(c)
		if err := p.s.rewriteAs(c, r); err != nil {
			return Pass, err
		}
		if r.refusal != nil {
			return p.refused(c, r.refusal), nil
		}
	}
	return Pass, nil
}

// refused asks whether a stage holds a call that another stage refuses.
func (p *panel) refused(c *Call, refusal *fault.Fault) Ruling {
	ruling := p.failing(c, &Failure{Fault: refusal})
	ruling.refusal = refusal
	return ruling
}

// failing asks the stages about a call that is about to fail.
func (p *panel) failing(c *Call, f *Failure) Ruling {
	for _, stage := range p.stages {
		if r := stage.Fail(c, f); r.hold != nil {
			return r
		}
	}
	return Pass
}

// responding asks the stages about a response.
func (p *panel) responding(c *Call, r *Response) Ruling {
	for at, stage := range p.stages {
		if ruling := stage.Respond(c, r); ruling.hold != nil || ruling.again || ruling.place != nil {
			ruling.stage = at
			return ruling
		}
	}
	return Pass
}

// rewriteAs carries out the edits of a ruling.
func (s *Session) rewriteAs(c *Call, r Ruling) error {
	if len(r.edits) == 0 {
		return nil
	}
	m, _, err := wire.Scan(wire.Replace(nil, c.msg.Raw, r.edits...))
	if err != nil {
		return err
	}
	before := c.Sign()
	c.msg, c.body.room = m.Keep(c.body.room)
	c.id = c.msg.ID
	err = s.client.inspect(c)
	if c.Sign() != before {
		c.mirrors = nil // headers that repeat arguments have to be derived again
	}
	return err
}
