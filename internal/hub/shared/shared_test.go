package shared

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// scripted is a session in memory. It answers initialize and requests about levels and subscriptions; everything else
// waits until the test answers it.
type scripted struct {
	tell  func(proxy.Told)
	got   []wire.Message
	fails string // error of initialize
	mute  bool   // it does not answer initialize before it ends
	ended bool
}

func (s *scripted) Attend(ctx context.Context) error     { <-ctx.Done(); s.ended = true; return nil }
func (s *scripted) Flush()                               {}
func (s *scripted) Hurry()                               {}
func (s *scripted) Mirrors(string) ([]wire.Mirror, bool) { return nil, false }

func (s *scripted) FromClient(line []byte) {
	m, _, err := wire.Scan(slices.Clone(line))
	if err != nil {
		panic(err)
	}
	s.got = append(s.got, m)
	switch {
	case m.Kind != wire.Request:
	case m.Method == "initialize" && s.mute:
	case m.Method == "initialize" && s.fails != "":
		s.reply(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":`+s.fails+`}`, m.ID)
	case m.Method == "initialize":
		s.reply(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"serverInfo":{"name":"it"}}}`, m.ID)
	case strings.HasPrefix(m.Method, "resources/"), strings.HasPrefix(m.Method, "logging/"):
		s.reply(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`, m.ID)
	}
}

func (s *scripted) reply(line string, about []byte) {
	s.tell(proxy.Told{Line: []byte(line), About: about, Answer: about != nil})
}

func (s *scripted) say(line string, about []byte) {
	s.reply(line, about)
	synctest.Wait()
}

// methods returns what the server got, with one parameter of each.
func (s *scripted) methods(parameter string) (all []string) {
	for _, m := range s.got {
		text := m.Method
		if raw, _ := wire.Field(m.Params, parameter); raw != nil {
			text += " " + string(raw)
		}
		all = append(all, text)
	}
	return all
}

// call returns the latest call of a tool that the server got.
func (s *scripted) call(tool string) wire.Message {
	for _, m := range slices.Backward(s.got) {
		if name, _ := wire.Field(m.Params, "name"); string(name) == `"`+tool+`"` {
			return m
		}
	}
	return wire.Message{}
}

func (s *scripted) answer(tool string) {
	m := s.call(tool)
	s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"of":%q}}`, m.ID, tool), m.ID)
}

// stage is a pool in a bubble.
type stage struct {
	t        *testing.T
	pool     *Pool
	sessions []*scripted
	apart    []string
	fails    string
	mute     bool
}

func play(t *testing.T, test func(s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t}
		s.pool = New(Options{
			Open: func(_ launch.Spec, _ string, tell func(proxy.Told)) Session {
				s.sessions = append(s.sessions, &scripted{tell: tell, fails: s.fails, mute: s.mute})
				return s.sessions[len(s.sessions)-1]
			},
			Apart: func(method string) { s.apart = append(s.apart, method) },
		})
		test(s)
	})
}

// actor is a client on the stage.
type actor struct {
	*Client
	name  string
	told  []string
	about []string
	leave func()
}

const params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"NAME","version":"1"}}`

// quiet returns a client that has sent nothing.
func (s *stage) quiet(name, principal string, spec launch.Spec) *actor {
	a := &actor{name: name}
	a.Client = s.pool.Join(spec, principal, func(t proxy.Told) {
		a.told, a.about = append(a.told, string(t.Line)), append(a.about, string(t.About))
	})
	ctx, stop := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		a.Attend(ctx)
		close(ended)
	}()
	a.leave = func() {
		stop()
		<-ended
		synctest.Wait()
	}
	s.t.Cleanup(stop)
	return a
}

