package gateway

import "time"

// kept is what a session said and its client may not have got: what belongs to
// no request until somebody listens and, where resuming is on, everything for
// a while. Guarded by its session.
type kept struct {
	events []keptEvent // oldest first
	bytes  int

	emptied func(*lane) // the latest message of a lane is forgotten
}

type keptEvent struct {
	item
	lane *lane
	at   time.Time
}

// What is kept of one session. A client that lost its connection comes back
// within seconds, or after a laptop woke up; whoever stays away longer has to
// ask again.
const (
	mostKept      = 1000            // events: a call that reports its progress for minutes
	mostKeptBytes = 4 << 20         // times 64 sessions is what a small machine can spare
	keptFor       = 5 * time.Minute // beyond that, a client has given up its call
)

func (k *kept) add(l *lane, it item, now time.Time) {
	k.events = append(k.events, keptEvent{it, l, now})
	k.bytes += len(it.line)
	for len(k.events) > mostKept || k.bytes > mostKeptBytes {
		k.drop()
	}
}

// drop forgets the oldest event.
func (k *kept) drop() {
	e := k.events[0]
	k.bytes -= len(e.line)
	e.lane.first = e.index + 1
	if e.index == e.lane.last {
		k.emptied(e.lane)
	}
	k.events[0] = keptEvent{}
	k.events = k.events[1:]
	if len(k.events) == 0 {
		k.events = nil
	}
}

func (k *kept) expire(now time.Time) {
	for len(k.events) > 0 && now.Sub(k.events[0].at) > keptFor {
		k.drop()
	}
}

// after returns what a lane said behind index.
func (k *kept) after(l *lane, index int) (items []item) {
	for _, e := range k.events {
		if e.lane == l && e.index > index {
			items = append(items, e.item)
		}
	}
	return items
}

// forget drops what was kept for a lane.
func (k *kept) forget(l *lane) {
	left := k.events[:0]
	for _, e := range k.events {
		if e.lane == l {
			k.bytes -= len(e.line)
			continue
		}
		left = append(left, e)
	}
	clear(k.events[len(left):])
	k.events = left
}
