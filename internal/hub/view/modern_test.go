package view

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const (
	meta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	noMethod = `error:{"code":-32601,"message":"no such method"}`
)

// playModern runs a test on a stage whose client has sent nothing.
func playModern(t *testing.T, members func(*stage) []Member, test func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{servers: map[string]*scripted{}, ended: make(chan error, 1)}
		s.v = New(Options{Members: members(s), Tell: func(t proxy.Told) { s.told = append(s.told, string(t.Line)) }})
		ctx, stop := context.WithCancel(t.Context())
		s.stop = stop
		go func() { s.ended <- s.v.Attend(ctx) }()
		test(t, s)
		stop()
		<-s.ended
	})
}

// introducing is a server of 2026-07-28 with these capabilities; the rest is that of next.
func introducing(capabilities, more string, next func(*scripted, wire.Message) string) func(*scripted, wire.Message) string {
	return func(s *scripted, m wire.Message) string {
		switch m.Method {
		case discover:
			return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{` + capabilities + `},"ttlMs":5000,"cacheScope":"public"` + more + `}`
		case "initialize":
			return `error:{"code":-32022,"message":"unsupported"}`
		case "subscriptions/listen":
			return ""
		}
		return next(s, m)
	}
}

// older is a server with sessions.
func older(next func(*scripted, wire.Message) string) func(*scripted, wire.Message) string {
	return func(s *scripted, m wire.Message) string {
		if m.Method == discover {
			return noMethod
		}
		return next(s, m)
	}
}

func TestAViewWithoutSessions(t *testing.T) {
	lists := func(ttl int, scope string) func(*scripted, wire.Message) string {
		return func(s *scripted, m wire.Message) string {
			if m.Method == "tools/list" {
				return fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"a"}],"ttlMs":%d,"cacheScope":%q}`, ttl, scope)
			}
			return `{"resultType":"input_required","requestState":"opaque","seen":` + string(m.Params) + `}`
		}
	}
	playModern(t, func(s *stage) []Member {
		return []Member{
			s.member("one", introducing(`"tools":{},"extensions":{"example.com/x":{}}`, `,"instructions":"Use one."`, lists(900, "public"))),
			s.member("two", introducing(`"prompts":{},"resources":{"subscribe":true}`, `,"instructions":"Use two."`, lists(300, "private"))),
		}
	}, func(t *testing.T, s *stage) {
		got := s.ask("1", discover, `{`+meta+`}`)
		for _, part := range []string{`"resultType":"complete"`, `"io.modelcontextprotocol/serverInfo":{"name":"gauze"`, `"supportedVersions":["2026-07-28"]`, `"extensions":{"example.com/x":{}}`,
			`"prompts":{"listChanged":true}`, `"resources":{"listChanged":true,"subscribe":true}`, `"tools":{"listChanged":true}`, `# one (names begin with one__)\nUse one.\n\n# two`, `"ttlMs":5000,"cacheScope":"public"`} {
			want(t, got, part)
		}
		got = s.ask("2", "tools/list", `{`+meta+`}`)
		want(t, got, `"tools":[{"name":"one__a"},{"name":"two__a"}],"ttlMs":300,"cacheScope":"private"}`)
		want(t, got, `"resultType":"complete"`)
		// What a server asks for passes unchanged, and so does the answer, to the same server.
		want(t, s.ask("3", "tools/call", `{"name":"two__a",`+meta+`,"inputResponses":{"x":1}}`), `"result":{"resultType":"input_required","requestState":"opaque","seen":{"name":"a",`+meta+`,"inputResponses":{"x":1}}}`)
		if strings.Join(s.servers["one"].asked, " ") != discover+" tools/list" {
			t.Errorf("one was asked %q", s.servers["one"].asked)
		}
		want(t, s.ask("4", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`),
			`"code":-32022,"message":"unsupported protocol version \"2999-01-01\"","data":{"requested":"2999-01-01","supported":["2026-07-28"]}`)
		want(t, s.ask("5", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), `"code":-32602`)
		want(t, s.ask("6", "tools/list", `{}`), `send initialize first`)
	})
}

func TestOneServerWithSessionsIsEnough(t *testing.T) {
	both := func(s *scripted, m wire.Message) string { // a server of both eras
		if m.Method == discover {
			return introducing("", "", nil)(s, m)
		}
		return listing(`{"name":"b"}`)(s, m)
	}
	playModern(t, func(s *stage) []Member {
		return []Member{s.member("old", older(listing(`{"name":"a"}`))), s.member("both", both),
			s.member("new", introducing("", "", listing(`{"name":"c"}`))), s.member("silent", func(*scripted, wire.Message) string { return "" })}
	}, func(t *testing.T, s *stage) {
		began := time.Now()
		s.send("1", discover, `{`+meta+`}`)
		want(t, s.response("1"), `"code":-32601`)
		if took := time.Since(began); took > 0 {
			t.Errorf("the answer took %v, although a server had refused", took)
		}
		want(t, s.ask("2", "tools/list", `{`+meta+`}`), `"code":-32022`)
		want(t, s.ask("3", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`), `"protocolVersion":"2025-11-25"`)
		want(t, s.ask("4", "tools/list", `{}`), `"result":{"tools":[{"name":"old__a"},{"name":"both__b"}]}`)
		want(t, s.ask("5", "tools/call", `{"name":"both__b"}`), `called`)
		want(t, s.ask("6", "tools/call", `{"name":"new__c"}`), `unsupported`)
	})
}