// enter returns a client that has initialized.
func (s *stage) enter(name string) *actor {
	a := s.quiet(name, "me", launch.Spec{Command: "it"})
	a.request("0", "initialize", strings.Replace(params, "NAME", name, 1))
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

func (a *actor) send(line string) {
	a.FromClient([]byte(line))
	a.Flush()
	synctest.Wait()
}

func (a *actor) request(id, method, params string) {
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

func (a *actor) call(id, tool string) {
	a.request(id, "tools/call", fmt.Sprintf(`{"name":%q,"_meta":{"progressToken":%s}}`, tool, id))
}

// heard returns what a client was told since it was last asked.
func (a *actor) heard() string {
	synctest.Wait()
	all := strings.Join(a.told, "\n")
	a.told = nil
	return all
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

func TestClientsShareOneProcess(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		if len(s.sessions) != 1 {
			t.Fatalf("%d processes", len(s.sessions))
		}
		server := s.sessions[0]
		want(t, "initialize", strings.Join(server.methods(""), " "), "initialize notifications/initialized")
		for _, c := range []*actor{a, b} {
			want(t, c.name, c.heard(), `{"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"it"}}}`)
		}
		a.call("7", "of-a")
		b.call("7", "of-b")
		if x, y := server.call("of-a"), server.call("of-b"); string(x.ID) == string(y.ID) || string(x.Params) == string(y.Params) {
			t.Errorf("the server cannot tell the calls apart: %s %s", x.Raw, y.Raw)
		}
		token := func(tool string) string { return string(server.call(tool).ID) }
		server.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+token("of-b")+`,"progress":1}}`, nil)
		server.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2}}`, nil) // nobody's
		server.answer("of-b")
		server.answer("of-b") // twice
		server.answer("of-a")
		want(t, "a", a.heard(), `{"jsonrpc":"2.0","id":7,"result":{"of":"of-a"}}`)
		want(t, "b", b.heard(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`+"\n"+`{"jsonrpc":"2.0","id":7,"result":{"of":"of-b"}}`)
		a.leave()
		if server.ended {
			t.Error("the process ended with a client that others share it with")
		}
		b.leave()
		if !server.ended {
			t.Error("the process did not end with its last client")
		}
		s.enter("c")
		if len(s.sessions) != 2 {
			t.Error("a client was given a process that has ended")
		}
	})
}

func TestWhoSharesNoProcess(t *testing.T) {
	here := launch.Spec{Command: "it", Dir: "/here", Env: []string{"A=1"}}
	there, other := here, here
	there.Dir, other.Env = "/there", []string{"A=2"}
	for name, c := range map[string]struct {
		principal, params string
		spec              launch.Spec
	}{
		"another principal":        {"you", params, here},
		"another directory":        {"me", params, there},
		"another environment":      {"me", params, other},
		"another version":          {"me", strings.Replace(params, "2025-11-25", "2025-06-18", 1), here},
		"another capability":       {"me", strings.Replace(params, `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1), here},
		"an ambiguous declaration": {"me", strings.Replace(params, `"clientInfo"`, `"clientinfo":{},"clientInfo"`, 1), here},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				a, b := s.quiet("a", "me", here), s.quiet("b", c.principal, c.spec)
				a.request("0", "initialize", params)
				b.request("0", "initialize", c.params)
				if len(s.sessions) != 2 {
					t.Fatalf("%d processes", len(s.sessions))
				}
				a.call("7", "secret")
				b.call("7", "secret")
				s.sessions[0].answer("secret")
				s.sessions[0].say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"secret"}}`, nil)
				s.sessions[0].say(`{"jsonrpc":"2.0","id":"g1-s1","method":"elicitation/create","params":{}}`, nil)
				b.heard()
				s.sessions[0].say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, nil)
				want(t, "b", b.heard(), "")
				b.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
				if n := len(s.sessions[0].got); n != 3 {
					t.Errorf("the process of a got %d messages: %v", n, s.sessions[0].methods(""))
				}
				a.leave()
				b.leave()
			})
		})
	}
}

func TestAVersionWithoutInitializeIsPassedOnAsItIs(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.quiet("a", "me", launch.Spec{}), s.quiet("b", "me", launch.Spec{})
		for i, c := range []*actor{a, b} {
			c.request("1", "server/discover", `{}`)
			s.sessions[i].say(`{"jsonrpc":"2.0","id":1,"result":{}}`, []byte("1"))
			want(t, "answer", c.heard(), `{"jsonrpc":"2.0","id":1,"result":{}}`)
			c.leave()
			if !s.sessions[i].ended {
				t.Error("the session goes on without its client")
			}
		}
	})
}

func TestACancelIsForOnesOwnCall(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		server := s.sessions[0]
		a.call("7", "of-a")
		b.call("8", "of-b")
		b.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		b.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
		want(t, "cancelled", strings.Join(server.methods("requestId")[4:], " "), "notifications/cancelled "+string(server.call("of-b").ID))
		server.answer("of-b")
		a.heard()
		b.heard()
		server.answer("of-a")
		want(t, "a", a.heard(), `{"jsonrpc":"2.0","id":7,"result":{"of":"of-a"}}`)
		want(t, "b", b.heard(), "")
		a.leave()
		b.leave()
	})
}

