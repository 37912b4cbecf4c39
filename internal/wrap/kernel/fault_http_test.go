package kernel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// What breaks between us and a server behind a URL.

func TestFaultW01ConnectionRefused(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *webStory) {
		s.web.Stop()
		// A read first: what is written to a connection that was open a moment ago may have been received.
		read := s.start("echo", `{"text":"hello"}`)
		s.await(event.Died, 1)
		write := s.start("append", `{"key":"k"}`)
		if err := s.web.StartAgain(); err != nil {
			t.Fatal(err)
		}
		s.text(s.answer(read))
		s.text(s.answer(write))
		s.wantDone("k", 1)
	})
}

func TestFaultW01NeverBack(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.Patience = 200 * time.Millisecond
	s := beginWeb(t, stateful, o)
	s.initialize()
	s.web.Stop()
	s.wantFault(s.start("echo", `{"text":"hello"}`), fault.ServerUnreachable) // a read first, as above
	m := s.wantFault(s.start("append", `{"key":"k"}`), fault.ServerUnreachable)
	if !strings.Contains(m.raw, "refused") {
		t.Errorf("%s", m.raw)
	}
	s.wantDone("k", 0)
}

func TestFaultW02NoSuchHost(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Spec.URL = "http://no-such-host.invalid/mcp"
	s := beginWeb(t, stateful, o)
	s.wantFault(s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), fault.HostNotFound)
}

func TestFaultW04CertificateIsChecked(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer server.Close()
	server.Config.ErrorLog = nil
	o := unprobed()
	o.Spec.URL = server.URL + "/mcp"
	s := beginWeb(t, stateful, o)
	m := s.wantFault(s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), fault.TLSFailed)
	if !strings.Contains(m.raw, "certificate") {
		t.Errorf("%s", m.raw)
	}
	select {
	case <-reached:
		t.Error("a request was sent all the same")
	default:
	}
}

func TestFaultW05ResetOnAccept(t *testing.T) {
	t.Parallel()
	replayed := func() Options {
		o := unprobed()
		o.Tools = map[string]Policy{"echo": {Replay: "safe"}} // the standing stream is cut as well, and the gap may hide a change of the tools
		return o
	}
	erasWith(t, replayed, func(t *testing.T, s *webStory) {
		s.web.DropConnections()
		s.web.Arm(faultyhttp.RSTOnAccept, 1)
		id := s.start("echo", `{"text":"hello"}`)
		if got := s.text(s.answer(id)); !strings.Contains(got, "hello") {
			t.Errorf("%q", got)
		}
		s.wantOneOf(id)
	})
}

// wantOneOf checks that a request was answered once.
func (s *webStory) wantOneOf(id string) {
	s.t.Helper()
	s.wantLife()
	if n := s.answers(id); n != 1 {
		s.t.Errorf("%d answers to %s\n%s", n, id, s.told())
	}
}

// beyondBuffers is more than the sender's buffer of a connection holds (on Linux up to 4 MiB); rst-in-body keeps the receiver's small.
const beyondBuffers = 6 << 20

func TestFaultW06ResetInTheBody(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *webStory) {
		s.web.Arm(faultyhttp.RSTInBody, 1)
		id := s.start("append", `{"key":"k","value":"`+strings.Repeat("x", beyondBuffers)+`"}`)
		s.text(s.answer(id)) // it cannot have run: its end was never sent
		s.wantDone("k", 1)
		s.wantOneOf(id)
	})
}

// After the whole request was sent, only its class decides.
func TestFaultW07BrokenBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	for _, f := range []faultyhttp.Fault{faultyhttp.RSTBeforeEffect, faultyhttp.FINBeforeEffect, faultyhttp.RSTAfterEffect, faultyhttp.FINAfterEffect} {
		t.Run(string(f), func(t *testing.T) {
			eras(t, func(t *testing.T, s *webStory) { s.wantByClass(f) })
		})
	}
}

