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

	// A server at a URL has no process; Spawn is why the connection ended.
	Remote  bool
	Gone    bool  // the server is reachable but no longer knows the session
	Refused *Loss // the server is reachable but rejects every request

	// The following are set by a probe, and by an Upstream as far as it knows them.
	Errno      string     // the name of Spawn: "ENOENT", "ECONNREFUSED"; empty if it has none
	Program    Program    // the program to be started
	StderrTail []byte     // the last output, unchanged, in any encoding
	StdoutHead []byte     // the first bytes on stdout that are not messages
	RPC        []RPCError // in order
	HTTP       []Response // in order
	Limit      AtLimit    // what the server was doing at the timeout
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
var numbers = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+([.:][0-9]+)*`)

// ring keeps the last bytes of a stream. It grows as needed.
type ring struct {
	mu   sync.Mutex
	kept []byte
	last time.Time

	total int64          // bytes ever written
	marks [maxMarks]mark // of the last writes, at number % maxMarks
	count int            // of writes
}

// mark is when a write began, and how much was written before.
type mark struct {
	at    time.Time
	total int64
}

const maxMarks = 64

const maxRingBytes = 256 << 10

func (r *ring) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now()
	r.marks[r.count%maxMarks] = mark{r.last, r.total}
	r.count++
	r.total += int64(len(b))
	r.kept = append(r.kept, b...)
	if len(r.kept) > 2*maxRingBytes {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-maxRingBytes:]...)
	}
	return len(b), nil
}

// lines returns at most n of the last lines.
func (r *ring) lines(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := bytes.TrimRight(r.kept[max(0, len(r.kept)-maxRingBytes):], "\r\n")
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

// since returns what was written after a time: at most the last n bytes of the last maxMarks writes.
func (r *ring) since(t time.Time, n int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.total
	for i := r.count - 1; i >= max(0, r.count-maxMarks) && !r.marks[i%maxMarks].at.Before(t); i-- {
		from = r.marks[i%maxMarks].total
	}
	size := min(r.total-from, int64(n), int64(len(r.kept)))
	return bytes.Clone(r.kept[int64(len(r.kept))-size:])
}

// tail returns a copy of the last n bytes.
func (r *ring) tail(n int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.kept[max(0, len(r.kept)-n):])
}

// lastWrite returns when something was last written.
func (r *ring) lastWrite() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
