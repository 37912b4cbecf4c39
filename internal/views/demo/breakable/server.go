// Package breakable is the server for gauze demo: an MCP server over stdio that fails on request. Its
// tools kill it, delay it, and print noise. What they did is in a ledger on disk, so that the demo can
// compare the responses with it.
//
//	server.go  how a binary becomes the server; the loop: a line in, a line out
//	tools.go   the table of tools
//	ledger.go  what the tools did
package breakable

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// envServer is the environment variable that turns a re-executed binary into the server.
const envServer = "GAUZE_DEMO_SERVER"

// Command returns how to start the server from the current binary. All generations of the server
// share the ledger.
func Command(ledger string, flags ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0] // the start will report the error
	}
	cmd := exec.Command(path, append([]string{"-ledger", ledger}, flags...)...)
	cmd.Env = append(os.Environ(), envServer+"=1")
	return cmd
}

// RunIfAsked turns this process into the server if Command started it; then it does not return. Call
// it first in main or TestMain.
func RunIfAsked() {
	if os.Getenv(envServer) == "" {
		return
	}
	flags := flag.NewFlagSet("the server for gauze demo", flag.ExitOnError)
	path := flags.String("ledger", "", "record what the tools did in this file")
	lostAfter := flags.String("lost-after", "", "exit at every start once die_read with this key has killed the server")
	flags.Parse(os.Args[1:])
	s := &server{ledger: ledger(*path), in: os.Stdin, out: os.Stdout}
	if *lostAfter != "" && s.ledger.count("die_read", *lostAfter) > 0 {
		fmt.Fprintln(os.Stderr, "Error: Cannot find module 'express'")
		os.Exit(1)
	}
	s.serve()
	os.Exit(0)
}

// server is one generation of the server.
type server struct {
	ledger ledger
	in     io.Reader
	out    io.Writer
}

// request is a JSON-RPC request, or a notification if it has no ID.
type request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// serve answers requests until its input ends. It finishes each request before it reads the next.
func (s *server) serve() {
	for {
		line, err := readLine(s.in)
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		answer := response{JSONRPC: "2.0", ID: r.ID}
		answer.Result, answer.Error = s.answer(&r)
		message, err := json.Marshal(answer)
		if err != nil {
			return
		}
		s.out.Write(append(message, '\n')) // if it fails, the client is gone and the input ends
	}
}

// readLine returns the next line. It does not read past its end, so that messages that the server did
// not get to stay in the pipe, where gauze can count them.
func readLine(r io.Reader) (line []byte, err error) {
	for one := []byte{0}; ; {
		if _, err := io.ReadFull(r, one); err != nil {
			return nil, err
		}
		if one[0] == '\n' {
			return line, nil
		}
		line = append(line, one[0])
	}
}

// answer returns the result of a request, or its error.
func (s *server) answer(r *request) (result any, failure *rpcError) {
	switch r.Method {
	case "initialize":
		return map[string]any{
			"protocolVersion": "2025-11-25",
			"capabilities":    map[string]any{"tools": struct{}{}},
			"serverInfo":      map[string]any{"name": "gauze-demo", "version": "1.0.0"},
		}, nil
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": listed()}, nil
	case "tools/call":
		return s.call(r.Params)
	}
	return nil, &rpcError{Code: -32601, Message: fmt.Sprintf("method %q not found", r.Method)}
}
