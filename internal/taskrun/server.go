package taskrun

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/verdict"
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
	options proxy.Options
	since   time.Time // when it first went down and did not come back

	mu      sync.Mutex
	session *proxy.Session
	cancel  context.CancelFunc
	ended   chan struct{}
	lastID  int
	waiting map[string]chan answer // by request id
	asked   map[string]bool        // requests during which the server asked the user something
	greeted bool                   // the session is initialized
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

func newServer(o proxy.Options) *server {
	s := &server{options: o}
	s.start()
	return s
}

// start opens a session. The server is started by it.
func (s *server) start() {
	o := s.options
	o.Events = event.New()
	o.Tell = s.tell
	if o.Doctor == nil {
		o.Doctor = doctor.Live(doctor.ThisMachine(), true)
	}
	if o.Calls == nil {
		o.Calls = &doctor.CallDoctor{Machine: doctor.ThisMachine()}
	}
	ctx, cancel := context.WithCancel(context.Background())
	session := proxy.New(o)
	ended := make(chan struct{})
	s.mu.Lock()
	s.session, s.cancel, s.ended = session, cancel, ended
	s.waiting, s.asked = map[string]chan answer{}, map[string]bool{}
	s.greeted, s.stale = false, true
	s.changed = make(chan struct{})
	s.mu.Unlock()
	events, stop := o.Events.Subscribe(256)
	go func() {
		for range events {
			s.mu.Lock()
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
		}
	}()
	go func() {
		defer close(ended)
		defer stop()
		_ = session.Attend(ctx) // why the server could not be kept running is in Trouble
	}()
}

