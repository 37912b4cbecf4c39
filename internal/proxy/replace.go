package proxy

import (
	"context"
	"errors"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Restart replaces the server because the user asked for it. It waits until no call is in flight and
// then until the next server is ready, and gives up when ctx ends. Calls that arrive meanwhile wait
// for the next server. A server that is down is tried immediately, and the result is that of the attempt.
func (s *Session) Restart(ctx context.Context) error {
	result := make(chan error, 1)
	s.update(func() {
		if s.restart != nil || s.replacing != nil {
			result <- errors.New("the server is already being restarted")
			return
		}
		s.restart = result // update calls restartIfIdle, and so does each later one
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	s.update(func() {
		switch result {
		case s.restart:
			s.restart = nil
			result <- errors.New("not restarted: calls are still in flight; try again when they have ended")
		case s.replacing:
			s.endRestart(errors.New(s.sinceRestart("not ready yet")))
		}
	})
	return <-result
}

// restartIfIdle carries out the restart that the user asked for, unless a call is in flight. The
// caller holds the lock.
func (s *Session) restartIfIdle() {
	conn := s.conn
	var err error
	switch {
	case s.closing:
		err = errors.New("not restarted: the session is ending")
	case conn == nil:
		s.later(s.up.TryNow)
		s.replacing, s.restart = s.restart, nil
		return
	case s.consulting+s.pausing > 0 || s.inFlight(conn):
		return
	default:
		conn.End(upstream.UserRestart, false)
		s.disconnect()
		s.restarted = true
		s.replacing, s.restart = s.restart, nil
		return
	}
	s.restart <- err
	s.restart = nil
}

// sinceRestart says how the server is after a restart that the user asked for. The caller holds the lock.
func (s *Session) sinceRestart(is string) string {
	if s.restarted {
		return "the server was stopped, and the new one is " + is
	}
	return "the server is " + is
}

// endRestart reports the result of a restart that the user asked for, once the server was stopped. The
// caller holds the lock.
func (s *Session) endRestart(err error) {
	if s.replacing != nil {
		s.replacing <- err
		s.replacing = nil
	}
}

// inFlight reports whether a call of the client waits for an answer on a connection.
func (s *Session) inFlight(conn *upstream.Conn) bool {
	for _, c := range s.flight {
		if c.conn == conn && c.own == nil {
			return true
		}
	}
	return false
}
