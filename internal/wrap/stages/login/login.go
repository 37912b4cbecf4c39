// Package login is the stage in which a call waits while a person logs in, if there is a way to ask one and the
// server has not seen the call, or it only reads: then it is sent, or sent again. Otherwise its answer says how
// to log in.
package login

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// maxLogins is how many logins a call waits for: a server that rejects a new login rejects the next
// one as well.
const maxLogins = 1

// Stage is about the login of one session.
type Stage struct {
	kernel.Bystander
	Kernel      *kernel.Session
	Label       string // the server's name, for people
	OpenBrowser func(address string) error
	Mode        func(tool string) repair.Mode
	Redact      func(string) string // masks secrets

	logins atomic.Pointer[upstream.Logins] // of the connections; nil: they have none
	needed atomic.Pointer[need]            // nil: requests are accepted, as far as is known

	mu       sync.Mutex
	elicited *elicitation           // the last request to the client to open an address
	waiting  []*waiter              // the calls that wait, in the order in which they came
	followed *upstream.LoginAttempt // the last one that a call waited for
	offers   offers
}

// need is why a person has to log in.
type need struct {
	*login.Needed
	at time.Time
}

// waiter is a call that waits for a login.
type waiter struct {
	call    *kernel.Call
	held    *kernel.Held
	attempt *upstream.LoginAttempt
	needed  *login.Needed
	loss    *upstream.Loss // how it was lost; nil: it was not sent
}

// history is what happened to one call.
type history struct {
	logins  int    // that it has waited for
	doubted bool   // its answer said that the token is not valid
	note    string // what is added to its answer
}

var historyOf = kernel.NewSlot[*history]()

func past(c *kernel.Call) *history {
	h := historyOf.Of(c)
	if h == nil {
		h = &history{}
		historyOf.Keep(c, h)
	}
	return h
}

// Prepare remembers the login of a connection.
func (s *Stage) Prepare(conn *upstream.Conn) { s.logins.Store(conn.Logins()) }

// Lost reports, once until the server accepts a request, that a person has to log in.
func (s *Stage) Lost(loss upstream.Loss) {
	if loss.Login == nil || len(loss.Login.Scopes) > 0 || !s.needed.CompareAndSwap(nil, &need{loss.Login, time.Now()}) {
		return
	}
	s.Kernel.Emit(event.Event{Kind: event.LoginNeeded, Code: loss.Code, Cause: loss.Cause(), Detail: s.Redact(loss.Detail)})
}

// Needed reports whether a person has to log in, and since when.
func (s *Stage) Needed() (since time.Time, needed bool) {
	if n := s.needed.Load(); n != nil {
		return n.at, true
	}
	return since, false
}

// Done notes that the server accepts requests.
func (s *Stage) Done(*kernel.Call) {
	if s.needed.Load() != nil {
		s.needed.Store(nil)
	}
}

// Fail lets a call wait for a login, which is asked for unless that is in progress.
func (s *Stage) Fail(c *kernel.Call, f *kernel.Failure) kernel.Ruling {
	var n *login.Needed
	switch {
	case f.Loss != nil:
		n = f.Loss.Login
	case f.Trouble != nil:
		n = f.Trouble.Login
	}
	if n == nil || !f.MayWait && !s.isAuto() {
		return kernel.Pass
	}
	attempt := s.ask(c, n)
	if attempt == nil || !f.MayWait {
		return kernel.Pass // a browser was opened for later calls
	}
	return kernel.Hold(func(ctx context.Context, h *kernel.Held) {
		s.wait(ctx, &waiter{call: c, held: h, attempt: attempt, needed: n, loss: f.Loss})
	})
}

// isAuto reports whether the browser is opened without a question. Otherwise a client is asked only as a part
// of a call.
func (s *Stage) isAuto() bool {
	logins := s.logins.Load()
	return logins != nil && logins.Options().Mode == launch.LoginAuto
}

