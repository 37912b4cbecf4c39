package taskrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// absolute returns path, which may be empty, relative to dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// server is one server and the client of its session.
type server struct {
	name    string // in the plan
	options proxy.Options
	observe func(event.Event) // may be nil
	since   time.Time         // when it first went down and did not come back
	detail  string            // why it last went down

	past     []health.Failure // of sessions that were replaced
	answered time.Time        // when the server last answered in one of them

	mu      sync.Mutex
	session *proxy.Session
	leave   func() // lets the server finish and exit
	ended   chan struct{}
	lastID  int
	waiting map[string]chan answer // by request id
	asked   map[string]bool        // requests during which the server asked the user something
	greeted bool                   // the session is initialized
	meta    string                 // the _meta of every request to a modern server; empty for a legacy one
	stale   bool                   // tools may have changed
	tools   []task.Tool
	changed chan struct{} // closed and replaced when the state of the server may have changed
}

// answer is a message that answers a request.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	asked bool
}

func newServer(name string, o proxy.Options, observe func(event.Event)) *server {
	s := &server{name: name, options: o, observe: observe}
	s.start()
	return s
}

// start opens a session. The server is started by it.
func (s *server) start() {
	o := s.options
	o.Events = event.New()
	o.Tell = s.tell
	o.Timing.IdleProbe = cmp.Or(o.Timing.IdleProbe, proxy.LookEvery) // a server may have to wait for its step
	if o.Doctor == nil {
		o.Doctor = doctor.Live(doctor.ThisMachine(), true)
	}
	if o.Calls == nil {
		o.Calls = &doctor.CallDoctor{Machine: doctor.ThisMachine()}
	}
	// The messages go through FromClient and tell. The end of the pipe is the client's leaving.
	nothing, client := io.Pipe()
	session := proxy.New(o)
	ended := make(chan struct{})
	s.mu.Lock()
	s.session, s.leave, s.ended = session, func() { client.Close() }, ended
	s.waiting, s.asked = map[string]chan answer{}, map[string]bool{}
	s.greeted, s.stale, s.meta = false, true, ""
	s.changed = make(chan struct{})
	s.mu.Unlock()
	events, stop := o.Events.Subscribe(256)
	observed := make(chan struct{})
	go func() {
		defer close(observed)
		for e := range events {
			s.mu.Lock()
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
			if s.observe != nil {
				s.observe(e)
			}
		}
	}()
	go func() {
		defer close(ended)
		defer func() { stop(); <-observed }()
		_ = session.Serve(context.Background(), nothing, io.Discard) // why the server could not be kept running is in Trouble
	}()
}

// close stops the server and returns when it is gone. hurry means that it is not waited for.
func (s *server) close(hurry bool) {
	s.mu.Lock()
	session, leave, ended := s.session, s.leave, s.ended
	s.mu.Unlock()
	if hurry {
		session.Hurry()
	}
	leave()
	<-ended
}

// tell receives the messages of the session. It must not block or call the session.
func (s *server) tell(t proxy.Told) {
	switch {
	case t.Answer:
		var a answer
		_ = json.Unmarshal(t.Line, &a) // gauze passes on only what it has scanned
		s.mu.Lock()
		defer s.mu.Unlock()
		id := string(t.About)
		if waiting := s.waiting[id]; waiting != nil {
			a.asked = s.asked[id]
			waiting <- a
		}
		delete(s.waiting, id)
		delete(s.asked, id)
	case t.Question:
		s.decline(t)
	case strings.Contains(string(t.Line), `"notifications/tools/list_changed"`):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stale = true
	}
}

// decline rejects a request of the server: a task has no user to ask.
func (s *server) decline(t proxy.Told) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(t.Line, &m) != nil {
		return
	}
	s.mu.Lock()
	session := s.session
	if m.Method == "elicitation/create" {
		for id := range s.waiting { // a task has one call in flight
			s.asked[id] = true
		}
	}
	s.mu.Unlock()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"this client is running an unattended task and does not support %s"}}`, m.ID, strings.Trim(quoted(m.Method), `"`))
	if m.Method == "ping" {
		line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	}
	go func() {
		session.FromClient([]byte(line))
		session.Flush()
	}()
}

