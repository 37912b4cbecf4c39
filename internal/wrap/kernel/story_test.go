package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	runPlainServerIfAsked()
	os.Exit(census.Run(m))
}

// story is a client, a session and a faulty server, with verbs that read like
// what happens. Its end checks that nothing is left behind.
type story struct {
	t       *testing.T
	session *Session
	ledger  string
	cancel  context.CancelFunc
	ended   chan error

	in      *io.PipeWriter
	mu      sync.Mutex
	news    sync.Cond
	partial []byte               // the beginning of a line that the client is being told
	lines   []message            // everything the client was told, in order
	replies map[string][]message // those that are responses, by their id
	events  []event.Event
	marks   int // emitted by timeline
	marked  int // the last one collected
	lastID  int
	reading chan struct{} // closed: the client reads; a test may replace it to stop reading
}

// message is what a client would decode.
type message struct {
	raw    string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// quick are settings that let a test see in milliseconds what takes minutes.
func quick() Options {
	limit := patience.Limit()
	return Options{
		StartTimeout: limit,
		Timing: Timing{
			Timeout: limit, MaxTime: limit, Patience: limit, ProbeInterval: 50 * time.Millisecond, ProbeTimeout: 50 * time.Millisecond,
			HangGrace: 200 * time.Millisecond, DiscoverWait: limit, StartAnswer: limit,
		},
		Restart: upstream.Restart{Backoff: time.Millisecond, Limit: -1},
	}
}

// begin starts a session in front of a faulty server with these flags. The
// flags LEDGER and STATE stand for files of this test.
func begin(t *testing.T, o Options, flags ...string) *story {
	t.Helper()
	dir := t.TempDir()
	s := &story{t: t, ledger: filepath.Join(dir, "ledger"), ended: make(chan error, 1)}
	flags = append(flags, "-ledger", s.ledger, "-state", filepath.Join(dir, "state"))
	path, args, env := faultyserver.Command(flags...)
	if o.Spec.Command == "" {
		o.Spec = launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}
	}
	return s.run(o)
}

// beginCommand is begin with another server.
func beginCommand(t *testing.T, o Options, command string, args ...string) *story {
	t.Helper()
	o.Spec = launch.Spec{Command: command, Args: args}
	s := &story{t: t, ended: make(chan error, 1)}
	return s.run(o)
}

func (s *story) run(o Options) *story {
	s.replies = map[string][]message{}
	s.t.Helper()
	s.news.L = &s.mu
	s.reading = make(chan struct{})
	close(s.reading)
	o.Events = event.New()
	heard, stopEvents := o.Events.Subscribe(4000) // more takes longer to allocate than most stories take
	if mark := census.Mark(s.t); o.Spec.Command != "" {
		o.Spec.Env = append(slices.Clip(o.Spec.Environment()), mark)
	}
	s.session = New(o)
	toServer, in := io.Pipe()
	s.in = in
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	var collecting sync.WaitGroup
	collecting.Go(func() {
		var last uint64
		for e := range heard {
			if e.Seq != last+1 {
				s.t.Errorf("events %d to %d were missed", last+1, e.Seq-1)
			}
			last = e.Seq
			s.mu.Lock()
			if e.Kind == mark {
				s.marked = max(s.marked, e.Count)
			} else {
				s.events = append(s.events, e)
			}
			s.news.Broadcast()
			s.mu.Unlock()
		}
	})
	go func() { s.ended <- s.session.Serve(ctx, toServer, writer{s}) }()
	s.t.Cleanup(func() {
		s.end()
		stopEvents()
		collecting.Wait()
		toServer.Close()
	})
	return s
}

// end closes the client's side and waits until nothing is left.
func (s *story) end() error {
	s.in.Close()
	select {
	case err := <-s.ended:
		s.ended <- err
		s.cancel()
		return err
	case <-time.After(patience.Limit()):
		s.t.Errorf("the session did not end\n%s", s.told())
		return nil
	}
}

// writer is the client's ear.
type writer struct{ s *story }

