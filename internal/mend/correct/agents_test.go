package correct

import "testing"

// The errors by which agents recognize a lost connection or a dead session, and their
// counterexamples. gauze observes the connection itself, so words of a result never end a session;
// they only must not make a model guess different arguments for a call whose connection failed.
func TestErrorsThatAgentsTakeForALostConnection(t *testing.T) {
	for text, lost := range map[string]bool{
		// Of a client that agents use.
		"not connected": true, "connection reset by peer": true, "request timeout": true, "connect: connection refused": true,
		"network is unreachable": true, "unexpected EOF": true, "write |1: broken pipe": true, "no such host": true,
		"dial tcp 127.0.0.1:80": true, "HTTP request failed: x": true, "SSE connection failed: x": true,
		"stdio transport not connected": true, "failed to send request: x": true, "failed to start MCP server: x": true,
		"MCP error: could not process input (code: -32602)":        false,
		"tool execution error: database connection string invalid": false,
		// Of a library that repeats calls.
		"RuntimeError: MCP error -32000: Connection closed": true, "RuntimeError: Connection closed": true,
		"RuntimeError: connection reset": true, "RuntimeError: broken pipe": true,
		"FileNotFoundError: config.json": false, "PermissionError: denied": false, "RuntimeError: division table empty": false,
		"ValueError: resource limit must be positive": false,
		// Of a client that replaces dead sessions.
		"RuntimeError: connection closed": true, "RuntimeError: stream closed": true, "RuntimeError: session not initialized": true,
		"RuntimeError: transport closed": true, "RuntimeError: anyio.ClosedResourceError": true,
		"RuntimeError: read operation was cancelled": true, "BrokenPipeError": true, "ConnectionError": true, "ConnectionResetError": true,
		"EOFError": true, "ClosedResourceError": true, "BrokenResourceError": true, "EndOfStream": true,
		"RuntimeError: [Server: x] Tool 'y' failed: bad input": false,
		// Of a handler that tells failures of the protocol from failures of the tool.
		"ConnectionError: Connection closed": true,
	} {
		c := Classify(Rejection{Text: text})
		if lost && c.Correctable {
			t.Errorf("%q: a model would be asked for different arguments: %+v", text, c)
		}
		if !lost && (c.Kind == Connection || c.Kind == Timeout) {
			t.Errorf("%q: %+v, although the connection works", text, c)
		}
	}
}

// The failures that a handler stops the agent for. gauze stops nothing: the agent gets the failure,
// and a model may correct the arguments where they were the reason.
func TestFailuresThatStopAnAgent(t *testing.T) {
	for text, correctable := range map[string]bool{
		"JSONDecodeError: Expecting value":              true,
		"ValueError: Invalid JSON encoding":             true,
		"TypeError: Unexpected type":                    false,
		"ValueError: Validation failed: file not found": false,
	} {
		if c := Classify(Rejection{Text: text}); c.Correctable != correctable {
			t.Errorf("%q: %+v", text, c)
		}
	}
}