// quoted returns a string as JSON.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(encoded)
}

// errCanceled means that ctx ended before there was an answer.
var errCanceled = errors.New("canceled")

// request sends a request and waits for its answer.
func (s *server) request(ctx context.Context, method string, params json.RawMessage) (answer, error) {
	s.mu.Lock()
	s.lastID++
	id := strconv.Itoa(s.lastID)
	waiting := make(chan answer, 1)
	s.waiting[id] = waiting
	session, ended := s.session, s.ended
	s.mu.Unlock()
	sent := make(chan struct{})
	go func() { // it blocks if the server does not read
		defer close(sent)
		session.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, quoted(method), params))
		session.Flush()
	}()
	select {
	case a := <-waiting:
		return a, nil
	case <-ended:
	case <-ctx.Done():
		go func() {
			<-sent
			session.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"the task was interrupted"}}`, id))
			session.Flush()
		}()
	}
	s.mu.Lock()
	delete(s.waiting, id)
	s.mu.Unlock()
	select {
	case a := <-waiting:
		return a, nil
	default:
		return answer{}, errCanceled
	}
}

const (
	clientName = "gauze task"
	clientInfo = `{"name":"` + clientName + `","version":"1"}`
	hello      = `{"protocolVersion":"` + wire.NewestLegacy + `","capabilities":{},"clientInfo":` + clientInfo + `}`
)

// rejectsInitialize reports whether an answer to initialize is that of a server that supports only
// protocol versions without it.
func rejectsInitialize(a answer) bool {
	const methodNotFound, headers, version = -32601, -32020, -32022
	return a.Error != nil && (a.Error.Code == methodNotFound || a.Error.Code == headers || a.Error.Code == version)
}

// params returns an object with the members and, for a modern server, _meta.
func (s *server) params(members string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.meta == "" {
		return json.RawMessage("{" + members + "}")
	}
	if members != "" {
		members += ","
	}
	return json.RawMessage("{" + members + `"_meta":` + s.meta + "}")
}

// greet initializes the session once. Later generations are restored by the session itself.
func (s *server) greet(ctx context.Context) *task.Reply {
	s.mu.Lock()
	greeted, session := s.greeted, s.session
	s.mu.Unlock()
	if greeted {
		return nil
	}
	ctx, cancel := s.whilePatient(ctx)
	defer cancel()
	a, err := s.request(ctx, "initialize", json.RawMessage(hello))
	modern := err == nil && rejectsInitialize(a)
	if modern {
		a, err = s.request(ctx, "server/discover", json.RawMessage(`{"_meta":`+wire.ModernMeta(clientInfo)+`}`))
	}
	if lost := lostBy(a, err); lost != nil {
		return lost
	}
	if !modern {
		session.FromClient([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		session.Flush()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeted = true
	if modern {
		s.meta = wire.ModernMeta(clientInfo)
	}
	return nil
}

// lostBy returns why a request of the protocol was not answered, or nil.
func lostBy(a answer, err error) *task.Reply {
	switch {
	case err != nil:
		return &task.Reply{Status: task.Lost, Delivery: task.Unsent, Text: err.Error()}
	case a.Error != nil:
		r := replyOf(a)
		r.Status, r.Delivery = task.Lost, task.Unsent // these requests have no effect
		return &r
	}
	return nil
}

// call calls a tool.
func (s *server) call(ctx context.Context, tool string, arguments json.RawMessage) task.Reply {
	if lost := s.greet(ctx); lost != nil {
		return *lost
	}
	a, err := s.request(ctx, "tools/call", s.params(fmt.Sprintf(`"name":%s,"arguments":%s`, quoted(tool), arguments)))
	if err != nil {
		return task.Reply{Status: task.Lost, Delivery: task.Unknown, Text: "the task was stopped before the server answered"}
	}
	return replyOf(a)
}
