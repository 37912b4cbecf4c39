package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// held is a server that answers some methods only when the test says so.
type held struct {
	methods []string
	ids     map[string]string // raw, of the latest request of each
	next    func(*scripted, wire.Message) string
}

func holding(next func(*scripted, wire.Message) string, methods ...string) *held {
	return &held{methods, map[string]string{}, next}
}

func (h *held) answer(s *scripted, m wire.Message) string {
	if !slices.Contains(h.methods, m.Method) {
		return h.next(s, m)
	}
	h.ids[m.Method] = string(m.ID)
	return ""
}

// give answers the latest request of a method with a result.
func (h *held) give(s *scripted, method, result string) {
	s.tell(proxy.Told{Line: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, h.ids[method], result), About: []byte(h.ids[method]), Answer: true})
	synctest.Wait()
}

// ask lets the server ask the client, about its latest request of a method if there is one.
func (h *held) ask(s *scripted, method string) {
	s.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","id":"q1","method":"roots/list"}`), About: []byte(h.ids[method]), Question: true})
	synctest.Wait()
}

// rest lets a minute pass.
func (s *stage) rest() {
	s.v.mu.Lock() // what is told by a timer is told after what the test has read
	over := time.After(time.Minute)
	s.v.mu.Unlock()
	<-over
	synctest.Wait()
}

// newer returns the member as it is after its entry in the file has changed.
func newer(m Member) Member {
	m.Version++
	return m
}

// reading is a server that answers resources/read with its name.
func reading(name string) func(*scripted, wire.Message) string {
	return func(s *scripted, m wire.Message) string {
		if m.Method == "resources/read" {
			return `{"contents":[],"from":"` + name + `"}`
		}
		return listing(`{"name":"a"}`)(s, m)
	}
}

// ended reports a server whose session has not ended, or that got something after that.
func ended(t *testing.T, s *scripted) {
	t.Helper()
	synctest.Wait()
	if !s.over.Load() {
		t.Error("the session with the server goes on")
	}
	if n := s.late.Load(); n > 0 {
		t.Errorf("the server got %d messages after the end of its session", n)
	}
}

