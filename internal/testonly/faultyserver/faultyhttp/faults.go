package faultyhttp

import (
	"fmt"
	"net/http"
)

// Fault is the name of a fault.
type Fault string

// stage is when a fault takes effect.
type stage int

const (
	atAccept stage = iota // no request was read
	inBody                // a request was partly read
	before                // the request was read and is not executed
	after                 // the request was executed and its response is known
	onStream              // the response is a stream, which is altered
)

// Row is a fault and its description.
type Row struct {
	Fault Fault
	About string
	stage stage
	// do alters the HTTP exchange. answer is nil if the request has none.
	do func(x *exchange, answer []byte)
	// style alters the stream, and replaces do in the old transport.
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
	MuteSSE    Fault = "mute-sse"
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
	Status401AfterEffect Fault = "401-after-effect"
	ExpireAfterEffect    Fault = "expire-after-effect"
	Status404AfterEffect Fault = "404-after-effect"
	ForgetAfterEffect    Fault = "forget-after-effect"
	RedirectAfterEffect  Fault = "redirect-after-effect"

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

// Faults is the table of all faults.
var Faults = []Row{
	{Fault: RSTOnAccept, stage: atAccept, About: "a new connection is reset before anything is read; connections that are already open are not affected"},
	{Fault: RSTInBody, stage: inBody, About: "reset after reading half of the request body, at most 64 KiB; visible with bodies larger than the socket buffers, such as 6 MiB"},

	{Fault: RSTBeforeEffect, stage: before, do: rst, About: "whole request read, not executed, reset before the first byte of the response"},
	{Fault: FINBeforeEffect, stage: before, do: fin, About: "whole request read, not executed, closed before the first byte of the response"},
	{Fault: RSTAfterEffect, stage: after, do: rst, About: "executed, reset before the first byte of the response"},
	{Fault: FINAfterEffect, stage: after, do: fin, About: "executed, closed before the first byte of the response"},

	{Fault: CutBody, stage: after, do: cutBody, style: half, About: "executed, headers and half of the body, then reset"},
	{Fault: CutSSE, stage: onStream, style: cut, About: "executed, the stream is reset after a first event (progress if requested, otherwise a log message, none in the modern era) and before the response, which is kept if events have ids"},
	{Fault: EndSSE, stage: onStream, style: hangup, About: "same as cut-sse, but the stream ends normally"},
	{Fault: ReplaySeen, stage: onStream, style: cut, About: "same as cut-sse, but resuming repeats events that were already received"},
	{Fault: MuteSSE, stage: onStream, style: cut, About: "same as cut-sse, but resuming opens a stream on which nothing follows"},
	{Fault: SSEEndless, stage: onStream, style: endless, About: "executed, the event with the response never ends"},
	{Fault: SSELarge, stage: onStream, style: large, About: "executed, the event with the response is 50 MiB"},
	{Fault: SSEOdd, stage: onStream, style: odd, About: "a correct response in a valid but unusual stream: BOM, CR only, comments, data in many lines"},

	{Fault: Status400, stage: before, do: status(400), About: "not executed"},
	{Fault: Status401, stage: before, do: unauthorized(""), About: "not executed, WWW-Authenticate points to this server"},
	{Fault: Status401Elsewhere, stage: before, do: unauthorized("http://169.254.169.254/"), About: "not executed, WWW-Authenticate points to a link-local address"},
	{Fault: Status403, stage: before, do: status(403), About: "not executed"},
	{Fault: Status404, stage: before, do: lostSession, About: "not executed, as if the session did not exist, although it does"},
	{Fault: Status405, stage: before, do: status(405), About: "not executed"},
	{Fault: Status406, stage: before, do: status(406), About: "not executed"},
	{Fault: Status413, stage: before, do: status(413), About: "not executed"},
	{Fault: Status415, stage: before, do: status(415), About: "not executed"},
	{Fault: Status421, stage: before, do: status(421), About: "not executed"},
	{Fault: Status429, stage: before, do: status(429), About: "not executed, without Retry-After"},
	{Fault: Status429Seconds, stage: before, do: later(429, "seconds"), About: "not executed, Retry-After is Config.RetryAfter"},
	{Fault: Status429Date, stage: before, do: later(429, "date"), About: "not executed, Retry-After is a date two seconds from now"},
	{Fault: Status429Day, stage: before, do: later(429, "86400"), About: "not executed, Retry-After is a day"},
	{Fault: Status429Garbage, stage: before, do: later(429, "soon, -1"), About: "not executed, Retry-After is neither a number nor a date"},
	{Fault: Status500, stage: before, do: status(500), About: "not executed, which the client cannot know"},
	{Fault: Status502, stage: before, do: status(502), About: "not executed, which the client cannot know"},
	{Fault: Status503, stage: before, do: later(503, "seconds"), About: "not executed, Retry-After is Config.RetryAfter"},
	{Fault: Status503Bare, stage: before, do: status(503), About: "not executed, without Retry-After"},
	{Fault: Status504, stage: before, do: status(504), About: "not executed, which the client cannot know"},
	{Fault: Status500AfterEffect, stage: after, do: status(500), About: "executed, then 500"},
	{Fault: Status502AfterEffect, stage: after, do: status(502), About: "executed, then 502"},
	{Fault: Status503AfterEffect, stage: after, do: later(503, "seconds"), About: "executed, then 503"},
	{Fault: Status504AfterEffect, stage: after, do: status(504), About: "executed, then 504"},
	{Fault: Status401AfterEffect, stage: after, do: unauthorized(""), About: "executed, then 401, as if a third party rejected the token"},
	{Fault: ExpireAfterEffect, stage: after, do: expireToken, About: "executed, and the token ended meanwhile: 401, and so for each later request with it"},
	{Fault: Status404AfterEffect, stage: after, do: status(404), About: "executed, then a 404 that does not name the session"},
	{Fault: ForgetAfterEffect, stage: after, do: forgetSession, About: "executed, and the session ended meanwhile: a 404 that names it"},
	{Fault: RedirectAfterEffect, stage: after, do: redirect(307, true), About: "executed, then 307 to a different path of this server"},

	{Fault: HTML, stage: before, do: loginPage, About: "not executed, 200 and a login page"},
	{Fault: RedirectSame, stage: before, do: redirect(307, true), About: "307 to a different path of this server, which responds"},
	{Fault: Redirect308, stage: before, do: redirect(308, true), About: "308 to a different path of this server, which responds"},
	{Fault: RedirectOther, stage: before, do: redirect(307, false), About: "307 to Config.RedirectTo"},
	{Fault: Redirect301, stage: before, do: redirect(301, true), About: "301 to a different path of this server"},
	{Fault: Redirect302, stage: before, do: redirect(302, true), About: "302 to a different path of this server"},
	{Fault: Redirect303, stage: before, do: redirect(303, true), About: "303 to a different path of this server"},

	{Fault: GiantHeaders, stage: after, do: giantHeaders, About: "executed, a header of 1 MiB in the response"},
	{Fault: ManyHeaders, stage: after, do: manyHeaders, About: "executed, 10,000 headers in the response"},
	{Fault: SlowHeaders, stage: after, do: slowHeaders, About: "executed, headers byte by byte, endlessly"},
	{Fault: GzipBomb, stage: after, do: gzipBomb, About: "executed, a response of 1 MiB that decompresses to 1 GiB"},
	{Fault: BadLength, stage: after, do: badLength, About: "executed, Content-Length is larger than the body"},
	{Fault: ShortLength, stage: after, do: shortLength, About: "executed, Content-Length is smaller than the body"},
	{Fault: BadChunk, stage: after, do: badChunk, About: "executed, a chunk whose size is not a number"},
	{Fault: HTTP09, stage: after, do: http09, About: "executed, the response without status line and headers"},
}

func rowOf(f Fault) *Row {
	for i := range Faults {
		if Faults[i].Fault == f {
			return &Faults[i]
		}
	}
	return nil
}

// Match selects the requests that an armed fault applies to.
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

// Arm makes the next n matching requests fail, by default tools/call. rst-on-accept counts
// connections and rst-in-body any POST, because their content is not known yet. It panics if the
// fault does not exist, which is a mistake in the test.
func (s *Server) Arm(f Fault, n int, match ...Match) {
	row := rowOf(f)
	if row == nil || len(match) > 1 {
		panic(fmt.Sprintf("faultyhttp: unknown fault %q, or more than one match", f))
	}
	a := &armed{row: row, left: n}
	if len(match) == 1 {
		a.match = match[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = append(s.armed, a)
}

// Disarm removes all armed faults that have not occurred yet and returns their number.
func (s *Server) Disarm() (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.armed {
		left += a.left
	}
	s.armed = nil
	return left
}

// takeArmed counts one occurrence of the fault that was armed first. The caller must hold
// Server.mu.
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

// armedFor returns the fault that was armed for this request. msg is nil if the request has no
// message or it has not been read yet.
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

// ownFault returns the fault that the call requests itself, as many times as it asks, counted by
// its key.
func (c *call) ownFault() (*Row, *refusal) {
	if c.args.Fault == "" {
		return nil, nil
	}
	row := rowOf(c.args.Fault)
	if row == nil || row.stage < before {
		return nil, refuse(0, -32602, "unknown fault %q, or one that can only be armed", c.args.Fault)
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
