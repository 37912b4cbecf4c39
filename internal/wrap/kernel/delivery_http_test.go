package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
)

// actingServer executes every tool call first and only then replies, in the
// way the call's argument asks for. It counts what it executed.
type actingServer struct {
	*httptest.Server
	era string // plain, session, sse, modern

	mu       sync.Mutex
	effects  map[string]int // by the call's key
	sessions map[string]chan string
	last     int               // session
	fixed    bool              // every session has the same id
	amnesia  bool              // a tool call makes it forget the session instead
	calls    int               // tool calls that arrived
	asked    map[string]int    // requests that arrived, by method
	without  []string          // methods that it does not know
	busy     chan struct{}     // if set, a ping waits until it is closed
	silent   map[string]bool   // keys of calls whose first answer on the stream is withheld
	reached  func()            // called when a tool call has been executed, before its reply
	stands   bool              // with sessions: there is a standing stream, on which it answers what it accepts with 202
	ids      map[string]string // of the last call by its key
}

// httpReply is how an actingServer replies to a call it has executed.
type httpReply struct {
	name   string
	status int
	header http.Header
	body   string // ID stands for the request's id, RESULT for a result
	cut    string // header, body: where the connection breaks

	unsafe fault.Code // what the caller of an unsafe tool gets; empty: the result
	heals  bool       // a read that meets this once is repeated and succeeds
	worded bool       // it names the session as the reason: heals where there is one
}

const (
	jsonResult = `{"jsonrpc":"2.0","id":ID,"result":RESULT}`
	jsonError  = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"Connection closed"}}`
	foreign    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`
)

var (
	asJSON  = http.Header{"Content-Type": {"application/json"}}
	asSSE   = http.Header{"Content-Type": {"text/event-stream"}}
	asPlain = http.Header{"Content-Type": {"text/plain"}}
)

