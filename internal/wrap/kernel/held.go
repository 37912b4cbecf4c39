package kernel

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Held is a call that a stage holds. The first of its methods that takes effect ends that; later ones, and
// those after the client cancelled the call, do nothing.
type Held struct {
	s     *Session
	c     *Call
	stage int                // which stage holds it
	conn  *upstream.Conn     // where its response came from, and where it may be sent again
	end   context.CancelFunc // of the stage's work

	response *Response    // that it gets if nothing better comes; nil: none yet
	message  wire.Message // of response
	fails    func()       // answers it with the fault that it was about to get; nil: there is none
}

// hold lets a stage keep a call. The caller holds the lock.
func (s *Session) hold(c *Call, h *Held, r *Ruling) {
	then := r.hold
	r.unless = nil
	ctx, end := context.WithCancel(s.work.life)
	h.s, h.c, h.end, c.part.held, c.part.shared = s, c, end, h, true
	if c.seq == 0 {
		s.ids.arrivals++
		c.seq, c.order = s.ids.arrivals, s.order.sends
	}
	s.table.move(c, held)
	s.work.background.Go(func() {
		defer end()
		then(ctx, h)
		h.Release()
	})
}

// letGo lets the call go on, and not fail, if the stage does not decide.
func (h *Held) letGo() {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.fails = nil
}

// Call returns the call that is held.
func (h *Held) Call() *Call { return h.c }

// waits reports whether the call waits like one that is queued, such as for a login. Of others there are few.
func (h *Held) waits() bool { return h.conn == nil }

// here reports whether the call is still held. The caller holds the lock.
func (h *Held) here() bool { return h.c.state == held && h.c.part.held == h }

// Release lets the call go on as if it had not been held.
func (h *Held) Release() {
	if h.response == nil && h.fails == nil {
		h.Continue()
		return
	}
	h.Answer()
}

// Continue queues a call that was not sent, or that may be sent again. Its patience begins again. A session
// that is ending sends nothing: abandonAll answers the call.
func (h *Held) Continue() {
	s, c := h.s, h.c
	s.update(func() {
		if !h.here() || s.leaving.closing {
			return
		}
		s.link.loggedIn()
		c.past.retryAt, c.past.lost, c.past.waited = time.Time{}, time.Now(), true
		c.awaitsList = c.conn == nil && s.listing.awaitsList(c)
		s.table.move(c, queued)
		s.server.failIfChanged(c) // it may have been held while the server was replaced
		s.release()
	})
}

// Fail answers the call with a fault.
func (h *Held) Fail(f *fault.Fault) {
	h.s.update(func() {
		if h.here() {
			h.s.fail(h.c, f)
		}
	})
}

// Reply answers the call with a result of gauze's own. It reports whether it did.
func (h *Held) Reply(result []byte, outcome fault.Code) (done bool) {
	s, c := h.s, h.c
	s.update(func() {
		if done = h.here(); done {
			s.reply(c, result, string(outcome))
		}
	})
	return done
}

// Answer gives the call what it would have got if it had not been held.
func (h *Held) Answer() {
	if h.response == nil {
		h.s.update(func() {
			if h.here() {
				h.fails()
			}
		})
		return
	}
	h.s.answerHeld(h, Pass)
}

// Pass is Answer once the later stages were asked as well.
func (h *Held) Pass() {
	if h.response == nil {
		h.Answer()
		return
	}
	h.s.answerHeld(h, h.askLater())
}

// askLater asks the stages after the one that holds the call. It is not held twice.
func (h *Held) askLater() Ruling {
	h.c.part.asking.Lock()
	defer h.c.part.asking.Unlock()
	for _, stage := range h.s.config.Stages[h.stage+1:] {
		r := stage.Respond(h.c, h.response)
		if r.place != nil {
			return r
		}
		r.drop()
	}
	return Pass
}

// answerHeld passes the response on that was held.
func (s *Session) answerHeld(h *Held, r Ruling) {
	c, answers := h.c, false
	s.updateAndTell(func() {
		if answers = h.here(); answers {
			s.table.move(c, done)
			s.counters.Answered++
			s.budget.earn()
		}
	}, func() {
		if answers {
			s.end(c, h.response.outcome(), time.Now())
			s.server.passOn(c, &h.message, h.response, &r)
			s.out.flush()
		}
	})
	r.drop()
}

// StillReads asks the server whether the tool of the call is one that reads now. What a call failed with
// may be the end of the version that listed it so.
func (h *Held) StillReads(ctx context.Context) bool {
	s, tool := h.s, h.c.tool
	if s.policy(tool).Class(Unsafe).Reads() {
		return true // the user says so
	}
	s.mu.Lock()
	m := s.memory
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, listSoon)
	defer cancel()
	fresh, err := (&restoring{s: s, ctx: ctx, conn: h.conn}).list("tools/list", m)
	listed, found := fresh.tools[tool]
	return err == nil && found && listed.class.Reads()
}

// SendAgain sends a call that only reads once more, on its connection. It reports whether it does. sending is
// called under the session's lock if it does.
func (h *Held) SendAgain(detail string, sending func()) (again bool) {
	s, c := h.s, h.c
	s.update(func() {
		if again = h.here() && s.link.conn == h.conn && !s.leaving.mute() && s.isHarmless(c); !again {
			return
		}
		sending()
		c.part.again = time.Now()
		s.counters.Replayed++
		s.emit(c, event.Event{Kind: event.Replayed, Generation: h.conn.Generation, Detail: detail})
		s.dispatch(c)
		s.later(s.Flush)
	})
	return again
}

// Ended is why a call is not sent that was cancelled meanwhile.
const Ended = "the call has finished"

// SendRewritten sends the call with other arguments, as a new call. It returns why it does not. sending is
// called under the session's lock if it does.
func (h *Held) SendRewritten(arguments []byte, sending func()) (why string) {
	s, c := h.s, h.c
	s.update(func() {
		if why = h.cannotSend(arguments); why != "" {
			return
		}
		before, _ := wire.Field(c.msg.Params, "arguments")
		if err := s.rewriteAs(c, Rewrite(ArgumentsEdit(c.msg.Params, before, arguments)...)); err != nil {
			why = err.Error()
			return
		}
		s.client.classify(c)
		sending()
		c.arrived, c.part.again = time.Now(), time.Now() // from here on it waits like a new call
		s.dispatch(c)
		s.later(s.Flush)
	})
	return why
}

// cannotSend returns why a rewritten call must not be sent; empty: it may be. It is admitted as a new
// call. The caller holds the lock.
func (h *Held) cannotSend(arguments []byte) string {
	s, c := h.s, h.c
	barred := time.Now().Before(s.quarantine.barred[sign(c.tool, arguments)])
	switch {
	case !h.here():
		return Ended
	case s.leaving.closing:
		return "the session is ending"
	case s.link.conn != h.conn:
		return "the server was restarted in the meantime"
	case !s.catalog.licenses() || s.catalog.tools[c.tool].shape != c.shape:
		return "the tool changed in the meantime"
	case barred:
		return "the server crashed twice while running this call"
	case c.class.writes() && s.order.writtenSince(c):
		return "other calls that may write were sent in the meantime"
	}
	return ""
}
