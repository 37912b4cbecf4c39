package upstream

import (
	"context"
	"net/url"
	"slices"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
)

// Doctor knows why a server cannot be kept running, and may find another way
// to start the same program or to reach the same server.
type Doctor interface {
	// Diagnose names the cause, from the evidence alone.
	Diagnose(launch.Spec, Evidence) fault.Cause
	// Treat looks for a way around it, and may start the server to try one.
	// trying hears what is being tried.
	Treat(ctx context.Context, spec launch.Spec, e Evidence, trying func(string)) Treated
}

// Treated is what a treatment came to.
type Treated struct {
	Cause   fault.Cause
	Changed bool // the server should be started or reached as Spec says
	Healed  bool // and works then; otherwise it only fails later, or of something else
	Spec    launch.Spec
	Did     string // what was changed, in one line
}

// mostChanges bounds what one server is treated with: whoever fails in ever
// new ways is not healed by the next one either.
const mostChanges = 5

// treatment is what the doctor said about one way of failing.
type treatment struct {
	Treated
	before launch.Spec
}

// inspected is evidence with a closer look at what was to be started, as an
// Attempt has it.
func (u *Upstream) inspected(e Evidence) Evidence {
	if u.Doctor == nil || e.Remote || e.Stage >= Spoke {
		return e
	}
	e.Program, e.Errno = Inspect(u.Spec), Errno(e.Spawn)
	return e
}

// treat asks the doctor about a trouble that will not pass by itself, once for
// each way of failing: a person may have mended something meanwhile, and that
// is worth a try without it. If it found another way, that is taken, and the
// next generation shows what it is worth.
func (u *Upstream) treat(ctx context.Context, e Evidence, next *plan, trouble Trouble) (changed bool) {
	if u.Doctor == nil {
		return false
	}
	if !next.final() {
		if e.Remote && !e.Gone { // nobody waits longer for knowing why
			next.cause = u.Cause(e)
		}
		return false
	}
	if e.Remote && u.Remote != nil && u.Remote.served.Load() {
		// It was there, under this very address, for us or for others. What
		// answers elsewhere is another server, whatever it says.
		next.cause = u.Cause(e)
		return false
	}
	sign := e.Signature()
	t, known := u.treated[sign]
	switch {
	case known && t.Changed: // it fails as before
		u.adopt(t.before)
		u.changes = slices.DeleteFunc(u.changes, func(did string) bool { return did == t.Did })
		u.emit(event.Event{Kind: event.Treating, Generation: trouble.Generation, Detail: "it did not help and is undone: " + t.Did})
		t.Changed, t.Did, t.Cause = false, "", u.Doctor.Diagnose(u.Spec, e)
		u.treated[sign] = t
	case !known:
		trouble.Detail, trouble.Cause = next.detail, u.Cause(e)
		u.user.Unreachable(trouble)
		t = treatment{before: u.Spec}
		t.Treated = u.Doctor.Treat(ctx, u.Spec, e, func(what string) {
			u.emit(event.Event{Kind: event.Treating, Generation: trouble.Generation, Detail: what})
		})
		if ctx.Err() != nil {
			return false
		}
		t.Changed = t.Changed && len(u.changes) < mostChanges && u.adopt(t.Spec)
		if u.treated == nil {
			u.treated = map[string]treatment{}
		}
		u.treated[sign] = t
		if t.Changed {
			u.changes = append(u.changes, t.Did)
			if t.Healed {
				u.emit(event.Event{Kind: event.Healed, Generation: trouble.Generation, Detail: t.Did})
			}
			return true
		}
	}
	next.cause = u.known(t.Cause)
	return false
}

// onlyAway: a server that was there and now turns a new session away is being
// replaced, or a gateway before it does not know it yet. It is waited for like
// one that takes no connection.
func (u *Upstream) onlyAway(verdict *fault.Fault) bool {
	if u.Remote == nil || !u.Remote.served.Load() {
		return false
	}
	switch verdict.Code {
	case fault.HTTPRefused, fault.HTTPUnavailable, fault.NotMCP:
		return true
	}
	return false
}

// adopt makes the server be started or reached in another way, if that is up
// to us alone.
func (u *Upstream) adopt(spec launch.Spec) bool {
	if u.Remote != nil {
		if u.ownRemote {
			u.Remote.Close()
			u.Remote, u.ownRemote = nil, false
		} else if !u.Remote.relocate(u.Spec, spec) {
			return false
		}
	}
	u.Spec = spec
	return true
}

// relocate leads everybody who shares it to another path of the same server.
func (r *Remote) relocate(from, to launch.Spec) bool {
	next, err := url.Parse(to.URL)
	if err != nil || r.served.Load() || !sameOrigin(r.address.Load(), next) || !slices.Equal(from.Header, to.Header) {
		return false
	}
	if next.String() != r.address.Load().String() { // not if another session was faster
		r.address.Store(next)
		r.moved.Store(nil)
		r.way.Store(untried)
	}
	return true
}

// Cause asks the doctor why the server failed, from the evidence alone.
func (u *Upstream) Cause(e Evidence) fault.Cause {
	if u.Doctor == nil {
		return fault.Cause{}
	}
	return u.known(u.Doctor.Diagnose(u.Spec, e))
}

// known returns a cause with what was changed before, on the doctor's advice.
func (u *Upstream) known(c fault.Cause) fault.Cause {
	c.Changes = slices.Clone(u.changes)
	return c
}