func (w writer) Write(b []byte) (int, error) {
	w.s.mu.Lock()
	reading := w.s.reading
	w.s.mu.Unlock()
	<-reading
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.partial = append(w.s.partial, b...)
	if !bytes.Contains(b, []byte("\n")) {
		return len(b), nil // a long line comes in many pieces
	}
	whole := w.s.partial[:bytes.LastIndexByte(w.s.partial, '\n')+1]
	w.s.partial = bytes.Clone(w.s.partial[len(whole):])
	for line := range bytes.Lines(whole) {
		m := message{raw: string(bytes.TrimSuffix(line, []byte("\n")))}
		if err := json.Unmarshal(line, &m); err != nil {
			w.s.t.Errorf("the client was sent what is no JSON: %q", line)
		}
		w.s.lines = append(w.s.lines, m)
		if id := string(m.ID); m.Method == "" {
			w.s.replies[id] = append(w.s.replies[id], m)
		}
	}
	w.s.news.Broadcast()
	return len(b), nil
}

// send writes one line as the client.
func (s *story) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatalf("sending %.80s: %v", line, err)
	}
}

// request sends a request and returns its id.
func (s *story) request(method, params string) string {
	s.t.Helper()
	s.lastID++
	id := strconv.Itoa(s.lastID)
	if params == "" {
		params = "{}"
	}
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// start sends a tool call and returns its id.
func (s *story) start(tool, arguments string) string {
	s.t.Helper()
	if arguments == "" {
		arguments = "{}"
	}
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// startModern is start in the modern era.
func (s *story) startModern(tool, arguments string) string {
	s.t.Helper()
	if arguments == "" {
		arguments = "{}"
	}
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,%s}`, tool, arguments, modernMeta))
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// answer waits for the response to id.
func (s *story) answer(id string) message {
	s.t.Helper()
	return s.wait("an answer to "+id, func() (message, bool) {
		if all := s.replies[id]; len(all) > 0 {
			return all[0], true
		}
		return message{}, false
	})
}

// answers counts the responses to id so far.
func (s *story) answers(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.replies[id])
}

// notice waits for the n-th notification or request with this method.
func (s *story) notice(method string, n int) message {
	s.t.Helper()
	return s.wait("notification "+method, func() (message, bool) {
		seen := 0
		for _, m := range s.lines {
			if m.Method == method {
				if seen++; seen == n {
					return m, true
				}
			}
		}
		return message{}, false
	})
}

// notices counts what came with this method so far.
func (s *story) notices(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.lines {
		if m.Method == method {
			n++
		}
	}
	return n
}

func (s *story) wait(what string, find func() (message, bool)) message {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	late := false
	alarm := time.AfterFunc(patience.Limit(), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.news.Broadcast()
	})
	defer alarm.Stop()
	for {
		if m, ok := find(); ok {
			return m
		}
		if late {
			s.t.Fatalf("waited in vain for %s\n%s", what, s.toldLocked())
		}
		s.news.Wait()
	}
}

// call makes a tool call and returns its text.
func (s *story) call(tool, arguments string) string {
	s.t.Helper()
	return s.text(s.answer(s.start(tool, arguments)))
}

// text of a successful tool result.
func (s *story) text(m message) string {
	s.t.Helper()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.IsError || len(result.Content) == 0 {
		s.t.Fatalf("not a success: %.400s\n%s", m.raw, s.told())
	}
	return result.Content[0].Text
}

// faultOf is our own fault in an answer; its code is empty for the server's
// own words.
func (s *story) faultOf(m message) (code fault.Code, delivery string) {
	s.t.Helper()
	type ours struct {
		Code     fault.Code
		Delivery string
	}
	if m.Error != nil {
		var f ours
		json.Unmarshal(m.Error.Data, &f)
		return f.Code, f.Delivery
	}
	var result struct {
		IsError bool
		Meta    struct {
			Fault ours `json:"io.github.gauze-mcp/fault"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		s.t.Fatalf("a result that cannot be read: %v", err)
	}
	if result.Meta.Fault.Code != "" && !result.IsError {
		s.t.Errorf("a fault that is no error: %s", m.raw)
	}
	return result.Meta.Fault.Code, result.Meta.Fault.Delivery
}

// wantFault checks that id was answered with this fault, once.
func (s *story) wantFault(id string, code fault.Code) message {
	s.t.Helper()
	m := s.answer(id)
	if got, _ := s.faultOf(m); got != code {
		s.t.Fatalf("answer to %s: fault %q, want %q\n%.400s\n%s", id, got, code, m.raw, s.told())
	}
	return m
}