// wantByClass: what only reads, or does the same twice, is sent again; what
// may not, is not.
func (s *webStory) wantByClass(f faultyhttp.Fault) {
	s.t.Helper()
	read := s.faulty("echo", "r", f)
	if got := s.text(s.answer(read)); !strings.Contains(got, "r") {
		s.t.Errorf("%q", got)
	}
	idempotent := s.faulty("put", "p", f)
	s.text(s.answer(idempotent))
	unsafe := s.faulty("append", "u", f)
	m := s.answer(unsafe)
	code, delivery := s.faultOf(m)
	if code != fault.OutcomeUnknown && code != fault.AnswerMissing || delivery != "unknown" {
		s.t.Errorf("%s, %s: %s", code, delivery, m.raw)
	}
	if s.asked("append") != 1 {
		s.t.Errorf("the unsafe call was sent %d times", s.asked("append"))
	}
	if n := s.web.Effects()["u"]; n > 1 {
		s.t.Errorf("it was done %d times", n)
	}
	for _, id := range []string{read, idempotent, unsafe} {
		s.wantOneOf(id)
	}
	for _, r := range s.web.Requests() {
		if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != "" {
			s.t.Error("a request had an idempotency key, which lets Go send it twice")
		}
	}
}

func TestFaultW08CutBody(t *testing.T) {
	t.Parallel()
	t.Run("json", func(t *testing.T) {
		cfg := stateful
		cfg.Answers = faultyhttp.JSON
		s := beginWeb(t, cfg, unprobed())
		s.initialize()
		s.wantByClass(faultyhttp.CutBody)
	})
	t.Run("lying length", func(t *testing.T) {
		cfg := stateful
		cfg.Answers = faultyhttp.JSON
		s := beginWeb(t, cfg, unprobed())
		s.initialize()
		s.wantByClass(faultyhttp.BadLength)
	})
}

func TestFaultW09CutStreamIsResumed(t *testing.T) {
	t.Parallel()
	cfg := stateful
	cfg.EventIDs = true
	s := beginWeb(t, cfg, unprobed())
	s.initialize()
	for _, f := range []faultyhttp.Fault{faultyhttp.CutSSE, faultyhttp.EndSSE} {
		id := s.faulty("append", string(f), f)
		s.text(s.answer(id))
		s.wantDone(string(f), 1)
		s.wantOneOf(id)
	}
	if n := s.asked("append"); n != 2 {
		t.Errorf("the two calls were posted %d times", n)
	}
	resumed := 0
	for _, r := range s.web.Requests() {
		if r.Verb == "GET" && r.Header.Get("Last-Event-ID") != "" {
			resumed++
		}
	}
	if resumed < 2 {
		t.Errorf("resumed %d times", resumed)
	}
}

// A call whose stream ended in good order was executed, whatever becomes of the
// TCP connection it came on.
func TestFaultW09ConnectionBreaksUnderAnother(t *testing.T) {
	t.Parallel()
	cfg := stateful
	cfg.EventIDs = true
	s := beginWeb(t, cfg, unprobed())
	s.initialize()
	// The resumed streams end at once, too, so that the call is still being
	// resumed when the session is lost.
	s.web.Arm(faultyhttp.EndSSE, 3, faultyhttp.Match{Verb: "GET"})
	id := s.faulty("append", "a", faultyhttp.EndSSE)
	s.until("it is resumed", func() bool {
		return slices.ContainsFunc(s.web.Requests(), func(r faultyhttp.Request) bool { return r.Header.Get("Last-Event-ID") != "" })
	})
	s.web.Arm(faultyhttp.RSTInBody, 1)
	other := s.start("echo", `{"text":"b","x":"`+strings.Repeat("x", beyondBuffers)+`"}`) // takes the free connection, and its write fails
	s.web.ExpireSessions()
	m := s.answer(id)
	if code, _ := s.faultOf(m); code != "" && code != fault.OutcomeUnknown {
		t.Errorf("%s", m.raw)
	}
	s.answer(other)
	s.wantDone("a", 1)
	s.wantOneOf(id)
}

func TestFaultW10CutStreamThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	for _, f := range []faultyhttp.Fault{faultyhttp.CutSSE, faultyhttp.EndSSE} {
		t.Run(string(f), func(t *testing.T) {
			eras(t, func(t *testing.T, s *webStory) { s.wantByClass(f) })
		})
	}
}

