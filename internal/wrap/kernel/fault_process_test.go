package kernel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/executable"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

const initializeParams = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

// wantNoStart checks what a client is told of a server that cannot be
// started: at once, in words that name the cause, and without a second try.
func (s *story) wantNoStart(code fault.Code, words ...string) {
	s.t.Helper()
	id := s.request("initialize", initializeParams)
	m := s.wantFault(id, code)
	for _, word := range words {
		if m.Error == nil || !strings.Contains(m.Error.Message, word) {
			s.t.Errorf("the error does not name %q: %s", word, m.raw)
		}
	}
	// Whatever comes later fails as fast.
	later := s.start("echo", "")
	if _, delivery := s.faultOf(s.wantFault(later, code)); delivery != "unsent" {
		s.t.Errorf("delivery %q", delivery)
	}
	s.want(event.Started, 0)
	s.want(event.Waiting, 0)
	s.want(event.GaveUp, 1)
	for _, id := range []string{id, later} {
		if n := s.answers(id); n != 1 {
			s.t.Errorf("%d answers to %s", n, id)
		}
	}
	var f *fault.Fault
	if err := s.end(); !errors.As(err, &f) || f.Code != code {
		s.t.Errorf("the session ended with %v", err)
	}
}

func TestFaultP01CommandNotFound(t *testing.T) {
	t.Parallel()
	s := beginCommand(t, quick(), "no-such-bin-xyz")
	s.wantNoStart(fault.CommandNotFound, "no-such-bin-xyz", filepath.SplitList(os.Getenv("PATH"))[0])
}

// plainDir is a directory whose name nobody takes for a secret, as the random
// ones of t.TempDir are.
func plainDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestFaultP02CommandNotExecutable(t *testing.T) {
	t.Parallel()
	windowstest.Skip(t)
	script := filepath.Join(plainDir(t), "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 0\n"), 0); err != nil {
		t.Fatal(err)
	}
	s := beginCommand(t, quick(), script)
	s.wantNoStart(fault.CommandNotExecutable, script)
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("the file is %v now, %v", info.Mode(), err)
	}
}

// programName is what a program's file is called on this system.
func programName(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

func TestFaultP03NotAProgram(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"interpreter missing": "#!/no/such/interp\n",
		"random bytes":        "\x07\xc4\x91\x00\xff\xfe\x03nonsense",
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(plainDir(t), programName("server"))
			if err := executable.Write(script, []byte(content)); err != nil {
				t.Fatal(err)
			}
			s := beginCommand(t, quick(), script)
			s.wantNoStart(fault.CommandBadFormat, script)
		})
	}
}

func TestFaultP04WorkingDirectoryMissing(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(plainDir(t), "no", "such")
	o := quick()
	path, args, env := faultyserver.Command()
	o.Spec = launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...), Dir: missing}
	s := begin(t, o)
	s.wantNoStart(fault.WorkdirMissing, missing)
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
}

func TestFaultP06ExitsAtOnceWithoutAWord(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-exit-at-start=code=0", "-stderr=log")
	id := s.request("initialize", initializeParams)
	m := s.wantFault(id, fault.ServerExitsEarly)
	for _, word := range []string{"exit status 0", "faultyserver: ready", "3 attempts"} {
		if !strings.Contains(m.Error.Message, word) {
			t.Errorf("the error does not show %q: %s", word, m.raw)
		}
	}
	s.want(event.Started, 3)
	s.want(event.GaveUp, 1)
	s.wantFault(s.start("echo", ""), fault.ServerExitsEarly)
	s.want(event.Started, 3)
	if n := s.answers(id); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// A server that finished its handshake, with the client or with gauze for a client that knows it from before, can start: it
// is tried again although it then exits several times in the same way.
func TestAServerThatWasInitializedIsNotGivenUp(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (*story, func(tool, arguments string) string){
		"by the client": func(t *testing.T) (*story, func(string, string) string) {
			s := begin(t, quick(), "-exit-at-start=5,skip=1,code=1")
			s.answer(s.request("initialize", helloParams))
			s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			return s, s.start
		},
		"by gauze": func(t *testing.T) (*story, func(string, string) string) {
			s := beginKnown(t, lazy(), false, "-exit-at-start=5,skip=2,code=1").initialize()
			return s, s.start
		},
		"by gauze, without sessions": func(t *testing.T) (*story, func(string, string) string) {
			s := beginKnown(t, lazy(), true, "-exit-at-start=5,skip=2,code=1").discover()
			return s, s.startModern
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, call := start(t)
			s.wantFault(call("die", `{"key":"k","when":"after-effect"}`), fault.OutcomeUnknown)
			s.text(s.answer(call("append", `{"key":"next"}`)))
			s.want(event.Started, 7)
			s.want(event.GaveUp, 0)
			s.wantEffect("next", 1)
		})
	}
}

