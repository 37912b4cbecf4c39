// Package faultyhttp is an MCP server over HTTP with named faults, for tests and benchmarks.
//
// It runs in the process of its test: New, Start, and a client at URL. Restart is a kill,
// ExpireSessions forgets the sessions. A fault is armed by the test (Arm) or requested by the call
// itself, with the arguments fault and times. Requests returns what was received and Effects what
// was executed, so that a test does not have to trust responses.
//
//	config.go     how the server behaves when no fault is armed
//	server.go     start, stop, restart: one generation after another
//	conns.go      TCP connections that can be reset at any moment
//	exchange.go   one POST: read, admit, respond; get.go has GET and DELETE, oldsse.go the transport of 2024-11-05
//	message.go    the JSON-RPC envelope; methods.go all requests except calls
//	session.go    the state of one client; listen.go the streams of modern clients
//	call.go       one request in progress; tools.go the table of tools, tools_run.go their functions
//	stream.go     the messages of a call, kept so that a different connection can resume; sse.go writes them
//	faults.go     the table of faults, and how they are armed; bend.go what they do
//	effects.go    what was executed, and the gates that calls wait at
//	record.go     what was received
//	run.go        the server as a separate process
//
// It imports the standard library and the ledger of package faultyserver, which is the same kind of
// server over stdio.
package faultyhttp
