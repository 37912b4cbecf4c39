package faultyhttp

import (
	"fmt"
	"net/http"
)

// Fault is the name of one way to fail.
type Fault string

// stage is when a fault strikes.
type stage int

const (
	atAccept stage = iota // no request was read
	inBody                // a request was read in part
	before                // the request was read and is not executed
	after                 // the request was executed; its answer is known
	onStream              // the answer is a stream, and the stream is bent
)

// Row is a fault with its description.
type Row struct {
	Fault Fault
	About string
	stage stage
	// do bends the HTTP exchange; the answer is nil if there is none.
	do func(x *exchange, answer []byte)
	// style bends the stream, and in the old transport takes the place of do.
	style style
}

const (
	RSTOnAccept Fault = "rst-on-accept"
	RSTInBody   Fault = "rst-in-body"

	RSTBeforeEffect Fault = "rst-before-effect"
	FINBeforeEffect Fault = "fin-before-effect"
	RSTAfterEffect  Fault = "rst-after-effect"
	FINAfterEffect  Fault = "fin-after-effect"

	CutBody    Fault = "cut-body"
	CutSSE     Fault = "cut-sse"
	EndSSE     Fault = "end-sse"
	ReplaySeen Fault = "replay-seen"
	SSEEndless Fault = "sse-endless"
	SSELarge   Fault = "sse-large"
	SSEOdd     Fault = "sse-odd"

	Status400            Fault = "400"
	Status401            Fault = "401"
	Status401Elsewhere   Fault = "401-elsewhere"
	Status403            Fault = "403"
	Status404            Fault = "404"
	Status405            Fault = "405"
	Status406            Fault = "406"
	Status413            Fault = "413"
	Status415            Fault = "415"
	Status421            Fault = "421"
	Status429            Fault = "429"
	Status429Seconds     Fault = "429-seconds"
	Status429Date        Fault = "429-date"
	Status429Day         Fault = "429-day"
	Status429Garbage     Fault = "429-garbage"
	Status500            Fault = "500"
	Status502            Fault = "502"
	Status503            Fault = "503"
	Status503Bare        Fault = "503-bare"
	Status504            Fault = "504"
	Status500AfterEffect Fault = "500-after-effect"
	Status502AfterEffect Fault = "502-after-effect"
	Status503AfterEffect Fault = "503-after-effect"
	Status504AfterEffect Fault = "504-after-effect"

	HTML          Fault = "html"
	RedirectSame  Fault = "redirect-same"
	Redirect308   Fault = "redirect-308"
	RedirectOther Fault = "redirect-other"
	Redirect301   Fault = "301"
	Redirect302   Fault = "302"
	Redirect303   Fault = "303"

	GiantHeaders Fault = "giant-headers"
	ManyHeaders  Fault = "many-headers"
	SlowHeaders  Fault = "slow-headers"
	GzipBomb     Fault = "gzip-bomb"
	BadLength    Fault = "bad-length"
	ShortLength  Fault = "short-length"
	BadChunk     Fault = "bad-chunk"
	HTTP09       Fault = "http09"
)

