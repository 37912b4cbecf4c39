// Package taskrun connects tasks to their real parts: servers behind the wrap, and a log on disk.
//
//	servers.go     the servers of a task, each behind a proxy session
//	server.go      one server: a minimal MCP client of its session
//	tools.go       what a server lists: classes and shapes
//	state.go       how a server is doing, and reconnecting
//	reply.go       the answer to a call, as package task reads it
//	store.go       tasks in the journal: start, run, decide, correct, list
//	background.go  tasks that outlive the request that asked for them; stop.go: stops one of another process
//	memory.go      a log in memory; remove.go: removes one in the journal
package taskrun