func TestLevelsAndSubscriptions(t *testing.T) {
	play(t, func(s *stage) {
		a, b, c := s.enter("a"), s.enter("b"), s.enter("c")
		server := s.sessions[0]
		log := func(level string) string {
			line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}`
			server.say(line, nil)
			return line
		}
		for _, one := range []*actor{a, b, c} {
			one.heard()
		}
		line := log("info")
		want(t, "a log that nobody asked for", a.heard()+b.heard()+c.heard(), line+line+line)
		a.request("1", "logging/setLevel", `{"level":"error"}`)
		b.request("1", "logging/setLevel", `{"level":"debug"}`)
		a.request("2", "logging/setLevel", `{"level":"error"}`)
		want(t, "levels", strings.Join(server.methods("level")[2:], " "), `logging/setLevel "error" logging/setLevel "debug" logging/setLevel "debug"`)
		for _, one := range []*actor{a, b, c} {
			one.heard()
		}
		info := log("info")
		want(t, "a, info", a.heard(), "")
		want(t, "b, info", b.heard(), info)
		fatal := log("critical")
		want(t, "a, critical", a.heard(), fatal)
		want(t, "c, which did not ask", c.heard(), "")
		b.heard()

		a.request("3", "resources/subscribe", `{"uri":"x://one"}`)
		b.request("3", "resources/subscribe", `{"uri":"x://one"}`)
		b.request("4", "resources/subscribe", `{"uri":"x://two"}`)
		a.heard()
		b.heard()
		updated := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://two/part"}}`
		server.say(updated, nil)
		want(t, "a, updated", a.heard(), "")
		want(t, "b, updated", b.heard(), updated)
		got := len(server.got)
		a.request("5", "resources/unsubscribe", `{"uri":"x://one"}`)
		want(t, "unsubscribed", a.heard(), `{"jsonrpc":"2.0","id":5,"result":{}}`)
		if len(server.got) != got {
			t.Error("a subscription that another client has was ended")
		}
		b.leave()
		var left []string
		for _, m := range server.got[got:] {
			left = append(left, m.Method+" "+string(m.Params))
		}
		slices.Sort(left)
		want(t, "after b left", strings.Join(left, " "), `logging/setLevel {"level":"error"} resources/unsubscribe {"uri":"x://one"} resources/unsubscribe {"uri":"x://two"}`)
		a.leave()
		c.leave()
	})
}

