package upstream

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Stage is how far an attempt climbed.
type Stage int

const (
	Nowhere     Stage = iota
	Located           // the command was found, or the host has an address
	Started           // the process ran, or the server took a connection
	Spoke             // a JSON-RPC message came out of it
	Initialized       // it agreed on a protocol
	Listed            // it listed its tools
)

func (s Stage) String() string {
	names := [...]string{"nowhere", "located", "started", "spoke", "initialized", "listed"}
	if s < 0 || int(s) >= len(names) {
		return "stage " + strconv.Itoa(int(s))
	}
	return names[s]
}

// Evidence is what we saw of one generation. Facts, no opinions.
type Evidence struct {
	Stage  Stage
	Spawn  error         // why it did not even start
	Exit   string        // "exit status 1", "signal: killed"; empty while it runs
	Code   int           // exit code, -1 for a signal
	Signal string        // "SIGKILL"
	Ran    time.Duration // from start to exit
	Stderr []string      // its last lines
	Stray  []string      // first stdout lines that were no messages
	ByUs   string        // why we ended it, if we did
	Used   bool          // it answered a client's call
	Served time.Duration // from its first message to its end

	// Over HTTP there is no process; Spawn says why the connection is over.
	Remote  bool
	Gone    bool  // the server lives, but knows the session no more
	Refused *Loss // the server is there, but took none of our requests

	// Only an Attempt looks this closely.
	Errno      string     // of Spawn: "ENOENT", "ECONNREFUSED"; empty: it has none
	Program    Program    // what was to be started
	StderrTail []byte     // its last words as they came, in whatever encoding
	StdoutHead []byte     // the first of what it wrote to stdout that were no messages
	RPC        []RPCError // in their order
	HTTP       []Response // in their order
	Limit      AtLimit    // what it was doing when the time was over
}

// RPCError is an error a server answered with.
type RPCError struct {
	Method  string // of the request; empty: it named none
	Phase   Stage  // reached when it came
	Code    int
	Message string
	Data    []byte // raw, its first bytes
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("it answered %s with error %d: %s", e.Method, e.Code, redact.Quote(e.Message))
}

// How much of what a server says is kept.
const (
	MaxStderrBytes = 64 << 10
	MaxStdoutBytes = 4 << 10
	MaxErrors      = 32
	MaxTextBytes   = 2 << 10 // of one message
)

// Shown is the part a fault carries.
func (e Evidence) Shown() *fault.Evidence {
	return &fault.Evidence{Exit: e.Exit, Ran: e.Ran, Stderr: e.Stderr, Stdout: e.Stray}
}

// Signature identifies a way of failing: three equal ones are no accident.
func (e Evidence) Signature() string {
	if e.Refused != nil { // by a number
		return fmt.Sprintf("%s %d", e.Refused.Code, e.Refused.Status)
	}
	if e.Spawn != nil {
		return numbers.ReplaceAllString(e.Spawn.Error(), "#")
	}
	return e.Exit + "\n" + numbers.ReplaceAllString(strings.Join(e.Stderr, "\n"), "#")
}

// numbers differ from run to run, also in their length: times, process ids,
// ports, addresses.
var numbers = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+([.:][0-9]+)*`)

// ring keeps the last bytes of a stream. It grows with what it holds.
type ring struct {
	mu   sync.Mutex
	kept []byte
	last time.Time
}

const ringSize = 256 << 10

func (r *ring) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now()
	r.kept = append(r.kept, b...)
	if len(r.kept) > 2*ringSize {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-ringSize:]...)
	}
	return len(b), nil
}

// lines returns at most n of the last lines.
func (r *ring) lines(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := bytes.TrimRight(r.kept[max(0, len(r.kept)-ringSize):], "\r\n")
	var lines []string
	for len(kept) > 0 && len(lines) < n {
		at := bytes.LastIndexByte(kept, '\n')
		line := bytes.TrimRight(kept[at+1:], "\r")
		if len(line) > 0 {
			lines = append(lines, string(line[:min(len(line), 1000)]))
		}
		kept = kept[:max(at, 0)]
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines
}

// tail is a copy of the last bytes, n at most.
func (r *ring) tail(n int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.kept[max(0, len(r.kept)-n):])
}

// lastWrite is when something last came: a sign of life while a server starts.
func (r *ring) lastWrite() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