// answeredOnce reports a request that has not exactly one answer.
func (s *stage) answeredOnce(t *testing.T, ids ...string) {
	t.Helper()
	synctest.Wait()
	for _, id := range ids {
		n := 0
		for _, line := range s.told {
			if m, _, _ := wire.Scan([]byte(line)); m.Kind == wire.Response && string(m.ID) == id {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the request %s has %d answers", id, n)
		}
	}
}

func TestNothingIsLearntFromAServerThatHasLeft(t *testing.T) {
	for name, c := range map[string]struct{ method, params, result string }{
		"tools/call":     {"tools/call", `{"name":"one__a","task":{}}`, `{"task":{"taskId":"t1"},"content":[{"type":"resource_link","uri":"x://y"}]}`},
		"tasks/list":     {"tasks/list", `{}`, `{"tasks":[{"taskId":"t1"}]}`},
		"resources/list": {"resources/list", `{}`, `{"resources":[{"uri":"x://y"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			one := holding(reading("one"), c.method)
			play(t, ListDirect, func(s *stage) []Member {
				return []Member{s.member("one", one.answer), s.member("two", reading("two")), s.member("three", reading("three"))}
			}, func(t *testing.T, s *stage) {
				s.send("1", c.method, c.params)
				two, three := s.v.members[1].Member, s.v.members[2].Member
				s.v.Change([]Member{two, three}, ListDirect)
				one.give(s.servers["one"], c.method, c.result)
				ended(t, s.servers["one"])
				want(t, s.ask("2", "tasks/get", `{"taskId":"t1"}`), `no task with the id`)
				want(t, s.ask("3", "resources/read", `{"uri":"x://y"}`), `no server has listed`)
				s.answeredOnce(t, "1", "2", "3")
				ended(t, s.servers["one"])
			})
		})
	}
}

// The one that takes its place has the same resources, but not the tasks.
func TestALinkOfAServerThatWasReplaced(t *testing.T) {
	for _, learnt := range []string{"before", "after"} {
		one := holding(reading("old"), "tools/call")
		play(t, ListDirect, func(s *stage) []Member {
			return []Member{s.member("one", one.answer), s.member("two", reading("two"))}
		}, func(t *testing.T, s *stage) {
			s.send("1", "tools/call", `{"name":"one__a"}`)
			server, two := s.servers["one"], s.v.members[1].Member
			give := func() {
				one.give(server, "tools/call", `{"task":{"taskId":"t1"},"content":[{"type":"resource","resource":{"uri":"x://y"}}]}`)
			}
			if learnt == "before" {
				give()
			}
			s.v.Change([]Member{newer(s.member("one", reading("new"))), two}, ListDirect)
			if learnt == "after" {
				give()
			}
			ended(t, server)
			want(t, s.ask("2", "tasks/get", `{"taskId":"t1"}`), `no task with the id`)
			want(t, s.ask("3", "resources/read", `{"uri":"x://y"}`), `"from":"new"`)
			s.v.Change([]Member{two}, ListDirect)
			want(t, s.ask("4", "resources/read", `{"uri":"x://y"}`), `"from":"two"`) // the only one that is left
			s.answeredOnce(t, "1", "2", "3", "4")
		})
	}
}

// What servers have said without sessions is from other sessions than those that begin with initialize.
func TestALinkFromBeforeTheSession(t *testing.T) {
	both := func(s *scripted, m wire.Message) string {
		switch m.Method {
		case discover:
			return introducing(`"tools":{}`, "", nil)(s, m)
		case "tools/call":
			return `{"content":[{"type":"resource_link","uri":"x://y"}]}`
		}
		return reading("it")(s, m)
	}
	playModern(t, func(s *stage) []Member {
		return []Member{s.member("one", both), s.member("two", both)}
	}, func(t *testing.T, s *stage) {
		s.ask("1", "tools/call", `{"name":"one__a",`+meta+`}`)
		before := s.servers["one"]
		s.ask("2", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
		want(t, s.ask("3", "resources/read", `{"uri":"x://y"}`), `"from":"it"`)
		ended(t, before)
	})
}

// What gauze asks for itself, and a question that the client does not answer, hold no server that has left.
func TestOnlyCallsOfTheClientHoldAServerThatHasLeft(t *testing.T) {
	one := holding(listing(`{"name":"a"}`), "tools/list", "tools/call")
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{s.member("one", one.answer), s.member("two", listing(`{"name":"b"}`))}
	}, func(t *testing.T, s *stage) {
		s.send("1", "tools/call", `{"name":"one__a"}`)
		s.send("2", "tools/list", `{}`)
		server, two := s.servers["one"], s.v.members[1].Member
		one.ask(server, "tools/call")
		s.v.Change([]Member{two}, ListDirect)
		synctest.Wait()
		want(t, s.response("2"), `{"tools":[{"name":"two__b"}]}`) // it is not waited for
		if server.over.Load() {
			t.Fatal("the server was ended with a call in flight")
		}
		one.give(server, "tools/call", `{}`)
		want(t, s.response("1"), `"result":{}`)
		ended(t, server)
		want(t, strings.Join(server.notified, "\n"), `{"jsonrpc":"2.0","id":"q1","error":{"code":-32603,"message":"the server is not used any more"}}`)
		want(t, strings.Join(s.told, "\n"), `"method":"notifications/cancelled"`)
		for _, line := range s.told {
			if m, _, _ := wire.Scan([]byte(line)); m.Method == "roots/list" { // the client answers after all
				s.v.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID))
			}
		}
		one.give(server, "tools/list", `{"tools":[{"name":"a"}]}`)
		ended(t, server)
		s.answeredOnce(t, "1", "2")
	})
}

func TestAQuestionOfNoCallHoldsNoServerThatHasLeft(t *testing.T) {
	one := holding(listing(""), "tools/call")
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{s.member("one", one.answer)}
	}, func(t *testing.T, s *stage) {
		s.ask("1", "tools/list", `{}`)
		server := s.servers["one"]
		one.ask(server, "")
		s.v.Change(nil, ListDirect)
		ended(t, server)
		want(t, strings.Join(server.notified, "\n"), `"id":"q1","error"`)
	})
}

// A request that waits for lists waits for those of the servers that take the places of others.
func TestARequestThatWaitsWhenServersAreReplaced(t *testing.T) {
	reads := listing(`{"name":"look","annotations":{"readOnlyHint":true}}`)
	play(t, ListSearch, func(s *stage) []Member {
		return []Member{s.member("one", hung(reads, "tools/list", "resources/list")), s.member("two", reads)}
	}, func(t *testing.T, s *stage) {
		s.send("1", "tools/call", `{"name":"call_read","arguments":{"name":"one__look"}}`)
		s.send("2", "resources/read", `{"uri":"x://y"}`)
		server, two := s.servers["one"], s.v.members[1].Member
		s.v.Change([]Member{newer(s.member("one", reads)), two}, ListSearch)
		synctest.Wait()
		want(t, s.response("1"), "called")
		want(t, s.response("2"), "no server has listed")
		ended(t, server)
		s.rest()
		s.answeredOnce(t, "1", "2")
	})
}

func TestAServerThatHasLeftAnnouncesNothing(t *testing.T) {
	one := holding(listing(""), "tools/call")
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{s.member("one", one.answer)}
	}, func(t *testing.T, s *stage) {
		s.ask("1", "resources/subscribe", `{"uri":"x://y"}`)
		s.send("2", "tools/call", `{"name":"one__a","_meta":{"progressToken":5}}`)
		server := s.servers["one"]
		s.v.Change([]Member{newer(s.member("one", listing("")))}, ListDirect)
		s.rest()
		before := len(s.told)
		server.say("notifications/tools/list_changed")
		server.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://y"}}`)})
		server.tell(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + one.ids["tools/call"] + `,"progress":1}}`)})
		s.rest()
		if told := s.told[before:]; len(told) != 1 || !strings.Contains(told[0], `"progressToken":5`) {
			t.Errorf("told %q", told)
		}
	})
}