// A stream that was resumed and stays silent ends the wait: a read is sent again, a write is reported. With
// an unlimited wait nothing would ever be answered.
func TestFaultW10ResumedStreamIsMute(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.Timeout, o.Timing.MaxTime = 0, 0
	o.Timing.ResumedRead, o.Timing.ResumedWrite = 200*time.Millisecond, 200*time.Millisecond
	o.Timing.Patience = o.Timing.ResumedRead // as by default: the time for repetitions begins with the loss
	cfg := stateful
	cfg.EventIDs = true
	s := beginWeb(t, cfg, o)
	s.initialize()
	if got := s.text(s.answer(s.faulty("echo", "read", faultyhttp.MuteSSE))); got != "read" {
		t.Errorf("%q", got)
	}
	s.wantFault(s.faulty("append", "write", faultyhttp.MuteSSE), fault.OutcomeUnknown)
	s.wantDone("write", 1)
	s.call("append", `{"key":"next"}`)
}

func TestFaultW11StandingStreamCut(t *testing.T) {
	t.Parallel()
	t.Run("legacy", func(t *testing.T) {
		s := beginWeb(t, stateful, unprobed())
		s.initialize()
		s.answer(s.request("resources/subscribe", `{"uri":"mem://1"}`))
		s.until("the stream stands", func() bool { return s.gets() == 1 })
		s.until("it can be cut", func() bool { return s.web.CutStreams() == 1 })
		s.notice("notifications/tools/list_changed", 1)
		s.notice("notifications/resources/updated", 1)
		s.web.ChangeTools()
		s.notice("notifications/tools/list_changed", 2) // it stands again
		if n := s.notices("notifications/resources/updated"); n != 1 {
			t.Errorf("%d hints for one gap", n)
		}
	})
	t.Run("modern", func(t *testing.T) {
		s := beginWeb(t, faultyhttp.Config{Era: faultyhttp.Modern}, unprobed())
		s.modern = true
		s.discover()
		id := s.request("subscriptions/listen", `{"notifications":{"toolsListChanged":true},`+modernMeta+`}`)
		s.notice("notifications/subscriptions/acknowledged", 1)
		s.until("it can be cut", func() bool { return s.web.CutStreams() == 1 })
		s.notice("notifications/tools/list_changed", 1)
		s.web.ChangeTools()
		m := s.notice("notifications/tools/list_changed", 2)
		if !strings.Contains(m.raw, `"io.modelcontextprotocol/subscriptionId":`+id) {
			t.Errorf("%s", m.raw)
		}
		if n := s.notices("notifications/subscriptions/acknowledged"); n != 1 {
			t.Errorf("acknowledged %d times", n)
		}
	})
}

func (s *webStory) gets() (n int) {
	for _, r := range s.web.Requests() {
		if r.Verb == "GET" {
			n++
		}
	}
	return n
}

func TestFaultW12ResumedStreamRepeatsItself(t *testing.T) {
	t.Parallel()
	cfg := stateful
	cfg.EventIDs = true
	s := beginWeb(t, cfg, unprobed())
	s.initialize()
	id := s.request("tools/call", `{"name":"progress","arguments":{"n":3,"fault":"replay-seen","times":1,"key":"p"},"_meta":{"progressToken":"t"}}`)
	s.text(s.answer(id))
	s.wantOneOf(id)
	if n := s.notices("notifications/progress"); n != 4 { // the beginning and three steps
		t.Errorf("%d notices of progress, want 4\n%s", n, s.told())
	}
}

func TestFaultW13OddStreams(t *testing.T) {
	t.Run("odd but legal", func(t *testing.T) {
		s := beginWeb(t, stateful, unprobed())
		s.initialize()
		if got := s.text(s.answer(s.faulty("echo", "odd", faultyhttp.SSEOdd))); !strings.Contains(got, "odd") {
			t.Errorf("%q", got)
		}
		if s.asked("echo") != 1 {
			t.Errorf("asked %d times", s.asked("echo"))
		}
	})
	for _, f := range []faultyhttp.Fault{faultyhttp.SSELarge, faultyhttp.SSEEndless} {
		t.Run(string(f), func(t *testing.T) {
			s := beginWeb(t, stateful, limited())
			s.initialize()
			before := memoryInUse()
			s.wantFault(s.faulty("append", "k", f), fault.ResponseTooLarge)
			if grown := memoryInUse() - before; grown > 100<<20 {
				t.Errorf("memory grew by %d bytes", grown)
			}
			s.wantLife()
		})
	}
}

