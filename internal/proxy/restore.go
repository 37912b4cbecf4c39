package proxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Prepare gives a new process the session the client believes to have, before
// any traffic of the client reaches it.
func (s *Session) Prepare(ctx context.Context, conn *upstream.Conn) error {
	s.mu.Lock()
	m := s.memory
	uris := append([]string(nil), m.order...)
	s.mu.Unlock()
	if !m.known() {
		return nil // nothing was agreed with anyone yet
	}
	began := time.Now()
	restore := &restoring{s: s, ctx: ctx, conn: conn}
	var err error
	if m.legacy {
		err = restore.legacy(m, uris)
	} else {
		err = restore.modern(m)
	}
	if err != nil {
		return err
	}
	changed, err := restore.lists(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.news = s.announcement(changed, m, uris)
	s.mu.Unlock()
	s.Events.Emit(event.Event{Kind: event.Restored, Server: s.Name, Generation: conn.Generation, PID: conn.PID(), Took: time.Since(began)})
	return nil
}

// restoring is one restore under way.
type restoring struct {
	s    *Session
	ctx  context.Context
	conn *upstream.Conn
}

func (r *restoring) legacy(m memory, uris []string) error {
	answer, err := r.s.request(r.ctx, r.conn, "initialize", m.initialize)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("it refused to be initialised again: %s", fault.Quote(string(answer.Error)))
	}
	// A server must not be spoken to in another version than the client uses.
	if version, _ := wire.Field(answer.Result, "protocolVersion"); string(version) != m.version {
		return &fault.Fault{Code: fault.SessionChanged,
			Detail: fmt.Sprintf("it came back with protocol version %s, the session uses %s", fault.Quote(string(version)), m.version)}
	}
	r.s.mu.Lock()
	r.s.greet(r.conn)
	r.s.mu.Unlock()
	// The rest is asked for without waiting for each answer; what a server
	// refuses now is no reason to lose the session.
	var asked []*call
	if m.level != nil {
		asked = append(asked, r.s.ask(r.conn, "logging/setLevel", m.level))
	}
	for _, uri := range uris {
		if len(asked) >= askedAtOnce {
			if asked, err = r.hearOut(asked); err != nil {
				return err
			}
		}
		asked = append(asked, r.s.ask(r.conn, "resources/subscribe", m.subscriptions[uri]))
	}
	_, err = r.hearOut(asked)
	return err
}

// askedAtOnce: a session may have more subscriptions than may wait for a
// server that does not read.
const askedAtOnce = 256

// hearOut waits for all these answers.
func (r *restoring) hearOut(asked []*call) (none []*call, err error) {
	r.conn.Flush()
	for _, c := range asked {
		if _, err := c.await(r.ctx); err != nil {
			return nil, err
		}
	}
	return asked[:0], nil
}

func (r *restoring) modern(m memory) error {
	if params := firstOf(m.discover, metaParams(m.meta)); params != nil {
		answer, err := r.s.request(r.ctx, r.conn, "server/discover", params)
		if err != nil {
			return err
		}
		if answer.Error != nil {
			return fmt.Errorf("it refused server/discover: %s", fault.Quote(string(answer.Error)))
		}
	}
	return nil
}

// lists reads again every list the client has seen, and returns the methods
// of those that are not what it saw.
func (r *restoring) lists(m memory) (changed []string, err error) {
	r.s.mu.Lock()
	seen := r.s.catalog
	var methods []string
	for method := range kinds {
		if seen.lists[method] != nil {
			methods = append(methods, method)
		}
	}
	r.s.mu.Unlock()
	for _, method := range methods {
		fresh, err := r.list(method, m)
		if err != nil {
			return nil, err
		}
		r.s.mu.Lock()
		if old := r.s.catalog.lists[method]; old == nil || old.differs(fresh.lists[method]) {
			changed = append(changed, method)
			if old != nil {
				clear(old.pages) // the client will ask again at once, perhaps before we are ready
			}
		}
		// Decisions follow the list as it is now. What the client saw is
		// replaced only when it asks again, or mixing generations could give
		// it half of each.
		if method == "tools/list" {
			r.s.catalog.tools, r.s.catalog.listed, r.s.catalog.stale = fresh.tools, fresh.listed, false
		}
		if fresh.lists[method] != nil && !slices.Contains(changed, method) {
			r.s.catalog.lists[method] = fresh.lists[method]
		}
		r.s.mu.Unlock()
	}
	return changed, nil
}

