package view

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Change replaces the servers of the view. Those that stay the same keep their sessions. The others get no new
// requests, and end when the last call of the client is answered; the client's session goes on.
func (v *View) Change(members []Member, list string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.life.Err() != nil {
		return
	}
	if v.options.List != list {
		v.options.List, v.decided, v.searching = list, false, list == ListSearch
		v.announce("tools/list", true)
	}
	old, same := slices.Clone(v.members), true
	v.members = nil
	for _, o := range members {
		i := slices.IndexFunc(old, func(m *member) bool { return m.Key == o.Key && m.Version == o.Version && m.Closed == o.Closed })
		if i < 0 {
			same = false
			v.members = append(v.members, newMember(v, o))
			continue
		}
		same = same && i == 0
		v.members = append(v.members, old[i])
		if old[i].Filter != o.Filter {
			same = false
			old[i].filter(o)
		}
		old = slices.Delete(old, i, i+1)
	}
	if same && len(old) == 0 {
		return
	}
	v.decided = false
	retire(old)
	for _, w := range v.modern.listeners {
		v.modern.locate(w)
	}
	for notification := range announced {
		v.announce(announced[notification][0], true)
	}
}

// filter makes other tools part of the view. The caller holds the lock.
func (m *member) filter(o Member) {
	m.Admits, m.Filter = o.Admits, o.Filter
	if l := m.lists["tools/list"]; l.known || l.presume {
		m.keep("tools/list", l.raw)
	}
}

// retire ends the part of servers in the view, whose members are the new ones already. Those with the same keys take their
// places: they get the subscriptions, what waits for lists, and what is asked of resources that results have named. The
// caller holds the lock.
func retire(old []*member) {
	for _, m := range old {
		v := m.view
		m.listen(nil)
		m.gone = true
		if m.stream.rest != nil {
			m.stream.rest.Stop()
		}
		if i := slices.IndexFunc(v.members, func(next *member) bool { return next.Key == m.Key }); i >= 0 {
			m.next = v.members[i]
		}
		v.owners.leave(m)
		maps.DeleteFunc(v.lasting, func(_ string, c *call) bool { return c.member == m })
		if m.next != nil && len(m.subscribed) > 0 {
			m.next.subscribed = m.subscribed
			if m.next.Closed == "" {
				m.next.open()
			}
		}
		m.subscribed = nil
	}
	for _, m := range old { // when nothing is sent to any of them any more
		m.release()
		m.endIfUnused()
	}
}

// heir returns the member itself, or the one that has its place now; nil: none has. The caller holds the lock.
func (m *member) heir() *member {
	for m != nil && m.gone {
		m = m.next
	}
	return m
}

// release ends what waits for lists or server/discover of a server that will not answer, or lets it wait for those of the one
// that has its place. The caller holds the lock.
func (m *member) release() {
	next := m.heir()
	for method, l := range m.lists {
		for _, w := range l.waiters {
			if next != nil {
				next.load(method, w)
			}
		}
		l.waiters.served()
	}
	for _, w := range m.intro.waiters {
		if next != nil {
			next.meet(w)
		}
	}
	m.intro.waiters.served()
}

// endIfUnused ends the session with a server that left the view, once it has no call of the client. Its questions are
// answered for the client, which need not answer them any more. The caller holds the lock.
func (m *member) endIfUnused() {
	v := m.view
	if m.over || v.life.Err() != nil {
		return
	}
	for _, c := range v.calls {
		if c.member == m && c.id != nil {
			return
		}
	}
	m.over = true
	if m.server == nil {
		return
	}
	answers := m.withdraw()
	v.running.Go(func() { // the session that tells of its last answer holds a lock
		for _, line := range answers {
			m.reply(line)
		}
		m.stop()
	})
}

// withdraw withdraws the questions of the server at the client, and returns the answers to them. The caller holds the lock.
func (m *member) withdraw() (answers [][]byte) {
	v := m.view
	for id, q := range v.questions {
		if q.member == m {
			delete(v.questions, id)
			answers = append(answers, unanswered(q.id, notUsed))
			v.out.put(proxy.Told{About: q.about, Line: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%q}}`, id, notUsed)})
		}
	}
	return answers
}

// notUsed is why a question of a server whose session ends is not answered.
const notUsed = "the server is not used any more"
