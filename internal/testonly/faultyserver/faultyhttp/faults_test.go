package faultyhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// reset reports whether err is that of a broken connection. On Windows it may have ended normally
// instead (see conn.cut), as wine also reports some resets.
func reset(err error) bool {
	if runtime.GOOS == "windows" && errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	return err != nil && (strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "forcibly closed"))
}

func isReset(t *testing.T, o outcome) {
	t.Helper()
	if !reset(o.err) || o.status != 0 {
		t.Errorf("not reset: %v", o)
	}
}

func isClosed(t *testing.T, o outcome) {
	t.Helper()
	if !errors.Is(o.err, io.EOF) || o.status != 0 {
		t.Errorf("not closed: %v", o)
	}
}

func isStatus(code int, more ...func(t *testing.T, o outcome)) func(*testing.T, outcome) {
	return func(t *testing.T, o outcome) {
		t.Helper()
		if o.err != nil || o.status != code {
			t.Errorf("not %d: %v", code, o)
		}
		for _, f := range more {
			f(t, o)
		}
	}
}

func hasHeader(name, part string) func(*testing.T, outcome) {
	return func(t *testing.T, o outcome) {
		t.Helper()
		if !strings.Contains(o.header.Get(name), part) {
			t.Errorf("%s is %q, want %q", name, o.header.Get(name), part)
		}
	}
}

// brokenAs expects a response that net/http cannot read to the end.
func brokenAs(part string) func(*testing.T, outcome) {
	return func(t *testing.T, o outcome) {
		t.Helper()
		if o.err == nil || !strings.Contains(o.err.Error(), part) {
			t.Errorf("want an error with %q: %v", part, o)
		}
	}
}

func isAnswer(t *testing.T, o outcome) {
	t.Helper()
	if o.err != nil || o.status != 200 || !strings.Contains(o.message(), "appended k") {
		t.Errorf("no answer: %v", o)
	}
}

// cutAfterHeaders expects a stream that broke before the response.
func cutAfterHeaders(t *testing.T, o outcome) {
	t.Helper()
	if !reset(o.err) || o.status != 200 || strings.Contains(o.body, "appended") || !strings.Contains(o.body, "working") {
		t.Errorf("not cut: %v", o)
	}
}

