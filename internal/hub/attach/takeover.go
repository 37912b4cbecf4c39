package attach

import (
	"context"
	"errors"
	"net"
	"time"
)

// takingOver is the purpose of a hello that asks for the place.
const takingOver = "take over"

// TakeOver is Listen for a gauze up that the user started. One that was started on demand leaves the place to it: it keeps
// the clients that are attached, and ends after the last of them.
func TakeOver(ctx context.Context, p Place, version string) (l *Listener, err error) {
	for range maxTakeOvers {
		if l, err = Listen(ctx, p, version); !errors.Is(err, ErrRunning) {
			break
		}
		conn, refused := Dial(ctx, p, Hello{Version: version, purpose: takingOver})
		if refused == nil {
			conn.Close()
		} else if !errors.Is(refused, ErrNotRunning) {
			break
		}
	}
	return l, err
}

// maxTakeOvers is how often a place is asked for: a client may start another gauze up as soon as one has left.
const maxTakeOvers = 5

// leave leaves the place to another process, if this one was started on demand. Its clients stay.
func (l *Listener) leave(raw net.Conn) {
	answer := reply{Refused: ErrRunning.Error()}
	if l.Idle > 0 {
		l.Close()
		answer.Refused = ""
	}
	raw.SetWriteDeadline(time.Now().Add(greetingTimeout))
	send(raw, answer)
}
