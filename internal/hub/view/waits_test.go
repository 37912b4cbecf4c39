package view

import (
	"fmt"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// hung is a server that does not answer some methods, and otherwise does as next says.
func hung(next func(*scripted, wire.Message) string, methods ...string) func(*scripted, wire.Message) string {
	return func(s *scripted, m wire.Message) string {
		for _, method := range methods {
			if m.Method == method {
				return ""
			}
		}
		return next(s, m)
	}
}

func TestNothingIsLeftOfRequestsThatWaitedForAHungServer(t *testing.T) {
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{s.member("one", hung(listing(""), "tools/list", "resources/list"))}
	}, func(t *testing.T, s *stage) {
		tools, resources := s.v.members[0].lists["tools/list"], s.v.members[0].lists["resources/list"]
		for id := range 20 {
			want(t, s.ask(fmt.Sprint("1", id), "tools/list", `{}`), `"tools":[]`)
			s.send(fmt.Sprint("2", id), "resources/list", `{}`)
			s.v.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2%d}}`, id))
		}
		if waiting := len(tools.waiters) + len(resources.waiters); waiting > 0 {
			t.Errorf("%d requests still wait for the server", waiting)
		}
	})
}

func TestNothingIsLeftOfClientsThatWaitedForServerDiscover(t *testing.T) {
	playModern(t, func(s *stage) []Member {
		return []Member{s.member("one", hung(listing(""), discover))}
	}, func(t *testing.T, s *stage) {
		for id := range 20 {
			want(t, s.ask(fmt.Sprint("1", id), discover, `{`+meta+`}`), `"code":-32601`)
			s.send(fmt.Sprint("2", id), discover, `{`+meta+`}`)
			s.v.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2%d}}`, id))
		}
		if waiting := len(s.v.members[0].intro.waiters); waiting > 0 {
			t.Errorf("%d requests still wait for the server", waiting)
		}
	})
}
