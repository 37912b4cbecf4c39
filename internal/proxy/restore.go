package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Prepare restores the client's session on a new process, before any message of the client reaches
// it. The lists are compared only when it is up, except for the tools if a call is to be repeated:
// its tool must be the same. At a URL, a different version may have been deployed, so that the tools
// are also listed before the first call; but for a list that takes long, calls do not wait.
func (s *Session) Prepare(ctx context.Context, conn *upstream.Conn) error {
	s.mu.Lock()
	m, begun := s.memory, s.begun()
	s.logins = conn.Logins()
	listed := len(s.catalog.tools) > 0
	depends := slices.ContainsFunc(s.queue, func(c *call) bool { return c.shape != 0 && c.repeated() })
	s.mu.Unlock()
	if !m.known() {
		return nil // the client has not started a session yet
	}
	began := time.Now()
	restore := &restoring{s: s, ctx: ctx, conn: conn}
	handshake := restore.modern
	if m.legacy {
		handshake = restore.legacy
	}
	err := handshake(m)
	switch {
	case err != nil:
	case conn.Remote() && listed:
		err = restore.toolsSoon(m)
	case depends:
		err = restore.tools(m)
	}
	if err != nil {
		return err
	}
	healed := false
	s.update(func() {
		s.news = s.updated(m)
		if healed = begun && !s.restarted; healed {
			s.tally.healed++
		}
	})
	if healed {
		s.emit(nil, event.Event{Kind: event.Restored, Generation: conn.Generation, PID: conn.PID(), Took: time.Since(began)})
	}
	return nil
}

// compare lists again, in the background, everything the client has listed, and tells the client
// what changed when the server restarted.
func (s *Session) compare(conn *upstream.Conn) {
	s.mu.Lock()
	m := s.memory
	s.mu.Unlock()
	restore := &restoring{s: s, ctx: context.Background(), conn: conn}
	changed, err := restore.lists(m)
	if err != nil {
		s.update(func() { s.asking = false })
		return // the connection has ended, and the next one is compared
	}
	s.update(func() {
		for _, line := range s.changed(changed, m) {
			s.later(func() { s.out.send(Told{Line: line, About: noticeAbout(line)}) })
		}
	})
}

// maxRelists bounds how often tools that change while they are listed are listed again: a server may
// announce a change whenever it is asked.
const maxRelists = 3

// askTools lists the tools in the background if they changed since they were last listed, and for a
// client that calls a tool without having listed them.
func (s *Session) askTools(conn *upstream.Conn) {
	if s.memory.known() {
		s.askToolsAs(conn, s.memory)
	}
}

// askToolsAs is askTools in the session that m describes.
func (s *Session) askToolsAs(conn *upstream.Conn, m memory) {
	if s.asking || s.catalog.listed && s.catalog.licenses() {
		return
	}
	s.asking, s.listing.failure = true, nil
	s.background.Go(func() {
		restore := &restoring{s: s, ctx: context.Background(), conn: conn}
		for again, more := 0, true; more; again++ {
			err := restore.tools(m) // if the server dies meanwhile, the next call asks again
			s.update(func() {
				more = err == nil && s.catalog.stale && again < maxRelists
				if s.asking = more; more || errors.Is(err, errEnded) {
					return
				}
				switch {
				case !s.catalog.listed:
					s.listing.failure = cmp.Or(err, restore.rejection, errUnlisted)
				case s.catalog.stale:
					s.listing.failure = cmp.Or(err, restore.rejection, errChanging)
				}
			})
		}
	})
}

// restoring is a restore in progress.
type restoring struct {
	s    *Session
	ctx  context.Context
	conn *upstream.Conn

	rejection error // how the server rejected to list something; nil: it did not
}

