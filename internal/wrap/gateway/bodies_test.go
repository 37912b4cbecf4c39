package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

var alice, bob = principal{1}, principal{2}

func TestAQuotaKeepsAPartForEachPrincipal(t *testing.T) {
	t.Parallel()
	q := newQuota(8, []principal{alice, bob, bob})
	takes := func(who principal) (n int) {
		for q.allows(who, 1) {
			q.add(who, 1)
			n++
		}
		return n
	}
	if n := takes(alice); n != 6 {
		t.Errorf("the first principal takes %d of 8, want 6", n)
	}
	if n := takes(bob); n != 2 {
		t.Errorf("the second principal takes %d of 8, want its part of 2", n)
	}
	q.add(alice, -3)
	if n := takes(bob); n != 3 {
		t.Errorf("the second principal takes %d of what the first gave back, want 3", n)
	}
	q.add(alice, -3)
	q.add(bob, -5)
	if q.used != 0 || q.kept != 4 || len(q.by) != 0 {
		t.Errorf("after all was given back: %+v", q)
	}
}

// Other principals get parts when the tokens change; what the ones before have stays counted.
func TestAQuotaIsSharedAgain(t *testing.T) {
	t.Parallel()
	q := newQuota(8, []principal{alice})
	q.add(alice, 3)
	q.reserve([]principal{bob})
	if q.part != 4 || q.kept != 4 || q.allows(alice, 2) || !q.allows(alice, 1) || !q.allows(bob, 5) {
		t.Errorf("with another principal: %+v", q)
	}
	q.add(alice, -3)
	if q.used != 0 || q.kept != 4 || !q.allows(bob, 8) {
		t.Errorf("after all was given back: %+v", q)
	}
}

func TestAQuotaForOnePrincipalIsAllItsOwn(t *testing.T) {
	t.Parallel()
	for limit := range 5 {
		if q := newQuota(limit, nil); !q.allows(principal{}, limit) || q.allows(principal{}, limit+1) {
			t.Errorf("of %d, %+v", limit, q)
		}
	}
}

func TestAQuotaSmallerThanThePrincipalsAreMany(t *testing.T) {
	t.Parallel()
	q := newQuota(2, []principal{{1}, {2}, {3}})
	if !q.allows(principal{1}, 2) || q.allows(principal{1}, 3) {
		t.Errorf("%+v", q)
	}
}

// reader is a body being read, and the last time limit it was given.
type reader struct {
	*body
	until time.Time
}

func begun(s *bodies, who principal, now time.Time) *reader {
	r := &reader{}
	r.body = s.open(who, now, func(until time.Time) { r.until = until })
	return r
}

func TestAStalledBodyGivesWay(t *testing.T) {
	t.Parallel()
	s := newBodies(newQuota(100, []principal{alice}))
	now := time.Now()
	stalled := begun(&s, alice, now)
	if !stalled.until.Equal(now.Add(bodyIdleTimeout)) {
		t.Errorf("a body that sends nothing has until %v", stalled.until.Sub(now))
	}
	s.grow(stalled.body, 60, now)
	now = now.Add(stalledTimeout)
	slow := begun(&s, alice, now)
	if !s.grow(slow.body, 40, now) {
		t.Fatal("no room for what fits")
	}
	now = now.Add(stalledTimeout)
	if !s.progress(slow.body, now) || !slow.until.Equal(now.Add(bodyIdleTimeout)) {
		t.Error("a body that goes on does not get more time")
	}
	third := begun(&s, alice, now)
	if !s.grow(third.body, 60, now) {
		t.Error("no room, though a body is stalled")
	}
	if !stalled.evicted || slow.evicted || stalled.until.After(now) {
		t.Error("the stalled body did not give way, or the wrong one did")
	}
	if s.progress(stalled.body, now) || s.complete(stalled.body) || s.grow(stalled.body, 1, now) {
		t.Error("a body that gave way goes on")
	}
	// Nobody is stalled now, so the next one has to come again.
	fourth := begun(&s, alice, now)
	if s.grow(fourth.body, 1, now) {
		t.Error("there is room for more than the limit")
	}
	if !s.complete(third.body) {
		t.Error("a body that was read did not stay")
	}
	now = now.Add(time.Hour) // while its request runs
	if s.grow(fourth.body, 41, now); third.evicted || !slow.evicted {
		t.Error("a request that runs gave way, or a stalled body did not")
	}
	for _, r := range []*reader{stalled, slow, third, fourth} {
		s.close(r.body)
	}
	if s.used != 0 || len(s.reading) != 0 {
		t.Errorf("%d bytes are left", s.used)
	}
}

