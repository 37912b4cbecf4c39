package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Prepare restores the client's session on a new process, before any message of the client reaches
// it. The lists are compared only when it is up, except for the tools if a call is to be repeated:
// its tool must be the same. At a URL, a different version may have been deployed, so that the tools
// are also listed before the first call; but for a list that takes long, calls do not wait.
func (v *server) Prepare(ctx context.Context, conn *upstream.Conn) error {
	v.s.mu.Lock()
	m, begun := v.s.memory, v.s.likeness.begun()
	listed := len(v.s.catalog.tools) > 0
	depends := slices.ContainsFunc(v.s.table.queue, func(c *Call) bool { return c.shape != 0 && c.repeated() })
	v.s.mu.Unlock()
	for _, stage := range v.s.config.Stages {
		if l, ok := stage.(Listener); ok {
			l.Prepare(conn)
		}
	}
	if !m.known() {
		return nil // the client has not started a session yet
	}
	began := time.Now()
	restore := &restoring{s: v.s, ctx: ctx, conn: conn}
	handshake := restore.modern
	if m.legacy {
		handshake = restore.legacy
	}
	err := handshake(m)
	switch {
	case err != nil:
	case conn.Remote() && listed:
		err = restore.toolsSoon(m)
	case depends || v.s.config.Sure && listed:
		err = restore.tools(m)
	}
	if err != nil {
		return err
	}
	healed := false
	v.s.update(func() {
		v.s.restorer.news = v.s.restorer.updated(m)
		healed = begun && !v.s.restarting.restarted && !v.s.sleep.woken
	})
	if healed {
		v.s.emit(nil, event.Event{Kind: event.Restored, Generation: conn.Generation, PID: conn.PID(), Took: time.Since(began)})
	}
	return nil
}

// restorer makes a new connection what the last one was.
type restorer struct {
	s                 *Session
	news              [][]byte // notifications for the client after a restore
	greetedGeneration int
}

// compare lists again, in the background, everything the client has listed, and tells the client
// what changed when the server restarted.
func (r *restorer) compare(conn *upstream.Conn) {
	r.s.mu.Lock()
	m := r.s.memory
	r.s.mu.Unlock()
	restore := &restoring{s: r.s, ctx: context.Background(), conn: conn}
	changed, err := restore.lists(m)
	if err != nil {
		r.s.update(func() { r.s.listing.asking = false })
		return // the connection has ended, and the next one is compared
	}
	r.s.update(func() {
		for _, line := range r.changed(changed, m) {
			r.s.later(func() { r.s.out.send(Told{Line: line, About: noticeAbout(line)}) })
		}
	})
}

// maxRelists bounds how often tools that change while they are listed are listed again: a server may
// announce a change whenever it is asked.
const maxRelists = 3

// askTools lists the tools in the background if they changed since they were last listed, and for a
// client that calls a tool without having listed them.
func (r *restorer) askTools(conn *upstream.Conn) {
	if r.s.memory.known() && !r.knowsTools() {
		r.askToolsAs(conn, r.s.memory)
	}
}

// knowsTools reports whether the tools are listed as they are, or are being listed.
func (r *restorer) knowsTools() bool {
	return r.s.listing.asking || r.s.catalog.listed && r.s.catalog.licenses()
}