func (r *restoring) legacy(m memory) error {
	answer, err := r.s.request(r.ctx, r.conn, "initialize", m.initialize)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("the server rejected initialize after its restart: %s", redact.Quote(string(answer.Error)))
	}
	// The client cannot be told to use a different protocol version now.
	if version, _ := wire.Field(answer.Result, "protocolVersion"); string(version) != m.version {
		return &fault.Fault{Code: fault.SessionChanged,
			Detail: fmt.Sprintf("the server now uses protocol version %s; the session uses %s", redact.Quote(string(version)), m.version)}
	}
	if err := r.s.confirm(answer.Result); err != nil {
		return err
	}
	r.s.update(func() { r.s.greet(r.conn) })
	// The rest is sent without waiting for each answer, and the session survives a rejection.
	var asked []*call
	if m.level != nil {
		asked = append(asked, r.s.ask(r.conn, "logging/setLevel", m.level))
	}
	for _, uri := range m.order {
		if len(asked) >= maxAsked {
			if asked, err = r.awaitAll(asked); err != nil {
				return err
			}
		}
		asked = append(asked, r.s.ask(r.conn, "resources/subscribe", m.subscriptions[uri]))
	}
	_, err = r.awaitAll(asked)
	return err
}

// maxAsked bounds the requests in flight of a restore: a session may have more subscriptions than
// may be queued for a server that does not read.
const maxAsked = 256

// awaitAll waits for all these answers.
func (r *restoring) awaitAll(asked []*call) (none []*call, err error) {
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
			return fmt.Errorf("the server rejected server/discover after its restart: %s", redact.Quote(string(answer.Error)))
		}
		return r.s.confirm(answer.Result)
	}
	return nil
}

// lists lists again everything the client has listed, and returns the methods whose result is
// different now.
func (r *restoring) lists(m memory) (changed []string, err error) {
	r.s.mu.Lock()
	methods := slices.Sorted(maps.Keys(r.s.catalog.lists))
	slices.Reverse(methods) // tools first: until they are listed, nothing is repeated
	r.s.mu.Unlock()
	for _, method := range methods {
		fresh, err := r.list(method, m)
		if err != nil {
			return nil, err
		}
		r.s.update(func() {
			if method == "tools/list" {
				r.s.asking = false
			}
			if old := r.s.catalog.lists[method]; old == nil || old.differs(fresh.lists[method]) {
				changed = append(changed, method)
				if old != nil {
					clear(old.pages) // the client will list again immediately, perhaps before we are ready
				}
			} else if fresh.lists[method] != nil {
				// What the client saw is replaced only by the same, or the client could get pages
				// of two generations.
				r.s.catalog.lists[method] = fresh.lists[method]
			}
		})
	}
	return changed, nil
}

// tools updates the catalogue's tools, on which decisions depend.
func (r *restoring) tools(m memory) error {
	_, err := r.list("tools/list", m)
	return err
}

// toolsSoon is tools if the server lists them soon. If it does not, nothing is licensed; only the end
// of the session is an error.
func (r *restoring) toolsSoon(m memory) error {
	ctx, cancel := context.WithTimeout(r.ctx, listSoon)
	defer cancel()
	if err := (&restoring{s: r.s, ctx: ctx, conn: r.conn}).tools(m); errors.Is(err, errEnded) {
		return err
	}
	return r.ctx.Err()
}

// What a server did that answered tools/list.
var (
	errUnlisted = errors.New("the server did not list all its tools")
	errChanging = errors.New("the server's tools changed each time they were listed")
)

// errEnded says that the session ended before a request of our own was answered.
var errEnded = errors.New("the connection ended")

// listSoon is how long calls wait for the list of the tools of a server that was reached again.
const listSoon = 2 * time.Second

// maxPages bounds a server that never ends a list.
const maxPages = 1000