func TestFaultP07DiesAtOnceWithAStackTrace(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-exit-at-start=code=1", "-stderr=secret+escapes+prompt+trace")
	m := s.wantFault(s.request("initialize", initializeParams), fault.ServerExitsEarly)
	s.want(event.Started, 3)
	text := m.Error.Message
	if !strings.Contains(text, "panic: cannot open config") || !strings.Contains(text, "exit status 1") {
		t.Errorf("the cause is not shown: %s", text)
	}
	for _, hidden := range []string{"CANARY", "\x1b", "\x07", "\u202e"} {
		if strings.Contains(text, hidden) || strings.Contains(m.raw, strings.Trim(fmt.Sprintf("%q", hidden), `"`)) {
			t.Errorf("the error holds %q: %s", hidden, m.raw)
		}
	}
	// Foreign text is quoted as data, so that no model takes it for its orders.
	before, _, found := strings.Cut(text, "ignore previous instructions")
	if found && !strings.Contains(before, "not instructions") {
		t.Errorf("the server's words stand as ours: %s", text)
	}
}

// wantOneHandshake checks that the server's current generation was initialised
// by the client's own words, before anything else, and that the client was
// answered once.
func (s *story) wantOneHandshake(id string, generation int) {
	s.t.Helper()
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.answer(s.request("tools/list", ""))
	state := s.state()
	if state.Generation != generation {
		s.t.Errorf("generation %d, want %d", state.Generation, generation)
	}
	if got := state.methods(); got != "initialize notifications/initialized tools/call" {
		s.t.Errorf("the server has seen %s", got)
	}
	if got := string(state.Seen[0].Params); got != initializeParams {
		s.t.Errorf("initialised with %s", got)
	}
	s.wantOneAnswer(id)
	s.want(event.Failed, 0)
}

func TestFaultP08KilledBeforeItAnswersInitialize(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-exit-at-start=1,signal=KILL", "-exit-on-initialize=1,signal=KILL"} {
		t.Run(flag, func(t *testing.T) {
			s := begin(t, unprobed(), flag)
			id := s.request("initialize", initializeParams)
			if m := s.answer(id); m.Error != nil {
				t.Fatalf("initialize: %s", m.raw)
			}
			s.want(event.Died, 1)
			s.wantOneHandshake(id, 2)
		})
	}
}

func TestFaultP09DiesAfterReadingInitialize(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-exit-on-initialize=2")
	id := s.request("initialize", initializeParams)
	if m := s.answer(id); m.Error != nil {
		t.Fatalf("initialize: %s", m.raw)
	}
	s.want(event.Died, 2)
	s.wantOneHandshake(id, 3)
}

func TestFaultP10DiesBetweenInitializeAndInitialized(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-exit-after-initialize=1")
	id := s.request("initialize", initializeParams)
	if m := s.answer(id); m.Error != nil {
		t.Fatalf("initialize: %s", m.raw)
	}
	s.wantOneHandshake(id, 2)
	s.want(event.Died, 1)
}

func TestFaultP11ExitsWhileIdle(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-exit-after=1,n=3,code=0").initialize()
	told := s.said()
	s.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) // the fourth message: it leaves
	if e := s.await(event.Died, 1); !strings.Contains(e.Detail, "exit status 0") {
		t.Errorf("died of %q", e.Detail)
	}
	s.await(event.Restored, 1) // nobody had to ask
	if now := s.said(); now != told {
		t.Errorf("the client was told %s", strings.TrimPrefix(now, told))
	}
	if got := s.state().Generation; got != 2 {
		t.Errorf("generation %d", got)
	}
	for _, change := range []string{"healthy -> dead", "dead -> "} {
		if !s.saw(event.HealthChanged, change) {
			t.Errorf("health never went %s\n%s", change, s.told())
		}
	}
}

// saw reports whether an event of a kind has these words.
func (s *story) saw(kind event.Kind, words string) bool {
	for _, e := range s.timeline() {
		if e.Kind == kind && strings.Contains(e.String(), words) {
			return true
		}
	}
	return false
}