// asker returns how a person is asked to log in because of a call; nil: there is no way.
func (s *Stage) asker(c *kernel.Call) func(*upstream.LoginAttempt) login.Show {
	logins := s.logins.Load()
	if logins == nil || c.IsOwn() || c.ID() == nil || c.IsStream() {
		return nil
	}
	switch o := logins.Options(); {
	case o.Grant != "" || o.Mode == launch.LoginShared:
		return nil // a program logs in without a person, or the login of one client would be that of all
	case o.Mode == launch.LoginAuto:
		return s.browse
	case c.Modern():
		if canAskByResult(c) {
			return s.offer
		}
	case opensAddresses(s.Kernel.Capabilities()):
		return s.elicit(bytes.Clone(c.ID()))
	}
	return nil
}

// browse opens the page in the browser.
func (s *Stage) browse(*upstream.LoginAttempt) login.Show {
	return func(_ context.Context, p login.Page) error { return s.OpenBrowser(p.Opens) }
}

// ask asks for a login because of a call, unless that is in progress. It returns nil if that is
// not possible.
func (s *Stage) ask(c *kernel.Call, n *login.Needed) *upstream.LoginAttempt {
	asker, logins := s.asker(c), s.logins.Load()
	if asker == nil || past(c).logins >= maxLogins || s.Kernel.Facts(c).Closing || !logins.MayAsk(n) {
		return nil
	}
	attempt, begun := logins.Begin(n)
	if begun {
		show := asker(attempt)
		if s.isAuto() {
			go attempt.Run(context.WithoutCancel(s.Kernel.Life()), show) // other sessions may wait for it as well
		} else {
			s.Kernel.Go(func(ctx context.Context) { attempt.Run(ctx, show) })
		}
	}
	return attempt
}

// wait sends a call once a person has logged in, or answers it.
func (s *Stage) wait(ctx context.Context, w *waiter) {
	for {
		past(w.call).logins++
		s.follow(w.attempt)
		s.enter(w)
		select {
		case <-w.attempt.Done():
		case <-ctx.Done():
		}
		s.leave(w)
		if ctx.Err() != nil {
			return
		}
		err := w.attempt.Err()
		if errors.Is(err, context.Canceled) { // the session that asked has ended
			past(w.call).logins--
			if attempt := s.ask(w.call, w.needed); attempt != nil {
				w.attempt = attempt
				continue
			}
		}
		if err != nil {
			w.held.Fail(s.fault(w, err))
			return
		}
		w.held.Continue()
		return
	}
}

// follow notes the end of an attempt once a call has waited for it, even if that call was cancelled or answered
// before.
func (s *Stage) follow(attempt *upstream.LoginAttempt) {
	s.mu.Lock()
	known := s.followed == attempt
	s.followed = attempt
	s.mu.Unlock()
	if known {
		return
	}
	s.Kernel.Go(func(ctx context.Context) {
		select {
		case <-attempt.Done():
			s.ended(attempt)
		case <-ctx.Done():
		}
	})
}

// ended notes the end of an attempt.
func (s *Stage) ended(attempt *upstream.LoginAttempt) {
	s.mu.Lock()
	if o := s.offers.current; o != nil && o.attempt == attempt {
		s.offers.current = nil
	}
	s.mu.Unlock()
	if attempt.Err() == nil {
		s.needed.Store(nil)
		s.Kernel.LoggedIn()
		s.completeElicitation(attempt)
	}
}

// enter adds a call to those that wait, and asks its client if there is a page for that.
func (s *Stage) enter(w *waiter) {
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	o := s.offers.current
	s.mu.Unlock()
	if o != nil && o.attempt == w.attempt {
		s.askByResult()
	}
}

func (s *Stage) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
}

// fault is the answer to a call for which a person did not log in.
func (s *Stage) fault(w *waiter, why error) *fault.Fault {
	delivery := fault.Unsent
	if s.Kernel.Facts(w.call).Deaths {
		delivery = fault.Unknown
	}
	f := &fault.Fault{Code: fault.AuthRequired, Delivery: delivery, Cause: upstream.LoginCause(w.needed, why)}
	if loss := w.loss; loss != nil && loss.Login != nil {
		f.Code, f.Detail = loss.Code, loss.Detail
		if loss.Delivery != fault.Unsent {
			f.Delivery = loss.Delivery
		}
	}
	return f
}

// opensAddresses reports whether a client has elicitation in URL mode.
func opensAddresses(capabilities []byte) bool {
	elicitation, _ := wire.Field(capabilities, "elicitation")
	offered, err := wire.Field(elicitation, "url")
	return err == nil && len(offered) > 0 && offered[0] == '{'
}