// What the tools of a server declared licenses no repetition at the one that replaced it, whether the
// client lists the tools or not.
func TestHintsOfAnEarlierDeploymentLicenseNothing(t *testing.T) {
	t.Parallel()
	for _, lists := range []bool{true, false} {
		for _, fault := range []faultyhttp.Fault{faultyhttp.RSTAfterEffect, faultyhttp.RedirectAfterEffect, faultyhttp.Status401AfterEffect} {
			t.Run(fmt.Sprint(lists, " ", fault), func(t *testing.T) {
				s := beginWeb(t, stateful, unprobed())
				s.web.Declare("append", true)
				s.answer(s.request("initialize", initializeParams))
				s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				if lists {
					s.answer(s.request("tools/list", "{}"))
				}
				s.call("append", `{"key":"old"}`)
				s.until("the tools are known", func() bool {
					return s.session.Inside().Listed && !s.session.Inside().Asking
				})
				s.web.Declare("append", false)
				s.restart()
				s.call("echo", `{"text":"x"}`)
				s.answer(s.start("append", `{"key":"new","fault":"`+string(fault)+`"}`))
				s.wantDone("new", 1)
			})
		}
	}
}

// Without sessions nothing says that a different version was deployed: its tools are listed before a
// call is sent again.
func TestToolsAreListedBeforeACallIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{true, false} {
		for _, era := range []faultyhttp.Era{faultyhttp.Legacy, faultyhttp.Modern} {
			t.Run(fmt.Sprint(era, " reads ", reads), func(t *testing.T) {
				s := beginWeb(t, faultyhttp.Config{Era: era}, unprobed())
				s.web.Declare("append", true)
				start, list := s.start, func() { s.answer(s.request("tools/list", "{}")) }
				if era == faultyhttp.Modern {
					start, list = s.startModern, func() { s.answer(s.request("tools/list", "{"+modernMeta+"}")) }
				} else {
					s.answer(s.request("initialize", initializeParams))
					s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				}
				list()
				s.web.Declare("append", reads)
				s.restart()
				s.answer(start("append", `{"key":"k","fault":"rst-after-effect","times":1}`))
				s.wantDone("k", map[bool]int{true: 2, false: 1}[reads])
			})
		}
	}
}

// A list that cannot be had licenses nothing, and holds nothing up.
func TestAServerWhoseListFailsAfterARedeployIsUsed(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.initialize()
	s.answer(s.request("tools/list", "{}"))
	s.restart()
	s.web.Arm(faultyhttp.Status500, 100, faultyhttp.Match{Method: "tools/list"})
	for i := range 3 {
		s.text(s.answer(s.start("append", fmt.Sprintf(`{"key":"k%d"}`, i))))
		s.wantDone(fmt.Sprint("k", i), 1)
	}
	if n := s.web.Initializes(); n > 3 {
		t.Errorf("initialised %d times", n)
	}
}

// The reason for it all: the session is gone, and nobody notices.
func TestFaultW14SessionGone(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(s *webStory){
		"expired":   func(s *webStory) { s.web.ExpireSessions() },
		"restarted": func(s *webStory) { s.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			o := unprobed()
			if name == "expired" {
				confirmed(&o)
			}
			s := beginWeb(t, stateful, o)
			s.initialize()
			s.answer(s.request("logging/setLevel", `{"level":"debug"}`))
			s.answer(s.request("resources/subscribe", `{"uri":"mem://1"}`))
			before := s.webState().Session
			how(s)
			id := s.start("append", `{"key":"k"}`)
			s.text(s.answer(id))
			s.wantDone("k", 1)
			s.wantOneOf(id)
			state := s.webState()
			if state.Session == before || state.Session == "" || !state.Initialized || state.LogLevel != "debug" || fmt.Sprint(state.Subscriptions) != "[mem://1]" || state.Version != "2025-06-18" {
				t.Errorf("restored to %+v", state)
			}
			if s.web.Initializes() != 2 {
				t.Errorf("initialised %d times", s.web.Initializes())
			}
			if n := s.notices("notifications/resources/updated"); n != 1 {
				t.Errorf("%d hints about the gap", n)
			}
		})
	}
}

