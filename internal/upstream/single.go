package upstream

import (
	"io"
	"net/netip"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// A Single is one connection to a server that is not replaced when it ends. It records more about
// the server than the connections of an Upstream do.
type Single struct {
	*Conn
	guard    guard
	recorder *recorder // nil if the server is a process
}

// maxProbed is the length of the longest message that is read of a server that is only probed.
const maxProbed = 16 << 20

// OpenSingle starts the server, or prepares to reach it at its URL. The caller must call Close.
// allow, if not nil, decides about every address before it is dialled.
func OpenSingle(spec launch.Spec, reader Reader, allow func(netip.AddrPort) error) (*Single, error) {
	s := &Single{}
	if spec.URL != "" {
		recorder, err := newRecorder(spec, allow)
		if err != nil {
			return nil, err
		}
		s.recorder, s.Conn = recorder, dial(recorder.remote, 1, reader, io.Discard, defaultConfirmAfter, maxProbed)
		return s, nil
	}
	conn, err := launchConn(spec, 1, reader, io.Discard, &s.guard, maxProbed)
	if err != nil {
		s.guard.close()
		return nil, err
	}
	s.Conn = conn
	return s, nil
}

// Redact hides the credentials that requests had, including those of a login.
func (s *Single) Redact(text string) string {
	if s.recorder == nil {
		return text
	}
	return s.recorder.remote.secrets.Redact(text)
}

// Close waits for the end of the connection, which End asks for, and returns everything that was
// recorded. Nothing that OpenSingle started is left.
func (s *Single) Close() Evidence {
	<-s.Done()
	s.dismiss()
	<-s.gone()
	s.guard.close()
	e := s.Evidence()
	e.Errno = Errno(e.Spawn)
	e.StderrTail = s.stderr.tail(MaxStderrBytes)
	if s.pipes != nil {
		e.StdoutHead = s.pipes.half
	}
	if s.recorder != nil {
		e.Stage, e.HTTP = s.recorder.finish()
		if s.firstMessage.Load() > 0 {
			e.Stage = Spoke
		}
	}
	return e
}

// Transport returns "stdio", "http" or "sse".
func (s *Single) Transport() string {
	switch {
	case s.recorder == nil:
		return "stdio"
	case s.recorder.remote.transport.Load() == httpSSE:
		return "sse"
	}
	return "http"
}

// LastStderr returns when the server last wrote to its stderr.
func (s *Single) LastStderr() time.Time { return s.stderr.lastWrite() }

// Exited reports whether the server is a process that has exited.
func (s *Single) Exited() bool {
	if s.pipes == nil {
		return false
	}
	select {
	case <-s.pipes.proc.exited:
		return true
	default:
		return false
	}
}

// Unread reports whether the server is a process that has read nothing from its stdin.
func (s *Single) Unread() bool { return s.starting() }

// Survey describes the processes of the server.
func (s *Single) Survey() Survey {
	if s.pipes == nil {
		return Survey{}
	}
	return s.pipes.proc.survey(s.pipes.proc.cmd.Env)
}