func TestFaultP12CrashesWhileIdle(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed(), "-exit-after=1,n=6,signal=SEGV").initialize()
	s.answer(s.request("logging/setLevel", `{"level":"warning"}`))
	s.answer(s.request("resources/subscribe", `{"uri":"mem://1"}`))
	s.answer(s.request("resources/subscribe", `{"uri":"mem://2"}`))
	s.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) // the seventh message: it crashes
	crash := "segmentation fault"
	if runtime.GOOS == "windows" {
		crash = "exit status 0xc0000005" // STATUS_ACCESS_VIOLATION
	}
	if e := s.await(event.Died, 1); !strings.Contains(e.Detail, crash) {
		t.Errorf("died of %q", e.Detail)
	}
	state := s.state()
	if got := fmt.Sprintln(state.Generation, state.LogLevel, state.Subscriptions, state.Initialized); got != "2 warning [mem://1 mem://2] true\n" {
		t.Errorf("restored to %s", got)
	}
	// What changed in the gap is not known, so each subscriber looks again.
	s.notice("notifications/resources/updated", 2)
	if n := s.notices("notifications/tools/list_changed"); n != 0 {
		t.Errorf("%d times told that the tools changed, and they did not", n)
	}
}

func TestFaultP13DiesBeforeAnyByteIsWritten(t *testing.T) {
	t.Parallel()
	t.Run("while it is down", func(t *testing.T) {
		gate := newGate(t)
		s := begin(t, quick(), gate.flag())
		gate.open(t)
		s.initialize()
		s.kill()
		id := s.start("append", `{"key":"k"}`)
		s.taken()
		gate.open(t)
		s.text(s.answer(id))
		s.wantEffect("k", 1)
		s.want(event.Failed, 0)
		s.wantOneAnswer(id)
	})
	t.Run("held back", func(t *testing.T) {
		o := quick()
		o.Limits.Window = 1
		s := begin(t, o).initialize()
		first := s.start("hang_unsafe", `{"key":"first"}`)
		s.untilEffect("first")
		held := s.start("append", `{"key":"held"}`)
		s.taken()
		s.kill()
		s.wantFault(first, fault.OutcomeUnknown)
		s.text(s.answer(held))
		s.wantEffect("held", 1)
		s.wantEffect("first", 1)
		s.wantOneAnswer(first, held)
	})
	t.Run("behind a full pipe", func(t *testing.T) {
		o := unprobed()
		o.Limits.Window = 8
		s := begin(t, o, "-stop-reading=1,n=3").initialize()
		full := s.start("append", `{"key":"full","value":"`+strings.Repeat("x", 100_000)+`"}`)
		behind := s.start("append", `{"key":"behind"}`)
		s.taken()
		if !s.conn().Blocked() {
			t.Fatal("the pipe is not full")
		}
		s.kill()
		s.text(s.answer(full))
		s.text(s.answer(behind))
		s.wantEffect("full", 1)
		s.wantEffect("behind", 1)
		s.want(event.Unknown, 0)
		s.wantOneAnswer(full, behind)
	})
}

func TestFaultP14DiesWithHalfACallWritten(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"nobody reads":                nil,
		"a grandchild may still read": {"-grandchild=1,kind=stdin,setsid=true"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, unprobed(), append(flags, "-stop-reading=1,n=3")...).initialize()
			s.endSpawned()
			id := s.start("append", `{"key":"k","value":"`+strings.Repeat("x", 150_000)+`"}`)
			s.taken()
			if !s.conn().Blocked() {
				t.Fatal("all of it was written")
			}
			s.kill()
			s.text(s.answer(id)) // whoever has the first half has no call
			s.wantEffect("k", 1)
			s.wantReplays("append", 1)
			s.want(event.Unknown, 0)
			s.wantOneAnswer(id)
		})
	}
}

// provesUnread: these systems tell how much of what was written to a server it never read.
const provesUnread = runtime.GOOS == "linux" || runtime.GOOS == "windows"

