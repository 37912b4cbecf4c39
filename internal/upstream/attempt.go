package upstream

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// AttemptOptions of an Attempt; the zero value of each is a sensible default.
type AttemptOptions struct {
	Timeout  time.Duration              // for one answer, counted from the last sign of progress; default Spec.StartTimeout()
	MaxWait  time.Duration              // for all of them together, whatever progress there is; default StartTimeoutMax, or Timeout if that is longer
	Protocol string                     // asked for in initialize; default the newest that has it
	Version  string                     // of ours, told to the server
	Dir      string                     // where a command without a Dir starts, and what a relative Dir is relative to; empty: ours
	Allow    func(netip.AddrPort) error // decides about every address before it is dialled; nil: all are allowed
	Progress func(string)               // hears a line for people, at every stage and now and then in between
}

// Attempted is how far an attempt went, what was seen, and what was found.
type Attempted struct {
	Evidence
	Found   Found
	Took    time.Duration
	Stopped string // why it went no further; empty: it got where it should
}

// OK reports whether the server did all it was asked for.
func (a Attempted) OK() bool { return a.Stopped == "" }

// Hidden returns the attempt with everything the server said passed through
// hide: its own name and its tools' names go into files and answers, too.
func (a Attempted) Hidden(hide func(string) string) Attempted {
	a.Found.Name, a.Found.Version, a.Found.Protocol = hide(a.Found.Name), hide(a.Found.Version), hide(a.Found.Protocol)
	a.Found.Tools = slices.Clone(a.Found.Tools)
	for i := range a.Found.Tools {
		a.Found.Tools[i].Name = hide(a.Found.Tools[i].Name)
	}
	a.Stopped, a.Exit = hide(a.Stopped), hide(a.Exit)
	a.Stderr = slices.Clone(a.Stderr)
	for i := range a.Stderr {
		a.Stderr[i] = hide(a.Stderr[i])
	}
	return a
}

// Found is what a server says of itself.
type Found struct {
	Name, Version string
	Protocol      string
	Era           string // "legacy" or "modern"
	Transport     string // "stdio", "http" or "sse"
	Tools         []Tool
	MoreTools     bool // there were more than anybody can want
}

// Tool is one of them, by what it says of itself.
type Tool struct {
	Name        string
	SchemaSize  int // bytes of its input schema
	ReadOnly    bool
	Destructive bool // as the protocol has it: unless it says otherwise
	Idempotent  bool
	Definition  string // a hash of all a model is told of it: name, title, description, schemas, hints
}

// lostError is a request over HTTP that had no answer.
type lostError struct {
	method string
	Loss
}

func (e *lostError) Error() string { return e.method + " had no answer: " + e.Detail }

// Attempt tries once to reach a server and climbs as far as it can: locate,
// start, initialize, list the tools, call one. It runs the spec's own command
// or contacts its own URL and nothing else, and nothing of it is left when it
// returns.
func Attempt(ctx context.Context, spec launch.Spec, o AttemptOptions) Attempted {
	a := &attempt{AttemptOptions: o.withDefaults(spec), ctx: ctx, spec: spec.In(o.Dir), witness: newWitness()}
	began := time.Now()
	if ctx.Err() != nil {
		a.Stopped = context.Cause(ctx).Error()
	} else if err := a.connect(); err != nil {
		a.Spawn, a.Errno, a.Stopped = err, Errno(err), err.Error()
	} else {
		a.until = time.Now().Add(a.MaxWait)
		if err := a.climb(); err != nil {
			a.Stopped = err.Error()
		}
		a.leave()
	}
	a.Took = time.Since(began)
	return a.Attempted
}

func (o AttemptOptions) withDefaults(spec launch.Spec) AttemptOptions {
	if o.Timeout <= 0 {
		o.Timeout = spec.StartTimeout()
	}
	if o.MaxWait <= 0 {
		o.MaxWait = launch.StartTimeoutMax
	}
	o.MaxWait = max(o.MaxWait, o.Timeout)
	if o.Protocol == "" {
		o.Protocol = newestLegacy
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// attempt is one under way.
type attempt struct {
	AttemptOptions
	Attempted
	ctx      context.Context
	spec     launch.Spec
	conn     *Single
	witness  *witness
	meta     []byte // what a modern request carries; nil: the server is legacy
	hasTools bool   // it says so
	lastID   int
	until    time.Time // MaxWait is over
}

// connect starts the process, or prepares to reach the URL.
func (a *attempt) connect() (err error) {
	if a.Remote = a.spec.URL != ""; a.Remote {
		a.conn, err = OpenSingle(a.spec, a.witness, a.Allow)
		return err
	}
	a.Program = Inspect(a.spec)
	if a.Program.Path != "" {
		a.reach(Located, "found "+plaintext.Clean(a.Program.Path))
	}
	a.Found.Transport = "stdio"
	if a.conn, err = OpenSingle(a.spec, a.witness, a.Allow); err != nil {
		return err
	}
	a.reach(Started, fmt.Sprintf("started, process %d", a.conn.PID()))
	return nil
}

// reach notes a stage.
func (a *attempt) reach(stage Stage, line string) {
	a.Stage = max(a.Stage, stage)
	a.Progress(line)
}

// request asks and waits for the answer.
func (a *attempt) request(method string, params []byte) (result []byte, err error) {
	a.lastID++
	id := strconv.Itoa(a.lastID)
	a.witness.expect(id)
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	if _, err := a.conn.Queue(line); err == nil {
		a.conn.Flush() // otherwise it has ended, and the wait will say so
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

// refused notes an error.
func (a *attempt) refused(method string, raw []byte) *RPCError {
	e := rpcError(raw)
	e.Method, e.Phase = method, a.Stage
	if len(a.RPC) < MaxErrors {
		a.RPC = append(a.RPC, e)
	}
	return &e
}

func rpcError(raw []byte) (e RPCError) {
	code, _ := wire.Field(raw, "code")
	e.Code, _ = strconv.Atoi(string(code))
	e.Message = textField(raw, "message")
	data, _ := wire.Field(raw, "data")
	e.Data = bytes.Clone(data[:min(len(data), MaxTextBytes)])
	return e
}

// Time for a server to end by itself, after it did all it was asked for.
const partingTime = 500 * time.Millisecond

// leave ends the server and gathers what was seen.
func (a *attempt) leave() {
	if a.OK() {
		a.conn.End(ClientLeft, false)
		hurry := time.AfterFunc(partingTime, a.conn.Hurry)
		defer hurry.Stop()
	} else {
		a.conn.End(a.Stopped, true)
	}
	own, seen := a.Evidence, a.conn.Close()
	a.Evidence = seen
	a.Stage = max(own.Stage, seen.Stage)
	a.Program, a.Limit = own.Program, own.Limit
	a.RPC = append(own.RPC, a.witness.errors...)
	a.StdoutHead = appendBounded(a.witness.stray, seen.StdoutHead)
	a.Found.Transport = a.conn.Transport()
	if a.Remote {
		a.Stopped = a.spec.Secrets().Redact(a.Stopped)
	}
	for i := 0; i < len(a.HTTP) && a.Errno == "" && own.Stage < Initialized; i++ {
		a.Errno = a.HTTP[i].Errno
	}
}

// appendBounded adds to the head of a stream that is kept.
func appendBounded(head, more []byte) []byte {
	return append(head, more[:min(len(more), max(0, MaxStdoutBytes-len(head)))]...)
}
