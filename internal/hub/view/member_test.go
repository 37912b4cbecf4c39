package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// A call asks, and may be the only one that runs. So much waits behind it that the server's session takes no more.
func TestAnAnswerOvertakesTheCallsThatWaitForIt(t *testing.T) {
	t.Parallel()
	one := faulty(t, "one")
	plain := one.Open
	one.Open = func(tell func(proxy.Told)) Server {
		o := plain(tell).(*proxy.Session).Options
		o.Limits = proxy.Limits{Window: 1, MaxQueued: 1 << 20}
		return proxy.New(o)
	}
	p := open(t, one)
	asking := p.send("tools/call", `{"name":"one__ask","arguments":{"method":"roots/list"}}`)
	question := string(p.notification("roots/list").ID)
	var waiting []string
	long := strings.Repeat("x", 1<<20)
	for i := range 6 {
		waiting = append(waiting, p.send("tools/call", fmt.Sprintf(`{"name":"one__append","arguments":{"key":"%d","value":%q}}`, i, long)))
	}
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///a"}],"_meta":{"long":%q}}}`, question, long))
	want(t, textOf(t, p.response(asking)), "file:///a")
	for _, id := range waiting {
		if m := p.response(id); m.Error != nil {
			t.Errorf("call %s: %+v", id, m.Error)
		}
	}
}

// Progress of a question keeps its place before the answer, but holds nothing up: the answer to another may follow it.
func TestProgressOfAQuestionHoldsUpNoAnswer(t *testing.T) {
	t.Parallel()
	one := faulty(t, "one")
	plain := one.Open
	one.Open = func(tell func(proxy.Told)) Server {
		o := plain(tell).(*proxy.Session).Options
		o.Limits = proxy.Limits{Window: 1, MaxQueued: 1 << 19}
		return proxy.New(o)
	}
	p := open(t, one)
	p.send("tools/call", fmt.Sprintf(`{"name":"one__notify","arguments":{"message":%q}}`, `{"jsonrpc":"2.0","id":77,"method":"roots/list","params":{"_meta":{"progressToken":5}}}`))
	first := string(p.notification("roots/list").ID)
	asking := p.send("tools/call", `{"name":"one__ask","arguments":{"method":"roots/list"}}`)
	question := string(p.notification("roots/list").ID)
	waiting := p.send("tools/call", fmt.Sprintf(`{"name":"one__append","arguments":{"key":"k","value":%q}}`, strings.Repeat("x", 900<<10)))
	for i := range 4 {
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q}}`, first, i, strings.Repeat("x", 1<<20)))
	}
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///a"}]}}`, question))
	want(t, textOf(t, p.response(asking)), "file:///a")
	p.response(waiting)
}

// slow is a server that does not go on reading after a call of "stop" until it has an answer.
type slow struct {
	scripted
	answered chan struct{}
	calls    []string // names of tools
}

func (s *slow) FromClient(line []byte) {
	m, _, _ := wire.Scan(line)
	if m.Kind == wire.Response {
		close(s.answered)
		return
	}
	raw, _ := wire.Field(m.Params, "name")
	if name, ok := wire.Text(raw); ok {
		s.calls = append(s.calls, name)
		if name == "stop" {
			s.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`), Question: true})
			<-s.answered
		}
	}
	s.scripted.FromClient(line)
}

// whileStopped runs a test in which a client has called "stop" of the server one, whose goroutine waits.
func whileStopped(t *testing.T, test func(t *testing.T, s *stage, one *slow)) {
	one := &slow{}
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{{Key: "one", Open: func(tell func(proxy.Told)) Server {
			one.scripted, one.answered = scripted{tell: tell, answer: listing("")}, make(chan struct{})
			return one
		}}, s.member("two", listing(""))}
	}, func(t *testing.T, s *stage) {
		want(t, s.ask("1", "tools/call", `{"name":"one__first"}`), "called")
		go s.v.FromClient([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one__stop"}}`))
		synctest.Wait()
		test(t, s, one)
	})
}

// reply answers the question that the client got.
func (s *stage) reply() {
	for _, line := range s.told {
		if m, _, _ := wire.Scan([]byte(line)); m.Method == "elicitation/create" {
			s.v.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, m.ID))
		}
	}
	synctest.Wait()
}

func TestAServerThatDoesNotReadHoldsUpNoOther(t *testing.T) {
	whileStopped(t, func(t *testing.T, s *stage, one *slow) {
		s.send("3", "tools/call", `{"name":"one__third"}`) // does not wait either
		want(t, s.ask("4", "tools/call", `{"name":"two__a"}`), "called")
		if got := s.response("3"); got != "" {
			t.Errorf("the call overtook another: %s", got)
		}
		s.reply()
		want(t, s.response("2"), "called")
		want(t, s.response("3"), "called")
		want(t, fmt.Sprint(one.calls), "[first stop third]")
	})
}

// stuck is a server that does not read after its first call.
type stuck struct {
	scripted
	called bool
	until  chan struct{}
}

func (s *stuck) FromClient(line []byte) {
	if s.called {
		<-s.until
	}
	m, _, _ := wire.Scan(line)
	s.called = m.Method == "tools/call"
	s.scripted.FromClient(line)
}

func TestWhatIsForAllServersWaitsForNone(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
	} {
		one := &stuck{}
		play(t, ListDirect, func(s *stage) []Member {
			return []Member{{Key: "one", Open: func(tell func(proxy.Told)) Server {
				one.scripted, one.until = scripted{tell: tell, answer: listing("")}, make(chan struct{})
				return one
			}}}
		}, func(t *testing.T, s *stage) {
			want(t, s.ask("1", "tools/call", `{"name":"one__first"}`), "called")
			returned := false
			go func() {
				s.v.FromClient([]byte(line))
				returned = true
			}()
			synctest.Wait()
			if !returned {
				t.Errorf("%s waits for a server that does not read", line)
			}
			close(one.until)
			synctest.Wait()
		})
	}
}

func TestCallsReachAServerInTheirOrder(t *testing.T) {
	whileStopped(t, func(t *testing.T, s *stage, one *slow) {
		sent := []string{"first", "stop"}
		for i := range 100 {
			if i == 50 {
				s.reply()
			}
			name := fmt.Sprint("n", i)
			line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"one__%s"}}`, name, name)
			s.v.fromClient(line, i%3 > 0) // as over HTTP, and as over stdio
			sent = append(sent, name)
		}
		synctest.Wait()
		if !slices.Equal(one.calls, sent) {
			t.Errorf("got %v", one.calls)
		}
		if one := s.v.members[0]; one.waiting != 0 || one.passing || len(one.queue) > 0 {
			t.Errorf("left over: %d bytes, passing %v, %d lines", one.waiting, one.passing, len(one.queue))
		}
	})
}