func TestAQuestionReachesTheOnlyClientWithCalls(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		server := s.sessions[0]
		b.call("1", "done")
		server.answer("done")
		a.call("1", "asks")
		a.heard()
		b.heard()
		server.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":"g1-s9","method":"elicitation/create","params":{"_meta":{"progressToken":5}}}`), About: server.call("asks").ID, Question: true})
		asked := a.heard()
		want(t, "b", b.heard(), "")
		m, _, err := wire.Scan([]byte(asked))
		if err != nil || m.Method != "elicitation/create" || a.about[len(a.about)-1] != "1" {
			t.Fatalf("a was asked %q about %q, %v", asked, a.about, err)
		}
		got := len(server.got)
		b.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"stolen":true}}`)
		a.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(m.ID) + `,"progress":1}}`)
		a.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"own":true}}`)
		a.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"twice":true}}`)
		var lines []string
		for _, m := range server.got[got:] {
			lines = append(lines, string(m.Raw))
		}
		want(t, "answers", strings.Join(lines, "\n"), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}`+"\n"+`{"jsonrpc":"2.0","id":"g1-s9","result":{"own":true}}`)
		server.say(`{"jsonrpc":"2.0","id":"g1-s10","method":"sampling/createMessage","params":{}}`, nil)
		withdrawn, _, _ := wire.Scan([]byte(a.heard()))
		server.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"g1-s10"}}`, nil)
		want(t, "withdrawn", a.heard(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+string(withdrawn.ID)+`}}`)
		if len(s.apart) > 0 {
			t.Error("a server whose questions can be attributed is not shared any more")
		}
		a.leave()
		b.leave()
	})
}

func TestAQuestionThatCannotBeAttributed(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		server := s.sessions[0]
		a.request("3", "logging/setLevel", `{"level":"info"}`)
		a.request("4", "resources/subscribe", `{"uri":"x://one"}`)
		a.call("1", "of-a")
		b.call("1", "of-b")
		a.heard()
		b.heard()
		server.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":"g1-s9","method":"sampling/createMessage","params":{}}`), About: server.call("of-b").ID, Question: true})
		synctest.Wait()
		want(t, "asked", a.heard()+b.heard(), "")
		if last := server.got[len(server.got)-1]; last.Kind != wire.Response || last.Error == nil || string(last.ID) != `"g1-s9"` {
			t.Errorf("the server got %s", last.Raw)
		}
		want(t, "told", strings.Join(s.apart, " "), "sampling/createMessage")
		server.answer("of-a") // calls in progress stay where they are
		want(t, "a", a.heard(), `{"jsonrpc":"2.0","id":1,"result":{"of":"of-a"}}`)
		if server.ended {
			t.Error("the process ended with a call in progress")
		}
		server.answer("of-b")
		want(t, "b", b.heard(), `{"jsonrpc":"2.0","id":1,"result":{"of":"of-b"}}`)
		if !server.ended {
			t.Error("the process goes on without clients")
		}
		a.call("2", "next")
		b.call("2", "next")
		c := s.enter("c")
		var first, last *scripted
		for _, one := range s.sessions[1:] {
			switch {
			case slices.Contains(one.methods("uri"), `resources/subscribe "x://one"`):
				first = one
			case one.call("next").ID != nil:
				last = one
			}
		}
		if len(s.sessions) != 4 || first == nil || last == nil {
			t.Fatalf("%d processes", len(s.sessions))
		}
		want(t, "a's own process", strings.Join(first.methods("level"), " "), `initialize notifications/initialized logging/setLevel "info" resources/subscribe tools/call`)
		first.say(`{"jsonrpc":"2.0","id":"g1-s1","method":"sampling/createMessage","params":{}}`, nil)
		if !strings.Contains(a.heard(), "sampling") || b.heard() != "" {
			t.Error("the question did not reach the client of the process alone")
		}
		last.answer("next")
		want(t, "b", b.heard(), `{"jsonrpc":"2.0","id":2,"result":{"of":"next"}}`)
		for _, one := range []*actor{a, b, c} {
			one.leave()
		}
		for i, one := range s.sessions {
			if !one.ended {
				t.Errorf("process %d was left behind", i)
			}
		}
	})
}

func TestAQuestionAfterACancelReachesNoOtherClient(t *testing.T) {
	for _, how := range []string{"cancels", "leaves"} {
		play(t, func(s *stage) {
			a, b := s.enter("a"), s.enter("b")
			server := s.sessions[0]
			a.call("1", "of-a")
			b.call("1", "of-b")
			if how == "cancels" {
				a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			} else {
				a.leave()
			}
			a.heard()
			b.heard()
			server.say(`{"jsonrpc":"2.0","id":"g1-s9","method":"elicitation/create","params":{}}`, nil)
			want(t, "b was asked after a "+how, b.heard(), "")
			want(t, "told", strings.Join(s.apart, " "), "elicitation/create")
			server.answer("of-b")
			want(t, "b", b.heard(), `{"jsonrpc":"2.0","id":1,"result":{"of":"of-b"}}`)
			a.leave()
			b.leave()
		})
	}
}

func TestAClientThatIsMovedIsStillGreeted(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		a.call("1", "of-a")
		b.call("1", "of-b")
		s.mute = true // the next server takes long to start
		var others []*actor
		for _, name := range []string{"c", "d"} {
			other := s.quiet(name, "another", launch.Spec{Command: "it"})
			other.request("0", "initialize", params)
			others = append(others, other)
		}
		s.mute = false
		s.sessions[0].say(`{"jsonrpc":"2.0","id":"g1-s9","method":"sampling/createMessage","params":{}}`, nil)
		for _, other := range others {
			want(t, other.name, other.heard(), `{"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"it"}}}`)
		}
		for _, one := range append(others, a, b) {
			one.leave()
		}
	})
}

func TestRootsAreOfOneClient(t *testing.T) {
	const roots = `{"jsonrpc":"2.0","id":"g1-s1","method":"roots/list"}`
	play(t, func(s *stage) {
		a := s.enter("a")
		a.heard()
		s.sessions[0].say(roots, nil)
		if !strings.Contains(a.heard(), "roots/list") {
			t.Error("the only client was not asked")
		}
		b := s.enter("b")
		if len(s.sessions) != 2 {
			t.Error("a server that has asked for roots is shared")
		}
		a.leave()
		b.leave()
	})
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		a.call("1", "x")
		a.heard()
		b.heard()
		s.sessions[0].say(roots, nil)
		want(t, "asked", a.heard()+b.heard(), "")
		a.leave()
		b.leave()
	})
}