func TestFaultP15WrittenButNeverRead(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T, flags ...string) (s *story, ids []string) {
		o := unprobed()
		o.Limits.Window = 8
		s = begin(t, o, append(flags, "-stop-reading=1,n=3")...).initialize()
		for i := range 5 {
			ids = append(ids, s.start("append", fmt.Sprintf(`{"key":"k%d"}`, i)))
		}
		s.taken()
		s.until("all of it is written", func() bool { return !s.conn().Blocked() })
		return s, ids
	}
	t.Run("all of them", func(t *testing.T) {
		s, ids := begun(t)
		s.kill()
		for i, id := range ids {
			if !provesUnread {
				s.wantFault(id, fault.OutcomeUnknown)
				continue
			}
			s.text(s.answer(id))
			s.wantEffect(fmt.Sprintf("k%d", i), 1)
		}
		s.wantOneAnswer(ids...)
	})
	t.Run("all but the first", func(t *testing.T) {
		// It reads one more message, executes it, and dies before it answers.
		o := unprobed()
		o.Limits.Window = 8
		s := begin(t, o, "-serial", "-read-exact").initialize()
		hangs := s.start("hang_unsafe", `{"key":"read"}`)
		unread := s.start("append", `{"key":"unread"}`)
		s.taken()
		s.untilEffect("read")
		s.kill()
		s.wantFault(hangs, fault.OutcomeUnknown)
		s.wantEffect("read", 1)
		if provesUnread {
			s.text(s.answer(unread))
			s.wantEffect("unread", 1)
		}
		s.wantOneAnswer(hangs, unread)
	})
	t.Run("a grandchild ends with the server", func(t *testing.T) {
		s, ids := begun(t, "-grandchild=1,kind=stdin,setsid=false")
		s.endSpawned()
		s.kill()
		for i, id := range ids {
			if !provesUnread {
				s.wantFault(id, fault.OutcomeUnknown)
				continue
			}
			s.text(s.answer(id))
			s.wantEffect(fmt.Sprintf("k%d", i), 1)
		}
		s.wantOneAnswer(ids...)
	})
	t.Run("a grandchild may still read", func(t *testing.T) {
		windowstest.Skip(t)
		s, ids := begun(t, "-grandchild=1,kind=stdin,setsid=true")
		s.endSpawned()
		s.kill()
		for i, id := range ids {
			s.wantFault(id, fault.OutcomeUnknown)
			s.wantEffect(fmt.Sprintf("k%d", i), 0)
		}
		s.wantReplays("append", 0)
		s.wantOneAnswer(ids...)
	})
}

func TestFaultP16UnsafeCallConsumed(t *testing.T) {
	t.Parallel()
	for when, effects := range map[string]int{"before-effect": 0, "after-effect": 1} {
		t.Run(when, func(t *testing.T) {
			s := begin(t, quick()).initialize()
			id := s.start("die", `{"key":"k","when":"`+when+`"}`)
			m := s.wantFault(id, fault.OutcomeUnknown)
			if _, delivery := s.faultOf(m); delivery != "unknown" {
				t.Errorf("delivery %q", delivery)
			}
			text := strings.ToLower(s.words(m))
			for _, word := range []string{"may or may not have taken effect", "check before repeating"} {
				if !strings.Contains(text, word) {
					t.Errorf("the answer does not say %q: %s", word, text)
				}
			}
			if strings.Contains(text, "failed") || strings.Contains(text, "try again") {
				t.Errorf("the answer invites to try again: %s", text)
			}
			s.wantOneAnswer(id)
			s.wantEffect("k", effects)
			s.want(event.Unknown, 1)
			s.wantReplays("die", 0)
		})
	}
}

// words of a tool result, an error or not.
func (s *story) words(m message) string {
	s.t.Helper()
	var result struct{ Content []struct{ Text string } }
	if json.Unmarshal(m.Result, &result) != nil || len(result.Content) == 0 {
		s.t.Fatalf("no words in %s", m.raw)
	}
	return result.Content[0].Text
}

func TestFaultP17ReadOnlyCallConsumed(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("die_read", `{"key":"k","times":1}`)
		s.text(s.answer(id))
		s.wantReplays("die_read", 1)
		s.want(event.Died, 1)
		s.wantEffect("k", 1)
		s.wantOneAnswer(id)
	})
	t.Run("every time", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("die_read", `{"key":"k","when":"after-effect"}`)
		s.wantFault(id, fault.CallQuarantined)
		s.wantReplays("die_read", 1)
		s.wantEffect("k", 2)
		s.wantOneAnswer(id)
	})
	t.Run("every time, nothing quarantined", func(t *testing.T) {
		o := quick()
		o.Limits.Quarantine = -1
		s := begin(t, o).initialize()
		id := s.start("die_read", `{"key":"k","when":"after-effect"}`)
		s.wantFault(id, fault.ReplayExhausted)
		s.wantReplays("die_read", 2)
		s.wantEffect("k", 3)
		s.wantOneAnswer(id)
	})
}

