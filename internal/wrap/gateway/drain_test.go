package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
)

func TestADrainLetsAnswersArriveAndListenersGo(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	legacy, modern := f.client().initialize("2025-06-18"), f.client()
	listening := legacy.request("GET", "").want(200)
	listener := modern.modern("7", "subscriptions/listen", listenForTools).want(200)
	listener.next()
	inFlight := legacy.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"progress","arguments":{"n":30,"interval_ms":10}}}`).want(200)
	if inFlight.next() == nil {
		t.Fatal("no progress")
	}
	ended := make(chan error)
	go func() { ended <- f.end() }()
	if listening.next() != nil || listener.next() != nil {
		t.Error("a listener was told something at the end")
	}
	if conn, err := net.Dial("tcp", f.addr); err == nil {
		conn.Close()
		t.Error("new connections are taken")
	}
	inFlight.result().wantText(t, "")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestADrainThatTakesTooLongAnswersHonestly(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Drain = time.Millisecond
	f := serve(t, o)
	c := f.client().initialize("2025-06-18")
	a := c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"progress","arguments":{"n":-1,"interval_ms":5}}}`).want(200)
	a.next()
	go f.end()
	a.result().wantText(t, "[gauze: ") // nobody claims to know what became of it
	f.end()
}

func TestNothingNewIsTakenWhileDraining(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client().initialize("2025-06-18")
	a := c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"method":"roots/list"}}}`).want(200)
	question := a.next()
	f.g.table.mu.Lock()
	f.g.table.draining = true // as drain does first; the listener stays for this test
	f.g.table.mu.Unlock()
	if m := c.call("2", "echo", `{"text":"x"}`).want(503).result(); m.Error == nil || string(m.ID) != "2" {
		t.Errorf("told %s", m.raw)
	}
	c.request("GET", "").want(503)
	f.client().modernCall("1", "echo", `{"text":"x"}`).want(503)
	if now := f.ready(503); !now.Draining || now.Ready {
		t.Errorf("ready says %+v", now)
	}
	// What a call in flight needs still gets through.
	c.request("POST", `{"jsonrpc":"2.0","id":`+string(question.ID)+`,"result":{"roots":[]}}`).want(202)
	a.result().wantText(t, "roots")
}

// ready asks /readyz.
func (f *front) ready(status int) (now state) {
	f.t.Helper()
	response, err := http.Get("http://" + f.addr + ReadyPath)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&now); err != nil || response.StatusCode != status {
		f.t.Errorf("status %d, want %d; %+v, %v", response.StatusCode, status, now, err)
	}
	return now
}

func TestReadinessIsThatOfTheServers(t *testing.T) {
	t.Parallel()
	o := quickly()
	reachable := errors.New("no such command")
	o.Reachable = func(context.Context) error { return reachable }
	f := serve(t, o)
	if now := f.ready(503); now.Upstream != "unreachable" || now.Reason == "" {
		t.Errorf("ready says %+v", now)
	}
	reachable = nil
	f.g.ready.mu.Lock()
	f.g.ready.at = time.Time{} // as if some seconds had passed
	f.g.ready.mu.Unlock()
	if now := f.ready(200); now.Upstream != "reachable" || now.Sessions != 0 {
		t.Errorf("ready says %+v", now)
	}
	c := f.client().initialize("2025-06-18")
	c.call("1", "echo", `{"text":"x"}`).result()
	if now := f.ready(200); now.Sessions != 1 || now.Upstream == "reachable" {
		t.Errorf("ready says %+v", now)
	}
	// A server that stopped for good is known by the health of its session.
	go c.try("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"die","arguments":{}}}`)
	f.await(event.Died)
}