// askToolsAs is askTools in the session that m describes.
func (r *restorer) askToolsAs(conn *upstream.Conn, m memory) {
	if r.knowsTools() {
		return
	}
	r.s.listing.asking, r.s.listing.failure = true, nil
	r.s.work.background.Go(func() {
		restore := &restoring{s: r.s, ctx: context.Background(), conn: conn}
		for again, more := 0, true; more; again++ {
			err := restore.tools(m) // if the server dies meanwhile, the next call asks again
			r.s.update(func() {
				more = err == nil && r.s.catalog.stale && again < maxRelists
				if r.s.listing.asking = more; more || errors.Is(err, errEnded) {
					return
				}
				switch {
				case !r.s.catalog.listed:
					r.s.listing.failure = cmp.Or(err, restore.rejection, errUnlisted)
				case r.s.catalog.stale:
					r.s.listing.failure = cmp.Or(err, restore.rejection, errChanging)
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
	answer, err := r.s.restorer.request(r.ctx, r.conn, "initialize", m.initialize)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("the server rejected initialize after its restart: %s", r.s.config.Words.Quote(string(answer.Error)))
	}
	r.conn.Greeted()
	// The client cannot be told to use a different protocol version now.
	if version, _ := wire.Field(answer.Result, "protocolVersion"); string(version) != m.version {
		return &fault.Fault{Code: fault.SessionChanged,
			Detail: fmt.Sprintf("the server now uses protocol version %s; the session uses %s", r.s.config.Words.Quote(string(version)), m.version)}
	}
	if err := r.s.likeness.confirm(answer.Result); err != nil {
		return err
	}
	r.s.update(func() { r.s.restorer.greet(r.conn) })
	// The rest is sent without waiting for each answer, and the session survives a rejection.
	var asked []*Call
	if m.level != nil {
		asked = append(asked, r.s.restorer.ask(r.conn, "logging/setLevel", m.level))
	}
	for _, uri := range m.order {
		if len(asked) >= maxAsked {
			if asked, err = r.awaitAll(asked); err != nil {
				return err
			}
		}
		asked = append(asked, r.s.restorer.ask(r.conn, "resources/subscribe", m.subscriptions[uri]))
	}
	_, err = r.awaitAll(asked)
	return err
}

// maxAsked bounds the requests in flight of a restore: a session may have more subscriptions than
// may be queued for a server that does not read.
const maxAsked = 256

// awaitAll waits for all these answers.
func (r *restoring) awaitAll(asked []*Call) (none []*Call, err error) {
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
		answer, err := r.s.restorer.request(r.ctx, r.conn, "server/discover", params)
		if err != nil {
			return err
		}
		if answer.Error != nil {
			return fmt.Errorf("the server rejected server/discover after its restart: %s", r.s.config.Words.Quote(string(answer.Error)))
		}
		r.conn.Greeted()
		return r.s.likeness.confirm(answer.Result)
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
				r.s.listing.asking = false
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
var errEnded = errors.New("the connection was closed")

// listSoon is how long calls wait for the list of the tools of a server that was reached again.
const listSoon = 2 * time.Second

// maxPages bounds a server that never ends a list.
const maxPages = 1000

// list reads all pages of one list. Tools go into the catalogue, and are valid unless they changed
// meanwhile.
func (r *restoring) list(method string, m memory) (fresh catalog, err error) {
	r.s.mu.Lock()
	fresh = r.s.catalog.fresh()
	asked := r.s.order.sends
	r.s.mu.Unlock()
	cursor := ""
	for range maxPages {
		answer, err := r.s.restorer.request(r.ctx, r.conn, method, listParams(m, cursor))
		if err != nil {
			return fresh, err
		}
		if answer.Error != nil {
			r.rejection = fmt.Errorf("the server rejected %s: %s", method, r.s.config.Words.Quote(string(answer.Error)))
			break
		}
		if cursor = fresh.learn(method, cursor, answer.Result); cursor == "" {
			break
		}
	}
	if method == "tools/list" && fresh.lists[method] != nil {
		r.s.update(func() {
			if r.s.link.conn != nil && r.s.link.conn != r.conn {
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
func (r *restorer) updated(m memory) (lines [][]byte) {
	if !m.legacy {
		return r.hinted(nil)
	}
	for _, uri := range m.order {
		lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":`+uri+`}}`))
	}
	return lines
}

// changed returns the notifications for the lists that are different now.
func (r *restorer) changed(methods []string, m memory) (lines [][]byte) {
	notices := map[string]bool{}
	for _, method := range methods {
		r.s.emit(nil, event.Event{Kind: event.ListChanged, Method: method})
		notices[kinds[method].changed] = true
	}
	if !m.legacy {
		return r.hinted(notices)
	}
	for _, notice := range slices.Sorted(maps.Keys(notices)) {
		lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"`+notice+`"}`))
	}
	return lines
}

// hinted returns the hints for all open streams: of these notices, or, without any, of the resources.
func (r *restorer) hinted(notices map[string]bool) (lines [][]byte) {
	for c := range r.s.table.calls.all() {
		if c.open() {
			lines = append(lines, c.hints(func(notice string) bool { return notices[notice] }, notices == nil)...)
		}
	}
	return lines
}

// hints returns notifications for the listener of a stream about what may have changed while it was
// cut: the lists it asked about, and every resource it subscribed to.
func (c *Call) hints(changed func(notice string) bool, resources bool) (lines [][]byte) {
	wanted, _ := wire.Field(c.msg.Params, "notifications")
	subscription := `"_meta":{"` + wire.MetaSubscription + `":` + string(c.id) + `}`
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
func (r *restorer) ownCall(method string, params []byte) *Call {
	raw := []byte(`{"jsonrpc":"2.0","id":0,"method":"` + method + `"`)
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	msg, _, _ := wire.Scan(append(raw, '}'))
	return &Call{id: msg.ID, msg: msg, class: classOf(method), own: make(chan wire.Message, 1), arrived: time.Now()}
}

// ask sends a request of our own. It does not flush.
func (r *restorer) ask(conn *upstream.Conn, method string, params []byte) *Call {
	c := r.ownCall(method, params)
	r.s.update(func() {
		if conn.InputEnded() {
			c.conn = conn
			r.s.fail(c, nil)
			return
		}
		r.s.transmit(c, conn)
	})
	return c
}

// request sends a request of our own and waits for the answer.
func (r *restorer) request(ctx context.Context, conn *upstream.Conn, method string, params []byte) (wire.Message, error) {
	c := r.ask(conn, method, params)
	conn.Flush()
	return c.await(ctx)
}

// await returns the answer to a request of our own. If the request is lost, the channel is closed.
func (c *Call) await(ctx context.Context) (wire.Message, error) {
	select {
	case answer, ok := <-c.own:
		switch {
		case ok:
			return answer, nil
		case c.past.loss != nil && c.past.loss.OfLogin():
			return answer, &upstream.LoginRequired{Loss: *c.past.loss}
		case c.past.loss != nil && c.past.loss.Final:
			return answer, &fault.Fault{Code: c.past.loss.Code, Detail: c.past.loss.Detail}
		case c.past.loss != nil && c.past.loss.Session:
			return answer, fmt.Errorf("%w before %s was answered: %s", errEnded, c.msg.Method, c.past.loss.Detail)
		case c.past.loss != nil:
			return answer, fmt.Errorf("the server did not answer %s: %s", c.msg.Method, c.past.loss.Detail)
		}
		return answer, fmt.Errorf("%w before %s was answered", errEnded, c.msg.Method)
	case <-c.conn.Done():
		return wire.Message{}, fmt.Errorf("%w before %s was answered", errEnded, c.msg.Method)
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
}