func TestGauzesOwnQuestionIsAboutItsCall(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		server := s.sessions[0]
		a.call("1", "of-a")
		b.call("1", "of-b")
		a.heard()
		b.heard()
		server.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":"g0-s9","method":"sampling/createMessage","params":{}}`), About: server.call("of-a").ID, Question: true})
		if !strings.Contains(a.heard(), "sampling") || b.heard() != "" || len(s.apart) > 0 {
			t.Error("it did not reach the client whose call it is about")
		}
		a.leave()
		b.leave()
	})
}

func TestAClientThatLeavesTakesOnlyWhatIsItsOwn(t *testing.T) {
	play(t, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		server := s.sessions[0]
		a.call("1", "of-a")
		server.say(`{"jsonrpc":"2.0","id":"g1-s9","method":"elicitation/create","params":{}}`, nil)
		b.call("1", "of-b")
		a.heard()
		b.heard()
		got := len(server.got)
		a.leave()
		lines := map[string]bool{}
		for _, m := range server.got[got:] {
			lines[string(m.Raw)] = true
		}
		if len(lines) != 2 || !lines[`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+string(server.call("of-a").ID)+`,"reason":"the client has left"}}`] ||
			!lines[`{"jsonrpc":"2.0","id":"g1-s9","error":{"code":-32603,"message":"the client has left"}}`] {
			t.Errorf("the server got %v", lines)
		}
		if !strings.Contains(a.heard(), `"id":1,"error"`) {
			t.Error("the call in progress was not answered")
		}
		server.answer("of-b")
		want(t, "b", b.heard(), `{"jsonrpc":"2.0","id":1,"result":{"of":"of-b"}}`)
		b.leave()
	})
}

func TestAServerThatDoesNotStart(t *testing.T) {
	play(t, func(s *stage) {
		s.fails = `{"code":1,"message":"down"}`
		a, b := s.enter("a"), s.enter("b")
		for _, one := range []*actor{a, b} {
			want(t, one.name, one.heard(), `{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"down"}}`)
		}
		a.call("1", "x")
		want(t, "a call", a.heard(), `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"down"}}`)
		s.sessions[0].fails = ""
		a.call("2", "x")
		s.sessions[0].answer("x")
		want(t, "the next call", a.heard(), `{"jsonrpc":"2.0","id":2,"result":{"of":"x"}}`)
		a.leave()
		b.leave()
		b.call("3", "late")
		want(t, "after the end", b.heard(), "")
	})
}

func TestAClientThatDoesNotReadHarmsNoOther(t *testing.T) {
	play(t, func(s *stage) {
		release := make(chan struct{})
		slow := s.pool.Join(launch.Spec{Command: "it"}, "me", func(proxy.Told) { <-release })
		ctx, stop := context.WithCancel(s.t.Context())
		ended := make(chan struct{})
		go func() {
			slow.Attend(ctx)
			close(ended)
		}()
		slow.FromClient([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + params + `}`))
		b := s.enter("b")
		b.heard()
		line := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
		for range 40 {
			s.sessions[0].say(line, nil)
		}
		if n := strings.Count(b.heard(), "list_changed"); n != 40 {
			t.Errorf("b got %d of 40 messages", n)
		}
		if n := len(slow.inbox.queue); n < 10 || n > 20 {
			t.Errorf("%d messages are kept for a client that does not read", n)
		}
		close(release)
		stop()
		<-ended
		b.leave()
	})
}

func TestProven(t *testing.T) {
	for line, is := range map[string]bool{
		"uvx mcp-server-time":                        true,
		"uvx mcp-server-time@2026.1.1 --local x":     true,
		"/usr/bin/uvx mcp-server-time==2026.1.1":     true,
		"uvx --from other mcp-server-time":           false,
		"npx -y mcp-server-time":                     false,
		"uvx":                                        false,
		"uvx mcp-server":                             false,
		"mcp-server-time":                            false,
		"npx -y @modelcontextprotocol/server-memory": false,
	} {
		words := strings.Fields(line)
		if got := Proven(launch.Spec{Command: words[0], Args: words[1:]}); got != is {
			t.Errorf("%s: %v", line, got)
		}
	}
}
