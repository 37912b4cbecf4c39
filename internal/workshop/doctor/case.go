package doctor

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Case is what was seen of a server that failed. All fields are optional; the more are set, the
// better the diagnosis.
type Case struct {
	Command []string // program and arguments, as configured
	URL     string   // set instead of Command for a server that is reached by URL
	Stage   Stage    // how far the server got
	Live    bool     // whether gauze saw it itself; otherwise it is from a log
	OS      string   // platform of the reader, as runtime.GOOS; decides the commands in advice
	Keyed   bool     // whether requests to the URL carried a key or token of the user's
	Account string   // name of the login to the URL that is used; empty for the default one
	NoLogin bool     // whether the user turned logins to the URL off
	Env     []string // names of the variables that the entry sets; nil if they are not known
	NoURL   bool     // whether the client only starts commands
	NoSSE   bool     // whether the client connects by streamable HTTP only

	Spawn Spawn  // why the process was not started
	Exit  Exit   // how the process exited
	HTTP  []HTTP // HTTP responses other than a success
	RPC   []RPC  // JSON-RPC errors
	Limit Limit  // what the server was doing when its time was up

	Stderr string
	Stdout string // the first bytes that are not messages
	Log    string // of a client, or an error that gauze met

	Set      []string // names of the variables that the server was started with, except empty ones
	Required []string // variables that a registry lists as required and that are not set, if nothing else shows why it failed
	Unfilled []string // variables whose references reached the server unexpanded, in other variables or in headers

	Secrets redact.Secrets // values that are never shown

	sightings sightings // what gauze saw itself on this machine
	machine   *server   // contradicts what a live server says; nil for a log
}

// asksForCredential reports whether the server asked for credentials, which a wrong address would
// not do.
func (c Case) asksForCredential() bool {
	return slices.ContainsFunc(c.HTTP, func(h HTTP) bool { return h.Status == 401 || h.Status == 403 })
}

// Stage is how far an attempt to use a server got.
type Stage int

const (
	Nowhere     Stage = iota
	Located           // the command was found
	Started           // the process ran, or the host accepted the connection
	Spoke             // the server sent a message
	Initialized       // the server answered initialize
	Listed            // the server listed its tools
	Called            // the server answered a call
)

// Spawn is why a process was not started.
type Spawn struct {
	Errno string // "ENOENT"
	Path  string // the program, directory or interpreter concerned
	Of    string // "command", "cwd" or "interpreter", if known
	Said  string // the line it was read from
}

// Exit is how a process exited.
type Exit struct {
	Known  bool
	Code   int           // -1 for a signal
	Signal string        // "SIGKILL"
	After  time.Duration // time since the start; 0 if not known
	Said   string
}

// HTTP is one response of a server that is reached by URL.
type HTTP struct {
	Status       int
	Method       string
	ContentType  string
	Authenticate string // WWW-Authenticate
	Location     string
	Allow        string
	Session      string // Mcp-Session-Id, or "yes" if there was one
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

// Limit is the state of the server when its time was up.
type Limit struct {
	Passed      bool
	Waiting     string // the method without a response
	After       time.Duration
	Alive       bool
	Stopped     bool // by a signal such as SIGSTOP
	Busy        bool // whether it used CPU
	Downloading bool
	Listening   int    // a port it listens on
	Serves      string // URL at which it answered as an MCP server, on this machine
}
