// Package upstream keeps one MCP server reachable.
//
//	upstream.go   the supervisor: start, prepare, publish, wait for the end, restart
//	restart.go    when to retry, when to wait, when to give up; pure
//	conn.go       one generation of one connection: once broken, never reused
//	asked.go      what is asked of the supervisor: another attempt, a server that sleeps
//	past.go       why connections ended, and how long the server was away
//	failures.go   the last failures, as they are shown
//	unreached.go  a server at a URL that is waited for
//	login.go      a server that needs a login
//	doctor.go     why a server cannot be kept running, and other ways to start it
//	effort.go     when the processes of a server last worked
//	relay.go      the server's stderr, passed on without blocking it
//	disown.go     keeps lines of it from reading as gauze's
//	single.go     one connection that is not restarted, for package probe
//	names.go      what users see of the packages below
//
// A connection is a process that gauze starts (package process) or HTTP to a server at a URL (package
// web). Package life has what both say about themselves.
package upstream
