package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// A view has one era. A client that sends initialize uses the versions with sessions. Until it does, and if all servers
// have the versions without sessions, it may use those: then every server is asked server/discover before anything else.
// A server that has not answered for ListWait counts as one with sessions. What a client has begun stays: servers of
// the other era that are added later are not listed. Each server/discover is decided again, because over HTTP it may come
// from a new client.

const discover = "server/discover"

// modern is the part of a view that is about requests without a session. The view's lock guards it.
type modern struct {
	view      *View
	meta      []byte             // of the first such request, and of ours
	agreed    bool               // the client uses a version without sessions
	listeners map[string]*wanted // its streams of notifications, by the client's raw id
}

// introduced is what a server says about the versions without sessions. The view's lock guards it.
type introduced struct {
	result  []byte  // of server/discover; nil: none yet
	refused bool    // the server has only the versions with sessions
	waiters waiters // for it to answer, or not
}

// request handles a request of a client that has not sent initialize. The caller holds the lock.
func (e *modern) request(m *wire.Message) {
	v := e.view
	meta, _ := wire.Field(m.Params, "_meta")
	var client [2][]byte
	_ = wire.Fields(meta, client[:], wire.MetaVersion, wire.MetaCapabilities) // ambiguous ones have neither
	version, named := wire.Text(client[0])
	switch {
	case !named && m.Method == discover:
		v.out.refuse(m.ID, codeUnknownMethod, "server/discover is not supported: send initialize")
	case !named:
		v.out.refuse(m.ID, codeInvalidRequest, "no session: send initialize first")
	case client[1] == nil:
		v.out.refuse(m.ID, codeInvalidParams, "_meta must contain "+strconv.Quote(wire.MetaCapabilities))
	case e.agreed && m.Method != discover:
		e.handle(m, version)
	default:
		e.agree(m, meta, client[0], version)
	}
}

// agree decides whether the client can use the versions without sessions, and handles its request. The caller holds the lock.
func (e *modern) agree(m *wire.Message, meta, rawVersion []byte, version string) {
	v := e.view
	if e.meta == nil {
		e.meta = wire.Replace(nil, meta, wire.Edit{Old: rawVersion, New: []byte(`"` + wire.FirstModern + `"`)})
		if token, _ := wire.Field(e.meta, "progressToken"); token != nil {
			e.meta = wire.Without(e.meta, token)
		}
	}
	c := &call{id: m.ID}
	v.asked[string(m.ID)] = c
	c.wait = e.meet(func() {
		defer v.finish(c) // last: while something follows, the client is not done
		switch all := e.isModern(); {
		case !all && m.Method == discover:
			v.out.refuse(m.ID, codeUnknownMethod, "server/discover is not supported, because not all servers have "+wire.FirstModern+": send initialize")
		case !all && !e.agreed:
			e.unsupported(m, version, wire.LegacyVersions)
		default:
			e.begun()
			e.handle(m, version)
		}
	})
}

// begun notes that the view is used without a session. The caller holds the lock.
func (e *modern) begun() {
	v := e.view
	e.agreed = true
	info, _ := json.Marshal(v.serverInfo()) // cannot fail: strings
	v.out.stamp = fmt.Appendf(nil, `"resultType":"complete","_meta":{%q:%s}`, wire.MetaServer, info)
}

// meet asks every server for server/discover, and calls then when all have answered, when one has refused, or after
// ListWait. The caller holds the lock.
func (e *modern) meet(then func()) *wait {
	v := e.view
	w := newWait(&v.mu, then)
	w.after(v.options.ListWait, always)
	for _, m := range v.members {
		m.meet(w)
	}
	if slices.ContainsFunc(v.members, func(m *member) bool { return m.intro.refused }) {
		w.finish()
	}
	w.check()
	return w
}

// meet asks the server for server/discover, for which w waits, unless it has answered. The caller holds the lock.
func (m *member) meet(w *wait) {
	if m.Closed == "" && !m.over && m.intro.result == nil && !m.intro.refused {
		m.intro.waiters.add(w)
		m.open()
	}
}

// discovered handles the response to server/discover.
func (m *member) discovered(r *wire.Message) {
	v := m.view
	v.mu.Lock()
	if v.initialize != nil { // the client did not wait, and uses the versions with sessions
		m.asking = false
		m.introduce()
		v.mu.Unlock()
		return
	}
	if r.Error == nil {
		m.intro.result, m.asking, m.ready = bytes.Clone(r.Result), false, true
		m.wake.Broadcast()
	}
	m.intro.refused = r.Error != nil && isUnsupported(r.Error)
	if m.intro.refused { // one is enough
		for _, w := range slices.Clone(m.intro.waiters) {
			w.finish()
		}
	}
	m.intro.waiters.served()
	v.mu.Unlock()
	if r.Error != nil {
		m.introduced(r)
	}
}

// otherEra reports whether the client uses a version that the server does not have. The caller holds the lock.
func (m *member) otherEra() bool { return m.intro.refused && m.view.initialize == nil }