// A server that never answers does not keep a client waiting, and an unknown one counts as one with sessions.
func TestAServerOfAnUnknownEra(t *testing.T) {
	late := func(s *scripted, m wire.Message) string {
		if m.Method == discover {
			time.Sleep(10 * time.Second)
		}
		return older(listing(`{"name":"a"}`))(s, m)
	}
	playModern(t, func(s *stage) []Member {
		return []Member{s.member("late", late), s.member("new", introducing("", "", listing("")))}
	}, func(t *testing.T, s *stage) {
		s.send("1", discover, `{`+meta+`}`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, s.response("1"), `"code":-32601`)
		s.send("2", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
		want(t, s.ask("3", "tools/call", `{"name":"late__a"}`), `called`) // after what it was asked first
	})
}

func TestAServerOfTheOtherEraThatIsAddedLater(t *testing.T) {
	playModern(t, func(s *stage) []Member {
		return []Member{s.member("new", introducing(`"tools":{}`, "", listing(`{"name":"a"}`)))}
	}, func(t *testing.T, s *stage) {
		want(t, s.ask("1", "tools/list", `{`+meta+`}`), `new__a`)
		s.v.Change([]Member{s.member("new", nil), s.member("old", older(listing(`{"name":"b"}`)))}, ListDirect)
		got := s.ask("2", "tools/list", `{`+meta+`}`)
		want(t, got, `"tools":[{"name":"new__a"}]`)
		want(t, s.ask("3", "tools/call", `{"name":"old__b",`+meta+`}`), `only protocol versions with sessions`)
		want(t, s.ask("4", discover, `{`+meta+`}`), `"code":-32601`) // a new client gets all servers with sessions
		want(t, s.ask("5", "tools/call", `{"name":"new__a",`+meta+`}`), `called`)
	})
}

func TestStreamsOfNotifications(t *testing.T) {
	having := func(uri string) func(*scripted, wire.Message) string {
		return introducing(`"tools":{},"resources":{"subscribe":true}`, "", func(s *scripted, m wire.Message) string {
			if m.Method == "resources/list" {
				return `{"resources":[{"uri":"` + uri + `"}]}`
			}
			return listing(`{"name":"a"}`)(s, m)
		})
	}
	var streams []string // what servers were asked to announce
	watched := func(next func(*scripted, wire.Message) string) func(*scripted, wire.Message) string {
		return func(s *scripted, m wire.Message) string {
			if m.Method == "subscriptions/listen" {
				filter, _ := wire.Field(m.Params, "notifications")
				streams = append(streams, string(m.ID)+" "+string(filter))
			}
			return next(s, m)
		}
	}
	playModern(t, func(s *stage) []Member {
		one := s.member("one", watched(having("x://one")))
		one.Idle = time.Hour
		return []Member{one, s.member("two", watched(having("x://two")))}
	}, func(t *testing.T, s *stage) {
		s.send("1", discover, `{`+meta+`}`)
		s.send("7", "subscriptions/listen", `{`+meta+`,"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x://two"]}}`)
		want(t, s.told[1], `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://two"]}}}`)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(streams) != 1 || !strings.HasSuffix(streams[0], ` {"toolsListChanged":true,"resourceSubscriptions":["x://two"]}`) {
			t.Fatalf("streams %q: only the server with the resource needs one", streams)
		}
		id, _, _ := strings.Cut(streams[0], " ")
		tell := func(server, method, more string) {
			s.servers[server].tell(proxy.Told{Line: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}}`, method, id, more), About: []byte(id)})
		}
		before := len(s.told)
		tell("two", "notifications/subscriptions/acknowledged", `,"notifications":{}`)
		tell("two", "notifications/resources/updated", `,"uri":"x://two"`)
		tell("two", "notifications/resources/updated", `,"uri":"x://other"`)
		tell("one", "notifications/resources/updated", `,"uri":"x://two"`) // not on a stream of its own
		tell("two", "notifications/tools/list_changed", ``)
		time.Sleep(time.Minute)
		synctest.Wait()
		told := strings.Join(s.told[before:], "\n")
		if told != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"x://two"}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}` {
			t.Errorf("told %s", told)
		}
		s.ask("8", "tools/call", `{"name":"one__a",`+meta+`}`) // now it runs, and can announce changes
		if len(streams) != 2 || !strings.HasSuffix(streams[1], ` {"toolsListChanged":true}`) {
			t.Errorf("streams %q", streams)
		}
		time.Sleep(2 * time.Hour) // after which it may stop
		synctest.Wait()
		if asked := s.servers["one"].notified; len(asked) != 1 || !strings.Contains(asked[0], "notifications/cancelled") {
			t.Errorf("a server that is not used any more was told %q", asked)
		}
		s.v.FromClient([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`))
		synctest.Wait()
		before = len(s.told)
		tell("two", "notifications/resources/updated", `,"uri":"x://two"`)
		tell("two", "notifications/tools/list_changed", ``)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.told) != before {
			t.Errorf("told after the end: %q", s.told[before:])
		}
	})
}

func TestAStreamThatAServerHasEndedBeginsAgain(t *testing.T) {
	var streams []string
	playModern(t, func(s *stage) []Member {
		next := introducing(`"tools":{}`, "", listing(`{"name":"a"}`))
		return []Member{s.member("one", func(s *scripted, m wire.Message) string {
			if m.Method == "subscriptions/listen" {
				streams = append(streams, string(m.ID))
			}
			return next(s, m)
		})}
	}, func(t *testing.T, s *stage) {
		s.send("1", discover, `{`+meta+`}`)
		s.send("7", "subscriptions/listen", `{`+meta+`,"notifications":{"toolsListChanged":true}}`)
		for i := range 3 {
			want(t, s.ask(fmt.Sprint(10+i), "tools/call", `{"name":"one__a",`+meta+`}`), "called")
			if len(streams) != i+1 {
				t.Fatalf("after %d calls: streams %q", i+1, streams)
			}
			s.servers["one"].tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":` + streams[i] + `,"result":{"resultType":"complete"}}`), About: []byte(streams[i]), Answer: true})
		}
	})
}

