package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
)

func TestOnePrincipalDoesNotTakeAllSessions(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Tokens, o.MaxSessions = []string{"the-token-of-alice", "the-token-of-bob-x"}, 4
	f := serve(t, o)
	alice := func() *client { return f.client("Authorization", "Bearer the-token-of-alice") }
	var first *client
	for range 3 {
		first = alice().initialize("2025-06-18")
		first.request("GET", "").want(200) // in use
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
	t.Parallel()
	g := New(Options{MaxSessions: 2, Tokens: []string{"a", "b"}}, addr{})
	who := g.guard.tokens.Load().All
	for range 3 { // of 4 processes
		g.table.processes.add(who[0], 1)
	}
	if g.table.fits(who[0]) || !g.table.fits(who[1]) {
		t.Errorf("places %+v, processes %+v", g.table.places, g.table.processes)
	}
}

type addr struct{}

func (addr) Network() string { return "tcp" }
func (addr) String() string  { return "127.0.0.1:1" }

func TestASessionThatIsNeverInitializedEndsSoon(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	began := time.Now()
	done := f.client().initialize("2025-06-18")
	half := f.client()
	a := half.request("POST", fmt.Sprintf(hello, "2025-06-18")).want(200)
	a.result()
	half.session = a.Header.Get(sessionHeader)
	f.quiet()
	f.g.table.reap(began.Add(initializeTimeout - 1)) // however long the machine took to get here
	half.request("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`).want(200).result()
	f.quiet()
	f.g.table.reap(time.Now().Add(initializeTimeout))
	half.request("POST", `{"jsonrpc":"2.0","id":3,"method":"ping"}`).want(404)
	done.call("1", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
}

// Clients that left without DELETE must not keep others out until their
// sessions expire.
func TestTheLongestUnusedSessionMakesRoom(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.MaxSessions = 3
	f := serve(t, o)
	listening := f.client().initialize("2025-06-18")
	listening.request("GET", "").want(200)
	older, newer := f.client().initialize("2025-06-18"), f.client().initialize("2025-06-18")
	older.call("1", "echo", `{"text":"used"}`).want(200).result()
	newer.call("1", "echo", `{"text":"used later"}`).want(200).result()
	f.quiet()
	last := f.client().initialize("2025-06-18")
	older.call("2", "echo", `{"text":"x"}`).want(404)
	for _, c := range []*client{listening, newer, last} {
		c.call("2", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
	}
}

func TestASessionWithACallInFlightIsNotEvicted(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.MaxSessions = 1
	f := serve(t, o)
	c := f.client().initialize("2025-06-18")
	a, err := c.try("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"n":-1,"interval_ms":5},"_meta":{"progressToken":1}}}`)
	if err != nil {
		t.Fatal(err)
	}
	a.next()
	a.hangUp() // which is no cancel: the answer is still due
	f.quiet()
	f.client().request("POST", fmt.Sprintf(hello, "2025-06-18")).want(503).result()
	c.request("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).want(202)
	f.quiet()
	f.client().initialize("2025-06-18")
}

// Room is made in the principal's own share first, then in what others hold
// beyond their part, and never in what is in use.
func TestWhoMakesRoom(t *testing.T) {
	t.Parallel()
	const alice, bob = 0, 1
	type held struct {
		who  int
		open int
		age  time.Duration
	}
	for _, test := range []struct {
		name  string
		held  []held
		comes int
		want  int // index in held; -1: nobody
	}{
		{"the oldest of its own", []held{{alice, 0, 1}, {alice, 0, 3}, {alice, 0, 2}}, alice, 1},
		{"its own before older ones of others", []held{{bob, 0, 9}, {bob, 0, 8}, {alice, 0, 1}, {bob, 0, 7}}, alice, 2},
		{"another's beyond its part", []held{{bob, 0, 9}, {bob, 0, 8}, {alice, 1, 1}}, alice, 0},
		{"not another's own part", []held{{bob, 0, 9}, {alice, 1, 8}, {alice, 1, 1}}, alice, -1},
		{"nothing in use", []held{{alice, 1, 9}, {alice, 2, 8}, {alice, 1, 1}}, alice, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := New(Options{MaxSessions: 2, Tokens: []string{"a", "b"}}, addr{})
			now := time.Now()
			var all []*session
			for i, h := range test.held {
				s := newSession(fmt.Sprint(i), g.guard.tokens.Load().All[h.who], &g.Options)
				s.open, s.used = h.open, now.Add(-h.age*time.Second)
				g.table.sessions[s.id] = s
				g.table.places.add(s.who, 1)
				all = append(all, s)
			}
			got := g.table.longestUnused(g.guard.tokens.Load().All[test.comes])
			if test.want < 0 && got != nil || test.want >= 0 && got != all[test.want] {
				t.Errorf("got %+v", got)
			}
		})
	}
}
