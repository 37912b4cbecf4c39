package faultyhttp

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// census counts the goroutines that run code of this package or serve HTTP, and waits for those
// that are ending.
func census(t *testing.T, most int) (n int) {
	t.Helper()
	stacks := make([]byte, 4<<20)
	for deadline := time.Now().Add(patience.Limit()); time.Now().Before(deadline); runtime.Gosched() {
		n = 0
		text := string(stacks[:runtime.Stack(stacks, true)])
		for stack := range strings.SplitSeq(text, "\n\n") {
			if strings.Contains(stack, "faultyhttp.(*") || strings.Contains(stack, "net/http.(*conn)") || strings.Contains(stack, "net/http.(*connReader)") {
				n++
			}
		}
		if n <= most {
			break
		}
	}
	return n
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	files := func() int {
		if runtime.GOOS != "linux" { // wine shows the /proc of its host
			return 0
		}
		all, _ := os.ReadDir("/proc/self/fd")
		return len(all)
	}
	goroutines, open := census(t, 0), files()
	for _, cfg := range []Config{{Stateful: true, EventIDs: true}, {Era: Modern}, {Stateful: true, Answers: JSON}} {
		s := New(cfg)
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, s)
		if !p.modern {
			p.initialize()
			go p.do(p.newGet(""))
		} else {
			go p.do(p.newRequest("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`))
		}
		for _, args := range []string{
			`{"name":"slow","arguments":{"key":"k"}}`,
			`{"name":"append","arguments":{"key":"k","wait":true}}`,
			`{"name":"ask"}`,
			`{"name":"echo","arguments":{"fault":"slow-headers"}}`,
			`{"name":"echo","arguments":{"fault":"sse-endless","text":"not read by anybody"}}`,
		} {
			go p.do(p.newRequest("tools/call", args))
		}
		if _, err := s.Await(p.ctx, func(r Request) bool { return strings.Contains(string(r.Body), "sse-endless") }); err != nil {
			t.Fatal(err)
		}
		<-s.Reached("k")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		p.web.CloseIdleConnections()
	}
	if now := census(t, goroutines); now > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines left, %d before\n%s", now, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	for deadline := time.Now().Add(patience.Limit()); files() > open && time.Now().Before(deadline); runtime.Gosched() {
	}
	if now := files(); now > open {
		t.Errorf("%d files open, %d before", now, open)
	}
}

func TestRestartForgetsEverythingButTheEffects(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	s := start(t, Config{Stateful: true, Ledger: ledger})
	p := legacyPeer(t, s)
	url, old := s.URL(), p.session
	p.call("append", `{"key":"a"}`)
	p.call("put", `{"key":"p","value":"1"}`)
	broken := make(chan outcome, 2)
	go func() {
		broken <- p.do(p.newRequest("tools/call", `{"name":"append","arguments":{"key":"w","wait":true}}`))
	}()
	<-s.Reached("w")
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := <-broken; !reset(got.err) {
		t.Errorf("in flight: %v", got)
	}
	if s.URL() != url || len(s.Sessions()) != 0 {
		t.Errorf("%s, %s before; sessions %v", s.URL(), url, s.Sessions())
	}
	p.web = connections(t)
	if got := p.call("append", `{"key":"b"}`); got.status != 404 {
		t.Errorf("old session: %v", got)
	}
	p.initialize()
	if p.session == old {
		t.Error("the same session id twice")
	}
	if got := p.state(); got.Generation != 2 || got.Initializes != 2 || s.Initializes() != 2 || !slices.Equal(got.Seen, []string{"initialize", "notifications/initialized", "tools/call"}) {
		t.Errorf("state: %+v", got)
	}
	contains(t, p.call("get", `{"key":"p"}`).message(), `"text":"1"`)
	if got := s.Effects(); got["a"] != 1 || got["w"] != 1 || got["p"] != 1 || len(got) != 3 {
		t.Errorf("effects: %v", got)
	}
	entries, torn, err := faultyserver.ReadLedger(ledger)
	if err != nil || torn != 0 || len(entries) != 3 || entries[0].Generation != 1 || entries[0].Op != "append" {
		t.Errorf("ledger: %v %d %v", entries, torn, err)
	}
}

func TestWhoDialsAStoppedServerIsRefused(t *testing.T) {
	s := start(t, Config{Stateful: true})
	p := legacyPeer(t, s)
	s.Stop()
	for range 20 {
		if got := p.call("echo", `{}`); got.err == nil || !strings.Contains(got.err.Error(), "refused") && !reset(got.err) && !strings.Contains(got.err.Error(), "EOF") {
			t.Fatalf("stopped: %v", got)
		}
	}
	if err := s.StartAgain(); err != nil {
		t.Fatal(err)
	}
	if err := s.StartAgain(); err == nil {
		t.Error("started twice")
	}
	p.initialize()
	if got := p.call("echo", `{"text":"x"}`); got.status != 200 {
		t.Errorf("started again: %v", got)
	}
}