// Sessions that do not last are no crashes, as long as each is of use.
func TestFaultW14SessionsAreShortLived(t *testing.T) {
	t.Parallel()
	o := unprobed()
	confirmed(&o)
	o.Restart = upstream.Restart{} // the limits as they are
	s := beginWeb(t, stateful, o)
	s.initialize()
	for i := range 20 {
		s.web.ExpireSessions()
		s.text(s.answer(s.start("append", fmt.Sprintf(`{"key":"k%d"}`, i))))
		s.wantDone(fmt.Sprint("k", i), 1)
	}
	s.want(event.Opened, 0)
}

// A server that answers calls with 404 and still knows the session has not lost
// it.
func TestFaultW15SessionNeverLasts(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.initialize()
	s.web.Arm(faultyhttp.Status404, 1000)
	for range 5 {
		s.wantFault(s.start("append", `{"key":"k"}`), fault.HTTPRefused)
	}
	if n := s.web.Initializes(); n != 1 || s.asked("append") != 5 {
		t.Errorf("initialized %d times, and sent 5 calls %d times", n, s.asked("append"))
	}
	s.wantDone("k", 0)
}

func TestFaultW16UnknownMethodOfAModernServer(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, faultyhttp.Config{Era: faultyhttp.Modern}, unprobed())
	s.modern = true
	s.discover()
	m := s.answer(s.request("no/such/method", "{"+modernMeta+"}"))
	if m.Error == nil || m.Error.Code != -32601 || s.happened(event.Died) != 0 {
		t.Errorf("%s\n%s", m.raw, s.told())
	}
}

const canary = "canary-7f3a91c2d4e5b6"

func TestFaultW17Unauthorized(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]faultyhttp.Fault{"401": faultyhttp.Status401, "W18 metadata elsewhere": faultyhttp.Status401Elsewhere, "W20 403": faultyhttp.Status403} {
		t.Run(name, func(t *testing.T) {
			o := unprobed()
			o.Spec.Header = []launch.Header{{Name: "Authorization", Value: "Bearer " + canary, Source: "the variable TEST_TOKEN"}}
			cfg := stateful
			cfg.Token = canary
			s := beginWeb(t, cfg, o)
			s.initialize()
			code := fault.AuthRequired
			if f == faultyhttp.Status403 {
				code = fault.AuthDenied
			}
			m := s.wantFault(s.faulty("append", "k", f), code)
			if !strings.Contains(m.raw, "the variable TEST_TOKEN") || strings.Contains(s.told(), canary) {
				t.Errorf("%s", m.raw)
			}
			if s.asked("append") != 1 {
				t.Errorf("asked %d times", s.asked("append"))
			}
			s.wantDone("k", 0)
			s.wantLife()
		})
	}
}

func TestFaultW17NoCredential(t *testing.T) {
	t.Parallel()
	cfg := stateful
	cfg.Token = canary
	s := beginWeb(t, cfg, unprobed())
	m := s.wantFault(s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), fault.AuthRequired)
	if !strings.Contains(m.raw, "credentials sent: none") || !strings.Contains(m.raw, "Bearer") {
		t.Errorf("%s", m.raw)
	}
}

func TestFaultW21Throttled(t *testing.T) {
	t.Parallel()
	for f, again := range map[faultyhttp.Fault]bool{
		faultyhttp.Status429Seconds: true, faultyhttp.Status429Date: true, faultyhttp.Status429Garbage: true, faultyhttp.Status429Day: false,
	} {
		t.Run(string(f), func(t *testing.T) {
			s := beginWeb(t, stateful, unprobed())
			s.initialize()
			m := s.wantFault(s.faulty("append", "k", f), fault.RateLimited) // some servers act first
			if _, delivery := s.faultOf(m); delivery != "refused" || s.asked("append") != 1 {
				t.Errorf("asked %d times: %s", s.asked("append"), m.raw)
			}
			read := s.faulty("echo", "r", f)
			if !again {
				s.wantFault(read, fault.RateLimited)
				return
			}
			s.text(s.answer(read))
			if s.asked("echo") != 2 {
				t.Errorf("asked %d times", s.asked("echo"))
			}
		})
	}
}

