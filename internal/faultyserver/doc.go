// Package faultyserver is an MCP stdio server that fails by name, for tests and for the demo.
//
// A fault is a flag (-exit-on-initialize, -stray=banner) or a tool (die, hang, duplicate): the flag bends the
// server as a whole, the tool bends one call. What the tools really did is in a ledger on disk, so a test can
// count effects instead of believing answers.
//
//	run.go      Main, and how a binary re-executes itself into the server
//	flags.go    the settings
//	faults.go   the table of named faults; armed.go is their grammar
//	state.go    what one generation tells the next
//	server.go   the loop: a line in, a handler, a line out
//	era.go      which era a request is of; handshake.go opens the session, listen.go the modern stream
//	session.go  what this generation has seen: log level, subscriptions
//	lists.go    tools, resources, prompts, page by page
//	tools.go    the table of tools; tools_*.go hold what they do, catalogue.go how the list changes
//	output.go   the one place that writes stdout, and bends it
//	ledger.go   what was really executed
//
// Package faultyhttp below is its sister over HTTP.
//
// Run it with -help to see every setting, fault and tool. It imports the standard library only: it is started a
// thousand times in one benchmark.
package faultyserver