func TestFaultP18IdempotentCallOvertaken(t *testing.T) {
	t.Parallel()
	t.Run("by a later write", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		earlier := s.start("set", `{"key":"x","value":"1","ms":60000}`)
		s.untilEffect("x")
		s.call("set", `{"key":"x","value":"2"}`)
		s.kill()
		s.wantFault(earlier, fault.OutcomeUnknown)
		if got := s.call("get", `{"key":"x"}`); got != "2" {
			t.Errorf("x is %s, want 2", got)
		}
		s.wantReplays("set", 0)
		s.wantOneAnswer(earlier)
	})
	t.Run("by nothing", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("die_set", `{"key":"x","when":"after-effect","times":1}`)
		s.text(s.answer(id))
		s.wantReplays("die_set", 1)
		s.wantOneAnswer(id)
	})
}

func TestFaultP19DiesAfterProgress(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	id := s.request("tools/call", `{"name":"progress","arguments":{"n":50,"die":true,"times":1},"_meta":{"progressToken":"tok"}}`)
	s.text(s.answer(id))
	s.wantReplays("progress", 1)
	s.wantOneAnswer(id)
	s.wantProgressUp(id, 50)
}

// wantProgressUp checks that progress went up to a value, step by step, and
// that none came after the answer.
func (s *story) wantProgressUp(id string, to float64) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	last, over := 0.0, false
	for _, m := range s.lines {
		over = over || m.Method == "" && string(m.ID) == id
		if m.Method != "notifications/progress" {
			continue
		}
		var p struct{ Progress float64 }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			s.t.Error(err)
		}
		if p.Progress <= last {
			s.t.Errorf("progress went from %v to %v", last, p.Progress)
		}
		if over {
			s.t.Errorf("progress %v after the answer", p.Progress)
		}
		last = p.Progress
	}
	if last != to {
		s.t.Errorf("progress went up to %v, want %v", last, to)
	}
}

func TestFaultP20DiesWithAQuestionOpen(t *testing.T) {
	t.Parallel()
	answer := func(s *story, question message) {
		s.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept","content":{"name":"too late"}}}`)
	}
	t.Run("asked by an unsafe call", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("ask", `{"die":true}`)
		question := s.notice("elicitation/create", 1)
		s.wantWithdrawn(question)
		s.wantFault(id, fault.OutcomeUnknown)
		answer(s, question)
		if got := s.state().methods(); strings.Contains(got, "-") {
			t.Errorf("the new process got the answer to the old one's question: %s", got)
		}
		if n := s.notices("elicitation/create"); n != 1 {
			t.Errorf("asked %d times", n)
		}
		s.wantOneAnswer(id)
	})
	t.Run("asked by a safe call", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("ask_read", `{"die":true,"times":1}`)
		first := s.notice("elicitation/create", 1)
		s.wantWithdrawn(first)
		second := s.notice("elicitation/create", 2)
		if string(first.ID) == string(second.ID) {
			t.Errorf("two questions under the id %s", first.ID)
		}
		answer(s, first) // nobody asks that any more
		s.send(`{"jsonrpc":"2.0","id":` + string(second.ID) + `,"result":{"action":"decline"}}`)
		if got := s.text(s.answer(id)); got != `{"result":{"action":"decline"}}` {
			t.Errorf("the server was answered %s", got)
		}
		s.wantOneAnswer(id)
	})
}

// wantWithdrawn waits until the client is told that nobody waits for its
// answer any more.
func (s *story) wantWithdrawn(question message) {
	s.t.Helper()
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m := s.notice("notifications/cancelled", 1); json.Unmarshal(m.Params, &p) != nil || string(p.ID) != string(question.ID) {
		s.t.Errorf("cancelled %s, want %s", p.ID, question.ID)
	}
}

