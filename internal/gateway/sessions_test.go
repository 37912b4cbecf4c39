package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
)

func TestOnePrincipalDoesNotTakeAllSessions(t *testing.T) {
	o := quickly()
	o.Tokens, o.MaxSessions = []string{"the-token-of-alice", "the-token-of-bob-x"}, 4
	f := serve(t, o)
	alice := func() *client { return f.client("Authorization", "Bearer the-token-of-alice") }
	var first *client
	for range 3 {
		first = alice().initialize("2025-06-18")
	}
	m := alice().request("POST", fmt.Sprintf(hello, "2025-06-18")).want(503).result()
	if m.Error == nil || m.Error.Code != (&fault.Fault{Code: fault.SessionLimit}).RPCCode() || !strings.Contains(m.Error.Message, "other tokens") {
		t.Errorf("told %s", m.raw)
	}
	f.client("Authorization", "Bearer the-token-of-bob-x").initialize("2025-06-18")
	first.request("DELETE", "").want(204)
	alice().initialize("2025-06-18")
}

// Otherwise a client that keeps beginning and ending sessions would keep the
// others out.
func TestEndingSessionsCountForTheirPrincipal(t *testing.T) {
	g := New(Options{MaxSessions: 2, Tokens: []string{"a", "b"}}, addr{})
	who := g.guard.tokens
	for range 3 { // of 4 processes
		g.processes.add(who[0], 1)
	}
	if g.fits(who[0]) || !g.fits(who[1]) {
		t.Errorf("places %+v, processes %+v", g.places, g.processes)
	}
}

type addr struct{}

func (addr) Network() string { return "tcp" }
func (addr) String() string  { return "127.0.0.1:1" }

func TestASessionThatIsNeverInitializedEndsSoon(t *testing.T) {
	f := serve(t, quickly())
	done := f.client().initialize("2025-06-18")
	half := f.client()
	a := half.request("POST", fmt.Sprintf(hello, "2025-06-18")).want(200)
	a.result()
	half.session = a.Header.Get(sessionHeader)
	f.quiet()
	f.g.reap(time.Now().Add(initializeTimeout - time.Second))
	half.request("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`).want(200).result()
	f.quiet()
	f.g.reap(time.Now().Add(initializeTimeout))
	half.request("POST", `{"jsonrpc":"2.0","id":3,"method":"ping"}`).want(404)
	done.call("1", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
}
