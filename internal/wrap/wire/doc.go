// Package wire frames and inspects JSON-RPC messages without decoding them:
// bytes in, an inspected envelope out, the same bytes on.
//
//	frame.go     lines of a stream; a line over the limit does not end the session
//	scan.go      one pass over JSON text: whether it is valid, where a value ends
//	envelope.go  Message: its kind, id and method, and where the payload is
//	protocol.go  versions of MCP, keys of _meta
//	splice.go    the only rewriting: a different id, a different value for one key
//
// Typed decoding is avoided on purpose. It drops unknown fields, reorders
// keys, rounds numbers and lets two readers disagree on
// `{"method":"a","Method":"b"}`. What was inspected is what is forwarded.
package wire
