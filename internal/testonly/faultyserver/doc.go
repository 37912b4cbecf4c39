// Package faultyserver is an MCP stdio server with named faults, for tests.
//
// A fault is a flag (-exit-on-initialize, -stray=banner) or a tool (die, hang, duplicate): the flag
// affects the whole server, the tool one call. What the tools did is in a ledger on disk, so that a
// test can count effects instead of trusting responses.
//
//	run.go      Main, and how a binary re-executes itself as the server
//	flags.go    the settings
//	faults.go   the table of named faults; armed.go is their syntax
//	state.go    what one generation passes on to the next
//	server.go   the loop: a line in, a handler, a line out
//	era.go      the era of a request; handshake.go opens the session, listen.go the modern stream
//	session.go  what this generation has seen: log level, subscriptions
//	lists.go    tools, resources, prompts, page by page
//	tools.go    the table of tools; tools_*.go implement them, catalogue.go changes the list
//	output.go   the only writer of stdout, which also alters messages
//	ledger.go   what was executed
//
// Package faultyhttp is the same kind of server over HTTP.
//
// Run it with -help to list every setting, fault and tool. It imports only the standard library,
// because one benchmark starts it a thousand times.
package faultyserver
