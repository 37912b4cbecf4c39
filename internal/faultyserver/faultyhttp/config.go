package faultyhttp

import "time"

// Transport is how messages travel.
type Transport string

const (
	// Streamable is one endpoint for everything: /mcp.
	Streamable Transport = ""
	// OldSSE is HTTP+SSE of 2024-11-05: GET /sse gives an endpoint, and the answers to what is posted there.
	OldSSE Transport = "sse"
)

// Era is which protocols the server speaks.
type Era string

const (
	Both   Era = ""
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// Answers is the form of an answer to a POST.
type Answers string

const (
	// SSE opens a stream for every answer.
	SSE Answers = ""
	// JSON answers with a plain body, unless the call says something before its answer: that needs a stream.
	JSON Answers = "json"
)

// Config is how the server behaves when nothing is armed. The zero value is a streamable server of both eras,
// without sessions, that answers with streams that cannot be resumed.
type Config struct {
	Transport Transport
	Era       Era
	Stateful  bool // legacy: a session id is issued at initialize and required afterwards
	Answers   Answers
	EventIDs  bool   // legacy: events have ids, and a broken stream can be resumed
	Token     string // if set, 401 without it
	Ledger    string // the file effects are written to; without it they are only counted
	Listen    string // address; default: a free port of 127.0.0.1

	RedirectTo string        // where redirect-other points to
	RetryAfter string        // the header of 429-seconds and 503; default 1
	Drip       time.Duration // between two bytes of slow-headers; default 10ms
	Large      int           // bytes of the event of sse-large; default 50 MiB
	Keep       int           // how many requests are remembered; default 10,000, negative: none
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
