// Package faultyhttp is an MCP server over HTTP that fails by name, for tests and benchmarks.
//
// It runs in the process of its test: New, Start, and a client at URL. Restart is a kill, ExpireSessions is amnesia. A
// fault is armed by the test (Arm) or asked for by the call itself, with the arguments fault and times. What was
// received is in Requests, and what was really done in Effects: both are counted, not believed.
//
//	config.go     how the server behaves when nothing is armed
//	server.go     start, stop, restart: one generation after the other
//	conns.go      TCP connections that can be reset at any moment
//	exchange.go   one POST: read, admit, answer; get.go has GET and DELETE, oldsse.go the transport of 2024-11-05
//	message.go    the JSON-RPC envelope; methods.go all requests but calls
//	session.go    what is known of one client; listen.go the streams of modern ones
//	call.go       one request on its way; tools.go the table of tools, tools_run.go what they do
//	stream.go     what a call says, kept so that another connection can go on reading; sse.go writes it
//	faults.go     the table of faults, and how they are armed; bend.go what they do
//	effects.go    what was really executed, and the gates that calls wait at
//	record.go     what was received
//	run.go        the server as a process of its own
//
// It imports the standard library and the ledger of package faultyserver, which is the same server over stdio.
package faultyhttp