// onTheWire maps each fault to what a plain HTTP client sees of it. The missing ones are tested
// separately.
var onTheWire = map[Fault]func(*testing.T, outcome){
	RSTBeforeEffect: isReset,
	RSTAfterEffect:  isReset,
	FINBeforeEffect: isClosed,
	FINAfterEffect:  isClosed,

	CutBody: func(t *testing.T, o outcome) {
		if !reset(o.err) || o.status != 200 || o.header.Get("Content-Type") != "application/json" || json.Valid([]byte(o.body)) || o.body == "" {
			t.Errorf("not half a body: %v", o)
		}
	},
	CutSSE:     cutAfterHeaders,
	ReplaySeen: cutAfterHeaders,
	MuteSSE:    cutAfterHeaders,
	EndSSE: func(t *testing.T, o outcome) {
		if o.err != nil || o.status != 200 || strings.Contains(o.body, "appended") || !strings.Contains(o.body, "working") {
			t.Errorf("not ended: %v", o)
		}
	},
	SSELarge: func(t *testing.T, o outcome) {
		isAnswer(t, o)
		if len(o.body) < 1<<20 || New(Config{}).cfg.Large != 50<<20 {
			t.Errorf("only %d bytes", len(o.body))
		}
	},
	SSEOdd: func(t *testing.T, o outcome) {
		isAnswer(t, o)
		contains(t, o.body, "\uFEFF", ": a comment\r", "fieldwithoutcolon\r")
		if strings.Contains(o.body, "\n") || strings.Count(o.body, "\rdata:") < 5 || !json.Valid([]byte(o.message())) {
			t.Errorf("not odd, or not right: %q", o.body)
		}
	},

	Status400:          isStatus(400),
	Status401:          isStatus(401, hasHeader("WWW-Authenticate", `resource_metadata="http://127.0.0.1:`)),
	Status401Elsewhere: isStatus(401, hasHeader("WWW-Authenticate", `resource_metadata="http://169.254.169.254/"`)),
	Status403:          isStatus(403),
	Status404:          isStatus(404),
	Status405:          isStatus(405),
	Status406:          isStatus(406),
	Status413:          isStatus(413),
	Status415:          isStatus(415),
	Status421:          isStatus(421),
	Status429: isStatus(429, func(t *testing.T, o outcome) {
		if o.header["Retry-After"] != nil {
			t.Error("has Retry-After")
		}
	}),
	Status429Seconds: isStatus(429, hasHeader("Retry-After", "7")),
	Status429Date: isStatus(429, func(t *testing.T, o outcome) {
		if at, err := http.ParseTime(o.header.Get("Retry-After")); err != nil || time.Until(at) > 3*time.Second {
			t.Errorf("Retry-After %v %v", at, err)
		}
	}),
	Status429Day:     isStatus(429, hasHeader("Retry-After", "86400")),
	Status429Garbage: isStatus(429, hasHeader("Retry-After", "soon")),
	Status500:        isStatus(500),
	Status502:        isStatus(502),
	Status503:        isStatus(503, hasHeader("Retry-After", "7")),
	Status503Bare: isStatus(503, func(t *testing.T, o outcome) {
		if o.header["Retry-After"] != nil {
			t.Error("has Retry-After")
		}
	}),
	Status504:            isStatus(504),
	Status500AfterEffect: isStatus(500),
	Status502AfterEffect: isStatus(502),
	Status503AfterEffect: isStatus(503, hasHeader("Retry-After", "7")),
	Status504AfterEffect: isStatus(504),
	Status401AfterEffect: isStatus(401),
	ExpireAfterEffect:    isStatus(401),
	Status404AfterEffect: isStatus(404),
	RedirectAfterEffect:  isStatus(307, hasHeader("Location", "/moved")),

	HTML:          isStatus(200, hasHeader("Content-Type", "text/html")),
	RedirectSame:  isStatus(307, hasHeader("Location", "/moved")),
	Redirect308:   isStatus(308, hasHeader("Location", "/moved")),
	RedirectOther: isStatus(307, hasHeader("Location", "http://elsewhere.invalid/")),
	Redirect301:   isStatus(301, hasHeader("Location", "/moved")),
	Redirect302:   isStatus(302, hasHeader("Location", "/moved")),
	Redirect303:   isStatus(303, hasHeader("Location", "/moved")),

	GiantHeaders: func(t *testing.T, o outcome) {
		isAnswer(t, o)
		if len(o.header.Get("X-Giant")) != 1<<20 {
			t.Error("not giant")
		}
	},
	ManyHeaders: func(t *testing.T, o outcome) {
		isAnswer(t, o)
		if len(o.header) < 10_000 {
			t.Error("not many")
		}
	},
	BadLength:   brokenAs("unexpected EOF"),
	ShortLength: isStatus(200, func(t *testing.T, o outcome) { brokenJSON(t, o.body) }),
	BadChunk:    brokenAs("chunk"),
	HTTP09:      brokenAs("malformed HTTP"),
}

func brokenJSON(t *testing.T, body string) {
	t.Helper()
	if body == "" || json.Valid([]byte(body)) {
		t.Errorf("whole: %q", body)
	}
}

// alone maps the faults that are tested separately to their tests.
var alone = map[Fault]string{
	RSTOnAccept: "TestRSTOnAcceptStrikesNewConnectionsOnly",
	RSTInBody:   "TestRSTInBodyComesBeforeTheRequestIsComplete",
	SSEEndless:  "TestWithoutEnd",
	SlowHeaders: "TestWithoutEnd",
	GzipBomb:    "TestGzipBombUnpacksToTooMuch",

	ForgetAfterEffect: "TestASessionEndsWithItsCall",
}

