package proxy

import (
	"cmp"
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// A tool may answer with an error that is likely to be over soon, such as a timeout. If the tool only
// reads, the call is sent once more after a pause. Until then the call is in the state pausing and keeps
// that answer, which it gets if it cannot be sent again.

// repetition is a call that failed with a transient error, and what came of it. Guarded by Session.mu.
type repetition struct {
	held   wire.Message // the server's first answer
	said   response
	kind   correct.Kind
	first  string         // what the first answer says, without secrets
	conn   *upstream.Conn // where the call may be sent again
	silent bool           // the user wants no notes
	again  time.Time      // when it was sent again; zero: it was not
}

// holdTransient keeps the response to a call that is sent again. It reports whether it does. The caller
// holds the lock.
func (s *Session) holdTransient(c *call, answer *wire.Message, said response) bool {
	if !said.failed || c.own != nil || c.msg.Method != "tools/call" || c.repetition != nil || c.conn != s.conn || s.mute() {
		return false
	}
	mode := repair.Mode(s.Tools[c.tool].repairMode(s.Repair))
	if mode == repair.ModeOff || !s.mayRepeat(c) {
		return false
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	kind, found := correct.Transient(correct.Rejection{Text: said.all, Code: said.Code}, arguments)
	now := c.conn.LastHeard()
	if !found || !s.correctPolicy(c.tool).Repeats(kind) || !s.fitsTwice(c, now.Sub(c.sent)) || !s.budget.take(time.Now()) {
		return false
	}
	if c.failed.IsZero() {
		c.failed = now
	}
	s.quarantine.clear(c.sign)
	r := &repetition{held: keep(answer), said: said, kind: kind, first: s.secrets.Load().Redact(said.all), conn: c.conn, silent: mode == repair.ModeSilent}
	c.repetition = r
	s.move(c, pausing)
	tool, m := c.tool, s.memory
	s.background.Go(func() {
		s.pause(s.life)
		s.sendAgain(c, s.stillReads(tool, r.conn, m))
	})
	return true
}

// stillReads reports whether the server lists a tool as one that reads now. What a call failed with may be
// the end of the version that listed it so.
func (s *Session) stillReads(tool string, conn *upstream.Conn, m memory) bool {
	if s.Tools[tool].class(Unsafe).reads() {
		return true // the user says so
	}
	ctx, cancel := context.WithTimeout(s.life, listSoon)
	defer cancel()
	fresh, err := (&restoring{s: s, ctx: ctx, conn: conn}).list("tools/list", m)
	listed, found := fresh.tools[tool]
	return err == nil && found && listed.class.reads()
}

// mayRepeat reports whether it is known that a second attempt of a call does no harm: the live server,
// or the user, says that its tool only reads, and no user was asked anything during the first one.
func (s *Session) mayRepeat(c *call) bool {
	return s.classNow(c).reads() && !s.toolChanged(c) && !inDialogue(c) && c.asked == 0 && !s.userAsked(c.conn)
}

// fitsTwice reports whether a call that took this long may take as long again.
func (s *Session) fitsTwice(c *call, took time.Duration) bool {
	return correct.FitsTwice(took, cmp.Or(s.MaxTime, s.timeout(c)))
}

// repeatPause is the default of Options.pause.
func repeatPause(ctx context.Context) {
	pause := time.NewTimer(correct.RepeatPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

// sendAgain sends a call once more if its tool still reads, or passes its first answer on.
func (s *Session) sendAgain(c *call, reads bool) {
	r := c.repetition
	answered := false
	s.updateAndTell(func() {
		switch {
		case c.state != pausing: // it was cancelled
		case !reads || s.conn != r.conn || s.mute() || !s.mayRepeat(c):
			answered = true
			s.move(c, done)
			s.noteEnd(c, outcomeOf(r.said, true), time.Now())
			s.counters.Answered++
		default:
			r.again = time.Now()
			s.counters.Replayed++
			s.tally.replayed++
			s.emit(c, event.Event{Kind: event.Replayed, Generation: r.conn.Generation, Detail: "the tool answered with " + r.kind.Describe()})
			s.dispatch(c)
			s.later(s.Flush)
		}
	}, func() {
		if !answered {
			return
		}
		s.reportCorrected(c, failedAgain)
		if !s.examineCall(c, &r.held, r.said) {
			s.putAnswer(c, &r.held, r.said, fault.Cause{})
		}
		s.out.flush()
	})
}

// addTo adds to a response that it is the second one.
func (r *repetition) addTo(added repair.Addition, said response) repair.Addition {
	const mark = fault.ModelMark + "] "
	switch {
	case r == nil || r.again.IsZero() || r.silent:
	case said.failed:
		added.Explanation = joinNotes(mark+r.note(said), added.Explanation)
	default:
		added.Note = joinNotes(mark+r.note(said), added.Note)
	}
	return added
}

func joinNotes(first, second string) string {
	if second == "" {
		return first
	}
	return first + "\n\n" + second
}

// note words that a call was sent again.
func (r *repetition) note(said response) string {
	first := r.first
	if said.failed && said.all == r.said.all {
		first = "" // the response says it
	}
	return correct.Repeated(r.kind, first, said.failed)
}

// withHistory adds the first failure of a call to a result of gauze's own about the second attempt.
func (r *repetition) withHistory(result []byte) []byte {
	if r == nil || r.again.IsZero() || r.silent {
		return result
	}
	return withText(result, fault.ModelMark+"] "+r.note(response{failed: true}))
}