// close stops the server and returns when it is gone.
func (s *server) close() {
	s.mu.Lock()
	cancel, ended := s.cancel, s.ended
	s.mu.Unlock()
	cancel()
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
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"this client runs a task without a user and does not support %s"}}`, m.ID, strings.Trim(quoted(m.Method), `"`))
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
		session.FromClient([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, quoted(method), params)))
		session.Flush()
	}()
	select {
	case a := <-waiting:
		return a, nil
	case <-ended:
	case <-ctx.Done():
		go func() {
			<-sent
			session.FromClient([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"the task was interrupted"}}`, id)))
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

const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gauze task","version":"1"}}`

// greet initializes the session once. Later generations are restored by the session itself.
func (s *server) greet(ctx context.Context) *task.Reply {
	s.mu.Lock()
	greeted, session := s.greeted, s.session
	s.mu.Unlock()
	if greeted {
		return nil
	}
	a, err := s.request(ctx, "initialize", json.RawMessage(hello))
	if lost := lostBy(a, err); lost != nil {
		return lost
	}
	session.FromClient([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	session.Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeted = true
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

// maxPages limits a list that does not end.
const maxPages = 1000

// list returns the tools, from the server if they may have changed.
func (s *server) list(ctx context.Context) ([]task.Tool, *task.Reply) {
	if lost := s.greet(ctx); lost != nil {
		return nil, lost
	}
	s.mu.Lock()
	stale, tools := s.stale, s.tools
	s.stale = false
	s.mu.Unlock()
	if !stale {
		return tools, nil
	}
	tools = nil
	params := json.RawMessage(`{}`)
	for range maxPages {
		a, err := s.request(ctx, "tools/list", params)
		if lost := lostBy(a, err); lost != nil {
			s.mu.Lock()
			s.stale = true
			s.mu.Unlock()
			return nil, lost
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		_ = json.Unmarshal(a.Result, &page) // a list that cannot be read is empty
		for _, item := range page.Tools {
			if t, ok := s.toolOf(item); ok {
				tools = append(tools, t)
			}
		}
		if page.NextCursor == "" {
			break
		}
		params = json.RawMessage(`{"cursor":` + quoted(page.NextCursor) + `}`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
	return tools, nil
}

// toolOf reads one tool of the list. Its class is the one by which the session replays.
func (s *server) toolOf(item json.RawMessage) (task.Tool, bool) {
	var t struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(item, &t) != nil || t.Name == "" {
		return task.Tool{}, false
	}
	shape := sha256.Sum256([]byte(t.Name + "\x00" + string(t.InputSchema) + "\x00" + string(t.Annotations)))
	out := task.Tool{Name: t.Name, About: t.Description, Schema: t.InputSchema, Class: task.Unsafe, Shape: hex.EncodeToString(shape[:8])}
	switch s.session.ToolClass(t.Name) {
	case proxy.ReadOnly:
		out.Class = task.ReadOnly
	case proxy.Idempotent:
		out.Class = task.Idempotent
	}
	schema := repair.Compile(t.InputSchema)
	out.Accepts = func(arguments json.RawMessage) error {
		checked := schema.Arguments(arguments, repair.Options{Tool: t.Name, Tier: repair.Silent})
		if checked.Verdict == repair.Refused {
			return errors.New(schema.Explain(t.Name, checked, 1).Text)
		}
		return nil
	}
	return out, true
}

// call calls a tool.
func (s *server) call(ctx context.Context, tool string, arguments json.RawMessage) task.Reply {
	if lost := s.greet(ctx); lost != nil {
		return *lost
	}
	a, err := s.request(ctx, "tools/call", json.RawMessage(fmt.Sprintf(`{"name":%s,"arguments":%s}`, quoted(tool), arguments)))
	if err != nil {
		return task.Reply{Status: task.Lost, Delivery: task.Unknown, Text: "the task was stopped before the server answered"}
	}
	return replyOf(a)
}

// knownCause is the confidence of a cause that the doctor reports without saying how certain it is,
// which means that it is likely.
const knownCause = 0.7

// situation returns what is known about the server.
func (s *server) situation() task.Situation {
	s.mu.Lock()
	session, listed := s.session, s.greeted && !s.stale
	s.mu.Unlock()
	health, trouble, now := session.Upstream().Snapshot(), session.Trouble(), time.Now()
	out := task.Situation{Situation: verdict.Situation{
		Server: s.options.Name, Health: health.State.String(), Consecutive: health.ConsecutiveFailures,
		Hide: redact.EnvironSecrets(os.Environ()).Redact,
	}}
	if at := health.LastSuccess; !at.IsZero() {
		out.Answered, out.SinceSuccess = true, max(0, now.Sub(at))
	}
	connected := out.Health == "healthy" || out.Health == "degraded"
	if connected && listed {
		s.since = time.Time{}
		return out
	}
	if s.since.IsZero() {
		s.since = now
	}
	out.Since = s.since
	if connected { // a new process that has not answered yet
		return out
	}
	if trouble == nil {
		out.Reconnecting = out.Health == "dead"
		return out
	}
	if trouble.Since.Before(s.since) {
		s.since = trouble.Since
		out.Since = trouble.Since
	}
	out.Reconnects = max(0, trouble.Attempts-1) // the first attempt was the connection that was lost
	out.RetryIn = max(0, trouble.NextTry.Sub(now))
	out.Reconnecting = !trouble.NextTry.IsZero() && !trouble.NextTry.After(now)
	out.Detail = plainDetail(string(trouble.Code), trouble.Detail)
	out.Remedy = trouble.Cause.Remedy
	out.Cause = verdict.Cause{Code: trouble.Cause.Code, Explanation: trouble.Cause.Explanation, Permanent: trouble.Permanent || doctor.Permanent(trouble.Cause.Code)}
	if trouble.Cause.Known() || trouble.Permanent {
		out.Cause.Confidence = knownCause
	}
	if trouble.Permanent {
		out.Cause.Confidence = 1
	}
	if kind, ok := verdict.KindOf(trouble.Code); ok {
		out.Failures = []verdict.Failure{{Kind: kind, Detail: trouble.Evidence.Exit, Ago: max(0, now.Sub(trouble.Since))}}
	}
	return out
}

func plainDetail(code, detail string) string { return redact.Passage(cmp.Or(detail, code)) }

// defaultPatience is how long one attempt to reconnect is waited for, as in package proxy.
const defaultPatience = 30 * time.Second

// reconnect waits for the next attempt of the session. A session that makes none, because its server
// hangs or its failure is permanent, is replaced.
func (s *server) reconnect(ctx context.Context) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	trouble := session.Trouble()
	if session.Upstream().Health().String() != "dead" || trouble != nil && trouble.NextTry.IsZero() {
		s.close()
		s.start()
		_ = s.greet(ctx) // the next look at the situation shows what came of it
		return
	}
	before := 0
	if trouble != nil {
		before = trouble.Generation
	}
	timer := time.NewTimer(cmp.Or(s.options.Patience, defaultPatience))
	defer timer.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		now := session.Trouble()
		if session.Upstream().Health().String() != "dead" || now != nil && now.Generation != before {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
