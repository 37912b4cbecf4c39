// Package life has what the two kinds of connection to a server, package process and package web,
// say to package upstream: what arrives, and how a connection ended.
//
//	record.go    one connection from its start to its end
//	evidence.go  what was recorded: exit status, last stderr, stray stdout
//	loss.go      a request without a response, on a connection that continues
//	tail.go      the last bytes of a stream
//	output.go    the last lines that a server printed, over all connections
//	errno*.go    system errors by their common names
package life
