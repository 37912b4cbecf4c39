package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/wire"
	"github.com/gauze-mcp/gauze/llm"
)

// Sampler sends the params of a sampling/createMessage request to the client and returns the result.
type Sampler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// callKey is the key of the call that a model is asked about, in the context of the question.
type callKey struct{}

// modelFor returns the model with a name; nil: none. A session asks for each model once, so that the
// model can limit what it is asked. The caller holds the lock.
func (s *Session) modelFor(name string) llm.Model {
	if model := s.models[name]; model != nil {
		return model
	}
	model := s.Models(name, s.sampler())
	if model != nil {
		if s.models == nil {
			s.models = map[string]llm.Model{}
		}
		s.models[name] = model
	}
	return model
}

// sampler returns how the client's own model is asked; nil if the client does not offer it. Protocol
// 2026-07-28 has no requests to the client. The caller holds the lock.
func (s *Session) sampler() Sampler {
	if !s.memory.legacy {
		return nil
	}
	capabilities, _ := wire.Field(s.memory.initialize, "capabilities")
	if offered, err := wire.Field(capabilities, "sampling"); err != nil || len(offered) == 0 || offered[0] != '{' {
		return nil
	}
	return s.askClient
}

// askClient sends a request of ours to the client. The client can tell which of its calls it is
// about, and it is withdrawn if the call ends.
func (s *Session) askClient(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	c := ctx.Value(callKey{}).(*call)
	q := &question{about: bytes.Clone(c.id), call: c, own: make(chan wire.Message, 1)}
	id, err := s.sendQuestion(q, params)
	if err != nil {
		return nil, err
	}
	select {
	case m := <-q.own:
		if m.Result == nil {
			return nil, fmt.Errorf("the client rejected sampling/createMessage: %s", m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		s.withdrawOwn(id, q)
		return nil, ctx.Err()
	}
}

// sendQuestion sends a sampling/createMessage while its call waits for it.
func (s *Session) sendQuestion(q *question, params json.RawMessage) (id []byte, err error) {
	s.updateAndTell(func() {
		switch {
		case q.call.state != consulting:
			err = errors.New("the call has ended")
		case s.emptied != nil:
			err = errors.New(clientClosed)
		case len(s.questions) >= maxQuestions:
			err = errors.New("the client has not answered earlier requests")
		default:
			id = s.questionID(0)
			s.questions[string(id)] = q
		}
	}, func() {
		if err == nil {
			line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"sampling/createMessage","params":%s}`, id, params)
			s.out.put(Told{Line: line, About: q.about, Question: true})
			s.out.flush()
		}
	})
	return id, err
}

// withdrawOwn withdraws a question of ours that the client did not answer in time.
func (s *Session) withdrawOwn(id []byte, q *question) {
	s.update(func() {
		if s.questions[string(id)] == q {
			delete(s.questions, string(id))
			s.later(func() { s.out.send(withdrawal(string(id), q, "it took too long")) })
		}
	})
}