// mostPages bounds a server that pages for ever.
const mostPages = 1000

func (r *restoring) list(method string, m memory) (fresh catalog, err error) {
	fresh = newCatalog()
	cursor := ""
	for range mostPages {
		answer, err := r.s.request(r.ctx, r.conn, method, listParams(m, cursor))
		if err != nil {
			return fresh, err
		}
		if answer.Error != nil {
			return fresh, nil
		}
		if cursor = fresh.learn(method, cursor, answer.Result); cursor == "" {
			return fresh, nil
		}
	}
	return fresh, nil
}

func listParams(m memory, cursor string) []byte {
	params := []byte{'{'}
	if cursor != "" {
		params = append(append(params, `"cursor":`...), cursor...)
	}
	if m.modern && m.meta != nil {
		if len(params) > 1 {
			params = append(params, ',')
		}
		params = append(append(params, `"_meta":`...), m.meta...)
	}
	return append(params, '}')
}

func metaParams(meta []byte) []byte {
	if meta == nil {
		return nil
	}
	return append(append([]byte(`{"_meta":`), meta...), '}')
}

func firstOf(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// announcement tells the client what may be different: the lists that are, and
// every subscribed resource, whose changes in the gap nobody can know.
func (s *Session) announcement(changed []string, m memory, uris []string) (lines [][]byte) {
	notices := map[string]bool{}
	for _, method := range changed {
		s.Events.Emit(event.Event{Kind: event.ListChanged, Server: s.Name, Method: method})
		notices[kinds[method].changed] = true
	}
	if m.legacy {
		for notice := range notices {
			lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"`+notice+`"}`))
		}
		for _, uri := range uris {
			lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":`+uri+`}}`))
		}
		return lines
	}
	for _, stream := range s.streams {
		lines = append(lines, stream.hints(func(notice string) bool { return notices[notice] })...)
	}
	return lines
}

// hints tell the listener of a stream what may have changed while it was cut:
// the lists it asked about, and every resource.
func (c *call) hints(changed func(notice string) bool) (lines [][]byte) {
	wanted, _ := wire.Field(c.msg.Params, "notifications")
	subscription := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.id) + `}`
	for notice, flag := range listenFlag {
		if asked, _ := wire.Field(wanted, flag); string(asked) == "true" && changed(notice) {
			lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"`+notice+`","params":{`+subscription+`}}`))
		}
	}
	if resources, _ := wire.Field(wanted, "resourceSubscriptions"); resources != nil {
		wire.Elements(resources, func(uri []byte) {
			lines = append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%s,%s}}`, uri, subscription))
		})
	}
	return lines
}

var listenFlag = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
}

// ownCall is a request of our own.
func (s *Session) ownCall(method string, params []byte) *call {
	raw := []byte(`{"jsonrpc":"2.0","id":0,"method":"` + method + `"`)
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	msg, _, _ := wire.Scan(append(raw, '}'))
	return &call{id: msg.ID, msg: msg, class: classOf(method), own: make(chan wire.Message, 1), arrived: time.Now()}
}

// ask sends one; it does not flush. request waits for the answer, too.
func (s *Session) ask(conn *upstream.Conn, method string, params []byte) *call {
	c := s.ownCall(method, params)
	s.mu.Lock()
	defer s.unlock()
	s.transmit(c, conn)
	return c
}

func (s *Session) request(ctx context.Context, conn *upstream.Conn, method string, params []byte) (wire.Message, error) {
	c := s.ask(conn, method, params)
	conn.Flush()
	return c.await(ctx)
}

// await returns the answer. A server that died closes the channel.
func (c *call) await(ctx context.Context) (wire.Message, error) {
	select {
	case answer, ok := <-c.own:
		switch {
		case ok:
			return answer, nil
		case c.loss != nil && c.loss.Final:
			return answer, &fault.Fault{Code: c.loss.Code, Detail: c.loss.Detail}
		case c.loss != nil:
			return answer, fmt.Errorf("%s had no answer: %s", c.msg.Method, c.loss.Detail)
		}
		return answer, fmt.Errorf("it ended before it answered %s", c.msg.Method)
	case <-c.conn.Done():
		return wire.Message{}, fmt.Errorf("it ended before it answered %s", c.msg.Method)
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
}
