package faultyhttp

import "time"

// Transport is the transport of the server.
type Transport string

const (
	// Streamable uses one endpoint for everything: /mcp.
	Streamable Transport = ""
	// OldSSE is HTTP+SSE of 2024-11-05: GET /sse returns an endpoint to post to, and the responses.
	OldSSE Transport = "sse"
)

// Era selects the protocol versions that the server supports.
type Era string

const (
	Both   Era = ""
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// Answers is the form of a response to a POST.
type Answers string

const (
	// SSE opens a stream for every response.
	SSE Answers = ""
	// JSON responds with a plain body, unless the call sends something before its response, which
	// requires a stream.
	JSON Answers = "json"
)

// Config is how the server behaves when no fault is armed. The zero value is a streamable server of
// both eras, without sessions, that responds with streams that cannot be resumed.
type Config struct {
	Transport Transport
	Era       Era
	Stateful  bool // legacy: initialize returns a session id, which is required afterwards
	Answers   Answers
	NoPing    bool   // ping is an unknown path: 404 without a JSON-RPC response
	EventIDs  bool   // legacy: events have ids, and a broken stream can be resumed
	Token     string // if set, requests without it get 401
	Logins    bool   // requires tokens, which it issues to machines
	Ledger    string // the file that records effects; without it they are only counted
	Listen    string // address; default: a free port of 127.0.0.1

	RedirectTo string        // target of redirect-other
	RetryAfter string        // the header of 429-seconds and 503; default 1
	Drip       time.Duration // interval between two bytes of slow-headers; default 10ms
	Large      int           // bytes of the event of sse-large; default 50 MiB
	Keep       int           // number of requests that are kept; default 10,000, negative for none
}

func (c *Config) fillIn() {
	if c.RetryAfter == "" {
		c.RetryAfter = "1"
	}
	if c.Drip <= 0 {
		c.Drip = 10 * time.Millisecond
	}
	if c.Large <= 0 {
		c.Large = 50 << 20
	}
	if c.Keep == 0 {
		c.Keep = 10_000
	}
}
