package kernel

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// A server that nothing needs sleeps: it is not started before something does, and is stopped once nothing has
// used it for a while. What is known of it answers for it meanwhile: initialize and server/discover from its
// portrait, lists from the catalogue, and a ping, which asks whether the other side is there: gauze is, and many
// clients ping all day. Whatever else is queued wakes it, and waits as for any start. Falling asleep is decided
// under the session's lock, which every call needs as well: a call is either sent before, and keeps the
// server awake, or queued for the next one.
//
// The log level, which some clients set first of all, is only remembered: the server gets it at its start.

// sleep is how a server is let sleep.
type sleep struct {
	s      *Session
	idle   time.Duration // how long a server is kept that nothing uses; 0: as long as the session
	asleep bool          // nothing needs the server
	woken  bool          // the next connection follows a sleep, not a loss
	used   time.Time     // when something last used the server
	timer  *time.Timer   // the one that lets it fall asleep; nil: none was needed yet
	tasks  openTasks
}

// answer answers a call for a server that sleeps, if that needs no server. The caller holds the lock.
func (z *sleep) answer(c *Call) bool {
	switch {
	case c.msg.Method == "ping":
	case c.msg.Method == "logging/setLevel" && z.takesLevel(c):
		z.s.learn(c, nil)
	default:
		return z.s.likeness.beginWithout(c, &upstream.Trouble{})
	}
	z.s.reply(c, []byte("{}"), OutcomeOK)
	return true
}

// levels are the log levels of the protocol.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// takesLevel reports whether the server would accept a log level, as far as it is known.
func (z *sleep) takesLevel(c *Call) bool {
	raw, _ := wire.Field(c.msg.Params, "level")
	level, _ := wire.Text(raw)
	return z.s.memory.legacy && slices.Contains(levels, level) && slices.Contains(capabilitiesOf([]byte(z.s.likeness.intro)), "logging")
}

// wake starts the server if it sleeps. The caller holds the lock.
func (z *sleep) wake() {
	if z.asleep {
		z.asleep = false
		z.s.up.Wake()
	}
}

// starting reports whether a server that was asleep is being started.
func (z *sleep) starting() bool {
	return z.woken && !z.asleep && z.s.link.conn == nil && z.s.link.trouble == nil
}

// outdate forgets the lists that the server says have changed: while it sleeps, they are not answered from the
// catalogue.
func (z *sleep) outdate(notice string) {
	if z.idle <= 0 {
		return
	}
	for method, kind := range kinds {
		if list := z.s.catalog.lists[method]; list != nil && kind.changed == notice {
			clear(list.pages)
		}
	}
}

// begin notes that a connection was published, and sets the timer for the next sleep.
func (z *sleep) begin() {
	z.asleep, z.woken = false, false
	if z.idle <= 0 {
		return
	}
	z.used = time.Now()
	if z.timer == nil {
		z.timer = time.AfterFunc(z.idle, func() { z.s.update(func() { z.check(time.Now()) }) })
		return
	}
	z.timer.Reset(z.idle)
}

// stop ends the timer with the session.
func (z *sleep) stop() {
	if z.timer != nil {
		z.timer.Stop()
	}
}

// note notes that a call of the client uses the server. A ping does not.
func (z *sleep) note(c *Call) {
	if c.own == nil && c.msg.Method != "ping" {
		z.used = time.Now()
	}
}

// check lets the server fall asleep if nothing has used it for long enough, or else sets the timer again. The
// caller holds the lock.
func (z *sleep) check(now time.Time) {
	conn := z.s.link.conn
	switch left := z.used.Add(z.idle).Sub(now); {
	case conn == nil || z.s.leaving.closing || z.s.leaving.emptied != nil: // the next connection begins again
	case z.inUse(conn, now):
		z.used = now
		z.timer.Reset(z.idle)
	case left > 0:
		z.timer.Reset(left)
	default:
		z.fallAsleep(conn)
	}
}

// inUse reports whether the server must not be stopped. Requests of gauze's own do not count: they are made again.
func (z *sleep) inUse(conn *upstream.Conn, now time.Time) bool {
	s := z.s
	return s.table.calls.len() > 0 || len(s.table.queue) > 0 || len(s.memory.subscriptions) > 0 ||
		s.restarting.restart != nil || s.restarting.replacing != nil || z.minds(conn, now)
}

// minds reports whether the server has something in progress that the next one would not know: a question, or a task.
func (z *sleep) minds(conn *upstream.Conn, now time.Time) bool {
	return z.s.dialogue.userAsked(conn) || z.tasks.any(now)
}

// fallAsleep stops the server. Another version of it may be started next time, as after any restart: what its
// tools declared is compared before anything is repeated.
func (z *sleep) fallAsleep(conn *upstream.Conn) {
	z.asleep, z.woken = true, true
	z.s.up.Sleep(conn)
	z.s.server.disconnect()
}