// isModern reports whether all servers have the version without sessions. The caller holds the lock.
func (e *modern) isModern() bool {
	v := e.view
	for _, m := range v.members {
		if m.Closed == "" && m.intro.result == nil {
			return false
		}
	}
	return slices.Contains(e.versions(), wire.FirstModern)
}

// unsupported answers a request of another version of the protocol.
func (e *modern) unsupported(m *wire.Message, version string, supported []string) {
	v := e.view
	type data struct {
		Requested string   `json:"requested"`
		Supported []string `json:"supported"`
	}
	problem, _ := json.Marshal(struct { // cannot fail: strings
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    data   `json:"data"`
	}{codeNoVersion, "unsupported protocol version " + strconv.Quote(version), data{version, supported}})
	v.out.fail(m.ID, problem)
}

// handle handles a request without a session. The caller holds the lock.
func (e *modern) handle(m *wire.Message, version string) {
	v := e.view
	versions := e.versions()
	switch {
	case version != wire.FirstModern || !slices.Contains(versions, version):
		e.unsupported(m, version, versions)
	case m.Method == discover:
		v.out.answer(m.ID, e.discovery())
	case m.Method == "subscriptions/listen":
		e.listenTo(m)
	case strings.HasPrefix(m.Method, "tasks/") && !e.hasTasks(m.Method):
		v.out.refuse(m.ID, codeUnknownMethod, strconv.Quote(m.Method)+" is not supported")
	case lists[m.Method] != "":
		v.collect(m)
	case v.searching && m.Method == "tools/call":
		v.searched(m)
	default:
		v.forward(m)
	}
}

// hasTasks reports whether a server may have a method of the tasks extension. The caller holds the lock.
func (e *modern) hasTasks(method string) bool {
	extensions, _ := capabilities(e.discovered(), false)["extensions"].(map[string]any)
	return extensions["io.modelcontextprotocol/tasks"] != nil && method != "tasks/list" && method != "tasks/result"
}

// withSessions prepares the servers for a client that sends initialize after server/discover: those that have answered
// get a new session, which begins with initialize. The caller holds the lock.
func (e *modern) withSessions() {
	v := e.view
	e.agreed, v.out.stamp = false, nil
	clear(e.listeners)
	var old []*member
	for i, m := range v.members {
		if m.intro.result != nil {
			v.members[i] = newMember(v, m.Member)
			old = append(old, m)
		}
	}
	retire(old)
}

// listParams returns the params of a request of ours for a list.
func (e *modern) listParams(cursor []byte) []byte {
	v := e.view
	params := []byte{'{'}
	if v.initialize == nil {
		params = append(append(params, `"_meta":`...), e.meta...)
	}
	if cursor != nil {
		if len(params) > 1 {
			params = append(params, ',')
		}
		params = append(append(params, `"cursor":`...), cursor...)
	}
	return append(params, '}')
}

// freshness is how long a result may be kept, and by whom.
type freshness struct {
	ttl    int // milliseconds; negative: nothing has said so yet
	public bool
}

// add makes it no longer, and for no others, than a result of a server allows.
func (f *freshness) add(result []byte) {
	var values [2][]byte
	_ = wire.Fields(result, values[:], "ttlMs", "cacheScope") // ambiguous ones have neither
	ttl, _ := strconv.Atoi(string(values[0]))
	scope, _ := wire.Text(values[1])
	f.join(freshness{max(ttl, 0), scope == "public"})
}

func (f *freshness) join(other freshness) {
	if f.ttl < 0 || other.ttl < f.ttl {
		f.ttl = other.ttl
	}
	f.public = f.public && other.public
}

// stamp returns a result, a JSON object with members, that says how long it may be kept.
func (f freshness) stamp(result []byte) []byte {
	scope := "private"
	if f.public && f.ttl >= 0 {
		scope = "public"
	}
	return fmt.Appendf(slices.Clip(bytes.TrimSuffix(result, []byte("}"))), `,"ttlMs":%d,"cacheScope":%q}`, max(f.ttl, 0), scope)
}

// fresh returns how long the lists of all servers may be kept. While one has not answered, not at all. The caller holds the lock.
func (e *modern) fresh(method string) freshness {
	v := e.view
	sum := freshness{ttl: -1, public: !v.options.Private}
	for _, m := range v.members {
		switch l := m.lists[method]; {
		case m.Closed != "" || m.otherEra() || l.known && l.none:
		case !l.known:
			sum.join(freshness{})
		default:
			sum.join(l.fresh)
		}
	}
	return sum
}

// Mirrors returns the arguments of a tool that HTTP repeats in headers, in versions without sessions.
func (v *View) Mirrors(tool string) (mirrors []wire.Mirror, known bool) {
	v.mu.Lock()
	owner, original := v.named(tool, "tools/list")
	var server Server
	if owner != nil {
		server = owner.server
	}
	v.mu.Unlock()
	if s, ok := server.(interface {
		Mirrors(tool string) ([]wire.Mirror, bool)
	}); ok {
		return s.Mirrors(original)
	}
	return nil, false
}