func TestExpiredSessionsLeaveConnectionsAlone(t *testing.T) {
	s := start(t, Config{Stateful: true, Answers: JSON})
	p := legacyPeer(t, s)
	dialled := s.Connections()
	s.ExpireSessions()
	got := p.call("append", `{"key":"a"}`)
	if got.status != 404 || !strings.Contains(got.body, "-32001") || len(s.Effects()) != 0 {
		t.Errorf("expired: %v", got)
	}
	if s.Connections() != dialled {
		t.Error("a new connection was needed")
	}
	p.session = ""
	if got := p.call("append", `{"key":"a"}`); got.status != 400 {
		t.Errorf("no session: %v", got)
	}
}

// The state tool shows whether a session was restored.
func TestStateShowsWhatWasRestored(t *testing.T) {
	p := legacyPeer(t, start(t, Config{Stateful: true}))
	p.request("logging/setLevel", `{"level":"warning"}`)
	p.request("resources/subscribe", `{"uri":"mem://0"}`)
	p.request("resources/subscribe", `{"uri":"mem://2"}`)
	p.request("resources/unsubscribe", `{"uri":"mem://0"}`)
	p.request("ping", `{}`)
	got := p.state()
	if got.LogLevel != "warning" || !slices.Equal(got.Subscriptions, []string{"mem://2"}) || got.Session != p.session || !got.Initialized || got.Version != "2025-11-25" {
		t.Errorf("state: %+v", got)
	}
}

func TestGETStreamIsCutAndTakenUpAgain(t *testing.T) {
	s := start(t, Config{Stateful: true, EventIDs: true})
	p := legacyPeer(t, s)
	stream := newEventReader(p.open(p.newGet("")).Body)
	s.ChangeTools()
	first, err := stream.next()
	if err != nil || !strings.Contains(first.data, "tools/list_changed") || first.id == "" {
		t.Fatalf("%v %v", first, err)
	}
	if n := s.CutStreams(); n != 1 {
		t.Errorf("%d streams", n)
	}
	if _, err := stream.next(); !reset(err) {
		t.Errorf("cut: %v", err)
	}
	p.request("resources/subscribe", `{"uri":"mem://0"}`)
	s.Touch("mem://0")
	stream = newEventReader(p.open(p.newGet(first.id)).Body)
	if got, err := stream.next(); err != nil || !strings.Contains(got.data, "mem://0") {
		t.Errorf("missed while away: %v %v", got, err)
	}
	r := p.newHTTP(http.MethodDelete, "")
	if got := p.do(r); got.status != 204 {
		t.Errorf("delete: %v", got)
	}
	if _, err := stream.next(); err == nil {
		t.Error("the stream of a deleted session goes on")
	}
	if got := p.do(p.newGet("")); got.status != 404 {
		t.Errorf("deleted: %v", got)
	}
}

func TestResumedStreamBringsTheAnswer(t *testing.T) {
	for _, f := range []Fault{CutSSE, ReplaySeen} {
		s := start(t, Config{Stateful: true, EventIDs: true})
		p := legacyPeer(t, s)
		got := p.call("append", `{"key":"k","fault":"`+string(f)+`"}`)
		seen := readEvents(strings.NewReader(got.body))
		if !reset(got.err) || len(seen) != 2 || seen[0].data != "" || seen[0].id == "" || seen[1].id == seen[0].id {
			t.Fatalf("%s: %v, %v", f, got, seen)
		}
		rest := readEvents(strings.NewReader(p.do(p.newGet(seen[1].id)).body))
		want := 1
		if f == ReplaySeen {
			want = 3
		}
		if len(rest) != want || !strings.Contains(rest[len(rest)-1].data, "appended k") {
			t.Errorf("%s: resumed with %v", f, rest)
		}
		if s.Effects()["k"] != 1 {
			t.Errorf("%s: effects %v", f, s.Effects())
		}
		if got := p.do(p.newGet("s99_1")); got.status != 400 {
			t.Errorf("unknown event: %v", got)
		}
	}
}

// A legacy call continues without its client; a modern one ends with it.
func TestHangingUpIsACancelInTheModernEraOnly(t *testing.T) {
	s := start(t, Config{Stateful: true, EventIDs: true})
	p := legacyPeer(t, s)
	resp := p.open(p.newRequest("tools/call", `{"name":"slow","arguments":{"key":"k"}}`))
	first, err := newEventReader(resp.Body).next()
	if err != nil {
		t.Fatal(err)
	}
	<-s.Reached("k")
	_ = resp.Body.Close()
	s.Release("k")
	contains(t, p.do(p.newGet(first.id)).body, "released k")

	s = start(t, Config{Era: Modern})
	p = newPeer(t, s)
	resp = p.open(p.newRequest("tools/call", `{"name":"slow","arguments":{"key":"k"}}`))
	<-s.Reached("k")
	_ = resp.Body.Close()
	s.Stop() // waits for the call, which was not released
}

func TestCancelledCallEndsWithoutAnswer(t *testing.T) {
	s := start(t, Config{Stateful: true})
	p := legacyPeer(t, s)
	r := p.newRequest("tools/call", `{"name":"slow","arguments":{"key":"k"}}`)
	resp := p.open(r)
	<-s.Reached("k")
	p.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	p.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if got := readEvents(resp.Body); len(got) != 0 {
		t.Errorf("answered: %v", got)
	}
}

