package login

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Protocol 2026-07-28 has no requests to the client. A client is asked to open an address by the
// result of a call that the server rejected, and repeats the call with the answer of its user.

// offers is what a session has asked such clients. Guarded by Stage.mu, except for any.
type offers struct {
	any     atomic.Bool // a client was asked at least once
	current *offer      // nil: no client may be asked now
	made    map[string]*loginQuestion
	order   []string // the keys of made, the oldest first
}

// offer is the page of an attempt to log in.
type offer struct {
	attempt  *upstream.LoginAttempt
	page     login.Page
	at       time.Time     // when a client was first asked; zero: not yet
	answered bool          // a user has opened it or declined
	accepted chan struct{} // closed when a user has opened it
}

// loginQuestion is the result of a call that asked for a login. Its key is the requestState.
type loginQuestion struct {
	attempt          *upstream.LoginAttempt
	needed           *login.Needed
	loss             *upstream.Loss
	responses, state []byte // of a dialogue with the server that the call was part of, raw; nil: none
}

const (
	Input            = "io.github.gauze-mcp/login" // the key of our input request
	maxOffers        = 256                         // that are remembered
	maxDialogueBytes = 16 << 10                    // of a dialogue with the server that is remembered
)

// canAskByResult reports whether the result of a call may ask its client to open an address.
func canAskByResult(c *kernel.Call) bool {
	switch c.Method() {
	case "tools/call", "prompts/get", "resources/read":
	default:
		return false // their results cannot require input
	}
	responses, state, err := dialogueOf(c)
	if err != nil || len(responses)+len(state) > maxDialogueBytes {
		return false
	}
	meta, _ := wire.Field(c.Params(), "_meta")
	capabilities, _ := wire.Field(meta, wire.MetaCapabilities)
	return opensAddresses(capabilities)
}

// dialogueOf returns the raw parts of a request that answer the result of an earlier one.
func dialogueOf(c *kernel.Call) (responses, state []byte, err error) {
	var values [2][]byte
	err = wire.Fields(c.Params(), values[:], "inputResponses", "requestState")
	return values[0], values[1], err
}

// offer asks with the result of a call that waits for the attempt.
func (s *Stage) offer(attempt *upstream.LoginAttempt) login.Show {
	return func(ctx context.Context, p login.Page) error {
		accepted := make(chan struct{})
		s.mu.Lock()
		s.offers.current = &offer{attempt: attempt, page: p, accepted: accepted}
		s.mu.Unlock()
		s.askByResult()
		return awaitConsent(ctx, p, accepted)
	}
}

// askByResult asks the client of one call that waits for the login. The others wait for the answer,
// except those that came after the question: a client may have dropped it.
func (s *Stage) askByResult() {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offers.current
	if o == nil || o.answered {
		return
	}
	for _, w := range s.waiting {
		late := !o.at.IsZero() && !w.call.Arrived().After(o.at)
		if w.attempt != o.attempt || late || !w.call.Modern() || !canAskByResult(w.call) {
			continue
		}
		now := time.Now()
		if w.held.Reply(s.inputRequired(s.noteOffer(w), o.page), fault.AuthRequired) && o.at.IsZero() {
			o.at = now
		}
	}
}

// inputRequired returns the result that asks for a login.
func (s *Stage) inputRequired(state string, p login.Page) []byte {
	type object map[string]any
	result, _ := json.Marshal(object{ // of strings, which cannot fail
		"resultType": "input_required", "requestState": state,
		"inputRequests": object{Input: object{
			"method": "elicitation/create",
			"params": object{"mode": "url", "message": s.message(p), "url": p.Address},
		}},
	})
	return result
}

// noteOffer remembers that a call is answered with a question, and returns its requestState.
func (s *Stage) noteOffer(w *waiter) string {
	responses, state, _ := dialogueOf(w.call)
	key := rand.Text()
	o := &s.offers
	if o.made == nil {
		o.made = map[string]*loginQuestion{}
	}
	if len(o.order) >= maxOffers {
		delete(o.made, o.order[0])
		o.order = slices.Delete(o.order, 0, 1)
	}
	o.made[key] = &loginQuestion{w.attempt, w.needed, w.loss, bytes.Clone(responses), bytes.Clone(state)}
	o.order = append(o.order, key)
	o.any.Store(true)
	return key
}

// Arrive recognizes a call that answers a question of ours, and makes it what it was before the question. The
// call then waits for the login; if the user declined, the attempt ends. If the attempt has ended, or the
// question was not answered, the call is sent: the server decides whether a login is still needed.
func (s *Stage) Arrive(c *kernel.Call) kernel.Ruling {
	if !s.offers.any.Load() {
		return kernel.Pass
	}
	responses, state, err := dialogueOf(c)
	key, _ := wire.Text(state)
	if err != nil || key == "" {
		return kernel.Pass
	}
	s.mu.Lock()
	q := s.offers.made[key]
	s.mu.Unlock()
	if q == nil {
		return kernel.Pass
	}
	said, _ := wire.Field(responses, Input)
	raw, _ := wire.Field(said, "action")
	action := string(raw)
	params := withDialogue(c.Params(), "inputResponses", q.responses)
	params = withDialogue(params, "requestState", q.state)
	asBefore := kernel.Rewrite(wire.Edit{Old: c.Params(), New: params})
	select {
	case <-q.attempt.Done():
		return asBefore
	default:
	}
	if action == "" {
		return asBefore
	}
	s.mu.Lock()
	if o := s.offers.current; o != nil && o.attempt == q.attempt {
		if action == actionAccept && !o.answered {
			close(o.accepted)
		}
		o.answered = true
	}
	s.mu.Unlock()
	if action != actionAccept {
		q.attempt.End(errDeclined)
	}
	return asBefore.AndHold(func(ctx context.Context, h *kernel.Held) {
		s.wait(ctx, &waiter{call: c, held: h, attempt: q.attempt, needed: q.needed, loss: q.loss})
	})
}

// withDialogue returns params with a different value of a key, or without the key if value is nil.
func withDialogue(params []byte, key string, value []byte) []byte {
	old, _ := wire.Field(params, key)
	switch {
	case old != nil && value != nil:
		return wire.Replace(nil, params, wire.Edit{Old: old, New: value})
	case old != nil:
		return wire.Without(params, old)
	case value != nil: // there is at least one other key
		open := params[bytes.IndexByte(params, '{'):]
		return wire.Replace(nil, params, wire.Edit{Old: open[:1], New: slices.Concat([]byte(`{"`+key+`":`), value, []byte{','})})
	}
	return params
}