func TestWhatIsRememberedIsOffered(t *testing.T) {
	recalling := func(m Member, result string) Member {
		m.Recall = func(method string, version, capabilities []byte) []byte {
			if method != "initialize" || string(version) != `"2025-11-25"` || string(capabilities) != `{}` || result == "" {
				return nil
			}
			return []byte(result)
		}
		return m
	}
	long := strings.Repeat("x", 2*maxInstructions)
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{
			recalling(s.member("one", listing("")), `{"capabilities":{"tasks":{"list":{}},"tools":{}},"instructions":"`+long+`"}`),
			recalling(s.member("two", listing("")), `{"capabilities":{"tasks":{"requests":{"tools":{"call":{}}}},"logging":{}},"instructions":"Use two."}`),
		}
	}, func(t *testing.T, s *stage) {
		got := s.response("0")
		want(t, got, `"capabilities":{"logging":{},"tasks":{"list":{},"requests":{"tools":{"call":{}}}},"tools":{"listChanged":true}}`)
		want(t, got, `# two (names begin with two__)\nUse two.`)
		if len(got) > maxInstructions {
			t.Errorf("the instructions have %d bytes", len(got))
		}
	})
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{recalling(s.member("one", listing("")), `{"capabilities":{"tools":{}}}`), recalling(s.member("new", listing("")), "")}
	}, func(t *testing.T, s *stage) {
		want(t, s.response("0"), `"capabilities":{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`)
	})
}
