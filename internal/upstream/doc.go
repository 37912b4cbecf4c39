// Package upstream keeps one MCP server reachable.
//
//	upstream.go  the supervisor: start, prepare, publish, wait for the end, restart
//	restart.go   when to retry, when to wait, when to give up; pure
//	conn.go      one generation of one connection: once broken, never reused
//	evidence.go  what was recorded: exit status, last stderr, stray stdout
//	past.go      why connections ended, and how long the server was away
//	single.go    one connection that is not restarted, for package probe
//	program.go   the command on disk: mode, interpreter, format
//	survey*.go   the server's processes: names, ports, downloads
//	errno*.go    system errors by their common names
//
// A connection uses pipes to a process that gauze starts:
//
//	pipes.go     the process from its start to its last byte
//	process*.go  a started server: its process group, its pipes, how it is stopped
//	guard*.go    ends the process group even if gauze is killed
//	outbox.go    bytes on their way to the server, counted where they are written
//	unread*.go   the proof that bytes were never read
//	joiner.go    messages printed over several lines
//	relay.go     the server's stderr, passed on without blocking it
//	disown.go    keeps lines of it from reading as gauze's
//	vitals*.go   whether the process is stopped, and its CPU time
//
// or HTTP to a server at a URL:
//
//	remote.go    what all connections to one URL share
//	recorder.go  records responses as evidence
//	access.go    a caller's HTTP client, headers and authorization
//	web.go       the session that the exchanges belong to, and its end
//	exchange.go  one message: sent, and measured how far it got
//	answer.go    the response: a body, or a stream that is resumed if cut
//	deliver.go   passes the messages of all streams to the reader
//	standing.go  the stream that belongs to no request; the HTTP+SSE transport
//	loss.go      what a status means: whether the request ran, whether to retry
//	reach.go     which errors mean that the server was not reached
//	sse.go       server-sent events
package upstream
