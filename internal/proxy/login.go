package proxy

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// A call that needs a login waits while a person logs in, if there is a way to ask one
// and the server has not seen the call, or it only reads: then it is sent, or sent again. Otherwise its
// answer says how to log in.

// maxLogins is how many logins a call waits for: a server that rejects a new login rejects the next
// one as well.
const maxLogins = 1

// asker returns how a person is asked to log in because of a call; nil: there is no way. The caller
// holds the lock.
func (s *Session) asker(c *call) func(*upstream.LoginAttempt) login.Show {
	switch {
	case s.logins == nil || c.own != nil || c.id == nil || c.class == Stream || s.logins.Options().Grant != "":
		return nil
	case s.logins.Options().Mode == launch.LoginShared:
		return nil // the login of one client would be that of all
	case s.logins.Options().Mode == launch.LoginAuto:
		return s.browse
	case c.modern:
		if canAskByResult(c) {
			return s.offer
		}
	case s.elicits():
		return s.elicit(bytes.Clone(c.id))
	}
	return nil
}

// browse opens the page in the browser.
func (s *Session) browse(*upstream.LoginAttempt) login.Show {
	return func(_ context.Context, p login.Page) error { return s.OpenBrowser(p.Opens) }
}

// mayAwaitLogin reports whether a call may wait for a login. The caller holds the lock.
func (s *Session) mayAwaitLogin(c *call, n *login.Needed) bool {
	return n != nil && c.logins < maxLogins && !s.closing && !s.ended && s.asker(c) != nil && s.logins.MayAsk(n)
}

// awaitLogin lets a call wait for a login, which is asked for unless that is in progress. It returns
// false if that is not possible. The call is, or will be, queued. The caller holds the lock.
func (s *Session) awaitLogin(c *call, n *login.Needed) bool {
	attempt := s.askForLogin(c, n)
	if attempt == nil {
		return false
	}
	s.waitFor(c, attempt, n)
	if o := s.offers.current; o != nil && o.attempt == attempt {
		s.later(func() { s.update(s.askByResult) }) // once it is queued
	}
	return true
}

// askForLaterCalls asks for a login because of a call that does not wait for it. A client is asked only
// as a part of a call. The caller holds the lock.
func (s *Session) askForLaterCalls(c *call, n *login.Needed) {
	if n != nil && s.logins != nil && s.logins.Options().Mode == launch.LoginAuto {
		s.askForLogin(c, n)
	}
}

// askForLogin asks for a login because of a call, unless that is in progress. It returns nil if that is
// not possible. The caller holds the lock.
func (s *Session) askForLogin(c *call, n *login.Needed) *upstream.LoginAttempt {
	if !s.mayAwaitLogin(c, n) {
		return nil
	}
	attempt, begun := s.logins.Begin(n)
	if begun {
		show := s.asker(c)(attempt)
		if s.logins.Options().Mode == launch.LoginAuto {
			go attempt.Run(context.WithoutCancel(s.life), show) // other sessions may wait for it as well
		} else {
			s.background.Go(func() { attempt.Run(s.life, show) })
		}
	}
	return attempt
}

// waitFor lets a call wait for the end of an attempt. The call is, or will be, queued. The caller
// holds the lock.
func (s *Session) waitFor(c *call, attempt *upstream.LoginAttempt, n *login.Needed) {
	first := !slices.ContainsFunc(s.queue, func(other *call) bool { return other.login == attempt })
	c.login, c.needed, c.retryAt = attempt, n, never
	c.logins++
	if first {
		s.background.Go(func() {
			select {
			case <-attempt.Done():
				s.update(func() { s.loginEnded(attempt) })
			case <-s.life.Done():
			}
		})
	}
}

// loginEnded sends the calls that waited for a login, or answers them.
func (s *Session) loginEnded(attempt *upstream.LoginAttempt) {
	now := time.Now()
	if o := s.offers.current; o != nil && o.attempt == attempt {
		s.offers.current = nil
	}
	for _, c := range slices.Clone(s.queue) {
		if c.login != attempt {
			continue
		}
		c.login = nil
		err := attempt.Err()
		if errors.Is(err, context.Canceled) && !s.closing { // the session that asked has ended
			if c.logins--; s.awaitLogin(c, c.needed) {
				continue
			}
		}
		if err != nil {
			s.fail(c, s.loginFault(c, err))
			continue
		}
		c.retryAt, c.lost = time.Time{}, now // its patience begins again
	}
	if attempt.Err() == nil {
		s.needed = nil
		if s.trouble != nil && s.trouble.Login != nil {
			s.trouble = nil // the server is being reached again
		}
		s.completeElicitation(attempt)
	}
	s.release()
}

// loginFault is the answer to a call for which a person did not log in.
func (s *Session) loginFault(c *call, why error) *fault.Fault {
	f := &fault.Fault{Code: fault.AuthRequired, Delivery: deliveryOf(c), Cause: upstream.LoginCause(c.needed, why)}
	if c.loss != nil && c.loss.Login != nil {
		f.Code, f.Delivery, f.Detail = c.loss.Code, overall(c, c.loss.Delivery), c.loss.Detail
	}
	return f
}

// noteNeeded reports, once until the server accepts a request, that a person has to log in. The
// caller holds the lock.
func (s *Session) noteNeeded(loss upstream.Loss) {
	if loss.Login == nil || len(loss.Login.Scopes) > 0 || s.needed != nil {
		return
	}
	s.needed, s.neededAt = loss.Login, time.Now()
	s.later(func() {
		s.emit(nil, event.Event{Kind: event.LoginNeeded, Code: loss.Code, Cause: loss.Cause(), Detail: s.secrets.Load().Redact(loss.Detail)})
	})
}

// elicits reports whether a legacy client opens addresses for its user. The caller holds the lock.
func (s *Session) elicits() bool {
	if !s.memory.legacy {
		return false
	}
	capabilities, _ := wire.Field(s.memory.initialize, "capabilities")
	return opensAddresses(capabilities)
}

// opensAddresses reports whether a client has elicitation in URL mode.
func opensAddresses(capabilities []byte) bool {
	elicitation, _ := wire.Field(capabilities, "elicitation")
	offered, err := wire.Field(elicitation, "url")
	return err == nil && len(offered) > 0 && offered[0] == '{'
}
