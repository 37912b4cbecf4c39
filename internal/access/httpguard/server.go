package httpguard

import (
	"io"
	"log"
	"net/http"
	"time"
)

// MaxHeaderBytes limits all headers of a request: 64 KB of arguments in Mcp-Param-* is more than any
// tool needs.
const MaxHeaderBytes = 64 << 10

const (
	headerTimeout = 10 * time.Second // a client that needs longer for its headers is an attacker
	idleTimeout   = 2 * time.Minute  // an unused connection is closed
)

// Server returns a server that accepts HTTP/1.1 only, within limits, and logs nothing: errors of a
// client are reported to the client. Strangers must not be able to fill the stderr of gauze.
func Server(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // no HTTP/2: what was inspected is what was sent
	return &http.Server{
		Handler:           h,
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0),
		// "*" is not a valid path: the handler says so.
		DisableGeneralOptionsHandler: true,
	}
}
