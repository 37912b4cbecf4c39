// Package mcpserver is a server of MCP for one client, over a pair of streams. It has tools and nothing
// else, and speaks all versions: those with initialize, and 2026-07-28, where every request carries its
// version and a tool that needs an answer of the user returns the question.
//
//	server.go       a server, its tools and its end
//	lines.go        messages, one per line; lines that are not messages
//	conn.go         requests of the client and their responses
//	methods.go      initialize, server/discover, tools/list, tools/call
//	call.go         a call in progress: its progress, its questions and its result
//	tasks.go        tasks of the protocol, and what keeps them
//	task_call.go    calls that the client made as tasks, until they end (2025-11-25)
//	task_legacy.go  tasks/get, result, list and cancel of 2025-11-25
//	task_modern.go  the extension of 2026-07-28
//
// Every request has exactly one response, also one that is canceled. The goroutines of a server end
// before Serve returns, unless a tool ignores that its context is canceled.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Server is a server with tools.
type Server struct {
	Info         Info
	Instructions string
	Tools        []Tool // in the order in which they are listed
	// Respell returns the name of the tool that a client means by the name of none, or "". It may be nil.
	Respell func(name string) string
	// Tasks keeps tasks. If it is nil, the server has none.
	Tasks Backend
}

// Info is how a server introduces itself.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Tool is a tool that a server offers.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations"`
	Execution    *execution      `json:"execution,omitempty"` // set in lists of 2025-11-25

	Unlisted bool `json:"-"` // it can be called by clients that know its name
	// Run runs a call. Its error is for mistakes of the client that no model can correct; other errors are results.
	Run func(context.Context, *Call) (*Result, error) `json:"-"`
}

// Annotations say what a tool may do.
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// execution says whether calls of a tool can be tasks.
type execution struct {
	TaskSupport string `json:"taskSupport"`
}

const (
	drainTimeout = 2 * time.Second  // for responses after the client closed its side
	stopTimeout  = 10 * time.Second // for calls that are canceled
)

// Serve speaks MCP over in and out until in ends or ctx is done, and closes both. When in ends, requests
// in progress have a moment to be answered; then all calls are canceled.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := newConn(ctx, stop, s, out)
	ended := make(chan error, 1)
	go func() { ended <- c.read(in) }() // it may be blocked reading in, perhaps a terminal, when ctx is done
	var err error
	select {
	case err = <-ended:
		wait(ctx, &c.requests, drainTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.close()
	stop(nil)
	wait(context.Background(), &c.requests, stopTimeout)
	wait(context.Background(), &c.background, stopTimeout)
	_ = in.Close()
	_ = out.Close()
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// wait waits for work, but not longer than limit, nor when ctx is done.
func wait(ctx context.Context, work interface{ Wait() }, limit time.Duration) {
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}
