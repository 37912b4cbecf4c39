package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// wanted are the notifications that a stream of subscriptions/listen has.
type wanted struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// has reports whether the stream has a notification about a list.
func (w *wanted) has(notification string) bool {
	switch notification {
	case "notifications/tools/list_changed":
		return w.Tools
	case "notifications/prompts/list_changed":
		return w.Prompts
	}
	return notification == "notifications/resources/list_changed" && w.Resources
}

// listenTo begins a stream of the client, which is acknowledged immediately. Each server has one stream for all of
// the client's. The caller holds the lock.
func (e *modern) listenTo(m *wire.Message) {
	v := e.view
	if e.listeners[string(m.ID)] != nil {
		v.out.refuse(m.ID, codeInvalidRequest, "a request with this id is still unanswered")
		return
	}
	field, _ := wire.Field(m.Params, "notifications")
	w := &wanted{}
	if json.Unmarshal(field, w) != nil {
		v.out.refuse(m.ID, codeInvalidParams, "the notifications to listen to are missing or not valid")
		return
	}
	e.restrict(w)
	e.listeners[string(m.ID)] = w
	granted, _ := json.Marshal(w) // cannot fail: strings
	v.out.put(proxy.Told{About: m.ID, Line: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{%q:%s},"notifications":%s}}`,
		wire.MetaSubscription, m.ID, granted)})
	e.locate(w)
}

// locate lets the servers announce what a stream of the client has, once it is known which of them has its resources. The
// caller holds the lock.
func (e *modern) locate(w *wanted) {
	if len(w.URIs) > 0 {
		e.view.loadAll(announced["notifications/resources/list_changed"], answered, e.listenAll)
		return
	}
	e.listenAll()
}

// restrict leaves what the servers can do. The caller holds the lock.
func (e *modern) restrict(w *wanted) {
	can := capabilities(e.discovered(), false)
	resources, _ := can["resources"].(map[string]any)
	w.Tools = w.Tools && can["tools"] != nil
	w.Prompts = w.Prompts && can["prompts"] != nil
	w.Resources = w.Resources && resources != nil
	if resources["subscribe"] != true {
		w.URIs = nil
	}
}

// unlisten ends a stream of the client, and reports whether it was one. The caller holds the lock.
func (e *modern) unlisten(id []byte) bool {
	if e.listeners[string(id)] == nil {
		return false
	}
	delete(e.listeners, string(id))
	e.listenAll()
	return true
}

// listenAll lets every server announce what the client listens to. A server that has not been called yet is not started
// to hear about its lists: they are compared when it is. The caller holds the lock.
func (e *modern) listenAll() {
	v := e.view
	if v.initialize != nil || v.life.Err() != nil {
		return
	}
	of := map[*member]*wanted{}
	for _, id := range slices.Sorted(maps.Keys(e.listeners)) {
		w := e.listeners[id]
		for _, uri := range w.URIs {
			raw, _ := json.Marshal(map[string]string{"uri": uri}) // cannot fail: strings
			if to, p := v.byURI(raw); p == nil && to.member != nil && to.member.Closed == "" && !to.member.otherEra() {
				one := of[to.member]
				if one == nil {
					one = &wanted{}
					of[to.member] = one
				}
				if !slices.Contains(one.URIs, uri) {
					one.URIs = append(one.URIs, uri)
				}
			}
		}
	}
	for _, m := range v.members {
		one := of[m]
		if one == nil && m.stream.used && len(e.listeners) > 0 {
			one = &wanted{}
		}
		for _, w := range e.listeners {
			if one != nil {
				one.Tools, one.Prompts, one.Resources = one.Tools || w.Tools, one.Prompts || w.Prompts, one.Resources || w.Resources
			}
		}
		m.listen(one)
	}
}

// listen lets the server announce this, instead of what it was asked for before; nil: nothing. The caller holds the lock.
func (m *member) listen(to *wanted) {
	var filter []byte
	if to != nil {
		filter, _ = json.Marshal(to) // cannot fail: strings
	}
	if string(filter) == "{}" {
		filter = nil
	}
	if m.over || string(filter) == m.stream.filter {
		return
	}
	v, before := m.view, m.stream.call
	m.stream.call, m.stream.filter = nil, string(filter)
	if filter != nil { // before the other one ends, so that nothing is missed
		c := &call{member: m, sent: v.nextID()}
		c.done = func(*wire.Message) { m.unheard(c) }
		m.stream.call = c
		v.calls[string(c.sent)] = c
		m.send(requestLine(c.sent, "subscriptions/listen", fmt.Appendf(nil, `{"_meta":%s,"notifications":%s}`, v.modern.meta, filter)))
	}
	if before != nil {
		v.finish(before)
		m.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"_meta":%s}}`, before.sent, v.modern.meta))
	}
}

// unheard notes that the server has ended its stream: the next request begins another.
func (m *member) unheard(c *call) {
	m.view.mu.Lock()
	defer m.view.mu.Unlock()
	if m.stream.call == c {
		m.stream.call, m.stream.filter, m.stream.used = nil, "", false
	}
}

// stream is what a server announces to the view.
type stream struct {
	call   *call
	filter string      // the notifications, as they were asked for
	used   bool        // the client has called the server, which is running
	rest   *time.Timer // ends used; nil: nothing does
}

// use notes that a request is sent to the server. While it runs for that, it can announce changes of its lists; when
// nothing has used it for a while, that must not keep it running. The caller holds the lock.
func (m *member) use() {
	if !m.stream.used {
		m.stream.used = true
		m.view.modern.listenAll()
	}
	switch {
	case m.Idle <= 0 || len(m.view.modern.listeners) == 0:
	case m.stream.rest == nil:
		m.stream.rest = time.AfterFunc(m.Idle, m.unused)
	default:
		m.stream.rest.Reset(m.Idle)
	}
}

// unused ends the stream of a server that has no requests.
func (m *member) unused() {
	v := m.view
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.calls {
		if c.member == m && c != m.stream.call {
			m.stream.rest.Reset(m.Idle)
			return
		}
	}
	m.stream.used = false
	v.modern.listenAll()
}

// publish tells the client that a list has changed. The caller holds the lock.
func (e *modern) publish(notification string) {
	v := e.view
	if v.initialize != nil {
		v.out.put(proxy.Told{Line: []byte(`{"jsonrpc":"2.0","method":"` + notification + `"}`)})
		return
	}
	for id, w := range e.listeners {
		if w.has(notification) {
			v.out.put(proxy.Told{About: []byte(id), Line: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"_meta":{%q:%s}}}`, notification, wire.MetaSubscription, id)})
		}
	}
}

// heard handles a notification that came on a stream of a server, and reports whether it did. The caller holds the lock.
func (e *modern) heard(m *member, msg *wire.Message) bool {
	v := e.view
	meta, _ := wire.Field(msg.Params, "_meta")
	id, _ := wire.Field(meta, wire.MetaSubscription)
	if id == nil || announced[msg.Method] != nil {
		return false
	}
	if c := v.calls[string(id)]; c == nil || c != m.stream.call || msg.Method != "notifications/resources/updated" {
		return true // it is for no client
	}
	raw, _ := wire.Field(msg.Params, "uri")
	uri, _ := wire.Text(raw)
	for listener, w := range e.listeners {
		if slices.Contains(w.URIs, uri) {
			v.out.put(proxy.Told{About: []byte(listener), Line: wire.Replace(nil, msg.Raw, wire.Edit{Old: id, New: []byte(listener)})})
		}
	}
	return true
}
