package upstream

import (
	"context"
	"net/url"
	"slices"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
)

// Doctor knows why a server cannot be kept running, and may find another way
// to start the same program or to reach the same server.
type Doctor interface {
	// Diagnose names the cause, from the evidence alone.
	Diagnose(Spec, Evidence) Cause
	// Treat looks for a way around it, and may start the server to try one.
	// trying hears what is being tried.
	Treat(ctx context.Context, spec Spec, e Evidence, trying func(string)) Treated
}

// Cause is why a server failed.
type Cause struct {
	Why  string // in one sentence; empty: nobody knows
	Todo string // what a person has to do
}

// Treated is what a treatment came to.
type Treated struct {
	Cause
	Changed bool // the server should be started or reached as Spec says
	Healed  bool // and works then; otherwise it only fails later, or of something else
	Spec    Spec
	Did     string // what was changed, in one line
}

// mostChanges bounds what one server is treated with: whoever fails in ever
// new ways is not healed by the next one either.
const mostChanges = 5

// treatment is what the doctor said about one way of failing.
type treatment struct {
	Treated
	before Spec
}

// inspected is evidence with a closer look at what was to be started, as an
// Attempt has it.
func (u *Upstream) inspected(e Evidence) Evidence {
	if u.Doctor == nil || e.Remote || e.Stage >= Spoke {
		return e
	}
	e.Program, e.Errno = inspect(u.Spec), errnoOf(e.Spawn)
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
			next.detail = u.Explain(next.detail, e)
		}
		return false
	}
	sign := e.Signature()
	t, known := u.treated[sign]
	switch {
	case known && t.Changed: // it fails as before
		u.adopt(t.before)
		u.changes = slices.DeleteFunc(u.changes, func(did string) bool { return did == t.Did })
		u.emit(event.Event{Kind: event.Treating, Generation: trouble.Generation, Detail: "it did not help and is undone: " + t.Did})
		t.Changed, t.Did = false, ""
		u.treated[sign] = t
	case !known:
		trouble.Detail = u.told(next.detail, u.Doctor.Diagnose(u.Spec, e))
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
	next.detail = u.told(next.detail, t.Cause)
	return false
}

// adopt makes the server be started or reached in another way, if that is up
// to us alone.
func (u *Upstream) adopt(spec Spec) bool {
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
func (r *Remote) relocate(from, to Spec) bool {
	next, err := url.Parse(to.URL)
	if err != nil || !sameOrigin(r.address.Load(), next) || !slices.Equal(from.Header, to.Header) {
		return false
	}
	if next.String() != r.address.Load().String() { // not if another session was faster
		r.address.Store(next)
		r.moved.Store(nil)
		r.way.Store(untried)
	}
	return true
}

// Explain adds to what was seen what the doctor knows about it.
func (u *Upstream) Explain(detail string, e Evidence) string {
	if u.Doctor == nil {
		return detail
	}
	return u.told(detail, u.Doctor.Diagnose(u.Spec, e))
}

// told adds what the doctor knows, and what was changed before, to what was
// seen.
func (u *Upstream) told(detail string, c Cause) string {
	sentence := func(text string) {
		if detail != "" {
			detail += ". "
		}
		detail += fault.Quote(text)
	}
	for _, did := range u.changes {
		sentence("Before that, gauze changed how it is started or reached: " + did)
	}
	if c.Why == "" {
		return detail
	}
	sentence(c.Why)
	if c.Todo != "" {
		detail += " What to do: " + fault.Quote(c.Todo)
	}
	return detail
}
