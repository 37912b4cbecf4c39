package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

func TestModernClientsShareOneServer(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	first, second := f.client().modernCall("1", "pid", `{}`).want(200).result(), f.client().modernCall("1", "pid", `{}`).want(200).result()
	if first.raw != second.raw {
		t.Errorf("%s and %s", first.raw, second.raw)
	}
	f.client().modernCall("1", "die", `{}`).want(200).result().wantText(t, "outcome-unknown")
	f.client().modernCall("1", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
}

func TestTwoPrincipalsShareNothing(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Tokens = []string{"the-token-of-alice", "the-token-of-bob-x"}
	f := serve(t, o)
	alice, bob := f.client("Authorization", "Bearer the-token-of-alice"), f.client("Authorization", "Bearer the-token-of-bob-x")
	if first, second := alice.modernCall("1", "pid", `{}`).result(), bob.modernCall("1", "pid", `{}`).result(); first.raw == second.raw {
		t.Errorf("both are %s", first.raw)
	}
}

func TestARefusalHasItsStatus(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	for _, test := range []struct {
		name, method, params string
		status, code         int
	}{
		{"an unknown method", "unknown/method", `{}`, 404, codeUnknownMethod},
		{"a removed method", "ping", `{}`, 404, codeUnknownMethod},
		{"an unknown tool", "tools/call", `{"name":"nobody","arguments":{}}`, 400, codeInvalidParams},
		{"no notifications to listen for", "subscriptions/listen", `{}`, 400, codeInvalidParams},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := f.client().modern(`"r-1"`, test.method, test.params).want(test.status).result()
			if m.Error == nil || m.Error.Code != test.code || string(m.ID) != `"r-1"` {
				t.Errorf("told %s", m.raw)
			}
		})
	}
}

const listenForTools = `{"notifications":{"toolsListChanged":true}}`

func TestEachListenerHearsItsOwnUnderItsOwnID(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	tools := f.client().modern("7", "subscriptions/listen", listenForTools).want(200)
	others := f.client().modern("7", "subscriptions/listen", `{"notifications":{"promptsListChanged":true}}`).want(200)
	third := f.client().modern(`"\u0061"`, "subscriptions/listen", listenForTools).want(200)
	for _, a := range []*answer{tools, others, third} {
		if m := a.next(); m.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("told %s", m.raw)
		}
	}
	f.client().modernCall("7", "change_tools", `{}`).want(200).result()
	for a, id := range map[*answer]string{tools: `"io.modelcontextprotocol/subscriptionId":7`, third: `"io.modelcontextprotocol/subscriptionId":"\u0061"`} {
		if m := a.next(); m.Method != "notifications/tools/list_changed" || !strings.Contains(m.raw, id) {
			t.Errorf("told %s, want %s", m.raw, id)
		}
	}
	tools.hangUp() // the others go on
	f.client().modernCall("8", "change_tools", `{}`).want(200).result()
	if m := third.next(); m.Method != "notifications/tools/list_changed" {
		t.Errorf("told %s", m.raw)
	}
	late := f.client().modern("9", "subscriptions/listen", listenForTools).want(200)
	if m := late.next(); m.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(m.raw, `subscriptionId":9`) {
		t.Errorf("told %s", m.raw)
	}
	third.hangUp()
	late.hangUp()
	if e := f.await(event.Cancelled); e.Method != "subscriptions/listen" {
		t.Errorf("cancelled: %s", e)
	}
	others.hangUp()
	f.await(event.Cancelled)
}

// A thousand listeners with the same wishes are one to the server.
func TestListenersShareAStreamOfTheServers(t *testing.T) {
	t.Parallel()
	server := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Modern})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	f := serveURL(t, quickly(), server.URL())
	var all []*answer
	for i := range 20 {
		a := f.client().modern(fmt.Sprint(i), "subscriptions/listen", listenForTools).want(200)
		if m := a.next(); m.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("told %s", m.raw)
		}
		all = append(all, a)
	}
	server.ChangeTools()
	for i, a := range all {
		if m := a.next(); m.Method != "notifications/tools/list_changed" || !strings.Contains(m.raw, fmt.Sprintf(`subscriptionId":%d}`, i)) {
			t.Errorf("told %s", m.raw)
		}
	}
	listens := 0
	for _, r := range server.Requests() {
		if r.Method == "subscriptions/listen" {
			listens++
		}
	}
	if listens != 1 {
		t.Errorf("the server has %d streams", listens)
	}
	for _, a := range all {
		a.hangUp()
	}
}

func TestAListenerOutlivesItsServer(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	a := f.client().modern("7", "subscriptions/listen", listenForTools).want(200)
	a.next()
	f.client().modernCall("1", "die", `{}`).want(200).result()
	f.client().modernCall("1", "change_tools", `{}`).want(200).result()
	if m := a.next(); m.Method != "notifications/tools/list_changed" || !strings.Contains(m.raw, `subscriptionId":7`) {
		t.Errorf("told %s", m.raw)
	}
	a.hangUp()
}

func TestACancelThatNamesAnIDCancelsNobody(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	body, headers := modernRequest("1", "tools/call", `{"name":"progress","arguments":{"n":20,"interval_ms":2}}`, `"progressToken":"p"`)
	a := f.client().request("POST", body, headers...).want(200)
	a.next()
	for _, id := range []string{"1", `2`, `"2"`} {
		f.client().request("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`,
			versionHeader, wire.FirstModern, methodHeader, "notifications/cancelled").want(202)
	}
	a.result().wantText(t, "")
}

func TestModernNeedsNoSession(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client()
	c.session = "some id of another era"
	a := c.modern("1", "server/discover", "{}").want(200)
	a.result().wantText(t, "2026-07-28")
	if a.Header.Get(sessionHeader) != "" {
		t.Error("there is a session id")
	}
}
