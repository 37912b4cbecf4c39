package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// lists are the methods that list, and the member of their result.
var lists = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	"tasks/list": "tasks",
}

// announced are the lists whose changes servers announce, by the notification.
var announced = map[string][]string{
	"notifications/tools/list_changed":     {"tools/list"},
	"notifications/prompts/list_changed":   {"prompts/list"},
	"notifications/resources/list_changed": {"resources/list", "resources/templates/list"},
}

// list is what one server lists.
type list struct {
	raw     [][]byte          // as the server lists them
	items   [][]byte          // as the client gets them
	uris    []string          // of items, if they are resources
	byName  map[string][]byte // tools as the server lists them, by their names there
	names   map[string]string // the names that clients see, or URIs, and those of the server
	known   bool              // the server has answered at least once
	presume bool              // it has not, and items are those that it listed for a different client
	none    bool              // it has no such list
	loading bool
	version int     // of the server's announcements
	again   bool    // it is loaded once more because it changed while it was loaded
	failure []byte  // the error with which it was last answered; nil: none
	waiters waiters // for it to be loaded, or not
	fresh   freshness
	given   []byte // what the client got; nil: it never asked
}

// load asks the server for its list, for which w waits, unless there is none to wait for. The caller holds the lock.
func (m *member) load(method string, w *wait) {
	l := m.lists[method]
	if m.Closed != "" || m.over || m.otherEra() {
		return
	}
	l.waiters.add(w)
	if !l.loading {
		l.loading = true
		m.page(method, &pages{version: l.version, fresh: freshness{-1, true}})
	}
}

// recall takes a server that has never answered this client at what it last said to others of the same user. The caller
// holds the lock.
func (m *member) recall(method string) {
	l := m.lists[method]
	if method != "tools/list" || l.known || l.presume || m.Listed == nil || m.Closed != "" || m.otherEra() {
		return
	}
	var items [][]byte
	array, _ := wire.Field(m.Listed(), lists[method])
	_ = wire.Elements(array, func(item []byte) { items = append(items, bytes.Clone(item)) }) // without the member it listed nothing
	if l.presume = len(items) > 0; l.presume {
		m.keep(method, items)
	}
}

// pages is a list that is being loaded.
type pages struct {
	version int // of the list when it began
	count   int
	cursor  []byte // of the next page; nil: the first one
	items   [][]byte
	fresh   freshness
}

// page asks for the next page of the list. The caller holds the lock.
func (m *member) page(method string, p *pages) {
	m.ask(method, m.view.modern.listParams(p.cursor), func(r *wire.Message) {
		v := m.view
		v.mu.Lock()
		defer v.mu.Unlock()
		if m.gone {
			return
		}
		var next []byte
		if r.Error == nil {
			array, _ := wire.Field(r.Result, lists[method])
			_ = wire.Elements(array, func(item []byte) { p.items = append(p.items, bytes.Clone(item)) }) // without the member it lists nothing
			next, _ = wire.Field(r.Result, "nextCursor")
			p.fresh.add(r.Result)
		}
		p.count++
		if _, more := wire.Text(next); more && !bytes.Equal(next, p.cursor) && p.count < maxPages && len(p.items) < maxItems {
			p.cursor = bytes.Clone(next)
			m.page(method, p)
			return
		}
		m.loaded(method, p, r.Error)
	})
}

// What a list of one server may have.
const (
	maxPages = 1000
	maxItems = 100_000
)

// loaded keeps a list, or why there is none, and tells those who wait. The caller holds the lock.
func (m *member) loaded(method string, p *pages, failure []byte) {
	l := m.lists[method]
	l.loading, l.failure = false, failure
	switch {
	case failure == nil:
		m.keep(method, p.items)
		l.known, l.presume, l.none, l.fresh = true, false, false, p.fresh
	case isUnsupported(failure):
		m.keep(method, nil)
		l.known, l.presume, l.none = true, false, true
	}
	if l.again = l.version != p.version && !l.again; l.again { // once: a server may announce a change with every list
		l.loading = true
		m.page(method, &pages{version: l.version, fresh: freshness{-1, true}})
		return
	}
	l.waiters.served()
	if strings.HasPrefix(method, "resources/") {
		m.view.modern.listenAll() // it may be late
	}
	if notification := announcement(method); m.view.outdated(notification) {
		m.view.announce(method, false)
	}
}

var comma = []byte{','}

// isUnsupported reports whether an error says that the server has no such method.
func isUnsupported(failure []byte) bool {
	code, _ := wire.Field(failure, "code")
	return string(code) == "-32601"
}