func TestFaultP21AnswersAndDies(t *testing.T) {
	t.Parallel()
	t.Run("at once", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		for i := range 5 {
			key := fmt.Sprintf("k%d", i)
			id := s.start("die", `{"key":"`+key+`","when":"after-answer"}`)
			if got := s.text(s.answer(id)); got != "survived "+key {
				t.Errorf("answered %s", got)
			}
			s.await(event.Died, i+1)
			s.wantOneAnswer(id)
			s.wantEffect(key, 1)
		}
		s.wantReplays("die", 0)
		s.want(event.Unknown, 0)
	})
	t.Run("while nobody reads", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		read := s.stopReading()
		first := s.start("echo", `{"text":"in the way"}`)
		s.untilStuck()
		last := s.start("die", `{"key":"k","when":"after-answer"}`)
		s.untilEffect("k")
		s.wantGone(s.pid())
		// Its answer lies in the pipe longer than anyone waits for more.
		<-time.After(pipeGrace + 50*time.Millisecond)
		read()
		s.text(s.answer(first))
		s.text(s.answer(last))
		s.await(event.Died, 1)
		s.wantOneAnswer(first, last)
		s.wantEffect("k", 1)
		s.want(event.Unknown, 0)
	})
}

// pipeGrace is how long a pipe is read on behind a dead server.
const pipeGrace = 250 * time.Millisecond

func TestFaultP22DiesInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 4000)
	wantDiscarded := func(s *story) {
		s.t.Helper()
		if !s.saw(event.Stray, "bytes of an incomplete line") || s.saw(event.Stray, "kkkk") {
			s.t.Errorf("the fragment was not noted by its length alone\n%s", s.told())
		}
		s.want(event.Stray, 1)
	}
	t.Run("to an unsafe call", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("die", `{"key":"`+key+`","when":"mid-answer"}`)
		s.wantFault(id, fault.OutcomeUnknown)
		s.wantOneAnswer(id)
		s.wantEffect(key, 1)
		s.wantReplays("die", 0)
		if strings.Contains(s.said(), "survived") {
			t.Error("the client was told a piece of the answer")
		}
		wantDiscarded(s)
	})
	t.Run("to a safe call", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		id := s.start("die_read", `{"key":"`+key+`","when":"mid-answer","times":1}`)
		if got := s.text(s.answer(id)); got != "survived "+key {
			t.Errorf("answered %.100s", got)
		}
		s.wantOneAnswer(id)
		s.wantReplays("die_read", 1)
		wantDiscarded(s)
	})
}

// An answer that lacks nothing but its newline is an answer.
func TestFaultP22DiesBeforeTheNewlineOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := begin(t, quick()).initialize()
	id := s.start("die", `{"key":"k","when":"before-newline"}`)
	if got := s.text(s.answer(id)); got != "survived k" {
		t.Errorf("answered %q", got)
	}
	s.await(event.Died, 1)
	s.wantOneAnswer(id)
	s.wantEffect("k", 1)
	s.want(event.Stray, 0)
}

