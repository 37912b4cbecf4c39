package view

import "slices"

// Change replaces the servers of the view. Those that stay the same keep their sessions. The others get no new
// requests, and end when their last one is answered; the client's session goes on.
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
	for _, m := range old {
		m.gone = true
		m.listen(nil)
		v.owners.forget(m)
		for _, next := range v.members {
			if next.Key == m.Key && len(m.subscribed) > 0 { // the next one of it gets them
				next.subscribed = m.subscribed
				next.open()
			}
		}
		m.endIfUnused()
	}
	v.modern.listenAll()
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

// endIfUnused ends the session with a server that left the view, once it has no request. The caller holds the lock.
func (m *member) endIfUnused() {
	if m.stop == nil {
		return
	}
	for _, q := range m.view.questions {
		if q.member == m {
			return // its call is still open
		}
	}
	for _, c := range m.view.calls {
		if c.member == m {
			return
		}
	}
	m.stop()
}