// Every fault, armed and requested, in both eras, must show as described, and the ledger must show
// whether the call was executed.
func TestEachFaultOnTheWire(t *testing.T) {
	cfg := Config{RetryAfter: "7", Large: 1 << 20, RedirectTo: "http://elsewhere.invalid/"}
	for _, era := range []Era{Legacy, Modern} {
		cfg := cfg
		cfg.Era, cfg.Stateful = era, era == Legacy
		s := start(t, cfg)
		p := newPeer(t, s)
		if era == Legacy {
			p.initialize()
		}
		for i, row := range Faults {
			check := onTheWire[row.Fault]
			if check == nil {
				if alone[row.Fault] == "" {
					t.Errorf("%s has no test", row.Fault)
				}
				continue
			}
			t.Run(string(era)+"/"+string(row.Fault), func(t *testing.T) {
				want := 0
				if row.stage >= after {
					want = 1
				}
				for _, way := range []string{"armed", "asked"} {
					// Use a new connection: on a reused one a retry would hide a reset.
					p := &peer{t: t, s: s, web: connections(t), ctx: p.ctx, session: p.session, modern: p.modern, ids: i}
					key := fmt.Sprintf("k-%d-%s", i, way)
					args := fmt.Sprintf(`{"key":%q}`, key)
					if way == "armed" {
						s.Arm(row.Fault, 1)
					} else {
						args = fmt.Sprintf(`{"key":%q,"fault":%q,"times":1}`, key, row.Fault)
					}
					r := p.newRequest("tools/call", `{"name":"append","arguments":`+args+`}`)
					if row.style == cut || row.style == hangup { // these send a message first, if allowed
						r = p.withProgress(r)
					}
					check(t, p.do(r))
					if got := s.Effects()[key]; got != want {
						t.Errorf("%s: executed %d times, want %d", way, got, want)
					}
					// The same call succeeds the second time.
					p.web = connections(t)
					if got := p.call("append", args); got.err != nil || got.status != 200 || s.Effects()[key] != want+1 {
						t.Errorf("%s, second time: %v, executed %d times", way, got, s.Effects()[key])
					}
				}
				if left := s.Disarm(); left != 0 {
					t.Errorf("%d did not strike", left)
				}
			})
		}
	}
}

// withProgress asks for progress, so that a modern stream sends a message before its response.
func (p *peer) withProgress(r *http.Request) *http.Request {
	body, _ := io.ReadAll(r.Body)
	text := string(body)
	if p.modern {
		text = strings.Replace(text, `{"_meta":{`, `{"_meta":{"progressToken":"t",`, 1)
	}
	again := p.newPost(text)
	again.Header = r.Header
	return again
}

func TestRSTOnAcceptStrikesNewConnectionsOnly(t *testing.T) {
	s := start(t, Config{Stateful: true})
	p := legacyPeer(t, s)
	s.Arm(RSTOnAccept, 2)
	if got := p.call("echo", `{"text":"x"}`); got.err != nil {
		t.Fatalf("the open connection: %v", got)
	}
	before := len(s.Requests())
	for range 2 {
		other := newPeer(t, s)
		if got := other.call("echo", `{"text":"x"}`); got.err == nil {
			t.Fatalf("a new connection: %v", got)
		}
	}
	if got := len(s.Requests()); got != before {
		t.Errorf("%d requests were read", got-before)
	}
	p.web = connections(t)
	if got := p.call("echo", `{"text":"x"}`); got.err != nil {
		t.Fatalf("the third connection: %v", got)
	}
}

func TestRSTInBodyComesBeforeTheRequestIsComplete(t *testing.T) {
	s := start(t, Config{Stateful: true})
	p := legacyPeer(t, s)
	before := len(s.Requests())
	s.Arm(RSTInBody, 1)
	got := p.call("append", `{"key":"k","value":"`+strings.Repeat("x", 6<<20)+`"}`)
	if got.err == nil || got.status != 0 {
		t.Errorf("not broken: %v", got)
	}
	if n := len(s.Requests()) - before; n != 0 || s.Effects()["k"] != 0 {
		t.Errorf("%d requests, effects %v", n, s.Effects())
	}
}

