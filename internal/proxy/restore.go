package proxy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Prepare gives a new process the session the client believes to have, before
// any traffic of the client reaches it. The lists are compared once it is up:
// that is no condition of being up, unless a call that is to be repeated
// depends on its tool being the same.
func (s *Session) Prepare(ctx context.Context, conn *upstream.Conn) error {
	s.mu.Lock()
	m := s.memory
	uris := append([]string(nil), m.order...)
	depends := slices.ContainsFunc(s.repeats, func(c *call) bool { return c.shape != 0 })
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
	if err == nil && depends {
		err = restore.tools(m)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.news = s.updated(m, uris)
	s.mu.Unlock()
	s.Events.Emit(event.Event{Kind: event.Restored, Server: s.Name, Generation: conn.Generation, PID: conn.PID(), Took: time.Since(began)})
	return nil
}

// compare reads again, in the background, every list the client has seen, and
// tells the client which of them changed with the server's restart.
func (s *Session) compare(conn *upstream.Conn) {
	s.mu.Lock()
	m := s.memory
	s.mu.Unlock()
	restore := &restoring{s: s, ctx: context.Background(), conn: conn}
	changed, err := restore.lists(m)
	if err != nil {
		return // the connection is over, and the next one is compared
	}
	s.mu.Lock()
	lines := s.changed(changed, m)
	s.mu.Unlock()
	for _, line := range lines {
		s.out.send(Told{Line: line, About: noticeAbout(line)})
	}
}

// askTools reads the tools ourselves, in the background and once, when a call
// comes from a client that has not listed them, or not since they changed.
func (s *Session) askTools(conn *upstream.Conn) {
	if !s.memory.known() || s.asking || s.catalog.listed && !s.catalog.stale {
		return
	}
	s.asking = true
	m := s.memory
	s.background.Go(func() {
		restore := &restoring{s: s, ctx: context.Background(), conn: conn}
		_ = restore.tools(m) // a server that dies meanwhile is asked again by the next call
		s.mu.Lock()
		s.asking = false
		s.mu.Unlock()
	})
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
		return fmt.Errorf("it refused to be initialised again: %s", redact.Quote(string(answer.Error)))
	}
	// A server must not be spoken to in another version than the client uses.
	if version, _ := wire.Field(answer.Result, "protocolVersion"); string(version) != m.version {
		return &fault.Fault{Code: fault.SessionChanged,
			Detail: fmt.Sprintf("it came back with protocol version %s, the session uses %s", redact.Quote(string(version)), m.version)}
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
			return fmt.Errorf("it refused server/discover: %s", redact.Quote(string(answer.Error)))
		}
	}
	return nil
}

// lists reads again every list the client has seen, and returns the methods
// of those that are not what it saw.
func (r *restoring) lists(m memory) (changed []string, err error) {
	r.s.mu.Lock()
	methods := slices.Sorted(maps.Keys(r.s.catalog.lists))
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
				clear(old.pages) // the client will ask again immediately, perhaps before we are ready
			}
		} else if fresh.lists[method] != nil {
			// What the client saw is replaced only by the same, or mixing
			// generations could give it half of each.
			r.s.catalog.lists[method] = fresh.lists[method]
		}
		r.s.mu.Unlock()
	}
	return changed, nil
}

// tools reads the tools as they are now: decisions follow them.
func (r *restoring) tools(m memory) error {
	_, err := r.list("tools/list", m)
	return err
}

// mostPages bounds a server that pages for ever.
const mostPages = 1000

// list reads one list to its end. Of tools, the catalogue takes what they
// declare, unless they changed meanwhile.
func (r *restoring) list(method string, m memory) (fresh catalog, err error) {
	fresh = newCatalog()
	r.s.mu.Lock()
	asked := r.s.sends
	r.s.mu.Unlock()
	cursor := ""
	for range mostPages {
		answer, err := r.s.request(r.ctx, r.conn, method, listParams(m, cursor))
		if err != nil {
			return fresh, err
		}
		if answer.Error != nil {
			break
		}
		if cursor = fresh.learn(method, cursor, answer.Result); cursor == "" {
			break
		}
	}
	if method == "tools/list" && fresh.lists[method] != nil {
		r.s.mu.Lock()
		r.s.catalog.tools, r.s.catalog.listed = fresh.tools, fresh.listed
		if r.s.catalog.changedAt <= asked {
			r.s.catalog.stale = false
		}
		r.s.mu.Unlock()
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

// updated tells the client of every subscribed resource, whose changes while
// the server was away are unknown.
func (s *Session) updated(m memory, uris []string) (lines [][]byte) {
	if !m.legacy {
		return s.hinted(nil)
	}
	for _, uri := range uris {
		lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":`+uri+`}}`))
	}
	return lines
}

// changed tells the client which lists are different now.
func (s *Session) changed(methods []string, m memory) (lines [][]byte) {
	notices := map[string]bool{}
	for _, method := range methods {
		s.Events.Emit(event.Event{Kind: event.ListChanged, Server: s.Name, Method: method})
		notices[kinds[method].changed] = true
	}
	if !m.legacy {
		return s.hinted(notices)
	}
	for _, notice := range slices.Sorted(maps.Keys(notices)) {
		lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"`+notice+`"}`))
	}
	return lines
}

// hinted are the hints for all open streams: of these notices, or, without
// any, of the resources.
func (s *Session) hinted(notices map[string]bool) (lines [][]byte) {
	for _, stream := range s.streams {
		lines = append(lines, stream.hints(func(notice string) bool { return notices[notice] }, notices == nil)...)
	}
	return lines
}

// hints tell the listener of a stream what may have changed while it was cut:
// the lists it asked about, and every resource it subscribed to.
func (c *call) hints(changed func(notice string) bool, resources bool) (lines [][]byte) {
	wanted, _ := wire.Field(c.msg.Params, "notifications")
	subscription := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.id) + `}`
	for notice, flag := range listenFlag {
		if asked, _ := wire.Field(wanted, flag); string(asked) == "true" && changed(notice) {
			lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"`+notice+`","params":{`+subscription+`}}`))
		}
	}
	if uris, _ := wire.Field(wanted, "resourceSubscriptions"); resources && uris != nil {
		wire.Elements(uris, func(uri []byte) {
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
