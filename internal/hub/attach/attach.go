// Package attach is how gauze connect reaches the user's running gauze up, and starts one if there is
// none. A file in the state directory names a socket of this user, both sides prove that they know the
// token in the file, and the client says who it is. Then the connection carries the client's stdin and
// stdout, byte for byte.
//
//	attach.go    Hello, and the ways in which attaching fails
//	place.go     Place: the files of one gauze up
//	sweep.go     removes what is left of places that are not in use
//	listen.go    Listen and Serve: the side of gauze up
//	dial.go      Dial: the side of gauze connect
//	greeting.go  what both sides say first
//	stream.go    Conn: bytes in both directions, and how they end
//	takeover.go  TakeOver: the place of a gauze up that was started on demand
//	lifetime.go  when a gauze up that was started on demand ends
//	connect.go   Connect: attach to gauze up, and start it if needed
//	start.go     Start: a process that outlives the one that started it
//	log.go       the log of such a process
//	relay.go     Relay: from a client's stdio to a Conn, and to the next one if gauze up exits
//	memory.go    what is kept of a client's session; resume.go continues it
//	lines.go     whole lines of a stream, and the messages in them
package attach

import (
	"errors"
	"fmt"
	"time"
)

// Hello is what a client says first: where it runs, and what it wants.
type Hello struct {
	Server  string   // Server is the key of the only server in the view. Empty: all of Profile.
	Profile string   // Profile is the profile that the client sees. Empty: everything.
	Dir     string   // Dir is the client's working directory.
	Env     []string // Env is the client's environment.
	Version string   // Version is the client's version of gauze.

	purpose string // empty: it is a client. takingOver: it asks a gauze up that was started on demand to leave the place.
}

// protocol is the version of everything after the first message of each side. Those two never change.
const protocol = 1

// What one side accepts from the other.
const (
	maxEnv      = 1 << 20  // bytes of an environment
	maxHello    = 2 << 20  // an environment as JSON, and the rest of a hello
	maxGreeting = 16 << 10 // any other message before the stream
	maxReason   = 4 << 10  // bytes of an error
)

// greetingTimeout limits what happens before the stream, on either side. Tests change it.
var greetingTimeout = 10 * time.Second

// ErrNotRunning means that no gauze up can be reached at a place.
var ErrNotRunning = errors.New("gauze up is not running")

// ErrRunning means that another gauze up is running at a place.
var ErrRunning = errors.New("gauze up is already running")

// ErrLost means that the other side was gone before it ended its stream.
var ErrLost = errors.New("the connection was lost")

// VersionError means that the running gauze up is of a version that this one cannot talk to.
type VersionError struct {
	Version string // Version is that of the running gauze up.
	PID     int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the running gauze up (pid %d) is version %s, which this version cannot attach to; restart it", e.PID, e.Version)
}

// Refusal means that gauze up does not serve a client, or ended its session with an error.
type Refusal struct {
	Reason string // Reason is for the user, in one line.
}

func (e *Refusal) Error() string { return e.Reason }
