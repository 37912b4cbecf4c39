package kernel_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Verbs about processes: launchers, gates, what a server has seen, who is
// still there.

// unprobed is quick without probes: the server reads nothing but what the
// test sends, so that it can count messages.
func unprobed() Options {
	o := quick()
	o.Timing.ProbeInterval = time.Hour
	return o
}

// confirmed has a server asked before each call that may write, until it answers.
func confirmed(o *Options) { o.Confirm = upstream.Confirm{After: -1, Timeout: patience.Limit()} }

// gate holds every start of a server until the test opens it.
type gate struct{ *faultyserver.Gate }

func newGate(t *testing.T) gate {
	t.Helper()
	g, err := faultyserver.NewGate()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return gate{g}
}

// flag makes the faulty server wait at the gate.
func (g gate) flag() string { return "-gate=" + g.Addr() }

// open waits for a server at the gate and lets it pass.
func (g gate) open(t *testing.T) {
	t.Helper()
	if err := g.Open(); err != nil {
		t.Fatal(err)
	}
}

// taken waits until the session has dealt with everything sent so far, as far
// as it can without the server: it reads on only then.
func (s *story) taken() {
	s.t.Helper()
	s.send("")
}

// withdraw cancels a request as the client.
func (s *story) withdraw(id string) {
	s.t.Helper()
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
}

// serverState is what the server's current generation has seen.
type serverState struct {
	PID, Generation int
	Seen            []struct {
		Method string
		ID     json.RawMessage
		Params json.RawMessage
	}
	Initialized   bool
	Version       string
	LogLevel      string
	Subscriptions []string
	Cancelled     []string
}

func (s *story) state() (state serverState) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.call("state", "")), &state); err != nil {
		s.t.Fatal(err)
	}
	return state
}

// methods is what the server was sent, in order; "-" is an answer of the
// client's. Lists are left out: gauze asks for them beside the traffic.
func (state serverState) methods() string {
	var all []string
	for _, seen := range state.Seen {
		if seen.Method == "tools/list" {
			continue
		}
		if seen.Method == "" {
			seen.Method = "-"
		}
		all = append(all, seen.Method)
	}
	return strings.Join(all, " ")
}

// want compares how often something happened.
func (s *story) want(kind event.Kind, n int) {
	s.t.Helper()
	if got := s.happened(kind); got != n {
		s.t.Errorf("%q happened %d times, want %d\n%s", kind, got, n, s.told())
	}
}

// wantReplays compares how often calls of a tool were sent again. Others may
// have been, if they came while the server was dying.
func (s *story) wantReplays(tool string, n int) {
	s.t.Helper()
	got := 0
	for _, e := range s.timeline() {
		if e.Kind == event.Replayed && e.Tool == tool {
			got++
		}
	}
	if got != n {
		s.t.Errorf("%s was sent again %d times, want %d\n%s", tool, got, n, s.told())
	}
}

// wantOneAnswer checks that each of these requests was answered once. It makes
// a call of its own, so that an answer on its way has come.
func (s *story) wantOneAnswer(ids ...string) {
	s.t.Helper()
	s.untilAnswered(ids...)
	s.call("echo", `{"text":"after all"}`)
	s.mu.Lock()
	defer s.mu.Unlock()
	count := map[string]int{}
	for _, m := range s.lines {
		if m.Method == "" {
			count[string(m.ID)]++
		}
	}
	for _, id := range ids {
		if n := count[id]; n != 1 {
			s.t.Errorf("%d answers to %s\n%s", n, id, s.toldLocked())
		}
	}
}

// untilAnswered waits for the answers to all these requests.
func (s *story) untilAnswered(ids ...string) {
	s.t.Helper()
	due := map[string]bool{}
	for _, id := range ids {
		due[id] = true
	}
	looked := 0
	s.wait(fmt.Sprintf("answers to %d requests", len(ids)), func() (message, bool) {
		for _, m := range s.lines[looked:] {
			if m.Method == "" {
				delete(due, string(m.ID))
			}
		}
		looked = len(s.lines)
		return message{}, len(due) == 0
	})
}

// wantEffect checks how often the server really did something.
func (s *story) wantEffect(key string, n int) {
	s.t.Helper()
	if got := s.effects()[key]; got != n {
		s.t.Errorf("the effect %q happened %d times, want %d\n%s", key, got, n, s.told())
	}
}

// said is all the client was told, one message a line.
func (s *story) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, m := range s.lines {
		b.WriteString(m.raw + "\n")
	}
	return b.String()
}

// spawned are the children the server started, and that may outlive it.
func (s *story) spawned() (pids []int) {
	s.t.Helper()
	entries, _, err := faultyserver.ReadLedger(s.ledger)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Op == "spawn" {
			pid, _ := strconv.Atoi(e.Key)
			pids = append(pids, pid)
		}
	}
	return pids
}

// wantGone waits until none of these processes is there.
func (s *story) wantGone(pids ...int) {
	s.t.Helper()
	s.until(fmt.Sprintf("none of %v is there", pids), func() bool { return !slices.ContainsFunc(pids, faultyserver.Running) })
}

// endSpawned ends with the test what would otherwise outlive it.
func (s *story) endSpawned() {
	s.t.Helper()
	for _, pid := range s.spawned() {
		s.t.Cleanup(func() { killPID(pid) })
	}
}

// untilEffect waits until the server did something.
func (s *story) untilEffect(key string) {
	s.t.Helper()
	s.until(key+" happened", func() bool { return s.effects()[key] > 0 })
}

// untilSilent waits until nothing was heard from the server for a while.
func (s *story) untilSilent() {
	s.t.Helper()
	conn := s.conn()
	last, quiet := conn.LastHeard(), 0
	s.until("the server is silent", func() bool {
		quiet++
		if now := conn.LastHeard(); now != last {
			last, quiet = now, 0
		}
		return quiet == 100
	})
}

// stopReading lets the client turn a deaf ear until read is called.
func (s *story) stopReading() (read func()) {
	ear := make(chan struct{})
	s.session.Silence(func() { // nothing is being said at this moment
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reading = ear
	})
	read = sync.OnceFunc(func() { close(ear) })
	s.t.Cleanup(read) // before the end of the story: a test that failed must not hang
	return read
}

// untilStuck waits until the session is held up by a client that does not
// read.
func (s *story) untilStuck() {
	s.t.Helper()
	s.until("the client keeps us from speaking", func() bool { return s.session.IsSpeaking() })
}
