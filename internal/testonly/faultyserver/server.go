package faultyserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is one generation of the server.
type server struct {
	cfg          *settings
	args         []string
	generation   int
	memory       *memory
	ledger       *Ledger // nil without -ledger
	in           *input
	out          *output
	stderr       io.Writer
	session      *session
	inflight     *inflight
	asks         *asks
	store        *store
	active       map[string]*armed // faults decided at start that apply to this generation
	handlers     sync.WaitGroup
	received     int          // messages read so far; used only by the loop
	called       atomic.Int32 // tool calls among them
	storm        sync.Once
	handles      atomic.Int64
	toolsChanged atomic.Bool   // change_tools was called an odd number of times
	stdinClosed  chan struct{} // closed when stdin has ended
}

func newServer(cfg *settings, args []string, stdin io.Reader, stdout, stderr io.Writer) (*server, error) {
	m, generation, err := openMemory(cfg.state)
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	s := &server{
		cfg: cfg, args: args, generation: generation, memory: m, stderr: stderr,
		out: &output{w: stdout}, session: newSessionState(), inflight: newInflight(), asks: newAsks(),
		store: &store{path: cfg.ledger}, active: map[string]*armed{}, stdinClosed: make(chan struct{}),
	}
	if cfg.ledger != "" {
		if s.ledger, err = OpenLedger(cfg.ledger); err != nil {
			return nil, fmt.Errorf("-ledger: %w", err)
		}
	}
	for i := range faults {
		if a := cfg.faults[faults[i].name]; a.fault.atStart && a.fires(m) {
			s.active[a.fault.name] = a
		}
	}
	s.in = newInput(stdin, cfg.readExact || s.active["stop-reading"] != nil)
	return s, nil
}

// serve runs the loop, a line in, a handler, a line out, until stdin ends. Then it waits for the
// handlers that can still finish and returns the exit code.
func (s *server) serve() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.cfg.lifetime > 0 {
		time.AfterFunc(s.cfg.lifetime, func() { os.Exit(exitLifetime) })
	}
	if code, over := s.start(); over {
		return code
	}
	for {
		if a := s.active["stop-reading"]; a != nil && s.received >= a.number("n") {
			sleepForever()
		}
		line, err := s.in.line()
		if len(bytes.TrimSpace(line)) > 0 {
			s.receive(ctx, line)
		}
		if err != nil {
			break
		}
	}
	if s.active["ignore-eof"] != nil {
		sleepForever()
	}
	close(s.stdinClosed)
	cancel()
	s.handlers.Wait()
	return exitClean
}

// receive handles one line: a message, or a batch of 2025-03-26.
func (s *server) receive(ctx context.Context, line []byte) {
	s.received++
	if a := s.active["exit-after"]; a != nil && a.has("n") && s.received > a.number("n") {
		s.exit(a)
	}
	if bytes.Contains(line, []byte(`"tools/call"`)) {
		s.called.Add(1)
	}
	if a := s.active["hang"]; a != nil && s.received > a.number("n") && (!a.has("calls") || s.called.Load() > int32(a.number("calls"))) {
		s.out.silence()
		return
	}
	if a := s.active["spin"]; a != nil && s.received > a.number("n") {
		s.out.silence()
		spinForever()
	}
	if trimmed := bytes.TrimSpace(line); trimmed[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(trimmed, &batch) != nil {
			s.refuse(nil, &refusal{code: -32700, text: "parse error"})
			return
		}
		for _, one := range batch {
			s.dispatch(ctx, one)
		}
		return
	}
	s.dispatch(ctx, line)
}

// message is the JSON-RPC envelope. encoding/json accepts "Method" for "method" and uses the last
// of two equal keys, as most servers do, and a proxy must expect that.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	// opened is called when a long-lived request has begun, so that later messages find it open.
	opened func()
}

// dispatch handles messages that change the session in the loop, to keep their order, and
// everything else concurrently.
func (s *server) dispatch(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		s.refuse(nil, &refusal{code: -32700, text: "parse error: " + err.Error()})
		return
	}
	s.session.saw(&m)
	switch {
	case m.Method == "":
		s.asks.resolve(&m)
	case m.ID == nil:
		s.notified(&m)
	case inOrder[m.Method]:
		s.answer(ctx, &m)
	case m.Method == "subscriptions/listen":
		begun, begin := context.WithCancel(ctx)
		m.opened = begin
		s.handle(ctx, &m)
		<-begun.Done()
	case s.cfg.serial:
		requestCtx, done := s.inflight.open(ctx, m.ID)
		s.answer(requestCtx, &m)
		done()
	default:
		s.handle(ctx, &m)
	}
}

// handle serves a request concurrently with the loop.
func (s *server) handle(ctx context.Context, m *message) {
	ctx, done := s.inflight.open(ctx, m.ID)
	s.handlers.Go(func() {
		defer done()
		s.answer(ctx, m)
		if m.opened != nil {
			m.opened()
		}
	})
}

var inOrder = map[string]bool{
	"initialize": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

// answer serves one request.
func (s *server) answer(ctx context.Context, m *message) {
	if m.Method == "server/discover" && !s.applyDiscoverFaults() {
		return
	}
	modern, no := s.eraOf(m)
	if no != nil {
		s.refuse(m.ID, no)
		return
	}
	if m.Method == "tools/call" {
		s.callTool(ctx, m, modern)
		return
	}
	handler, ok := methods[m.Method]
	if !ok {
		s.refuse(m.ID, &refusal{code: -32601, text: fmt.Sprintf("method %q not found", m.Method)})
		return
	}
	result, no := handler(s, ctx, m, modern)
	switch {
	case no != nil:
		s.refuse(m.ID, no)
	case result != "":
		s.reply(m.ID, result)
	}
}

// refusal is a JSON-RPC error. data is raw JSON or empty.
type refusal struct {
	code int
	text string
	data string
}

func (s *server) reply(id json.RawMessage, result string) {
	s.out.send([]byte(`{"jsonrpc":"2.0","id":` + rawID(id) + `,"result":` + result + `}`))
	s.afterAnswer()
}

func (s *server) refuse(id json.RawMessage, no *refusal) {
	data := ""
	if no.data != "" {
		data = `,"data":` + no.data
	}
	s.out.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, rawID(id), no.code, quote(no.text), data))
	s.afterAnswer()
}

// afterAnswer starts the notification storm after the first response.
func (s *server) afterAnswer() {
	a := s.active["notify-storm"]
	if a == nil {
		return
	}
	s.storm.Do(func() {
		s.handlers.Go(func() {
			for range a.number("n") {
				s.notify("notifications/tools/list_changed", "")
			}
		})
	})
}

// notify sends a notification. params is raw JSON or empty.
func (s *server) notify(method, params string) {
	if params != "" {
		params = `,"params":` + params
	}
	s.out.send([]byte(`{"jsonrpc":"2.0","method":` + quote(method) + params + `}`))
}

func rawID(id json.RawMessage) string {
	if id == nil {
		return "null"
	}
	return string(id)
}

// quote returns s as a JSON string.
func quote(s string) string {
	b, _ := json.Marshal(s) // marshaling a string cannot fail
	return string(b)
}

func withoutFlag(args []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		flag, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		return flag == name
	})
}
