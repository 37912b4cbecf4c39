package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// elicitation is a request of gauze that the client opens an address for its user.
type elicitation struct {
	attempt  *upstream.LoginAttempt
	name     string // its elicitationId
	id       []byte // of the request
	question *question
	accepted chan struct{} // closed when the user has accepted
}

// actionAccept is the raw action of a user who agrees.
const actionAccept = `"accept"`

var errDeclined = errors.New("it was declined in the client")

// elicit returns how the client is asked to open an address. The request is about the call with this
// id, and the attempt to log in ends if the user declines.
func (s *Session) elicit(about []byte) func(*upstream.LoginAttempt) login.Show {
	return func(attempt *upstream.LoginAttempt) login.Show {
		return func(ctx context.Context, p login.Page) error {
			e := &elicitation{attempt: attempt, name: rand.Text(), question: &question{about: bytes.Clone(about), own: make(chan wire.Message, 1)}, accepted: make(chan struct{})}
			if err := s.sendElicitation(e, p); err != nil {
				return err
			}
			s.background.Go(func() { s.awaitElicitation(e) })
			return awaitConsent(ctx, p, e.accepted)
		}
	}
}

// awaitConsent waits until the user has accepted a page with doubts.
func awaitConsent(ctx context.Context, p login.Page, accepted <-chan struct{}) error {
	if len(p.Doubts) == 0 {
		return nil
	}
	select {
	case <-accepted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// loginMessage is what the user is asked.
func (s *Session) loginMessage(p login.Page) string {
	text := "The MCP server " + s.label + " requires a login: " + p.Who()
	if len(p.Doubts) > 0 {
		return text + " " + p.Warning() + " Open this address only if that is what you want."
	}
	return text + " Open this address to log in."
}

// sendElicitation sends the request.
func (s *Session) sendElicitation(e *elicitation, p login.Page) (err error) {
	params, err := json.Marshal(map[string]string{
		"mode": "url", "elicitationId": e.name, "url": p.Address,
		"message": s.loginMessage(p),
	})
	if err != nil {
		return err
	}
	s.updateAndTell(func() {
		if len(s.questions) >= maxQuestions || s.closing {
			err = errors.New("the client has not answered earlier requests")
			return
		}
		e.id = s.questionID(0)
		s.questions[string(e.id)] = e.question
		s.elicited = e
	}, func() {
		if err == nil {
			line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`, e.id, params)
			s.out.put(Told{Line: line, About: e.question.about, Question: true})
			s.out.flush()
		}
	})
	return err
}

// awaitElicitation ends the attempt to log in if the user declines, and withdraws the request if the
// attempt ends first.
func (s *Session) awaitElicitation(e *elicitation) {
	select {
	case m := <-e.question.own:
		action, _ := wire.Field(m.Result, "action")
		if string(action) != actionAccept {
			e.attempt.End(errDeclined)
			return
		}
		close(e.accepted)
	case <-e.attempt.Done():
		if e.attempt.Err() != nil {
			s.withdrawOwn(e.id, e.question)
		}
	case <-s.life.Done():
	}
}

// completeElicitation tells the client that the user has logged in. The caller holds the lock.
func (s *Session) completeElicitation(attempt *upstream.LoginAttempt) {
	e := s.elicited
	if e == nil || e.attempt != attempt {
		return
	}
	s.elicited = nil
	delete(s.questions, string(e.id)) // its answer is not needed any more
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%q}}`, e.name)
	s.later(func() { s.out.send(Told{Line: line, About: e.question.about}) })
}
