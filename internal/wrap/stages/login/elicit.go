package login

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// elicitation is a request of gauze that the client opens an address for its user.
type elicitation struct {
	attempt  *upstream.LoginAttempt
	name     string // its elicitationId
	question *kernel.Question
	accepted chan struct{} // closed when the user has accepted
}

// actionAccept is the raw action of a user who agrees.
const actionAccept = `"accept"`

var errDeclined = errors.New("it was declined in the client")

// elicit returns how the client is asked to open an address. The request is about the call with this
// id, and the attempt to log in ends if the user declines.
func (s *Stage) elicit(about []byte) func(*upstream.LoginAttempt) login.Show {
	return func(attempt *upstream.LoginAttempt) login.Show {
		return func(ctx context.Context, p login.Page) error {
			e := &elicitation{attempt: attempt, name: rand.Text(), accepted: make(chan struct{})}
			params, err := json.Marshal(map[string]string{
				"mode": "url", "elicitationId": e.name, "url": p.Address,
				"message": s.message(p),
			})
			if err != nil {
				return err
			}
			if e.question, err = s.Kernel.Ask(about, nil, "elicitation/create", params); err != nil {
				return err
			}
			s.mu.Lock()
			s.elicited = e
			s.mu.Unlock()
			s.Kernel.Go(func(ctx context.Context) { s.awaitElicitation(ctx, e) })
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

// message is what the user is asked.
func (s *Stage) message(p login.Page) string {
	text := "The MCP server " + s.Label + " requires a login: " + p.Who()
	if len(p.Doubts) > 0 {
		return text + " " + p.Warning() + " Open this address only if you agree to this."
	}
	return text + " Open this address to log in."
}

// awaitElicitation ends the attempt to log in if the user declines, and withdraws the request if the
// attempt ends first.
func (s *Stage) awaitElicitation(ctx context.Context, e *elicitation) {
	select {
	case m := <-e.question.Answer():
		action, _ := wire.Field(m.Result, "action")
		if string(action) != actionAccept {
			e.attempt.End(errDeclined)
			return
		}
		close(e.accepted)
	case <-e.attempt.Done():
		if e.attempt.Err() != nil {
			e.question.Withdraw("it took too long")
		}
	case <-ctx.Done():
	}
}

// completeElicitation tells the client that the user has logged in.
func (s *Stage) completeElicitation(attempt *upstream.LoginAttempt) {
	s.mu.Lock()
	e := s.elicited
	mine := e != nil && e.attempt == attempt
	if mine {
		s.elicited = nil
	}
	s.mu.Unlock()
	if mine { // its answer is not needed any more
		e.question.Close(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%q}}`, e.name))
	}
}
