package doctor

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/redact"
)

// Case is what was seen of a server that failed. Everything is optional; the
// more is known, the surer the diagnosis.
type Case struct {
	Command []string // program and arguments, as configured
	URL     string   // instead of a command
	Stage   Stage    // how far it got
	Live    bool     // we have just seen it ourselves; otherwise it is somebody's log
	OS      string   // platform of the reader, as runtime.GOOS: advice uses the words of its shell
	Keyed   bool     // a key or token of the user's went with the requests to the URL

	Spawn Spawn  // why it did not even start
	Exit  Exit   // how it ended
	HTTP  []HTTP // answers over HTTP that were no success
	RPC   []RPC  // JSON-RPC errors
	Limit Limit  // what it was doing when the time was over

	Stderr string
	Stdout string // the first bytes that were no messages
	Log    string // of a client, where there is nothing better

	Unfilled []string // variables that the values of others and headers refer to, as the server got them

	Secrets redact.Secrets // never shown
}

// asksForCredential: a server that wants to know who we are is the one that
// was meant.
func (c Case) asksForCredential() bool {
	return slices.ContainsFunc(c.HTTP, func(h HTTP) bool { return h.Status == 401 || h.Status == 403 })
}

// Stage is how far an attempt to use a server climbed.
type Stage int

const (
	Nowhere     Stage = iota
	Located           // the command was found
	Started           // the process ran, or the host took the connection
	Spoke             // a message came out of it
	Initialized       // it answered initialize
	Listed            // it listed its tools
)

// Spawn is why a process was not started.
type Spawn struct {
	Errno string // "ENOENT"
	Path  string // what it is about
	Of    string // "command", "cwd" or "interpreter", if that is known
	Said  string // the line it was read from
}

// Exit is how a process ended.
type Exit struct {
	Known  bool
	Code   int           // -1 for a signal
	Signal string        // "SIGKILL"
	After  time.Duration // from the start; 0: not known
	Said   string
}

// HTTP is one answer of a server behind a URL.
type HTTP struct {
	Status       int
	Method       string
	ContentType  string
	Authenticate string // WWW-Authenticate
	Location     string
	Allow        string
	Session      string // Mcp-Session-Id, or that there was one
	Body         string // its first bytes
	Said         string
}

// RPC is one JSON-RPC error.
type RPC struct {
	Code    int
	Method  string // of the request, if known
	Message string
	Said    string
}

// Limit is the state of the server when the time was over.
type Limit struct {
	Passed      bool
	After       time.Duration
	Alive       bool
	Busy        bool // it used CPU
	Downloading bool
	Listening   int // a port it listens on
}
