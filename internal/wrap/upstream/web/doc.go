// Package web is the connection to a server at a URL, over HTTP.
//
//	remote.go    what all connections to one URL share
//	access.go    a caller's HTTP client, headers and authorization
//	login.go     the login that the user has for the URL
//	session.go   the session that the exchanges belong to, and its end
//	confirm.go   whether the server still knows the session, before a call that may act
//	exchange.go  one message: sent, and measured how far it got
//	answer.go    the response: a body, or a stream that is resumed if cut
//	deliver.go   passes the messages of all streams to the reader
//	standing.go  the stream that belongs to no request; the HTTP+SSE transport
//	loss.go      what a status means: whether the request ran, whether to retry
//	reach.go     which errors mean that the server was not reached
//	recorder.go  records responses as evidence
//	sse.go       server-sent events
//
// # What was sent
//
// Each message is an exchange, and one can be lost while the others continue. It is unsent only if its last
// byte, the closing brace, was never passed to the system: the body is counted and sealed, and a failed write
// is remembered until the response. An error of the HTTP client alone proves nothing. The transport of a
// caller's own client may buffer or repeat a body, so there a message is unsent only if its closing brace was
// never read (access.go). A JSON-RPC response with the request's id is the answer, whatever the status. A 4xx
// without one is refused: most likely not run, but some servers act first, so only what is safe is repeated.
//
// # The session
//
// It is lost when a request in it is refused and so is a harmless question that the server answered before
// (confirm.go). That renews the session, and proves nothing about the request that was refused. A message that
// may act is sent once: no 401, redirect, other transport or lost session sends it again; the question goes
// before it instead. Where a server redirects to is found by reads and by such questions. If the question is
// answered after a refusal, a different replica refused the request. A link that ends leaves requests that were
// sent alone (Lingers): only their own end decides.
//
// A stream that is cut is resumed with Last-Event-ID; nothing is posted twice for that. The standing stream is
// opened before anything that follows notifications/initialized, because what is sent on it earlier is lost.
package web
