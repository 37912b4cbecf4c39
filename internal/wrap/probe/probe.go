package probe

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Options configures Run. The zero value of each field is a sensible default.
type Options struct {
	// Timeout limits the wait for one response since the last progress. Default
	// Spec.StartTimeout().
	Timeout time.Duration
	// MaxWait limits the wait for all responses together. Default StartTimeoutMax, or Timeout if
	// that is longer.
	MaxWait time.Duration
	// Protocol is the version in initialize. Default: the newest version that has initialize.
	Protocol string
	Version  string // gauze's version, sent to the server
	// Dir is where a command without a Dir starts and what a relative Dir is relative to. Default:
	// gauze's own directory.
	Dir string
	// Allow decides about every address before it is dialled. If nil, all are allowed.
	Allow func(netip.AddrPort) error
	// Progress is called with a line for the user at every stage and every few seconds while
	// waiting.
	Progress func(string)
}

// Result is the result of Run.
type Result struct {
	upstream.Evidence
	Found   Found
	Took    time.Duration
	Stopped string  // why it stopped; empty if it reached the last stage
	Served  *Served // where a command answered that was silent on stdout; nil if it did not
	Noise   string  // the first line of stdout that is not a message; empty if there was none
}

// OK reports whether the server answered every request as expected.
func (a Result) OK() bool { return a.Stopped == "" }

// Hidden returns a with everything that came from the server passed through hide, including its
// name and the names of its tools.
func (a Result) Hidden(hide func(string) string) Result {
	a.Found.Name, a.Found.Version, a.Found.Protocol = hide(a.Found.Name), hide(a.Found.Version), hide(a.Found.Protocol)
	a.Found.Tools = slices.Clone(a.Found.Tools)
	for i := range a.Found.Tools {
		a.Found.Tools[i].Name = hide(a.Found.Tools[i].Name)
	}
	a.Stopped, a.Exit, a.Noise, a.Found.Unusable = hide(a.Stopped), hide(a.Exit), hide(a.Noise), hide(a.Found.Unusable)
	a.Stderr = slices.Clone(a.Stderr)
	for i := range a.Stderr {
		a.Stderr[i] = hide(a.Stderr[i])
	}
	a.Stray = slices.Clone(a.Stray)
	for i := range a.Stray {
		a.Stray[i] = hide(a.Stray[i])
	}
	return a
}

// LastLines returns the last n lines that the server wrote to stderr or, if there are none, to
// stdout without being messages.
func (a Result) LastLines(n int) []string {
	lines := a.Stderr
	if len(lines) == 0 {
		lines = a.Stray
	}
	return lines[max(0, len(lines)-n):]
}

// Found is what a server reports about itself.
type Found struct {
	Name, Version string
	Protocol      string
	Era           string // "legacy" or "modern"
	Transport     string // "stdio", "http" or "sse"
	Tools         []Tool
	MoreTools     bool   // there were more than maxTools, or more than maxPages
	Toolless      bool   // the server declares tools but lists none
	Unusable      string // the name of the first tool without an object as its inputSchema; empty if all have one
}

// Tool is one tool of a server, as the server describes it.
type Tool struct {
	Name        string
	SchemaSize  int // bytes of the input schema
	ReadOnly    bool
	Destructive bool // the default of the protocol for tools that are not read-only
	Idempotent  bool
	Definition  string // a hash of everything that a model sees of the tool
	Raw         []byte // its entry in the list, in the server's words
	Bytes       int    // of its name, description and input schema
	Tokens      int    // what these are in a model's context, estimated
}

// lostError reports a request over HTTP without a response.
type lostError struct {
	method string
	upstream.Loss
}

func (e *lostError) Error() string { return e.method + " was not answered: " + e.Detail }

// Run connects to a server once and goes as far as it can: locate, start, initialize, list the
// tools. It runs only the command of spec, or contacts only its URL, and leaves nothing running.
func Run(ctx context.Context, spec launch.Spec, o Options) Result {
	a := &attempt{Options: o.withDefaults(spec), ctx: ctx, spec: spec.In(o.Dir), reader: newReader()}
	began := time.Now()
	if ctx.Err() != nil {
		a.r.Stopped = context.Cause(ctx).Error()
	} else if err := a.connect(); err != nil {
		a.r.Spawn, a.r.Errno, a.r.Stopped = err, life.Errno(err), err.Error()
	} else {
		a.until = time.Now().Add(a.MaxWait)
		if err := a.negotiate(); err != nil {
			a.r.Stopped = err.Error()
		}
		a.finish()
	}
	a.r.Took = time.Since(began)
	return a.r
}

