// Package differential holds tests only: what a server does for a client directly, it does the same
// way behind gauze under default flags.
//
// A script of calls is sent to a server directly, twice, and once through gauze. Answers on which the
// two direct runs disagree are random and not compared. Every other call that succeeds directly must
// succeed wrapped, with the same bytes and in the same order. What may differ has a name in
// improvements (compare_test.go).
//
//	client_test.go     a client that speaks raw JSON-RPC lines, and the transcript of what it is told
//	compare_test.go    two transcripts, and the differences between them
//	script_test.go     the calls: valid, odd, wrong, slow, large, pipelined
//	server_test.go     the generated server: a seed decides what it is like
//	generated_test.go  two hundred generated servers
//	order_test.go      pipelined effects happen in the order sent
//	real_test.go       real servers from npm and PyPI
//	slow_test.go       servers that take longer than most clients expect
package differential