func TestFaultW22Gateway(t *testing.T) {
	t.Parallel()
	for _, f := range []faultyhttp.Fault{faultyhttp.Status502, faultyhttp.Status504, faultyhttp.Status500, faultyhttp.Status502AfterEffect, faultyhttp.Status504AfterEffect} {
		t.Run(string(f), func(t *testing.T) {
			eras(t, func(t *testing.T, s *webStory) { s.wantByClass(f) })
		})
	}
}

func TestFaultW23Unavailable(t *testing.T) {
	t.Parallel()
	cfg := stateful
	cfg.RetryAfter = "1"
	s := beginWeb(t, cfg, unprobed())
	s.initialize()
	s.text(s.answer(s.faulty("echo", "r", faultyhttp.Status503)))
	m := s.wantFault(s.faulty("append", "u", faultyhttp.Status503), fault.HTTPUnavailable)
	if _, delivery := s.faultOf(m); delivery != "unknown" || s.asked("append") != 1 {
		t.Errorf("%s, asked %d times", m.raw, s.asked("append"))
	}
}

func TestFaultW24LoginPage(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.initialize()
	m := s.wantFault(s.faulty("append", "k", faultyhttp.HTML), fault.NotMCP)
	if strings.Contains(m.raw, "<") || strings.Contains(strings.ToLower(m.raw), "password") {
		t.Errorf("the page is shown: %s", m.raw)
	}
	s.wantLife()
}

func TestFaultW25GiantHeaders(t *testing.T) {
	t.Parallel()
	for _, f := range []faultyhttp.Fault{faultyhttp.GiantHeaders, faultyhttp.ManyHeaders} {
		t.Run(string(f), func(t *testing.T) {
			s := beginWeb(t, stateful, unprobed())
			s.initialize()
			s.wantByClass(f)
		})
	}
}

func TestFaultW26NoLineEndGetsIntoAHeader(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, faultyhttp.Config{Era: faultyhttp.Modern}, unprobed())
	s.modern = true
	s.discover()
	s.answer(s.request("tools/call", `{"name":"evil\r\nX-Injected: yes","arguments":{},`+modernMeta+`}`))
	s.answer(s.request("resources/read", `{"uri":"mem://1\r\n\r\nPOST / HTTP/1.1",`+modernMeta+`}`))
	for _, r := range s.web.Requests() {
		if r.Header.Get("X-Injected") != "" || r.Path == "/" {
			t.Errorf("injected: %v", r.Header)
		}
	}
	s.wantLife()
}

func TestFaultW27RedirectAtHome(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.initialize()
	for _, f := range []faultyhttp.Fault{faultyhttp.Redirect301, faultyhttp.Redirect302, faultyhttp.Redirect303} {
		s.wantFault(s.faulty("append", string(f), f), fault.RedirectRefused)
		s.wantDone(string(f), 0)
	}
	for _, f := range []faultyhttp.Fault{faultyhttp.RedirectSame, faultyhttp.Redirect308} {
		s.wantFault(s.faulty("append", string(f), f), fault.RedirectRefused)
		s.wantDone(string(f), 0)
	}
	s.wantFault(s.faulty("append", "acts first", faultyhttp.RedirectAfterEffect), fault.RedirectRefused)
	s.wantDone("acts first", 1)
	for _, f := range []faultyhttp.Fault{faultyhttp.RedirectSame, faultyhttp.Redirect308} {
		s.text(s.answer(s.faulty("echo", string(f), f)))
	}
	if last := s.web.Requests()[len(s.web.Requests())-1]; last.Path == "/mcp" {
		t.Error("where it led is not remembered")
	}
}

func TestFaultW28RedirectElsewhere(t *testing.T) {
	t.Parallel()
	other := faultyhttp.New(faultyhttp.Config{})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	cfg := stateful
	cfg.RedirectTo = other.URL()
	o := unprobed()
	o.Spec.Header = []launch.Header{{Name: "X-API-Key", Value: canary, Source: "--header"}}
	s := beginWeb(t, cfg, o)
	s.initialize()
	s.wantFault(s.faulty("append", "k", faultyhttp.RedirectOther), fault.RedirectRefused)
	if n := other.Connections(); n != 0 {
		t.Errorf("%d connections to the other host", n)
	}
}

