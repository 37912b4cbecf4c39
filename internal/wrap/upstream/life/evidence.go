package life

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Stage is how far a connection got.
type Stage int

const (
	Nowhere     Stage = iota
	Located           // the command was found, or the host has an address
	Started           // the process ran, or the server accepted a connection
	Spoke             // the server sent a JSON-RPC message
	Initialized       // the server agreed on a protocol version
	Listed            // the server listed its tools
)

func (s Stage) String() string {
	names := [...]string{"nowhere", "located", "started", "spoke", "initialized", "listed"}
	if s < 0 || int(s) >= len(names) {
		return "stage " + strconv.Itoa(int(s))
	}
	return names[s]
}

// Evidence is what was recorded about one generation.
type Evidence struct {
	Stage  Stage
	Spawn  error         // why it did not start
	Exit   string        // "exit status 1", "signal: killed"; empty while it runs
	Code   int           // exit code, -1 for a signal
	Signal string        // "SIGKILL"
	Ran    time.Duration // from start to exit
	Stderr []string      // the last lines
	Stray  []string      // the first lines on stdout that are not messages
	ByUs   string        // why gauze ended it; empty if it did not
	Used   bool          // it answered a client's call
	Served time.Duration // from its first message to its end

	Greeted bool // it answered initialize or server/discover with a result
	Joined  bool // it printed a message over several lines

	// A server at a URL has no process; Spawn is why the connection ended.
	Remote  bool
	Gone    bool  // the server is reachable but no longer knows the session
	Refused *Loss // the server is reachable but rejects every request

	// The following are set by a probe, and by an Upstream as far as it knows them.
	Errno      string         // the name of Spawn: "ENOENT", "ECONNREFUSED"; empty if it has none
	Program    launch.Program // the program to be started
	StderrTail []byte         // the last output, unchanged, in any encoding
	StdoutHead []byte         // the first bytes on stdout that are not messages
	RPC        []RPCError     // in order
	HTTP       []Response     // in order
	Limit      AtLimit        // what the server was doing at the timeout
	Left       bool           // the process exited before others that it had started
	Allowed    Allowed        // how much the system let the process use
	Invalid    string         // what is wrong with a message that the server sent; empty if nothing is known
}

// Allowed is how much the system lets a process use (ulimit). 0 is not known, or not limited.
type Allowed struct {
	Files  int64 // open at the same time
	Memory int64 // bytes of address space
}

// RPCError is an error response of a server.
type RPCError struct {
	Method  string // of the request; empty if the response named none
	Phase   Stage  // the stage reached before it
	Code    int
	Message string
	Data    []byte // the first bytes, raw
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("the server rejected %s with error %d: %s", e.Method, e.Code, redact.Quote(e.Message))
}

// Limits on what is kept of a server's output.
const (
	MaxStderrBytes = 64 << 10
	MaxStdoutBytes = 4 << 10
	MaxErrors      = 32
	MaxTextBytes   = 2 << 10 // per message
)

// Shown returns the part of the evidence that a fault contains.
func (e Evidence) Shown() *fault.Evidence {
	return &fault.Evidence{Exit: e.Exit, Ran: e.Ran, Stderr: e.Stderr, Stdout: e.Stray}
}

// Signature identifies a way of failing. Three in a row that are equal are not a coincidence.
func (e Evidence) Signature() string {
	if e.Refused != nil { // the code and the status are enough
		return fmt.Sprintf("%s %d", e.Refused.Code, e.Refused.Status)
	}
	if e.Spawn != nil {
		return numbers.ReplaceAllString(e.Spawn.Error(), "#")
	}
	return e.Exit + "\n" + numbers.ReplaceAllString(strings.Join(e.Stderr, "\n"), "#")
}

// numbers differ from run to run, even in length: times, process ids, ports, addresses.
var numbers = regex.New(`0x[0-9a-fA-F]+|[0-9]+([.:][0-9]+)*`)

// Sentence describes in a few words how a generation ended.
func (e Evidence) Sentence() string {
	switch {
	case e.Refused != nil:
		return "it rejected the request: " + e.Refused.Detail
	case e.Gone:
		return "it no longer recognizes the session: " + e.Spawn.Error()
	case e.Remote && e.Spawn != nil:
		return "connection failed: " + e.Spawn.Error()
	case e.Spawn != nil:
		return e.Spawn.Error()
	case e.ByUs != "":
		return "gauze stopped it: " + e.ByUs
	}
	return "it exited (" + e.Exit + ")"
}

// Telling returns the line of stderr that says most about the end: the last one with a word of failure,
// but not of a stack trace, or else the last one.
func (e Evidence) Telling() (line string) {
	for _, text := range e.Stderr {
		text = strings.TrimSpace(text)
		switch {
		case text == "" || strings.HasPrefix(text, "at "):
		case line == "" || failing(text) || !failing(line):
			line = text
		}
	}
	return line
}

// failing reports whether a line has a word of failure.
func failing(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{"error", "fatal", "panic", "exception", "cannot", "failed", "denied"}, func(word string) bool {
		return strings.Contains(line, word)
	})
}

// Response is a response of a server at a URL, or the reason why there was none. It contains no
// secrets of the user.
type Response struct {
	Method       string
	URL          string // without parts that may be secret
	Status       int    // 0 if the request got no response
	Failed       string // why there was none
	Errno        string // the name of that error, if it has one
	ContentType  string
	Authenticate string // the WWW-Authenticate header
	Location     string // the target of a redirect, without its query; never followed to a different host
	Allow        string
	Session      bool   // the response named a session
	Body         []byte // the first bytes
}

// AtLimit is what a server was doing when the probe stopped waiting.
type AtLimit struct {
	Passed  bool          // the timeout was reached; false if the probe was canceled
	Waiting string        // the method without a response
	After   time.Duration // time since the request

	Alive    bool
	Stopped  bool          // by a signal such as SIGSTOP
	Unread   bool          // it has not read the request; false if that is not known
	CPUKnown bool          // whether CPU and Window are valid
	CPU      time.Duration // used within Window
	Window   time.Duration // about the last second
	Serves   string        // URL at which the command answered as an MCP server over HTTP; empty if it did not
	Survey
}

// Busy reports whether the server was working: a twentieth of one CPU or more. The timers of an
// idle runtime use less.
func (l AtLimit) Busy() bool { return l.CPU > 0 && l.CPU*20 >= l.Window }

// Survey describes the processes of a server.
type Survey struct {
	Surveyed    bool     // whether the other fields are known
	Processes   []string // command names, beginning with the process that gauze started
	Ports       []int    // TCP ports that they listen on
	Downloading string   // why it seems to be downloading; empty if it does not
	Moved       int64    // bytes read and written so far
}