// list reads all pages of one list. Tools go into the catalogue, and are valid unless they changed
// meanwhile.
func (r *restoring) list(method string, m memory) (fresh catalog, err error) {
	fresh = newCatalog()
	r.s.mu.Lock()
	asked := r.s.sends
	r.s.mu.Unlock()
	cursor := ""
	for range maxPages {
		answer, err := r.s.request(r.ctx, r.conn, method, listParams(m, cursor))
		if err != nil {
			return fresh, err
		}
		if answer.Error != nil {
			r.rejection = fmt.Errorf("the server rejected %s: %s", method, redact.Quote(string(answer.Error)))
			break
		}
		if cursor = fresh.learn(method, cursor, answer.Result); cursor == "" {
			break
		}
	}
	if method == "tools/list" && fresh.lists[method] != nil {
		r.s.update(func() {
			if r.s.conn != nil && r.s.conn != r.conn {
				return // that server is gone
			}
			known := &r.s.catalog
			known.listedOn = r.conn.Generation
			known.tools, known.listed, known.remembered = fresh.tools, fresh.listed, false
			known.stale = known.stale && known.changedAt > asked
		})
	}
	return fresh, nil
}

func listParams(m memory, cursor string) []byte {
	var members []string
	if cursor != "" {
		members = append(members, `"cursor":`+cursor)
	}
	if m.modern && m.meta != nil {
		members = append(members, `"_meta":`+string(m.meta))
	}
	return []byte("{" + strings.Join(members, ",") + "}")
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

// updated returns a notification for every subscribed resource: whether it changed while the server
// was down is unknown.
func (s *Session) updated(m memory) (lines [][]byte) {
	if !m.legacy {
		return s.hinted(nil)
	}
	for _, uri := range m.order {
		lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":`+uri+`}}`))
	}
	return lines
}

// changed returns the notifications for the lists that are different now.
func (s *Session) changed(methods []string, m memory) (lines [][]byte) {
	notices := map[string]bool{}
	for _, method := range methods {
		s.emit(nil, event.Event{Kind: event.ListChanged, Method: method})
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

// hinted returns the hints for all open streams: of these notices, or, without any, of the resources.
func (s *Session) hinted(notices map[string]bool) (lines [][]byte) {
	for _, c := range s.calls {
		if c.open() {
			lines = append(lines, c.hints(func(notice string) bool { return notices[notice] }, notices == nil)...)
		}
	}
	return lines
}

// hints returns notifications for the listener of a stream about what may have changed while it was
// cut: the lists it asked about, and every resource it subscribed to.
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

// ownCall returns a request of our own.
func (s *Session) ownCall(method string, params []byte) *call {
	raw := []byte(`{"jsonrpc":"2.0","id":0,"method":"` + method + `"`)
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	msg, _, _ := wire.Scan(append(raw, '}'))
	return &call{id: msg.ID, msg: msg, class: classOf(method), own: make(chan wire.Message, 1), arrived: time.Now()}
}

// ask sends a request of our own. It does not flush.
func (s *Session) ask(conn *upstream.Conn, method string, params []byte) *call {
	c := s.ownCall(method, params)
	s.update(func() {
		if conn.InputEnded() {
			c.conn = conn
			s.fail(c, nil)
			return
		}
		s.transmit(c, conn)
	})
	return c
}

// request sends a request of our own and waits for the answer.
func (s *Session) request(ctx context.Context, conn *upstream.Conn, method string, params []byte) (wire.Message, error) {
	c := s.ask(conn, method, params)
	conn.Flush()
	return c.await(ctx)
}

// await returns the answer to a request of our own. If the request is lost, the channel is closed.
func (c *call) await(ctx context.Context) (wire.Message, error) {
	select {
	case answer, ok := <-c.own:
		switch {
		case ok:
			return answer, nil
		case c.loss != nil && c.loss.OfLogin():
			return answer, &upstream.LoginRequired{Loss: *c.loss}
		case c.loss != nil && c.loss.Final:
			return answer, &fault.Fault{Code: c.loss.Code, Detail: c.loss.Detail}
		case c.loss != nil && c.loss.Session:
			return answer, fmt.Errorf("%w before %s was answered: %s", errEnded, c.msg.Method, c.loss.Detail)
		case c.loss != nil:
			return answer, fmt.Errorf("the server did not answer %s: %s", c.msg.Method, c.loss.Detail)
		}
		return answer, fmt.Errorf("%w before %s was answered", errEnded, c.msg.Method)
	case <-c.conn.Done():
		return wire.Message{}, fmt.Errorf("%w before %s was answered", errEnded, c.msg.Method)
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
}