func TestFaultW32ProtocolGarbage(t *testing.T) {
	for _, f := range []faultyhttp.Fault{faultyhttp.BadChunk, faultyhttp.HTTP09} {
		t.Run(string(f), func(t *testing.T) {
			s := beginWeb(t, stateful, unprobed())
			s.initialize()
			s.wantByClass(f)
		})
	}
	t.Run("gzip bomb", func(t *testing.T) {
		o := limited()
		o.Limits.MaxMessage = 1 << 20
		s := beginWeb(t, stateful, o)
		s.initialize()
		before := memoryInUse()
		s.wantFault(s.faulty("append", "k", faultyhttp.GzipBomb), fault.ResponseTooLarge)
		if grown := memoryInUse() - before; grown > 30<<20 {
			t.Errorf("memory grew by %d bytes", grown)
		}
		s.wantLife()
	})
}

// An idle connection that the server closes while we write: what was not
// written goes again, what was is judged by its class.
func TestFaultW34IdleConnectionClosed(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *webStory) {
		for i := range 50 {
			key := fmt.Sprint("k", i)
			id := s.start("append", `{"key":"`+key+`"}`)
			s.web.DropConnections()
			m := s.answer(id)
			code, _ := s.faultOf(m)
			n := s.web.Effects()[key]
			if n > 1 || code == "" && n != 1 {
				t.Errorf("%s was done %d times: %s", key, n, m.raw)
			}
		}
	})
}

// The old transport: found by trying, remembered, and healed when its stream
// ends.
func TestTheOldTransportIsFoundAndHealed(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, faultyhttp.Config{Transport: faultyhttp.OldSSE, Era: faultyhttp.Legacy}, unprobed())
	s.initialize()
	s.text(s.answer(s.start("append", `{"key":"a"}`)))
	s.restart()
	s.await(event.Ready, 2) // what is posted while its stream breaks may have been taken
	s.text(s.answer(s.start("append", `{"key":"b"}`)))
	s.wantDone("a", 1)
	s.wantDone("b", 1)
	s.wantLife()
}

// Its stream breaks again while it is opened: that is no reason to wait.
func TestTheOldTransportsStreamBreaksWhileItOpens(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.StartTimeout = time.Hour
	s := beginWeb(t, faultyhttp.Config{Transport: faultyhttp.OldSSE, Era: faultyhttp.Legacy}, o)
	s.initialize()
	s.web.Arm(faultyhttp.FINBeforeEffect, 2, faultyhttp.Match{Verb: "GET"}) // net/http itself tries once more
	s.web.DropConnections()
	s.text(s.answer(s.start("append", `{"key":"k"}`)))
	s.wantDone("k", 1)
}