func (o Options) withDefaults(spec launch.Spec) Options {
	if o.Timeout <= 0 {
		o.Timeout = spec.StartTimeout()
	}
	if o.MaxWait <= 0 {
		o.MaxWait = launch.StartTimeoutMax
	}
	o.MaxWait = max(o.MaxWait, o.Timeout)
	if o.Protocol == "" {
		o.Protocol = wire.NewestLegacy
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// attempt is a Run in progress.
type attempt struct {
	Options
	r        Result
	ctx      context.Context
	spec     launch.Spec
	conn     *upstream.Single
	reader   *reader
	meta     []byte // the _meta of a modern request; nil for a legacy server
	hasTools bool   // the server declares the tools capability
	lastID   int
	until    time.Time // when MaxWait has passed
}

// connect starts the process, or prepares to reach the URL.
func (a *attempt) connect() (err error) {
	if a.r.Remote = a.spec.URL != ""; a.r.Remote {
		a.conn, err = upstream.OpenSingle(a.spec, a.reader, a.Allow)
		return err
	}
	a.r.Program = launch.Inspect(a.spec)
	if a.r.Program.Path != "" {
		a.reach(upstream.Located, "found "+plaintext.Clean(a.r.Program.Path))
	}
	a.r.Found.Transport = "stdio"
	if a.conn, err = upstream.OpenSingle(a.spec, a.reader, a.Allow); err != nil {
		return err
	}
	a.reach(upstream.Started, fmt.Sprintf("started, process %d", a.conn.PID()))
	return nil
}

// reach records a stage.
func (a *attempt) reach(stage upstream.Stage, line string) {
	a.r.Stage = max(a.r.Stage, stage)
	a.Progress(line)
}

// request sends a request and waits for the response.
func (a *attempt) request(method string, params []byte) (result []byte, err error) {
	a.lastID++
	id := strconv.Itoa(a.lastID)
	a.reader.expect(id)
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	if _, err := a.conn.Queue(line); err == nil {
		a.conn.Flush() // otherwise it has ended, and await returns why
	}
	answer, err := a.await(method)
	switch {
	case err != nil:
		return nil, err
	case answer.loss != nil:
		return nil, &lostError{method: method, Loss: *answer.loss}
	case answer.Error != nil:
		return nil, a.refused(method, answer.Error)
	}
	return answer.Result, nil
}

// refused records an error response.
func (a *attempt) refused(method string, raw []byte) *upstream.RPCError {
	e := rpcError(raw)
	e.Method, e.Phase = method, a.r.Stage
	if len(a.r.RPC) < life.MaxErrors {
		a.r.RPC = append(a.r.RPC, e)
	}
	return &e
}

func rpcError(raw []byte) (e upstream.RPCError) {
	code, _ := wire.Field(raw, "code")
	e.Code, _ = strconv.Atoi(string(code))
	e.Message = textField(raw, "message")
	data, _ := wire.Field(raw, "data")
	e.Data = bytes.Clone(data[:min(len(data), life.MaxTextBytes)])
	return e
}

// exitGrace is how long a server may take to exit by itself after it answered everything.
const exitGrace = 500 * time.Millisecond

// finish ends the server and collects the evidence.
func (a *attempt) finish() {
	if a.r.OK() {
		a.conn.End(upstream.ClientLeft, false)
		hurry := time.AfterFunc(exitGrace, a.conn.Hurry)
		defer hurry.Stop()
	} else {
		a.conn.End(a.r.Stopped, true)
	}
	own, seen := a.r.Evidence, a.conn.Close()
	a.r.Evidence = seen
	a.r.Stage = max(own.Stage, seen.Stage)
	a.r.Program, a.r.Limit, a.r.Invalid = own.Program, own.Limit, own.Invalid
	a.r.RPC = append(own.RPC, a.reader.errors...)
	a.r.StdoutHead = appendBounded(a.reader.stray, seen.StdoutHead)
	a.r.Noise, _, _ = strings.Cut(strings.TrimSpace(string(a.reader.stray)), "\n")
	if logged := a.reader.logged; !a.r.OK() && !a.r.Remote && len(logged) > 0 {
		a.r.Stderr = append(a.r.Stderr, logged...)
		a.r.StderrTail = append(a.r.StderrTail, strings.Join(append(logged, ""), "\n")...)
	}
	a.r.Found.Transport = a.conn.Transport()
	if a.r.Remote {
		a.r = a.r.Hidden(a.conn.Redact)
		for i, e := range a.r.RPC { // a server may repeat the token of a login, which nothing else knows
			a.r.RPC[i].Message, a.r.RPC[i].Data = a.conn.Redact(e.Message), []byte(a.conn.Redact(string(e.Data)))
		}
	}
	for i := 0; i < len(a.r.HTTP) && a.r.Errno == "" && own.Stage < upstream.Initialized; i++ {
		a.r.Errno = a.r.HTTP[i].Errno
	}
}

// appendBounded appends to the kept head of a stream.
func appendBounded(head, more []byte) []byte {
	return append(head, more[:min(len(more), max(0, life.MaxStdoutBytes-len(head)))]...)
}