// What one principal holds within its part is not taken for another.
func TestOnePrincipalsBodiesDoNotGiveWayWithinItsPart(t *testing.T) {
	t.Parallel()
	s := newBodies(newQuota(100, []principal{alice, bob}))
	now := time.Now()
	hers := begun(&s, alice, now)
	s.grow(hers.body, 25, now)
	now = now.Add(time.Hour)
	his := begun(&s, bob, now)
	if !s.grow(his.body, 75, now) || s.grow(his.body, 1, now) || hers.evicted {
		t.Errorf("the second principal holds %d, and the first gave way: %v", his.held, hers.evicted)
	}
}

func TestALargeBodyWithoutRoomIsRefusedClearly(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.MaxBodyBytes = 1 << 20
	f := serve(t, o)
	c := f.client().initialize("2025-06-18")
	a := c.call("1", "echo", `{"text":"`+strings.Repeat("x", 2<<20)+`"}`).want(503)
	m := a.result()
	if a.Header.Get("Retry-After") == "" || m.Error == nil || m.Error.Code != (&fault.Fault{Code: fault.BodyLimit}).RPCCode() ||
		!strings.Contains(m.Error.Message, "1 MiB") {
		t.Errorf("told %s", m.raw)
	}
	c.call("1", "echo", `{"text":"`+strings.Repeat("x", 1<<19)+`"}`).want(200).result().wantText(t, "xxx")
	f.end()
	if f.g.bodies.used != 0 {
		t.Errorf("%d bytes are left", f.g.bodies.used)
	}
}

// A request may be as long as the longest message, and no longer.
func TestABodyIsAsLongAsTheLongestMessage(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Session.Limits.MaxMessage = 17 << 20
	f := serve(t, o)
	c := f.client().initialize("2025-06-18")
	c.call("1", "echo", `{"text":"`+strings.Repeat("x", o.Session.Limits.MaxMessage-1<<10)+`"}`).want(200).result().wantText(t, "xxx")
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n", f.addr, o.Session.Limits.MaxMessage+1)
	a := f.rawExchange(request)
	if a == nil || a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("a longer one got %v", a)
	}
	said, _ := io.ReadAll(a.Body)
	if !strings.Contains(string(said), "17825792 bytes") || !strings.Contains(string(said), "--max-message") {
		t.Errorf("told %s", said)
	}
}

// All bodies together may use at least as much as the longest one, whoever sends it. Otherwise
// that does not depend on how long answers may be.
func TestTheLongestBodyFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, body, all int }{
		{0, 16 << 20, 96 << 20}, {1 << 20, 1 << 20, 96 << 20}, {128 << 20, 128 << 20, 256 << 20},
	} {
		for _, tokens := range [][]string{nil, {"a"}, {"a", "b", "c"}} {
			g := New(Options{Session: proxy.Options{Limits: proxy.Limits{MaxMessage: c.message}}, Tokens: tokens}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if g.maxBody() != c.body || g.MaxBodyBytes != c.all {
				t.Errorf("messages of %d: bodies of %d, in total %d", c.message, g.maxBody(), g.MaxBodyBytes)
			}
			if who, _ := g.guard.tokens.Load().Find("a"); !g.bodies.allows(who, c.body) {
				t.Errorf("messages of %d: no body of %d for one of %q", c.message, c.body, tokens)
			}
		}
	}
}