// The client's last line needs no newline either: it is answered, or rejected, as if it had one. A piece of
// a message is not answered.
func TestTheLastLineOfAClientNeedsNoNewline(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":"last","method":"ping"}`
	for _, c := range []struct {
		last              string
		answers, rejected int
	}{
		{ping, 1, 0},
		{"[" + ping + "]", 1, 0},
		{ping + ping, 1, 1},
		{ping + ping[:9], 1, 1},
		{`{"id":"last","method":"ping","method":"ping"}`, 1, 1},
		{ping[:len(ping)-1], 0, 0},
		{"[" + ping, 0, 0},
	} {
		s := begin(t, quick())
		s.initializeAs("2025-03-26")
		if _, err := io.WriteString(s.in, c.last); err != nil {
			t.Fatal(err)
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if n := s.answers(`"last"`); n != c.answers {
			t.Errorf("%s: %d answers, want %d", c.last, n, c.answers)
		}
		s.want(event.Failed, c.rejected)
	}
}

// crashLoop is a session whose server crashes seven times after its handshake, and pauses after the
// sixth time for pause, on a machine of any speed.
func crashLoop(t *testing.T, o Options, pause time.Duration) (s *story, id string) {
	t.Helper()
	o.Restart = upstream.Restart{Backoff: time.Millisecond, Cap: 5 * time.Millisecond, Limit: 5, Period: time.Hour, Healthy: time.Hour, Open: pause}
	s = begin(t, o, "-exit-after-initialize=7")
	id = s.request("initialize", initializeParams)
	if m := s.answer(id); m.Error != nil {
		t.Fatalf("initialize: %s", m.raw)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s, id
}

// While the restarts pause, a call fails immediately and reports when to come back.
func TestFaultP26CallInACrashLoop(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Timing.Patience = time.Millisecond // less than the pause: a call that could wait for its end would
	s, id := crashLoop(t, o, time.Hour)
	first := s.await(event.Opened, 1)
	if n := s.startedBefore(first); n != 6 {
		t.Errorf("%d starts before it pauses, want 6", n)
	}
	s.until("the session knows it as well", func() bool {
		return s.session.Trouble() != nil && s.session.Trouble().Open
	})
	call := s.start("append", `{"key":"k"}`)
	m := s.wantFault(call, fault.CrashLoop)
	var told struct {
		Meta struct {
			Fault struct {
				Delivery, NextTry, State string
				Closures                 int
			} `json:"io.github.gauze-mcp/fault"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &told); err != nil {
		t.Fatal(err)
	}
	next, err := time.Parse(time.RFC3339, told.Meta.Fault.NextTry)
	if told.Meta.Fault.Delivery != "unsent" || told.Meta.Fault.State != "dead" || told.Meta.Fault.Closures == 0 || err != nil {
		t.Errorf("told %+v, %v", told.Meta.Fault, err)
	}
	if due := first.Time.Add(first.Took); next.Sub(due).Abs() > time.Minute {
		t.Errorf("next try at %v, it is due at %v", next, due)
	}
	if text := s.words(m); !strings.Contains(text, "keeps crashing") || !strings.Contains(text, "Try again in") || !strings.Contains(text, "So far: dead") || !strings.Contains(text, " lost connection") {
		t.Errorf("the state and the next try are not named: %s", text)
	}
	s.wantEffect("k", 0)
	for _, id := range []string{id, call} {
		if n := s.answers(id); n != 1 {
			t.Errorf("%d answers to %s", n, id)
		}
	}
}

func TestFaultP26CrashLoop(t *testing.T) {
	t.Parallel()
	s, id := crashLoop(t, unprobed(), 20*time.Millisecond)
	first := s.await(event.Opened, 1)
	if n := s.startedBefore(first); n != 6 {
		t.Errorf("%d starts before it pauses, want 6", n)
	}
	// One try, which fails, and a pause twice as long.
	second := s.await(event.Opened, 2)
	if n := s.startedBefore(second); n != 7 {
		t.Errorf("%d starts before it pauses again, want 7", n)
	}
	if second.Took < first.Took*3/2 {
		t.Errorf("paused %v, then %v", first.Took, second.Took)
	}
	// One try, which succeeds: a call waits for it.
	call := s.start("append", `{"key":"k"}`)
	s.text(s.answer(call))
	s.wantEffect("k", 1)
	s.want(event.Started, 8)
	s.wantOneAnswer(id, call)
}

// startedBefore counts the starts before an event.
func (s *story) startedBefore(last event.Event) (n int) {
	for _, e := range s.timeline() {
		if e.Kind == event.Started && e.Seq < last.Seq {
			n++
		}
	}
	return n
}

func TestFaultP27PoisonCall(t *testing.T) {
	t.Parallel()
	t.Run("safe to repeat", func(t *testing.T) {
		o := quick()
		o.Timing.SuspectsApart, o.Timing.MaxHold = time.Hour, time.Hour // the machine may take as long as it likes for one of them
		s := begin(t, o).initialize()
		var innocent []string
		for i := range 3 {
			innocent = append(innocent, s.start("sleep", fmt.Sprintf(`{"ms":%d}`, 30+i)))
		}
		poison := s.start("die_read", `{"key":"poison","when":"after-effect"}`)
		s.wantFault(poison, fault.CallQuarantined)
		for _, id := range innocent {
			s.text(s.answer(id))
		}
		s.wantEffect("poison", 2)
		s.want(event.Died, 2)
		// It is kept from the server; every other call passes.
		again := s.start("die_read", `{"key":"poison","when":"after-effect"}`)
		if _, delivery := s.faultOf(s.wantFault(again, fault.CallQuarantined)); delivery != "unsent" {
			t.Errorf("delivery %q", delivery)
		}
		s.call("die_read", `{"key":"other","times":1}`)
		s.wantEffect("poison", 2)
		s.want(event.Died, 3)
		s.wantOneAnswer(append(innocent, poison, again)...)
	})
	t.Run("unsafe", func(t *testing.T) {
		s := begin(t, quick()).initialize()
		var ids []string
		for _, code := range []fault.Code{fault.OutcomeUnknown, fault.OutcomeUnknown, fault.CallQuarantined} {
			id := s.start("die", `{"key":"poison","when":"after-effect"}`)
			s.wantFault(id, code)
			ids = append(ids, id)
		}
		s.call("append", `{"key":"other"}`)
		s.wantEffect("poison", 2)
		s.want(event.Died, 2)
		s.wantOneAnswer(ids...)
	})
}

func TestFaultP29GrandchildHoldsThePipes(t *testing.T) {
	t.Parallel()
	for _, apart := range []string{"false", "true"} {
		t.Run("setsid="+apart, func(t *testing.T) {
			s := begin(t, quick(), "-grandchild=1,kind=stdout+stderr,after=1h,setsid="+apart).initialize()
			grandchild := s.spawned()
			if len(grandchild) != 1 {
				t.Fatalf("%d grandchildren", len(grandchild))
			}
			s.endSpawned()
			unsafe := s.start("hang_unsafe", `{"key":"k"}`)
			safe := s.start("sleep", `{"ms":100}`)
			s.untilEffect("k")
			s.kill() // noticed although nothing on its stdout says so
			s.wantFault(unsafe, fault.OutcomeUnknown)
			s.text(s.answer(safe))
			s.wantEffect("k", 1)
			s.want(event.Died, 1)
			s.wantOneAnswer(unsafe, safe)
			if apart == "false" {
				s.wantGone(grandchild...)
			}
		})
	}
}

func TestFaultP32TurnsIntoADaemon(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Restart = upstream.Restart{Backoff: time.Millisecond, Cap: 5 * time.Millisecond, Limit: 1, Open: time.Hour}
	o.Timing.Patience = time.Minute // shorter than the longest pause of the restarts, however slow the machine is
	s := begin(t, o, "-daemonise")
	id := s.request("initialize", initializeParams)
	s.answer(id)
	// Its parent is gone, so it is gone: nobody talks to what stayed behind.
	s.wait("the end of the restarts", func() (message, bool) {
		return message{}, slices.ContainsFunc(s.events, func(e event.Event) bool { return e.Kind == event.Opened || e.Kind == event.GaveUp })
	})
	call := s.start("append", `{"key":"k"}`)
	code, delivery := s.faultOf(s.answer(call))
	if code != fault.CrashLoop && code != fault.ServerExitsEarly || delivery != "unsent" {
		t.Errorf("told %s, %s", code, delivery)
	}
	s.wantEffect("k", 0)
	if n := s.happened(event.Started); n > 2 {
		t.Errorf("%d starts", n)
	}
	for _, id := range []string{id, call} {
		if n := s.answers(id); n != 1 {
			t.Errorf("%d answers to %s", n, id)
		}
	}
}

func TestFaultP33ComesBackWithOtherTools(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"annotate", "schema"} {
		t.Run(kind, func(t *testing.T) {
			s := begin(t, quick(), "-tools-change="+kind).initialize()
			same := s.start("sleep", `{"ms":50}`)
			changed := s.start("die_read", `{"key":"k","times":1}`)
			m := s.wantFault(changed, fault.ToolChanged)
			if text := s.words(m); !strings.Contains(text, "List the tools again") {
				t.Errorf("told %s", text)
			}
			s.text(s.answer(same))
			s.wantEffect("k", 0) // not even once it would have survived
			s.notice("notifications/tools/list_changed", 1)
			s.wantOneAnswer(same, changed)
			if n := s.notices("notifications/tools/list_changed"); n != 1 {
				t.Errorf("told %d times that the tools changed", n)
			}
			s.want(event.ListChanged, 1)
		})
	}
}

func TestFaultP34ComesBackWithAnotherVersion(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-other-version").initialize()
	s.kill()
	s.await(event.GaveUp, 1)
	id := s.start("append", `{"key":"k"}`)
	m := s.wantFault(id, fault.SessionChanged)
	for _, version := range []string{"2025-03-26", "2025-06-18"} {
		if text := s.words(m); !strings.Contains(text, version) {
			t.Errorf("%s is not named: %s", version, text)
		}
	}
	s.wantEffect("k", 0)
	s.want(event.Started, 2)
}

func TestFaultP34ComesBackWithoutACapability(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-drop-capability=resources").initialize()
	s.answer(s.request("resources/list", ""))
	s.terminate()
	s.await(event.Ready, 2)
	s.notice("notifications/resources/list_changed", 1)
	id := s.request("resources/list", "")
	if m := s.answer(id); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("told %s, want that there is no such method", m.raw)
	}
	s.wantOneAnswer(id)
	if n := s.notices("notifications/tools/list_changed"); n != 0 {
		t.Errorf("told %d times that the tools changed, and they did not", n)
	}
}
