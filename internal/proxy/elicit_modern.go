package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Protocol 2026-07-28 has no requests to the client. A client is asked to open an address by the
// result of a call that the server rejected, and repeats the call with the answer of its user.

// offers is what a session has asked such clients. Guarded by Session.mu, except for any.
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
	loginInput       = "io.github.gauze-mcp/login" // the key of our input request
	maxOffers        = 256                         // that are remembered
	maxDialogueBytes = 16 << 10                    // of a dialogue with the server that is remembered
)

// canAskByResult reports whether the result of a call may ask its client to open an address.
func canAskByResult(c *call) bool {
	switch c.msg.Method {
	case "tools/call", "prompts/get", "resources/read":
	default:
		return false // their results cannot require input
	}
	responses, state, err := dialogueOf(c)
	if err != nil || len(responses)+len(state) > maxDialogueBytes {
		return false
	}
	meta, _ := wire.Field(c.msg.Params, "_meta")
	capabilities, _ := wire.Field(meta, "io.modelcontextprotocol/clientCapabilities")
	return opensAddresses(capabilities)
}

// dialogueOf returns the raw parts of a request that answer the result of an earlier one.
func dialogueOf(c *call) (responses, state []byte, err error) {
	var values [2][]byte
	err = wire.Fields(c.msg.Params, values[:], "inputResponses", "requestState")
	return values[0], values[1], err
}

// offer asks with the result of a call that waits for the attempt.
func (s *Session) offer(attempt *upstream.LoginAttempt) login.Show {
	return func(ctx context.Context, p login.Page) error {
		accepted := make(chan struct{})
		s.update(func() {
			s.offers.current = &offer{attempt: attempt, page: p, accepted: accepted}
			s.askByResult()
		})
		return awaitConsent(ctx, p, accepted)
	}
}

// askByResult asks the client of one call that waits for the login. The others wait for the answer,
// except those that came after the question: a client may have dropped it.
func (s *Session) askByResult() {
	o := s.offers.current
	for _, c := range slices.Clone(s.queue) {
		if o == nil || o.answered || c.login != o.attempt || !c.modern || !canAskByResult(c) || !o.at.IsZero() && !c.arrived.After(o.at) {
			continue
		}
		now := time.Now()
		if o.at.IsZero() {
			o.at = now
		}
		line := reply(c.id, "result", s.inputRequired(s.noteOffer(c), o.page))
		s.move(c, done)
		s.noteEnd(c, string(fault.AuthRequired), now)
		s.later(func() { s.out.send(answer(c.id, line)) })
	}
}

// inputRequired returns the result that asks for a login.
func (s *Session) inputRequired(state string, p login.Page) []byte {
	type object map[string]any
	result, _ := json.Marshal(object{ // of strings, which cannot fail
		"resultType": "input_required", "requestState": state,
		"inputRequests": object{loginInput: object{
			"method": "elicitation/create",
			"params": object{"mode": "url", "message": s.loginMessage(p), "url": p.Address},
		}},
	})
	return result
}

// noteOffer remembers that a call is answered with a question, and returns its requestState.
func (s *Session) noteOffer(c *call) string {
	responses, state, _ := dialogueOf(c)
	key := rand.Text()
	o := &s.offers
	if o.made == nil {
		o.made = map[string]*loginQuestion{}
	}
	if len(o.order) >= maxOffers {
		delete(o.made, o.order[0])
		o.order = slices.Delete(o.order, 0, 1)
	}
	o.made[key] = &loginQuestion{c.login, c.needed, c.loss, bytes.Clone(responses), bytes.Clone(state)}
	o.order = append(o.order, key)
	o.any.Store(true)
	return key
}

// readReply recognizes a call that answers a question of ours, and makes it what it was before the
// question. It leaves all other calls alone.
func (s *Session) readReply(c *call) {
	if !s.offers.any.Load() {
		return
	}
	responses, state, err := dialogueOf(c)
	key, _ := wire.Text(state)
	if err != nil || key == "" {
		return
	}
	s.mu.Lock()
	q := s.offers.made[key]
	s.mu.Unlock()
	if q == nil {
		return
	}
	said, _ := wire.Field(responses, loginInput)
	action, _ := wire.Field(said, "action")
	c.action = string(action)
	params := withDialogue(c.msg.Params, "inputResponses", q.responses)
	params = withDialogue(params, "requestState", q.state)
	m, _, err := wire.Scan(wire.Replace(nil, c.msg.Raw, wire.Edit{Old: c.msg.Params, New: params}))
	if err != nil {
		return // cannot happen: members were replaced or removed
	}
	c.msg, *c.room = m.Keep((*c.room)[:0])
	c.id, c.question = c.msg.ID, q
}

// withDialogue returns params with a different value of a key, or without the key if value is nil.
func withDialogue(params []byte, key string, value []byte) []byte {
	old, _ := wire.Field(params, key)
	switch {
	case old != nil && value != nil:
		return wire.Replace(nil, params, wire.Edit{Old: old, New: value})
	case old != nil:
		return without(params, old)
	case value != nil: // there is at least one other key
		open := params[bytes.IndexByte(params, '{'):]
		return wire.Replace(nil, params, wire.Edit{Old: open[:1], New: slices.Concat([]byte(`{"`+key+`":`), value, []byte{','})})
	}
	return params
}

// takeReply lets a call that answers a question of ours wait for the login, or ends the attempt if
// the user declined. If the attempt has ended, or the question was not answered, the call is sent:
// the server decides whether a login is still needed.
func (s *Session) takeReply(c *call) {
	q := c.question
	if q == nil || c.action == "" || s.closing || s.ended {
		return
	}
	select {
	case <-q.attempt.Done():
		return
	default:
	}
	if o := s.offers.current; o != nil && o.attempt == q.attempt {
		if c.action == actionAccept && !o.answered {
			close(o.accepted)
		}
		o.answered = true
	}
	if c.action != actionAccept {
		q.attempt.End(errDeclined)
	}
	c.loss = q.loss
	s.waitFor(c, q.attempt, q.needed)
}