// helloParams are what a legacy client begins with.
const helloParams = `{"protocolVersion":"2025-06-18","capabilities":{"roots":{},"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}`

// initialize does the legacy handshake and reads the tools.
func (s *story) initialize() *story {
	s.t.Helper()
	m := s.answer(s.request("initialize", helloParams))
	if m.Error != nil {
		s.t.Fatalf("initialize: %s\n%s", m.raw, s.told())
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.answer(s.request("tools/list", ""))
	return s
}

// discover does the modern handshake and reads the tools.
func (s *story) discover() *story {
	s.t.Helper()
	if m := s.answer(s.request("server/discover", "{"+modernMeta+"}")); m.Error != nil {
		s.t.Fatalf("server/discover: %s", m.raw)
	}
	s.answer(s.request("tools/list", "{"+modernMeta+"}"))
	return s
}

// await waits for the n-th event of a kind.
func (s *story) await(kind event.Kind, n int) event.Event {
	s.t.Helper()
	var found event.Event
	s.wait(fmt.Sprintf("event %s no. %d", kind, n), func() (message, bool) {
		seen := 0
		for _, e := range s.events {
			if e.Kind == kind {
				if seen++; seen == n {
					found = e
					return message{}, true
				}
			}
		}
		return message{}, false
	})
	return found
}

// mark is the kind of the events by which timeline knows that all earlier ones were collected.
const mark event.Kind = "mark"

// timeline returns all events so far.
func (s *story) timeline() []event.Event {
	s.t.Helper()
	s.mu.Lock()
	s.marks++
	n := s.marks
	s.mu.Unlock()
	s.session.Options.Events.Emit(event.Event{Kind: mark, Count: n})
	var events []event.Event
	s.wait("the events so far", func() (message, bool) {
		events = slices.Clone(s.events)
		return message{}, s.marked >= n
	})
	return events
}

// happened counts the events of a kind so far.
func (s *story) happened(kind event.Kind) (n int) {
	for _, e := range s.timeline() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// hurry changes limits of a session under way, which then do not apply to its handshake.
func (s *story) hurry(set func(o *Options)) {
	s.session.Retime(func(t *Timing, l *Limits) {
		o := Options{Timing: *t, Limits: *l}
		set(&o)
		*t, *l = o.Timing, o.Limits
	})
}

// pid of the server's current generation.
func (s *story) pid() int {
	events := s.timeline()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == event.Started {
			return events[i].PID
		}
	}
	s.t.Fatal("no server was started")
	return 0
}

// conn is the connection in use.
func (s *story) conn() *upstream.Conn {
	return s.session.Inside().Conn
}

// until waits for what is told to nobody, and has to be looked at.
func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	limit := time.After(patience.Limit())
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			s.t.Fatalf("waited in vain until %s\n%s", what, s.told())
		}
	}
}

// kill ends the server as the kernel would, and waits until it is noticed and
// nothing is sent to it any more.
func (s *story) kill() {
	s.t.Helper()
	n, conn := s.happened(event.Died), s.conn()
	s.terminate()
	s.await(event.Died, n+1)
	s.until("the dead server gets no more calls", func() bool { return s.conn() == nil || s.conn() != conn })
}

// terminate ends the server, which gets no chance to do anything.
func (s *story) terminate() {
	s.t.Helper()
	if err := killPID(s.pid()); err != nil {
		s.t.Fatalf("killing the server: %v", err)
	}
}

func killPID(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer process.Release()
	return process.Kill()
}

// effects is what the server really did, by key.
func (s *story) effects() map[string]int {
	s.t.Helper()
	entries, _, err := faultyserver.ReadLedger(s.ledger)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range entries {
		count[e.Key]++
	}
	return count
}

// told is the story so far, for a test that failed.
func (s *story) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.toldLocked()
}

func (s *story) toldLocked() string {
	var b strings.Builder
	for _, e := range s.events[max(0, len(s.events)-40):] {
		fmt.Fprintln(&b, "  event", e)
	}
	for _, m := range s.lines[max(0, len(s.lines)-20):] {
		fmt.Fprintf(&b, "  client was told %.300s\n", m.raw)
	}
	return b.String()
}
