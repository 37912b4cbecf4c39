package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// restarting is a restart that the user asked for.
type restarting struct {
	s         *Session
	restart   chan error // gets its result
	replacing chan error // the same, once the server was stopped
	restarted bool       // the next connection follows such a restart
	renew     bool       // the server is replaced as soon as nothing is in progress: it is started in another way now
}

// Restart replaces the server because the user asked for it. It waits until no call is in flight and
// then until the next server is ready, and gives up when ctx ends. Calls that arrive meanwhile wait
// for the next server. A server that is down or asleep is tried immediately, and the result is that of the attempt.
func (s *Session) Restart(ctx context.Context) error {
	result := make(chan error, 1)
	s.update(func() {
		if s.restarting.restart != nil || s.restarting.replacing != nil {
			result <- errors.New("the server is already being restarted")
			return
		}
		s.restarting.restart = result // update calls restartIfIdle, and so does each later one
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	s.update(func() {
		switch result {
		case s.restarting.restart:
			s.restarting.restart = nil
			result <- errors.New("not restarted: calls are still in flight; try again when they have finished")
		case s.restarting.replacing:
			s.restarting.endRestart(errors.New(s.restarting.sinceRestart("not ready yet")))
		}
	})
	return <-result
}

// restartIfIdle carries out the restart that the user asked for, unless a call is in flight. The
// caller holds the lock.
func (r *restarting) restartIfIdle() {
	conn := r.s.link.conn
	var err error
	switch {
	case r.s.leaving.closing:
		err = errors.New("not restarted: the session is ending")
	case conn == nil:
		r.s.sleep.wake()
		r.s.later(r.s.up.TryNow)
		r.replacing, r.restart = r.restart, nil
		return
	case r.s.table.keeps.answers > 0 || r.inFlight(conn):
		return
	default:
		conn.End(upstream.UserRestart, false)
		r.s.server.disconnect()
		r.restarted = true
		r.replacing, r.restart = r.restart, nil
		return
	}
	r.restart <- err
	r.restart = nil
}

// Renew replaces the server of a session as soon as no call, question or task is in progress, because the next one is started
// in another way, which change sets up. It does not wait. A server that is asleep stays so.
func Renew(change func(), s *Session) {
	s.update(func() {
		change()
		s.likeness.other, s.restarting.renew = true, true
	})
}

// renewIfIdle carries out what Renew asked for. The caller holds the lock.
func (r *restarting) renewIfIdle() {
	conn := r.s.link.conn
	switch {
	case r.s.leaving.closing || !r.s.up.Outdated(): // the current one was started in the new way
		r.renew = false
	case conn == nil || r.s.table.keeps.answers > 0 || r.inFlight(conn) || r.s.sleep.minds(conn, time.Now()):
	default:
		conn.End(upstream.NewCommand, false)
		r.s.server.disconnect()
		r.restarted, r.renew = true, false
	}
}

// sinceRestart says how the server is after a restart that the user asked for. The caller holds the lock.
func (r *restarting) sinceRestart(is string) string {
	if r.restarted {
		return "the server was stopped, and the new one is " + is
	}
	return "the server is " + is
}

// endRestart reports the result of a restart that the user asked for, once the server was stopped. The
// caller holds the lock.
func (r *restarting) endRestart(err error) {
	if r.replacing != nil {
		r.replacing <- err
		r.replacing = nil
	}
}

// inFlight reports whether a call of the client waits for an answer on a connection.
func (r *restarting) inFlight(conn *upstream.Conn) bool {
	for _, c := range r.s.table.flight {
		if c.conn == conn && c.own == nil {
			return true
		}
	}
	return false
}
