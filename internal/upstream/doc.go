// Package upstream keeps one MCP server reachable: attempt, publish, watch, retract.
//
//	spec.go      how a server is launched or reached
//	upstream.go  the supervisor: start, prepare, publish, wait for the end, again
//	restart.go   when to try again, when to wait, when to give up; pure
//	conn.go      one generation of one connection: once broken, never reused
//	evidence.go  what we saw while trying: exit, last stderr, stray stdout
//
// Or one try, as far as it goes, with everything that was seen:
//
//	attempt.go   the try: its options, what it returns, its beginning and end
//	attempt_*.go climb: the stages; wait: how long, while there is progress;
//	             witness: who hears the server; http: what was answered
//	program.go   the command as it lies on the disk: mode, interpreter, format
//	survey*.go   what the processes do: their names, ports, a download
//	errno*.go    errors by the names everybody knows
//
// A connection takes one of two ways. Pipes, to a process we start:
//
//	pipes.go     the process from its start to its last byte
//	process*.go  a started server: its own group, its pipes, the stop ladder
//	guard*.go    nobody survives us: the group dies even if we are killed
//	outbox.go    bytes on their way to the server, counted where they are written
//	unread*.go   the proof that bytes were never read
//	joiner.go    a message that was printed on several lines
//	relay.go     the server's stderr on its way to ours, never waited for
//	disown.go    no line of it reads as one of gauze's
//	vitals*.go   is the process stopped, is it using CPU
//
// Or HTTP, to a server behind a URL:
//
//	remote.go    what all connections to one URL share
//	access.go    a caller's own HTTP client, headers and authorization
//	web.go       the session that holds the exchanges together, and its end
//	exchange.go  one message: sent, and measured how far it got
//	answer.go    what comes back: a body, or a stream that is resumed when cut
//	hearing.go   messages on their way to the reader, from all streams
//	standing.go  the stream that belongs to no request; the old transport
//	loss.go      what a status means: did it run, is a second try worth it
//	reach.go     which errors mean that nobody was there
//	sse.go       server-sent events
package upstream
