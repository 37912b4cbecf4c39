// Package differential contains only tests: a server must behave the same for a client directly and
// through gauze with its default flags.
//
// A script of calls is sent to a server directly, twice, and once through gauze. Responses that
// differ between the two direct runs are random and not compared. Every other call that succeeds
// directly must succeed through gauze, with the same bytes and in the same order. Accepted
// differences are listed in improvements (compare_test.go).
//
//	client_test.go     a client that exchanges raw JSON-RPC lines, and its transcript
//	compare_test.go    the differences between two transcripts
//	script_test.go     the calls: valid, odd, wrong, slow, large, pipelined
//	server_test.go     the generated server, determined by a seed
//	generated_test.go  generated servers: two hundred, or a tenth of them by default
//	order_test.go      pipelined effects happen in the order sent
//	real_test.go       real servers from npm and PyPI
//	slow_test.go       servers that take longer than most clients expect
package differential
