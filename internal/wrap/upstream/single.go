package upstream

import (
	"io"
	"net/netip"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/web"
)

// A Single is one connection to a server that is not replaced when it ends. It records more about
// the server than the connections of an Upstream do.
type Single struct {
	*Conn
	guard    process.Guard
	recorder *web.Recorder // nil if the server is a process
}

// maxProbed is the length of the longest message that is read of a server that is only probed.
const maxProbed = 16 << 20

// OpenSingle starts the server, or prepares to reach it at its URL. The caller must call Close.
// allow, if not nil, decides about every address before it is dialled.
func OpenSingle(spec launch.Spec, reader Reader, allow func(netip.AddrPort) error) (*Single, error) {
	s := &Single{}
	if spec.URL != "" {
		recorder, err := web.NewRecorder(spec, allow)
		if err != nil {
			return nil, err
		}
		s.recorder, s.Conn = recorder, dial(recorder.Remote, 1, reader, io.Discard, nil, Confirm{}, maxProbed)
		return s, nil
	}
	conn, err := launchConn(spec, 1, reader, io.Discard, nil, &s.guard, maxProbed)
	if err != nil {
		s.guard.Close()
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
	return s.recorder.Redact(text)
}

// Close waits for the end of the connection, which End asks for, and returns everything that was
// recorded. Nothing that OpenSingle started is left.
func (s *Single) Close() Evidence {
	<-s.Done()
	s.dismiss()
	<-s.gone()
	s.guard.Close()
	e := s.Evidence()
	e.Errno = life.Errno(e.Spawn)
	e.StderrTail = s.rec.Stderr.Tail(life.MaxStderrBytes)
	if s.pipes != nil {
		e.StdoutHead = s.pipes.UnfinishedLine()
	}
	if s.recorder != nil {
		e.Stage, e.HTTP = s.recorder.Finish()
		if s.Spoke() {
			e.Stage = Spoke
		}
	}
	return e
}

// Transport returns "stdio", "http" or "sse".
func (s *Single) Transport() string {
	if s.recorder == nil {
		return "stdio"
	}
	return s.recorder.Transport()
}

// LastStderr returns when the server last wrote to its stderr.
func (s *Single) LastStderr() time.Time { return s.rec.Stderr.LastWrite() }

// Exited reports whether the server is a process that has exited.
func (s *Single) Exited() bool { return s.pipes != nil && s.pipes.Exited() }

// Unread reports whether the server is a process that has read nothing from its stdin.
func (s *Single) Unread() bool { return s.unread() }

// Survey describes the processes of the server.
func (s *Single) Survey() Survey { return s.survey() }