// Faults is the table of all of them.
var Faults = []Row{
	{Fault: RSTOnAccept, stage: atAccept, About: "a new connection is reset before anything is read; a connection that is already open is not touched"},
	{Fault: RSTInBody, stage: inBody, About: "reset when half of the request body, 1 MiB at most, was read; visible with bodies larger than the socket buffers"},

	{Fault: RSTBeforeEffect, stage: before, do: rst, About: "whole request read, not executed, reset before any byte"},
	{Fault: FINBeforeEffect, stage: before, do: fin, About: "whole request read, not executed, closed before any byte"},
	{Fault: RSTAfterEffect, stage: after, do: rst, About: "executed, reset before any byte"},
	{Fault: FINAfterEffect, stage: after, do: fin, About: "executed, closed before any byte"},

	{Fault: CutBody, stage: after, do: cutBody, style: half, About: "executed, headers and half of the body, then reset"},
	{Fault: CutSSE, stage: onStream, style: cut, About: "executed, the stream is reset after a first event (progress if asked for, else a log message, in the modern era none) and before the answer, which is kept if events have ids"},
	{Fault: EndSSE, stage: onStream, style: hangup, About: "as cut-sse, but the stream ends in good order"},
	{Fault: ReplaySeen, stage: onStream, style: cut, About: "as cut-sse, and who resumes gets again what was already seen"},
	{Fault: SSEEndless, stage: onStream, style: endless, About: "executed, the event with the answer never ends"},
	{Fault: SSELarge, stage: onStream, style: large, About: "executed, the event with the answer is 50 MiB large"},
	{Fault: SSEOdd, stage: onStream, style: odd, About: "a right answer as a legal but odd stream: BOM, CR only, comments, data in many lines"},

	{Fault: Status400, stage: before, do: status(400), About: "not executed"},
	{Fault: Status401, stage: before, do: unauthorized(""), About: "not executed, WWW-Authenticate points to us"},
	{Fault: Status401Elsewhere, stage: before, do: unauthorized("http://169.254.169.254/"), About: "not executed, WWW-Authenticate points to where nobody should go"},
	{Fault: Status403, stage: before, do: status(403), About: "not executed"},
	{Fault: Status404, stage: before, do: lostSession, About: "not executed, as if the session were gone; it is not"},
	{Fault: Status405, stage: before, do: status(405), About: "not executed"},
	{Fault: Status406, stage: before, do: status(406), About: "not executed"},
	{Fault: Status413, stage: before, do: status(413), About: "not executed"},
	{Fault: Status415, stage: before, do: status(415), About: "not executed"},
	{Fault: Status421, stage: before, do: status(421), About: "not executed"},
	{Fault: Status429, stage: before, do: status(429), About: "not executed, without Retry-After"},
	{Fault: Status429Seconds, stage: before, do: later(429, "seconds"), About: "not executed, Retry-After is Config.RetryAfter"},
	{Fault: Status429Date, stage: before, do: later(429, "date"), About: "not executed, Retry-After is a date two seconds from now"},
	{Fault: Status429Day, stage: before, do: later(429, "86400"), About: "not executed, Retry-After is a day"},
	{Fault: Status429Garbage, stage: before, do: later(429, "soon, -1"), About: "not executed, Retry-After is no number and no date"},
	{Fault: Status500, stage: before, do: status(500), About: "not executed, but who can tell"},
	{Fault: Status502, stage: before, do: status(502), About: "not executed, but who can tell"},
	{Fault: Status503, stage: before, do: later(503, "seconds"), About: "not executed, Retry-After is Config.RetryAfter"},
	{Fault: Status503Bare, stage: before, do: status(503), About: "not executed, without Retry-After"},
	{Fault: Status504, stage: before, do: status(504), About: "not executed, but who can tell"},
	{Fault: Status500AfterEffect, stage: after, do: status(500), About: "executed, and then 500"},
	{Fault: Status502AfterEffect, stage: after, do: status(502), About: "executed, and then 502"},
	{Fault: Status503AfterEffect, stage: after, do: later(503, "seconds"), About: "executed, and then 503"},
	{Fault: Status504AfterEffect, stage: after, do: status(504), About: "executed, and then 504"},

	{Fault: HTML, stage: before, do: loginPage, About: "not executed, 200 and a login page"},
	{Fault: RedirectSame, stage: before, do: redirect(307, true), About: "307 to another path of this server, which answers"},
	{Fault: Redirect308, stage: before, do: redirect(308, true), About: "308 to another path of this server, which answers"},
	{Fault: RedirectOther, stage: before, do: redirect(307, false), About: "307 to Config.RedirectTo"},
	{Fault: Redirect301, stage: before, do: redirect(301, true), About: "301 to another path of this server"},
	{Fault: Redirect302, stage: before, do: redirect(302, true), About: "302 to another path of this server"},
	{Fault: Redirect303, stage: before, do: redirect(303, true), About: "303 to another path of this server"},

	{Fault: GiantHeaders, stage: after, do: giantHeaders, About: "executed, a header of 1 MiB before the answer"},
	{Fault: ManyHeaders, stage: after, do: manyHeaders, About: "executed, 10,000 headers before the answer"},
	{Fault: SlowHeaders, stage: after, do: slowHeaders, About: "executed, headers byte by byte and without end"},
	{Fault: GzipBomb, stage: after, do: gzipBomb, About: "executed, an answer that is 1 MiB packed and 1 GiB unpacked"},
	{Fault: BadLength, stage: after, do: badLength, About: "executed, Content-Length says more than comes"},
	{Fault: ShortLength, stage: after, do: shortLength, About: "executed, Content-Length says less than comes"},
	{Fault: BadChunk, stage: after, do: badChunk, About: "executed, a chunk whose size is no number"},
	{Fault: HTTP09, stage: after, do: http09, About: "executed, the answer without status and headers"},
}

