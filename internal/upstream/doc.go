// Package upstream keeps one MCP server reachable: attempt, publish, watch, retract.
//
//	spec.go      how a server is launched
//	process*.go  a started server: its own group, its pipes, the stop ladder
//	guard*.go    nobody survives us: the group dies even if we are killed
//	outbox.go    bytes on their way to the server, counted where they are written
//	conn.go      one generation of one connection: once broken, never reused
//	evidence.go  what we saw while trying: exit, last stderr, stray stdout
//	relay.go     the server's stderr on its way to ours, never waited for
//	restart.go   when to try again, when to wait, when to give up; pure
//	upstream.go  the supervisor: start, prepare, publish, wait for the end, again
//	vitals*.go   is the process stopped, is it using CPU
//	unread*.go   the proof that bytes were never read
package upstream
