// Package wire frames and inspects JSON-RPC messages without decoding them:
// bytes in, an inspected envelope out, the same bytes on.
//
//	frame.go     lines from a stream, with a limit and no way to end the session
//	scan.go      one pass over JSON text: is it valid, where does a value end
//	envelope.go  Message: which kind, which id, which method, where the payload lies
//	splice.go    the only rewriting we do: another id, another value for one key
//
// Typed decoding is avoided on purpose. It drops unknown fields, reorders
// keys, rounds numbers and lets `{"method":"a","Method":"b"}` mean two things
// to two readers. What was inspected here is what is forwarded.
package wire