func rowOf(f Fault) *Row {
	for i := range Faults {
		if Faults[i].Fault == f {
			return &Faults[i]
		}
	}
	return nil
}

// Match says which requests an armed fault is for.
type Match struct {
	Verb   string // POST if empty
	Method string // of a POST: tools/call if empty, * for any
	Tool   string // any if empty
}

func (m Match) fits(r *http.Request, msg *message) bool {
	if verb := m.Verb; verb != r.Method && (verb != "" || r.Method != http.MethodPost) {
		return false
	}
	if msg == nil {
		return true
	}
	if m.Tool != "" {
		return msg.tool() == m.Tool
	}
	return m.Method == "*" || msg.Method == m.Method || m.Method == "" && msg.Method == "tools/call"
}

type armed struct {
	row   *Row
	left  int
	match Match
}

// Arm lets the next n requests that match fail: calls of tools, if nothing else is said. rst-on-accept counts
// connections, and rst-in-body any POST, because nobody knows yet what they ask for. It panics if there is no such
// fault: that is a mistake in the test.
func (s *Server) Arm(f Fault, n int, match ...Match) {
	row := rowOf(f)
	if row == nil || len(match) > 1 {
		panic(fmt.Sprintf("faultyhttp: no fault %q, or more than one match", f))
	}
	a := &armed{row: row, left: n}
	if len(match) == 1 {
		a.match = match[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = append(s.armed, a)
}

// Disarm takes back all that was armed and did not strike yet, and says how much that was.
func (s *Server) Disarm() (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.armed {
		left += a.left
	}
	s.armed = nil
	return left
}

// takeArmed counts one strike of what was armed first. Server.mu is held.
func (s *Server) takeArmed(fits func(a *armed) bool) *Row {
	for i, a := range s.armed {
		if !fits(a) {
			continue
		}
		if a.left--; a.left <= 0 {
			s.armed = append(s.armed[:i:i], s.armed[i+1:]...)
		}
		return a.row
	}
	return nil
}

// armedFor is the fault that was armed for this request; msg is nil if it has no message, or none was read yet.
func (x *exchange) armedFor(msg *message, stages ...stage) *Row {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return x.s.takeArmed(func(a *armed) bool {
		for _, st := range stages {
			if a.row.stage == st {
				return a.match.fits(x.r, msg)
			}
		}
		return false
	})
}

// ownFault is the one the call asks for itself, for as many times as its key was seen.
func (c *call) ownFault() (*Row, *refusal) {
	if c.args.Fault == "" {
		return nil, nil
	}
	row := rowOf(c.args.Fault)
	if row == nil || row.stage < before {
		return nil, refuse(0, -32602, "fault %q: there is none, or it can only be armed", c.args.Fault)
	}
	key := c.msg.name + " " + c.args.Key + c.args.Text
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.seen[key]++
	if c.args.Times > 0 && c.s.seen[key] > c.args.Times {
		return nil, nil
	}
	return row, nil
}