// keep stores the items as the client gets them: with the names of the view, and only those that are part of it.
func (m *member) keep(method string, items [][]byte) {
	l := m.lists[method]
	l.raw, l.items, l.uris, l.names, l.byName = items, nil, nil, map[string]string{}, map[string][]byte{}
	for _, item := range items {
		switch method {
		case "tools/list", "prompts/list":
			raw, _ := wire.Field(item, "name")
			name, ok := wire.Text(raw)
			if !ok || method == "tools/list" && !m.admits(name) {
				continue
			}
			advertised := names.Advertised(m.Key, name)
			l.names[advertised], l.byName[name] = name, item
			shown, _ := json.Marshal(advertised) // cannot fail: a string
			item = wire.Replace(nil, item, wire.Edit{Old: raw, New: shown})
		case "resources/list":
			raw, _ := wire.Field(item, "uri")
			uri, _ := wire.Text(raw)
			l.names[uri] = uri
			l.uris = append(l.uris, uri)
		case "resources/templates/list":
			raw, _ := wire.Field(item, "uriTemplate")
			template, _ := wire.Text(raw)
			l.names[template] = template
		case "tasks/list":
			raw, _ := wire.Field(item, "taskId")
			if id, ok := wire.Text(raw); ok {
				m.view.owners.began(id, m)
			}
		}
		l.items = append(l.items, item)
	}
}

// answered and shown say whether a list need not be waited for long: to decide about calls, or only to be shown.
func answered(l *list) bool { return l.known }
func shown(l *list) bool    { return l.known || l.presume }

// collect answers a list with what all servers list, in their order, as soon as all have answered. A server that does
// not answer soon is taken at its last word; one that has never answered is waited for at most for ListWait. What
// comes later is announced. The caller holds the lock.
func (v *View) collect(m *wire.Message) {
	for _, member := range v.members {
		member.recall(m.Method)
	}
	v.once(m.ID, []string{m.Method}, shown, func() {
		result := v.merged(m.Method)
		if m.Method == "tools/list" && v.decideSearch() {
			result = searchTools
		}
		if v.initialize == nil {
			result = v.modern.fresh(m.Method).stamp(result)
		}
		v.out.answer(m.ID, result)
	})
}

// once calls then when these lists are known, as far as they can be, unless the request is cancelled before. It does not wait
// long if what is there is enough. The caller holds the lock.
func (v *View) once(request []byte, methods []string, enough func(*list) bool, then func()) {
	c := &call{id: request}
	v.asked[string(request)] = c
	c.wait = v.loadAll(methods, enough, func() {
		then() // first: while something follows, the client is not done
		v.finish(c)
	})
}

// loadAll asks all servers for these lists and calls then, once, when it is time to go on: all have answered, what is there is
// enough, or they were waited for. The caller holds the lock.
func (v *View) loadAll(methods []string, enough func(*list) bool, then func()) *wait {
	w := newWait(&v.mu, then)
	w.after(v.options.Merge, func() bool {
		for _, m := range v.members {
			for _, method := range methods {
				if l := m.lists[method]; w.due[&l.waiters] && !enough(l) {
					return false
				}
			}
		}
		return true
	})
	w.after(v.options.ListWait, always)
	for _, m := range v.members {
		for _, method := range methods {
			m.load(method, w)
		}
	}
	w.check()
	return w
}

// merged returns the result of a list. The caller holds the lock.
func (v *View) merged(method string) []byte {
	result := []byte(`{"` + lists[method] + `":[`)
	start := len(result)
	for i, m := range v.members {
		l := m.lists[method]
		l.given = v.shown(i, method)
		if len(l.given) > 0 && len(result) > start {
			result = append(result, ',')
		}
		result = append(result, l.given...)
	}
	return append(result, "]}"...)
}

// shown returns what the client gets of the list of the member at i: of resources that several servers have, the
// first one's. The caller holds the lock.
func (v *View) shown(i int, method string) []byte {
	l := v.members[i].lists[method]
	items := l.items
	if l.uris != nil {
		items = nil
		for j, uri := range l.uris {
			if v.lister(uri) == v.members[i] {
				items = append(items, l.items[j])
			}
		}
	}
	return append([]byte{}, bytes.Join(items, comma)...)
}

// lister returns the first server that lists a resource, or nil. The caller holds the lock.
func (v *View) lister(uri string) *member {
	for _, m := range v.members {
		if _, listed := m.lists["resources/list"].names[uri]; listed {
			return m
		}
	}
	return nil
}

// change is a list whose change is about to be announced.
type change struct {
	timer *time.Timer
	sure  bool // a server said so; else it is announced if it still differs from what the client got
}

// announce tells the client that a list has changed, once for all changes within a moment. The caller holds the lock.
func (v *View) announce(method string, sure bool) {
	notification := announcement(method)
	if notification == "" || v.life.Err() != nil {
		return
	}
	if c := v.changed[notification]; c != nil {
		c.sure = c.sure || sure
		return
	}
	c := &change{sure: sure}
	v.changed[notification] = c
	c.timer = time.AfterFunc(v.options.Merge, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.changed, notification)
		if v.life.Err() == nil && (c.sure || v.outdated(notification)) {
			v.modern.publish(notification)
		}
	})
}

// announcement returns the notification about a list; empty: there is none.
func announcement(method string) string {
	for notification, methods := range announced {
		if slices.Contains(methods, method) {
			return notification
		}
	}
	return ""
}

// outdated reports whether the client got other lists than there are now. The caller holds the lock.
func (v *View) outdated(notification string) bool {
	for i, m := range v.members {
		for _, method := range announced[notification] {
			if given := m.lists[method].given; given != nil && !bytes.Equal(given, v.shown(i, method)) {
				return true
			}
		}
	}
	return false
}
