package gateway

import "time"

// kept is what a session has sent and its client may not have received: messages that belong to no
// request until the client listens and, if streams can be resumed, everything for a while. It is
// guarded by its session.
type kept struct {
	events []keptEvent // oldest first
	bytes  int

	emptied func(*lane) // called when the latest message of a lane is dropped
}

type keptEvent struct {
	item
	lane *lane
	at   time.Time
}

// Limits on what is kept of one session. A client that lost its connection returns within seconds,
// or after a laptop woke up; one that stays away longer must send its request again.
const (
	maxKeptEvents = 1000            // events: a call that reports its progress for minutes
	maxKeptBytes  = 4 << 20         // times 64 sessions is what a small machine can spare
	keepTimeout   = 5 * time.Minute // after that, a client has given up its call
)

func (k *kept) add(l *lane, it item, now time.Time) {
	k.events = append(k.events, keptEvent{it, l, now})
	k.bytes += len(it.line)
	for len(k.events) > maxKeptEvents || k.bytes > maxKeptBytes {
		k.drop()
	}
}

// drop drops the oldest event.
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
	for len(k.events) > 0 && now.Sub(k.events[0].at) > keepTimeout {
		k.drop()
	}
}

// after returns the messages of a lane after index.
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