func TestQuestionsAndProgressTravelOverHTTP(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.initialize()
	id := s.start("ask", `{"text":"name?"}`)
	question := s.wait("a question", func() (message, bool) {
		for _, m := range s.lines {
			if m.Method != "" && m.ID != nil {
				return m, true
			}
		}
		return message{}, false
	})
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"text":"Ada"}}}`, question.ID))
	if got := s.text(s.answer(id)); !strings.Contains(got, "Ada") {
		t.Errorf("%q", got)
	}
	progress := s.request("tools/call", `{"name":"progress","arguments":{"n":3},"_meta":{"progressToken":7}}`)
	s.text(s.answer(progress))
	if n := s.notices("notifications/progress"); n != 3 {
		t.Errorf("%d notices of progress", n)
	}
}

// A cancel: the legacy server is told, the modern one is hung up on.
func TestACancelReachesTheServer(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *webStory) {
		id := s.start("slow", `{"key":"never"}`)
		<-s.web.Reached("never")
		s.withdraw(id)
		s.await(event.Cancelled, 1)
		s.wantLife()
		told := func() bool {
			return slices.ContainsFunc(s.web.Requests(), func(r faultyhttp.Request) bool { return r.Method == "notifications/cancelled" })
		}
		if s.modern {
			if told() {
				t.Error("a modern server was told in words")
			}
		} else {
			s.until("the server is told", told)
		}
		if s.answers(id) != 0 {
			t.Error("a cancelled call was answered")
		}
	})
}

func TestTheServersSessionIsEndedWithOurs(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.initialize()
	s.end()
	if left := s.web.Sessions(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An address that takes no connection and refuses none is given up on.
func TestFaultW03Blackhole(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.Patience = 500 * time.Millisecond
	// An address that is routed nowhere, reserved for documentation.
	o.Spec.URL = "http://" + net.JoinHostPort("192.0.2.1", "81") + "/mcp"
	s := beginWeb(t, stateful, o)
	m := s.answer(s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	if m.Error == nil {
		t.Errorf("%s", m.raw)
	}
}

// A server that is late is waited for, whatever is asked first.
func TestFaultW01ServerComesLater(t *testing.T) {
	t.Parallel()
	o := unprobed()
	s := beginWeb(t, faultyhttp.Config{Era: faultyhttp.Modern}, o)
	s.modern = true
	s.web.Stop()
	id := s.request("server/discover", "{"+modernMeta+"}")
	s.await(event.Waiting, 4)
	if err := s.web.StartAgain(); err != nil {
		t.Fatal(err)
	}
	if m := s.answer(id); m.Error != nil {
		t.Errorf("%s", m.raw)
	}
}

// plainWeb is a server of a few lines, for the ways of servers out there.
func plainWeb(t *testing.T, get http.HandlerFunc, mount string) *webStory {
	t.Helper()
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(body, &m)
		result := `{}`
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"alive"}]}`
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != mount:
			http.Redirect(w, r, mount, http.StatusTemporaryRedirect)
		case r.Method == http.MethodPost:
			answer(w, r)
		default:
			get(w, r)
		}
	}))
	o := unprobed()
	o.Spec.URL = server.URL + "/mcp"
	t.Cleanup(server.Close)
	return beginWeb(t, stateful, o)
}

// Many servers route POST only, and answer everything else with 404.
func TestAServerWithoutAStandingStreamIsNotGone(t *testing.T) {
	t.Parallel()
	s := plainWeb(t, http.NotFound, "/mcp")
	s.initialize()
	for range 10 {
		s.wantLife()
	}
	s.want(event.Died, 0)
}

// Some mounts redirect /mcp to /mcp/: the standing stream is there, too.
func TestARedirectIsFollowedByEverything(t *testing.T) {
	t.Parallel()
	streamed := make(chan struct{})
	deleted := make(chan struct{}, 1)
	s := plainWeb(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted <- struct{}{}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`+"\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-streamed:
		case <-r.Context().Done():
		}
	}, "/mcp/")
	defer close(streamed)
	s.initialize()
	s.notice("notifications/message", 1)
	s.end()
	<-deleted
}

// refused waits until nothing accepts connections at an address. A server that another test starts has a copy of each listener
// until it runs its program.
func refused(t *testing.T, address string) {
	t.Helper()
	for t.Context().Err() == nil {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
	}
}

// A server that accepts no more connections, as in a rolling restart, still answers what
// it has: gauze does not close its connection.
func TestACallOutlivesARefusedConnection(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // each call needs a connection of its own
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		json.Unmarshal(body, &m)
		result := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"tools":[]}`
		if m.Method == "tools/call" {
			result = `{"content":[{"type":"text","text":"` + m.Params.Name + `"}]}`
		}
		if m.Params.Name == "slow" {
			close(reached)
			<-release
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
	listen := func(address string) net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := listen("127.0.0.1:0")
	server := &http.Server{Handler: handler}
	t.Cleanup(func() { server.Close() })
	go server.Serve(l)
	o := unprobed()
	o.Spec.URL = "http://" + l.Addr().String() + "/mcp"
	s := beginWeb(t, stateful, o)
	s.initialize()
	slow := s.start("slow", "")
	<-reached
	l.Close()
	refused(t, l.Addr().String())
	other := s.start("other", "")
	s.await(event.Died, 1)
	close(release)
	if got := s.text(s.answer(slow)); got != "slow" {
		t.Errorf("%q", got)
	}
	go server.Serve(listen(l.Addr().String()))
	if got := s.text(s.answer(other)); got != "other" {
		t.Errorf("%q", got)
	}
	for _, id := range []string{slow, other} {
		if n := s.answers(id); n != 1 {
			t.Errorf("%d answers", n)
		}
	}
}