// Endless responses end when the client disconnects.
func TestWithoutEnd(t *testing.T) {
	s := start(t, Config{Stateful: true, Drip: time.Millisecond})
	p := legacyPeer(t, s)
	resp := p.open(p.newRequest("tools/call", `{"name":"append","arguments":{"key":"a","fault":"sse-endless"}}`))
	if n, err := io.CopyN(io.Discard, resp.Body, 20<<20); err != nil {
		t.Errorf("ended after %d: %v", n, err)
	}
	_ = resp.Body.Close()

	raw, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	r := p.newRequest("tools/call", `{"name":"append","arguments":{"key":"b","fault":"slow-headers"}}`)
	if err := r.Write(raw); err != nil {
		t.Fatal(err)
	}
	drops := make([]byte, 200)
	if _, err := io.ReadFull(raw, drops); err != nil || !strings.HasPrefix(string(drops), "HTTP/1.1 200 OK\r\n") || strings.Contains(string(drops), "\r\n\r\n") {
		t.Errorf("slow headers: %q %v", drops, err)
	}
	s.DropConnections()
	if _, err := io.Copy(io.Discard, raw); !reset(err) {
		t.Errorf("slow headers: %v", err)
	}
	if got := s.Effects(); got["a"] != 1 || got["b"] != 1 {
		t.Errorf("effects: %v", got)
	}
}

func TestGzipBombUnpacksToTooMuch(t *testing.T) {
	p := legacyPeer(t, start(t, Config{Stateful: true}))
	resp := p.open(p.newRequest("tools/call", `{"name":"append","arguments":{"key":"a","fault":"gzip-bomb"}}`))
	// The response has a gigabyte, but decompressing it takes the race detector half a minute.
	if n, err := io.CopyN(io.Discard, resp.Body, 64<<20); err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if first, rest := bombParts(); len(first)+1023*len(rest) > 2<<20 {
		t.Errorf("%d bytes packed", len(first)+1023*len(rest))
	}
}

func TestASessionEndsWithItsCall(t *testing.T) {
	s := start(t, Config{Stateful: true, Answers: JSON})
	p := legacyPeer(t, s)
	if got := p.call("append", `{"key":"k","fault":"forget-after-effect"}`); got.status != 404 || s.Effects()["k"] != 1 {
		t.Errorf("%v, executed %d times", got, s.Effects()["k"])
	}
	if got := p.call("append", `{"key":"k"}`); got.status != 404 || s.Effects()["k"] != 1 {
		t.Errorf("the session is still known: %v", got)
	}
}

func TestRedirectLeadsToAnAnswer(t *testing.T) {
	s := start(t, Config{Stateful: true, Answers: JSON})
	p := legacyPeer(t, s)
	p.web.CheckRedirect = nil
	for _, f := range []Fault{RedirectSame, Redirect308} {
		if got := p.call("append", `{"key":"`+string(f)+`","fault":"`+string(f)+`"}`); got.status != 200 || s.Effects()[string(f)] != 1 {
			t.Errorf("%s: %v", f, got)
		}
	}
}

func TestAFaultIsForWhomItWasArmed(t *testing.T) {
	s := start(t, Config{Stateful: true})
	p := legacyPeer(t, s)
	s.Arm(Status503, 1, Match{Tool: "put"})
	s.Arm(Status502, 1, Match{Method: "tools/list"})
	s.Arm(Status500, 1, Match{Verb: "GET"})
	s.Arm(Status403, 1, Match{Method: "initialize"})
	for _, step := range []struct {
		r    *http.Request
		want int
	}{
		{p.newRequest("tools/call", `{"name":"echo"}`), 200},
		{p.newRequest("tools/call", `{"name":"put","arguments":{"key":"a","value":"1"}}`), 503},
		{p.newRequest("tools/call", `{"name":"put","arguments":{"key":"a","value":"1"}}`), 200},
		{p.newRequest("tools/list", `{}`), 502},
		{p.newRequest("tools/list", `{}`), 200},
		{p.newGet(""), 500},
	} {
		if got := p.do(step.r); got.status != step.want {
			t.Errorf("%v, want %d", got, step.want)
		}
	}
	p.session = ""
	if got := p.request("initialize", `{}`); got.status != 403 || len(s.Sessions()) != 1 {
		t.Errorf("initialize: %v, sessions %v", got, s.Sessions())
	}
	if left := s.Disarm(); left != 0 {
		t.Errorf("%d left", left)
	}
}

func TestACallCannotAskForWhatComesBeforeIt(t *testing.T) {
	p := legacyPeer(t, start(t, Config{Stateful: true}))
	for _, f := range []Fault{RSTOnAccept, RSTInBody, "no-such-fault"} {
		contains(t, p.call("echo", `{"fault":"`+string(f)+`"}`).message(), "can only be armed")
	}
}