func TestModernHeadersMustSayWhatTheBodySays(t *testing.T) {
	s := start(t, Config{Answers: JSON})
	p := newPeer(t, s)
	p.modern = true
	change := func(name, value string) *http.Request {
		r := p.newRequest("tools/call", `{"name":"append","arguments":{"key":"k"}}`)
		r.Header.Set(name, value)
		return r
	}
	for _, tt := range []struct {
		r      *http.Request
		status int
		code   int
	}{
		{change("X-Other", "x"), 200, 0},
		{change(headerName, "=?base64?YXBwZW5k?="), 200, 0},
		{change(headerMethod, "tools/list"), 400, -32020},
		{change(headerName, "echo"), 400, -32020},
		{change(headerVersion, "2025-11-25"), 400, -32020},
		{change(headerVersion, ""), 400, -32020},
		{p.newRequest("no/such", `{}`), 404, -32601},
		{p.newRequest("ping", `{}`), 404, -32601},
		{p.newRequest("server/discover", `{}`), 200, 0},
		{p.newRequest("tools/call", `{"name":"nobody"}`), 400, -32602},
		{p.newRequest("prompts/get", `{"name":"nobody"}`), 400, -32602},
	} {
		got := p.do(tt.r)
		var answer struct{ Error struct{ Code int } }
		if err := json.Unmarshal([]byte(got.message()), &answer); err != nil || got.status != tt.status || answer.Error.Code != tt.code {
			t.Errorf("want %d and %d: %v", tt.status, tt.code, got)
		}
	}
	if got := s.Effects()["k"]; got != 2 {
		t.Errorf("%d effects", got)
	}
	if got := p.do(p.newGet("")); got.status != 405 {
		t.Errorf("GET: %v", got)
	}
}

func TestModernListenStream(t *testing.T) {
	s := start(t, Config{Era: Modern})
	p := newPeer(t, s)
	resp := p.open(p.newRequest("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["mem://1","mem://99"]}}`))
	stream := newEventReader(resp.Body)
	ack, err := stream.next()
	if err != nil || ack.id != "" {
		t.Fatal(ack, err)
	}
	contains(t, ack.data, "notifications/subscriptions/acknowledged", `"`+metaSubscription+`":1`, `"resourceSubscriptions":["mem://1"]`)
	s.Touch("mem://0")
	s.Touch("mem://1")
	s.ChangeTools()
	for _, want := range []string{"resources/updated", "tools/list_changed"} {
		got, err := stream.next()
		if err != nil {
			t.Fatal(err)
		}
		contains(t, got.data, want, `"`+metaSubscription+`":1`)
	}
	if n := s.CutStreams(); n != 1 {
		t.Errorf("%d streams", n)
	}
	if _, err := stream.next(); !reset(err) {
		t.Errorf("cut: %v", err)
	}
	empty := p.request("subscriptions/listen", `{"notifications":{}}`)
	if got := readEvents(strings.NewReader(empty.body)); len(got) != 2 || !strings.Contains(got[1].data, `"result"`) {
		t.Errorf("nothing to hear: %v", got)
	}
}

func TestWithoutTheTokenNobodyGetsIn(t *testing.T) {
	s := start(t, Config{Token: "secret"})
	p := newPeer(t, s)
	if got := p.call("append", `{"key":"k"}`); got.status != 401 || got.header.Get("WWW-Authenticate") == "" || len(s.Effects()) != 0 {
		t.Errorf("no token: %v", got)
	}
	r := p.newRequest("tools/call", `{"name":"append","arguments":{"key":"k"}}`)
	r.Header.Set("Authorization", "Bearer secret")
	if got := p.do(r); got.status != 200 || s.Effects()["k"] != 1 {
		t.Errorf("token: %v", got)
	}
	if got := s.Requests(); len(got) != 2 || got[1].Header.Get("Authorization") != "Bearer secret" || got[1].Tool != "append" || got[1].Method != "tools/call" {
		t.Errorf("requests: %v", got)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	s := start(t, Config{Stateful: true})
	p := legacyPeer(t, s)
	if got := p.post(`{"jsonrpc":`); got.status != 400 || !strings.Contains(got.body, "-32700") {
		t.Errorf("half: %v", got)
	}
	r := p.newRequest("ping", `{}`)
	r.Header.Set("Content-Type", "text/plain")
	if got := p.do(r); got.status != 415 {
		t.Errorf("content type: %v", got)
	}
	r = p.newRequest("ping", `{}`)
	r.Header.Set("Accept", "application/json")
	if got := p.do(r); got.status != 406 {
		t.Errorf("accept: %v", got)
	}
	r = p.newRequest("ping", `{}`)
	r.Header.Set(headerVersion, "2025-06-18")
	if got := p.do(r); got.status != 400 {
		t.Errorf("another version: %v", got)
	}
	if got := p.request("no/such", `{}`); got.status != 200 || !strings.Contains(got.message(), "-32601") {
		t.Errorf("unknown method: %v", got)
	}
}