// A session ends without the view when gauze stops the server.
func TestEveryRequestIsAnsweredWhenASessionEnds(t *testing.T) {
	one := holding(reading("one"), "tools/call", "tools/list")
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{s.member("one", one.answer), s.member("two", reading("two"))}
	}, func(t *testing.T, s *stage) {
		s.ask("1", "resources/list", `{}`)
		s.send("2", "tools/call", `{"name":"one__a"}`)
		s.send("3", "tools/list", `{}`)
		server := s.servers["one"]
		one.ask(server, "tools/call")
		close(server.exit)
		synctest.Wait()
		want(t, strings.Join(s.told, "\n"), `"method":"notifications/cancelled"`)
		want(t, s.response("2"), "stopping")
		want(t, s.response("3"), `{"tools":[{"name":"two__a"}]}`)
		want(t, s.ask("4", "tools/call", `{"name":"one__a"}`), "stopping")
		want(t, s.ask("5", "completion/complete", `{"ref":{"type":"ref/prompt","name":"one__p"}}`), "stopping")
		s.send("6", "prompts/list", `{}`)
		want(t, s.response("6"), `{"prompts":[]}`) // without a wait
		want(t, s.ask("7", "logging/setLevel", `{"level":"info"}`), `{}`)
		s.v.FromClient([]byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`))
		want(t, s.ask("8", "tools/call", `{"name":"two__a"}`), "called")
		s.answeredOnce(t, "1", "2", "3", "4", "5", "6", "7", "8")
		ended(t, server)
		if left := len(s.v.calls); left > 0 {
			t.Errorf("%d calls are left over", left)
		}
		s.v.Change([]Member{newer(s.member("one", reading("new")))}, ListDirect)
		want(t, s.ask("9", "tools/call", `{"name":"one__a"}`), "called")
	})
}

// What the session has not answered when it ends, it never will: the line may still have been on its way.
func TestACallThatWaitsForAServerWhoseSessionEnds(t *testing.T) {
	play(t, ListDirect, func(s *stage) []Member {
		return []Member{s.member("one", hung(listing(""), "initialize"))}
	}, func(t *testing.T, s *stage) {
		s.send("1", "tools/call", `{"name":"one__a"}`)
		s.send("2", "resources/subscribe", `{"uri":"x://y"}`)
		s.v.Change(nil, ListDirect)
		synctest.Wait()
		if s.servers["one"].over.Load() {
			t.Error("the server was ended while calls waited for it")
		}
		close(s.servers["one"].exit)
		synctest.Wait()
		want(t, s.response("1"), "stopping")
		want(t, s.response("2"), "stopping")
		s.answeredOnce(t, "1", "2")
	})
}

func TestAServerThatLeftIsHurriedAsWell(t *testing.T) {
	one := holding(listing(""), "tools/call")
	play(t, ListDirect, func(s *stage) []Member { return []Member{s.member("one", one.answer)} }, func(t *testing.T, s *stage) {
		s.send("1", "tools/call", `{"name":"one__a"}`)
		s.v.Change(nil, ListDirect)
		s.v.Hurry()
		if !s.servers["one"].hurried.Load() {
			t.Error("the server was not hurried")
		}
	})
}

func TestAServerThatIsClosedIsNotOpenedForASubscription(t *testing.T) {
	play(t, ListDirect, func(s *stage) []Member { return []Member{s.member("one", listing(""))} }, func(t *testing.T, s *stage) {
		s.ask("1", "resources/subscribe", `{"uri":"x://y"}`)
		pending := newer(s.member("one", listing("")))
		pending.Closed = "nobody has confirmed it yet"
		open := pending.Open
		pending.Open = func(func(proxy.Told)) Server { t.Error("the server was opened"); return &scripted{} }
		s.v.Change([]Member{pending}, ListDirect)
		want(t, s.ask("2", "resources/subscribe", `{"uri":"x://z"}`), "no server has listed")
		pending.Closed, pending.Open = "", open
		s.v.Change([]Member{pending}, ListDirect)
		s.rest()
		if asked := strings.Join(s.servers["one"].asked, " "); asked != "initialize resources/subscribe" {
			t.Errorf("the server was asked %q", asked)
		}
	})
}

func TestAnUnsubscriptionWhileTheOldServerGoesOn(t *testing.T) {
	for _, opened := range []bool{true, false} { // whether the next one has answered initialize
		one, next := holding(listing(""), "tools/call"), holding(listing(""), "initialize")
		if opened {
			next.methods = nil
		}
		asked := func(h *held, asked *[]string) func(*scripted, wire.Message) string {
			return func(s *scripted, m wire.Message) string {
				if strings.HasPrefix(m.Method, "resources/") && !strings.HasSuffix(m.Method, "list") {
					uri, _ := wire.Field(m.Params, "uri")
					*asked = append(*asked, m.Method[len("resources/"):]+string(uri))
				}
				return h.answer(s, m)
			}
		}
		var atOne, atNext []string
		play(t, ListDirect, func(s *stage) []Member { return []Member{s.member("one", asked(one, &atOne))} }, func(t *testing.T, s *stage) {
			s.ask("1", "resources/subscribe", `{"uri":"x://y"}`)
			s.ask("2", "resources/subscribe", `{"uri":"x://z"}`)
			s.send("3", "tools/call", `{"name":"one__a"}`)
			server := s.servers["one"]
			atOne = nil
			s.v.Change([]Member{newer(s.member("one", asked(next, &atNext)))}, ListDirect)
			synctest.Wait()
			s.send("4", "resources/unsubscribe", `{"uri":"x://y"}`)
			if !opened {
				next.give(s.servers["one"], "initialize", `{}`)
			}
			want(t, s.response("4"), `"result":{}`)
			slices.Sort(atNext)
			if opened && fmt.Sprint(atNext) != `[subscribe"x://y" subscribe"x://z" unsubscribe"x://y"]` || !opened && fmt.Sprint(atNext) != `[subscribe"x://z" unsubscribe"x://y"]` || len(atOne) > 0 {
				t.Errorf("%q, and the old one %q", atNext, atOne)
			}
			one.give(server, "tools/call", `{}`)
			ended(t, server)
			atNext = nil
			s.v.Change([]Member{newer(newer(s.member("one", asked(holding(listing("")), &atNext))))}, ListDirect)
			s.rest()
			if fmt.Sprint(atNext) != `[subscribe"x://z"]` {
				t.Errorf("the one after it got %q", atNext)
			}
			s.answeredOnce(t, "1", "2", "3", "4")
		})
	}
}

func TestStreamsFollowAChangedServer(t *testing.T) {
	having := func(uri string, wait time.Duration, streams *[]string) func(*scripted, wire.Message) string {
		return func(s *scripted, m wire.Message) string {
			if m.Method == "subscriptions/listen" {
				filter, _ := wire.Field(m.Params, "notifications")
				*streams = append(*streams, string(filter))
			}
			return introducing(`"resources":{"subscribe":true}`, "", func(s *scripted, m wire.Message) string {
				if m.Method == "resources/list" {
					time.Sleep(wait)
					return `{"resources":[{"uri":"` + uri + `"}]}`
				}
				return listing(`{"name":"a"}`)(s, m)
			})(s, m)
		}
	}
	for _, wait := range []time.Duration{0, time.Minute} { // the list of the next one may be late
		var before, after, other []string
		playModern(t, func(s *stage) []Member {
			return []Member{s.member("one", having("x://one", 0, &before)), s.member("two", having("x://two", 0, &other))}
		}, func(t *testing.T, s *stage) {
			s.send("1", discover, `{`+meta+`}`)
			s.send("7", "subscriptions/listen", `{`+meta+`,"notifications":{"resourceSubscriptions":["x://one"]}}`)
			server, two := s.servers["one"], s.v.members[1].Member
			s.v.Change([]Member{newer(s.member("one", having("x://one", wait, &after))), two}, ListDirect)
			s.rest()
			s.rest()
			ended(t, server)
			if stream := `[{"resourceSubscriptions":["x://one"]}]`; fmt.Sprint(before) != stream || fmt.Sprint(after) != stream || len(other) > 0 {
				t.Errorf("%v: streams %q, then %q, and of the other one %q", wait, before, after, other)
			}
		})
	}
}