// replies are the rows of the table, apart from those that depend on the
// era.
var replies = []httpReply{
	{name: "400", status: 400, header: asPlain, body: "bad request", unsafe: fault.HTTPRefused},
	{name: "400 json", status: 400, header: asJSON, body: foreign, unsafe: fault.HTTPRefused},
	{name: "400 session", status: 400, header: asPlain, body: "your session has used up its quota", unsafe: fault.HTTPRefused},
	{name: "400 session of an SDK", status: 400, header: asJSON, body: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`,
		unsafe: fault.HTTPRefused, worded: true},
	{name: "400 ours", status: 400, header: asJSON, body: jsonResult},
	{name: "400 ours as stream", status: 400, header: asSSE, body: "data: " + jsonResult + "\n\n"},
	{name: "400 ours as text", status: 400, header: asPlain, body: jsonResult},
	{name: "401", status: 401, header: asPlain, unsafe: fault.AuthRequired},
	{name: "403", status: 403, header: asPlain, unsafe: fault.AuthDenied},
	{name: "404", status: 404, header: asPlain, body: "404 page not found", unsafe: fault.HTTPRefused},
	{name: "404 session", status: 404, header: asPlain, body: "session not found", unsafe: fault.HTTPRefused, worded: true},
	{name: "404 ours", status: 404, header: asJSON, body: jsonResult},
	{name: "405", status: 405, header: asPlain, unsafe: fault.HTTPRefused},
	{name: "406", status: 406, header: asPlain, unsafe: fault.HTTPRefused},
	{name: "408", status: 408, header: asPlain, unsafe: fault.HTTPRefused, heals: true},
	{name: "409", status: 409, header: asPlain, unsafe: fault.HTTPRefused},
	{name: "413", status: 413, header: asPlain, unsafe: fault.RequestTooLarge},
	{name: "415", status: 415, header: asPlain, unsafe: fault.HTTPRefused},
	{name: "421", status: 421, header: asPlain, unsafe: fault.HTTPRefused},
	{name: "422", status: 422, header: asPlain, unsafe: fault.HTTPRefused},
	{name: "425", status: 425, header: asPlain, unsafe: fault.HTTPRefused, heals: true},
	{name: "429", status: 429, header: asPlain, unsafe: fault.RateLimited, heals: true},
	{name: "429 ours", status: 429, header: asJSON, body: jsonResult},
	{name: "429 after", status: 429, header: http.Header{"Retry-After": {"1"}}, unsafe: fault.RateLimited, heals: true},
	{name: "429 after a day", status: 429, header: http.Header{"Retry-After": {"86400"}}, unsafe: fault.RateLimited},
	{name: "500", status: 500, header: asPlain, unsafe: fault.OutcomeUnknown, heals: true},
	{name: "500 full", status: 500, header: asPlain, body: "disk full", unsafe: fault.OutcomeUnknown, heals: true},
	{name: "500 ours", status: 500, header: asJSON, body: jsonResult},
	{name: "502", status: 502, header: asPlain, unsafe: fault.OutcomeUnknown, heals: true},
	{name: "503", status: 503, header: asPlain, unsafe: fault.HTTPUnavailable, heals: true},
	{name: "504", status: 504, header: asPlain, unsafe: fault.OutcomeUnknown, heals: true},
	{name: "307 elsewhere", status: 307, header: http.Header{"Location": {"http://other.invalid/mcp"}}, unsafe: fault.RedirectRefused},
	{name: "cut before the header", cut: "header", unsafe: fault.OutcomeUnknown, heals: true},
}

// successes are the replies to a POST where it carries its own answer.
var successes = []httpReply{
	{name: "200 json", status: 200, header: asJSON, body: jsonResult},
	{name: "200 sse", status: 200, header: asSSE, body: "data: " + jsonResult + "\n\n"},
	{name: "202", status: 202, unsafe: fault.AnswerMissing, heals: true},
	{name: "cut in the body", status: 200, header: asJSON, body: jsonResult, cut: "body", unsafe: fault.OutcomeUnknown, heals: true},
}

// posted are the same for the old transport, which answers on its stream.
var posted = []httpReply{
	{name: "200 json", status: 200, header: asJSON, body: jsonResult},
	{name: "202", status: 202},
}

// failures are answers that speak of a lost connection, and are none.
var failures = []httpReply{
	{name: "200 error", status: 200, header: asJSON, body: jsonError},
	{name: "400 error", status: 400, header: asJSON, body: jsonError},
	{name: "404 error", status: 404, header: asJSON, body: jsonError},
	{name: "500 error", status: 500, header: asJSON, body: jsonError},
}

func startActing(t *testing.T, era string) *actingServer {
	a := &actingServer{era: era, effects: map[string]int{}, asked: map[string]int{}, ids: map[string]string{}, sessions: map[string]chan string{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

// begin starts a client session and does the era's handshake.
func (a *actingServer) begin(t *testing.T, set ...func(*Options)) *webStory {
	o := unprobed()
	for _, set := range set {
		set(&o)
	}
	o.Spec.URL = a.URL + "/mcp"
	s := beginWeb(t, stateful, o)
	if s.modern = a.era == "modern"; s.modern {
		s.discover()
	} else {
		s.initialize()
	}
	return s
}

// done is how often the call with this key was executed.
func (a *actingServer) done(key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.effects[key]
}

// begun returns the id of a new session.
func (a *actingServer) begun() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	id := fmt.Sprint("s", a.last)
	if a.fixed {
		id = "s"
	}
	a.sessions[id] = make(chan string, 100)
	return id
}

func (a *actingServer) stream(id string) chan string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// forget ends all sessions.
func (a *actingServer) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.sessions)
}

const actingTools = `{"tools":[{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"put","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},` +
	`{"name":"act","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private","resultType":"complete"}`

func (a *actingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && a.era == "sse" && r.URL.Path == "/mcp" {
		a.serveStream(w, r)
		return
	}
	if r.Method == http.MethodGet && a.hasStream() {
		a.serveStanding(w, r)
		return
	}
	if r.Method != http.MethodPost || a.era == "sse" && r.URL.Path == "/mcp" {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments struct {
				Key, Reply string
				Always     bool
			}
		}
	}
	json.Unmarshal(body, &m)
	session := r.Header.Get("Mcp-Session-Id")
	if a.era == "sse" {
		session = r.URL.Query().Get("s")
	}
	if (a.era == "session" && m.Method != "initialize" || a.era == "sse") && a.stream(session) == nil {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	a.mu.Lock()
	a.asked[m.Method]++
	reached, unknown, busy := a.reached, slices.Contains(a.without, m.Method), a.busy
	a.mu.Unlock()
	if m.Method == "ping" && busy != nil {
		<-busy
	}
	if unknown {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	answer := httpReply{status: 200, header: asJSON, body: jsonResult}
	if a.era == "sse" {
		answer = httpReply{status: 202}
	}
	result := `{"resultType":"complete"}`
	switch m.Method {
	case "initialize":
		if a.era == "session" {
			w.Header().Set("Mcp-Session-Id", a.begun())
		}
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "server/discover":
		if a.era != "modern" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"resultType":"complete"}`
	case "tools/list":
		result = actingTools
	case "tools/call":
		args := m.Params.Arguments
		a.mu.Lock()
		a.calls++
		if a.amnesia {
			clear(a.sessions)
			a.mu.Unlock()
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		a.effects[args.Key]++
		a.ids[args.Key] = string(m.ID)
		first := a.effects[args.Key] == 1
		a.mu.Unlock()
		if reached != nil {
			reached()
		}
		result = `{"content":[{"type":"text","text":"done ` + args.Key + `"}],"resultType":"complete"}`
		if args.Reply != "" && (first || args.Always) {
			answer = a.chosen(args.Reply)
		}
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a.mu.Lock()
	silent := a.silent[m.Params.Arguments.Key]
	delete(a.silent, m.Params.Arguments.Key)
	a.mu.Unlock()
	if silent {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a.write(w, answer, strings.NewReplacer("ID", string(m.ID), "RESULT", result), session)
}

func (a *actingServer) chosen(name string) httpReply {
	for _, all := range [][]httpReply{a.table(), failures} {
		if i := slices.IndexFunc(all, func(r httpReply) bool { return r.name == name }); i >= 0 {
			return all[i]
		}
	}
	panic("no reply " + name)
}

func (a *actingServer) table() []httpReply {
	if a.era == "sse" {
		return slices.Concat(posted, replies)
	}
	return slices.Concat(successes, replies)
}

func (a *actingServer) write(w http.ResponseWriter, r httpReply, fill *strings.Replacer, session string) {
	body := fill.Replace(r.body)
	if r.cut == "header" {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), r.header)
	if r.cut == "body" {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(r.status)
		io.WriteString(w, body[:len(body)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(r.status)
	io.WriteString(w, body)
	if stream := a.stream(session); r.status == http.StatusAccepted && (a.era == "sse" || a.hasStream()) && stream != nil {
		stream <- fill.Replace(jsonResult)
	}
}

// serveStream is the old transport's stream.
func (a *actingServer) serveStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	id := a.begun()
	fmt.Fprintf(w, "event: endpoint\ndata: /messages?s=%s\n\n", id)
	a.relay(w, r, id)
}

// serveStanding is the standing stream of a session.
func (a *actingServer) serveStanding(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	a.relay(w, r, r.Header.Get("Mcp-Session-Id"))
}

func (a *actingServer) hasStream() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stands
}

// relay writes what the session's stream is given.
func (a *actingServer) relay(w http.ResponseWriter, r *http.Request, session string) {
	http.NewResponseController(w).Flush()
	stream := a.stream(session)
	for {
		select {
		case message := <-stream:
			if message == "cut" {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", message)
			http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// Every status, with every body, in every era, from a server that has executed
// the call: an unsafe call is executed once and its caller is not told that it
// was not, every call has one answer, and what is safe to repeat is repeated
// where that helps.
func TestEffectsByStatusBodyAndEra(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, era := range []string{"plain", "session", "sse", "modern"} {
		t.Run(era, func(t *testing.T) {
			a := startActing(t, era)
			s := a.begin(t)
			// Reads first, all at the same time: some wait before they repeat.
			var reads []string
			for _, r := range a.table() {
				reads = append(reads, s.start("read", fmt.Sprintf(`{"key":"read %s","reply":%q}`, r.name, r.name)))
			}
			for i, r := range a.table() {
				s.wantRow(a, r, "read", reads[i])
			}
			for _, r := range a.table() {
				for _, tool := range []string{"put", "act"} {
					id := s.start(tool, fmt.Sprintf(`{"key":"%s %s","reply":%q,"always":%v}`, tool, r.name, r.name, tool == "act"))
					s.wantRow(a, r, tool, id)
				}
				rows += 3
			}
			s.want(event.Died, 0) // the session was never lost
		})
	}
	if rows < 60 {
		t.Errorf("%d rows", rows)
	}
}

func (s *webStory) wantRow(a *actingServer, r httpReply, tool, id string) {
	s.t.Helper()
	m := s.answer(id)
	key := tool + " " + r.name
	code, delivery := s.faultOf(m)
	want, times := r.unsafe, 1
	if (r.heals || r.worded && (a.era == "session" || a.era == "sse")) && tool != "act" {
		want, times = "", 2
	}
	if code == fault.ReplayExhausted || tool != "act" && code == fault.AnswerMissing {
		code = fault.OutcomeUnknown
	}
	if code != want {
		s.t.Errorf("%s: fault %q, want %q: %s", key, code, want, m.raw)
	}
	if n := a.done(key); n != times {
		s.t.Errorf("%s: executed %d times, want %d", key, n, times)
	}
	if code == "" && !strings.Contains(m.raw, "done "+key) {
		s.t.Errorf("%s: %s", key, m.raw)
	}
	if delivery == "unsent" || strings.Contains(m.raw, "no effect") || strings.Contains(m.raw, "not sent") {
		s.t.Errorf("%s was executed, and the client is told: %s", key, m.raw)
	}
	if n := s.answers(id); n != 1 {
		s.t.Errorf("%s: %d answers", key, n)
	}
}

// An error response is an answer, whatever its text says: it is not a loss, and only a call that reads is
// sent again.
func TestAnErrorThatSpeaksOfAClosedConnectionIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"plain", "session", "modern"} {
		a := startActing(t, era)
		s := a.begin(t, func(o *Options) { o.Waits.Pause = func(context.Context) {} })
		for _, r := range failures {
			for tool, times := range map[string]int{"read": 2, "act": 1} {
				key := tool + " " + r.name
				m := s.answer(s.start(tool, fmt.Sprintf(`{"key":%q,"reply":%q,"always":true}`, key, r.name)))
				if m.Error == nil || m.Error.Code != -32000 || a.done(key) != times {
					t.Errorf("%s, %s: executed %d times: %s", era, key, a.done(key), m.raw)
				}
			}
		}
		s.want(event.Died, 0)
	}
}

// A session that is really gone is found before a call that may act is sent, if the server was asked for
// nothing lately. Otherwise the call finds it, and is not sent again: no status proves that it did not run.
func TestASessionThatIsGone(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"session", "sse"} {
		t.Run(era, func(t *testing.T) {
			a := startActing(t, era)
			args := func(key string) string { return fmt.Sprintf(`{"key":%q,"reply":%q}`, key, a.table()[0].name) }
			s := a.begin(t)
			a.forget()
			busy := s.start("act", args("busy"))
			if code, _ := s.faultOf(s.answer(busy)); code == "" && era == "sse" { // its connection was a new one
				if a.done("busy") != 1 {
					t.Errorf("executed %d times", a.done("busy"))
				}
			} else if s.wantRefusedOnce(busy); a.done("busy") != 0 {
				t.Errorf("executed %d times", a.done("busy"))
			}
			if got := s.text(s.answer(s.start("act", args("next")))); got != "done next" || a.done("next") != 1 {
				t.Errorf("%q, executed %d times", got, a.done("next"))
			}
			s = a.begin(t, confirmed)
			s.text(s.answer(s.start("read", args("before")))) // over SSE the tools may arrive before the server accepts the question for them
			a.forget()
			if got := s.text(s.answer(s.start("act", args("idle")))); got != "done idle" || a.done("idle") != 1 {
				t.Errorf("%q, executed %d times", got, a.done("idle"))
			}
		})
	}
}

// wantRefusedOnce checks that a call was answered: the server has seen it and rejected it.
func (s *webStory) wantRefusedOnce(id string) {
	s.t.Helper()
	m := s.answer(id)
	if code, delivery := s.faultOf(m); code != fault.OutcomeUnknown && code != fault.HTTPRefused || delivery != "refused" {
		s.t.Errorf("%s", m.raw)
	}
	if strings.Contains(m.raw, "no effect") || strings.Contains(m.raw, "this call did not run") || strings.Contains(m.raw, "not sent") {
		s.t.Errorf("%s", m.raw)
	}
}

// A server acts and then answers as if it did not know the session, and what is asked afterwards agrees:
// it knows no ping, the session ended while the call ran, or a different replica is asked.
func TestNoStatusSendsAnUnsafeCallTwice(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*actingServer){
		"no ping":                     func(a *actingServer) { a.without = []string{"ping"} },
		"no ping and no list":         func(a *actingServer) { a.without = []string{"ping", "tools/list"} },
		"the session ends in between": func(a *actingServer) { a.reached = a.forget },
	} {
		for _, reply := range []string{"404", "404 session", "400 session of an SDK"} {
			for _, after := range []time.Duration{0, -1} {
				t.Run(fmt.Sprint(name, " ", reply, " ", after), func(t *testing.T) {
					a := startActing(t, "session")
					set(a)
					s := a.begin(t, func(o *Options) { o.Confirm.After = after })
					s.wantRefusedOnce(s.start("act", fmt.Sprintf(`{"key":"k","reply":%q}`, reply)))
					if a.done("k") != 1 {
						t.Errorf("executed %d times", a.done("k"))
					}
					a.mu.Lock()
					a.reached = nil
					a.mu.Unlock()
					if got := s.text(s.answer(s.start("act", `{"key":"next"}`))); got != "done next" || a.done("next") != 1 {
						t.Errorf("%q, executed %d times", got, a.done("next"))
					}
				})
			}
		}
	}
}

// A server without ping is asked for its tools. If it refuses both, nothing is known, and nothing renewed.
func TestHowAServerIsAskedForTheSession(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		without         []string
		forgets         bool
		pings, sessions int
	}{
		{nil, false, 3, 1},
		{nil, true, 1, 2},
		{[]string{"ping"}, false, 1, 1},
		{[]string{"ping"}, true, 1, 2},
	} {
		t.Run(fmt.Sprintf("without %q, forgets %v", row.without, row.forgets), func(t *testing.T) {
			a := startActing(t, "session")
			a.without = row.without
			s := a.begin(t, confirmed)
			for i := range 3 {
				if row.forgets && i == 0 {
					a.forget()
				}
				key := fmt.Sprint("k", i)
				if got := s.text(s.answer(s.start("act", fmt.Sprintf(`{"key":%q}`, key)))); got != "done "+key || a.done(key) != 1 {
					t.Errorf("%q, executed %d times", got, a.done(key))
				}
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.last != row.sessions || a.asked["ping"] < row.pings {
				t.Errorf("%d sessions, asked %v", a.last, a.asked)
			}
		})
	}
}

// Calls that follow each other are not preceded by a question.
func TestNoQuestionBetweenCallsThatFollowEachOther(t *testing.T) {
	t.Parallel()
	a := startActing(t, "session")
	s := a.begin(t)
	for i := range 20 {
		s.text(s.answer(s.start("act", fmt.Sprintf(`{"key":"k%d"}`, i))))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked["ping"] != 0 {
		t.Errorf("asked %v", a.asked)
	}
}

// A server that is too busy for the question holds up the calls that wait for it once, not one after another.
func TestOneQuestionForAllThatWait(t *testing.T) {
	t.Parallel()
	a := startActing(t, "session")
	a.busy = make(chan struct{})
	defer close(a.busy)
	s := a.begin(t, func(o *Options) { o.Confirm.After = -1 })
	var ids []string
	for i := range 5 {
		ids = append(ids, s.start("act", fmt.Sprintf(`{"key":"k%d"}`, i)))
	}
	for _, id := range ids {
		s.text(s.answer(id))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked["ping"] != 1 {
		t.Errorf("asked %v", a.asked)
	}
}

// A session that is refused with every call is renewed for each, and nothing is sent twice but reads.
func TestASessionThatNeverLasts(t *testing.T) {
	t.Parallel()
	for _, fixed := range []bool{false, true} {
		t.Run(fmt.Sprint("same id ", fixed), func(t *testing.T) {
			a := startActing(t, "session")
			a.fixed, a.amnesia = fixed, true
			s := a.begin(t)
			s.wantRefusedOnce(s.start("act", `{"key":"k"}`))
			if a.calls != 1 {
				t.Errorf("sent %d times", a.calls)
			}
			m := s.wantFault(s.start("read", `{"key":"r"}`), fault.HTTPRefused)
			if a.calls != 2+kernel.MaxReadRepeats || !strings.Contains(m.raw, "sticky sessions") || strings.Contains(m.raw, "no effect") {
				t.Errorf("the read was sent %d times: %s", a.calls-1, m.raw)
			}
			s.want(event.Opened, 0)
		})
	}
}

// The old transport's stream is cut while a POST waits for its response: the
// answer cannot come any more, whatever becomes of the POST.
func TestStreamCutUnderAPost(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"read", "act"} {
		t.Run(tool, func(t *testing.T) {
			a := startActing(t, "sse")
			hold := make(chan struct{})
			defer close(hold)
			executed := make(chan struct{}, 1)
			var again atomic.Bool
			a.reached = func() {
				if !again.Swap(true) {
					executed <- struct{}{}
					<-hold
				}
			}
			s := a.begin(t)
			id := s.start(tool, `{"key":"k","reply":"202"}`)
			<-executed
			a.stream("s1") <- "cut"
			m := s.answer(id)
			if tool == "act" {
				if code, _ := s.faultOf(m); code != fault.OutcomeUnknown || a.done("k") != 1 {
					t.Errorf("executed %d times: %s", a.done("k"), m.raw)
				}
				return
			}
			if got := s.text(m); got != "done k" || a.done("k") != 2 {
				t.Errorf("%q, executed %d times", got, a.done("k"))
			}
		})
	}
}

// The same after the POST was accepted.
func TestStreamCutBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	a := startActing(t, "sse")
	a.silent = map[string]bool{"read k": true, "act k": true}
	s := a.begin(t)
	read := s.start("read", `{"key":"read k","reply":"202"}`)
	s.until("it was executed", func() bool { return a.done("read k") == 1 })
	a.stream("s1") <- "cut"
	if got := s.text(s.answer(read)); got != "done read k" {
		t.Errorf("%q", got)
	}
	act := s.start("act", `{"key":"act k","reply":"202"}`)
	s.until("it was executed", func() bool { return a.done("act k") == 1 })
	a.stream("s2") <- "cut"
	s.wantFault(act, fault.OutcomeUnknown)
	if a.done("act k") != 1 {
		t.Errorf("executed %d times", a.done("act k"))
	}
}

// A server may accept a request with 202 and answer it on the standing stream. If that stream is cut, the
// answer may come on the next one, or never: then a read is sent again, and a call that may act is reported.
func TestStandingStreamCutBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, set func(*Options)) (*actingServer, *webStory, func(tool, key string) string) {
		a := startActing(t, "session")
		a.stands, a.silent = true, map[string]bool{"k": true}
		s := a.begin(t, set)
		return a, s, func(tool, key string) string {
			id := s.start(tool, `{"key":"`+key+`","reply":"202"}`)
			s.until("it was executed", func() bool { return a.done(key) == 1 })
			return id
		}
	}
	soon := func(o *Options) {
		o.Timing.ResumedRead, o.Timing.ResumedWrite = 200*time.Millisecond, 200*time.Millisecond
	}
	t.Run("a read is sent again", func(t *testing.T) {
		a, s, start := begin(t, func(o *Options) {
			soon(o)
			o.Tools = map[string]Policy{"read": {Replay: "safe"}} // whatever the gap hid
		})
		id := start("read", "k")
		a.stream("s1") <- "cut"
		if got := s.text(s.answer(id)); got != "done k" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a read is reported if the tools may have changed", func(t *testing.T) {
		a, s, start := begin(t, func(o *Options) { o.Timing.ResumedRead, o.Timing.ResumedWrite = 200*time.Millisecond, -1 })
		a.mu.Lock()
		a.reached = func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.silent["k"] = true
		}
		a.mu.Unlock()
		id := start("read", "k")
		a.stream("s1") <- "cut"
		s.until("it is executed again, unless the cut was faster than 202", func() bool { return a.done("k") == 2 || s.answers(id) == 1 })
		a.stream("s1") <- "cut"
		s.wantFault(id, fault.OutcomeUnknown)
	})
	t.Run("a write is reported", func(t *testing.T) {
		a, s, start := begin(t, soon)
		id := start("act", "k")
		a.stream("s1") <- "cut"
		s.wantFault(id, fault.OutcomeUnknown)
		if a.done("k") != 1 {
			t.Errorf("executed %d times", a.done("k"))
		}
		if got := s.text(s.answer(start("act", "next"))); got != "done next" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a write is answered on the next stream", func(t *testing.T) {
		a, s, start := begin(t, func(*Options) {})
		id := start("act", "k")
		a.stream("s1") <- "cut"
		a.mu.Lock()
		answer := strings.NewReplacer("ID", a.ids["k"], "RESULT", `{"content":[{"type":"text","text":"done k"}]}`).Replace(jsonResult)
		a.mu.Unlock()
		a.stream("s1") <- answer
		if got := s.text(s.answer(id)); got != "done k" || a.done("k") != 1 {
			t.Errorf("%q, executed %d times", got, a.done("k"))
		}
	})
	t.Run("the stream is not opened again", func(t *testing.T) {
		a, s, start := begin(t, func(*Options) {})
		id := start("act", "k")
		a.mu.Lock()
		a.stands = false
		a.mu.Unlock()
		a.stream("s1") <- "cut"
		code, _ := s.faultOf(s.answer(id))
		if code != fault.OutcomeUnknown && code != fault.AnswerMissing || a.done("k") != 1 {
			t.Errorf("%s, executed %d times", code, a.done("k"))
		}
		s.wantFault(start("act", "next"), fault.AnswerMissing)
	})
}

// A server that redirects and has no session: a tool that answers 404 does not make gauze forget where calls
// go, and after the server moved one call that may act is refused at most. None is sent twice.
func TestWritesFollowARedirectThatAQuestionFound(t *testing.T) {
	t.Parallel()
	a := startActing(t, "plain")
	var home atomic.Pointer[string]
	at := func(path string) { home.Store(&path) }
	at("/mcp/")
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := *home.Load(); r.URL.Path != to {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s := (&actingServer{Server: front, era: "plain"}).begin(t)
	act := func(key string) {
		t.Helper()
		if got := s.text(s.answer(s.start("act", `{"key":"`+key+`"}`))); got != "done "+key || a.done(key) != 1 {
			t.Errorf("%q, executed %d times", got, a.done(key))
		}
	}
	act("first")
	s.wantFault(s.start("read", `{"key":"r","reply":"404","always":true}`), fault.HTTPRefused)
	act("after a 404")
	at("/v2/")
	m := s.wantFault(s.start("act", `{"key":"moved"}`), fault.OutcomeUnknown)
	if a.done("moved") != 0 {
		t.Errorf("a redirect was followed: %s", m.raw)
	}
	act("after it moved")
	at("/mcp")
	s.wantFault(s.start("read", `{"key":"r","reply":"404","always":true}`), fault.HTTPRefused)
	act("after it moved back")
}

// Two replicas that do not share sessions, behind a balancer that alternates:
// reads succeed, a call that may act is executed at most once and fails with
// the reason, and nothing is taken for a crash.
func TestReplicasWithoutStickySessions(t *testing.T) {
	t.Parallel()
	replicas := []*actingServer{startActing(t, "session"), startActing(t, "session")}
	replicas[1].last = 1000
	var mu sync.Mutex
	turn := 0
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		next := replicas[turn%2]
		turn++
		mu.Unlock()
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)
	front := &actingServer{Server: balancer, era: "session"}
	s := front.begin(t)
	done := func(key string) int { return replicas[0].done(key) + replicas[1].done(key) }
	refused := 0
	for i := range 20 {
		key := fmt.Sprint("r", i)
		if got := s.text(s.answer(s.start("read", `{"key":"`+key+`","reply":"200 json"}`))); got != "done "+key {
			t.Errorf("%q", got)
		}
		key = fmt.Sprint("a", i)
		m := s.answer(s.start("act", `{"key":"`+key+`","reply":"200 json"}`))
		switch code, _ := s.faultOf(m); {
		case code == "" && done(key) == 1:
		case (code == fault.HTTPRefused || code == fault.OutcomeUnknown) && done(key) == 0 && strings.Contains(m.raw, "sticky sessions"):
			refused++
		default:
			t.Errorf("executed %d times: %s", done(key), m.raw)
		}
	}
	if refused == 0 {
		t.Error("every call found its replica")
	}
	s.want(event.Opened, 0)
}

// A call whose connection breaks twice in a row, without a success in between,
// is quarantined as after two deaths of a process.
// A connection that is cut is the network's doing more often than the call's:
// the client may always try again.
func TestACallThatIsCutOverHTTPIsNotQuarantined(t *testing.T) {
	t.Parallel()
	a := startActing(t, "session")
	s := a.begin(t)
	call := `{"key":"k","reply":"cut before the header","always":true}`
	for n := range 3 {
		s.wantFault(s.start("read", call), fault.ReplayExhausted)
		if done := a.done("k"); done != (n+1)*(1+kernel.MaxReadRepeats) {
			t.Errorf("executed %d times after %d calls", done, n+1)
		}
	}
	if got := s.text(s.answer(s.start("read", `{"key":"other","reply":"cut before the header"}`))); got != "done other" {
		t.Errorf("%q", got)
	}
	// A gateway's status says nothing about the call.
	s.answer(s.start("read", `{"key":"g","reply":"502","always":true}`))
	if n := a.done("g"); n != 1+kernel.MaxReadRepeats {
		t.Errorf("executed %d times", n)
	}
}

// A server that responds with an error is there: the caller is told what it responded, and nothing else changes.
func TestACallThatGetsAnHTTPErrorSaysSo(t *testing.T) {
	t.Parallel()
	a := startActing(t, "session")
	s := a.begin(t)
	for reply, want := range map[string]string{"500 full": "Detail: HTTP 500: disk full.", "502": "Detail: HTTP 502."} {
		m := s.wantFault(s.start("append", fmt.Sprintf(`{"key":%q,"reply":%[1]q}`, reply)), fault.OutcomeUnknown)
		said := s.words(m)
		_, delivery := s.faultOf(m)
		if delivery != "unknown" || !strings.Contains(said, "may or may not have taken effect") || a.done(reply) != 1 {
			t.Errorf("%s: %s, %d times", reply, m.raw, a.done(reply))
		}
		if strings.Contains(said, "exited") || !strings.Contains(m.raw, want) {
			t.Errorf("%s: %s, want %s", reply, m.raw, want)
		}
	}
	m := s.wantFault(s.start("append", `{"key":"cut","reply":"cut before the header"}`), fault.OutcomeUnknown)
	if said := s.words(m); !strings.Contains(said, "its connection was lost") || strings.Contains(said, "Detail") {
		t.Errorf("a connection that is cut: %s", m.raw)
	}
}
