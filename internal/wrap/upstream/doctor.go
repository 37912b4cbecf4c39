package upstream

import (
	"context"
	"slices"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// Doctor determines why a server cannot be kept running, and may find a different way to start or
// reach it.
type Doctor interface {
	// Diagnose returns the cause, from the evidence alone. lasts reports that the evidence is strong,
	// and that only a change of the setup can help.
	Diagnose(launch.Spec, Evidence) (cause fault.Cause, lasts bool)
	// Treat looks for a way around the cause, and may start the server to try one. It calls trying
	// with what it tries.
	Treat(ctx context.Context, spec launch.Spec, e Evidence, trying func(string)) Treated
	// ServedAt returns the URL at which an MCP server answers on one of these ports of this machine, or
	// "".
	ServedAt(ctx context.Context, ports []int) string
}

// FailedCall is a tool call that failed, in the server's words.
type FailedCall struct {
	Tool      string
	Arguments []byte // as they were sent
	Code      int    // of a JSON-RPC error; 0 for a result
	Text      string // foreign text
	Claimed   bool   // the result claims success, and only its text says that the call failed

	// Stderr returns what the server wrote to stderr since the call was sent. It may be nil.
	Stderr func() string
}

// Treated is the result of a treatment.
type Treated struct {
	Cause   fault.Cause
	Changed bool // the server should be started or reached as Spec describes
	Healed  bool // the server works with Spec; if false, it only fails later or differently
	Spec    launch.Spec
	Did     string // what was changed, in one line
}

// maxChanges limits the treatments of one server. One that keeps failing in new ways is not healed
// by another change.
const maxChanges = 5

// treatment is what the doctor found about one way of failing.
type treatment struct {
	Treated
	before launch.Spec
}

// inspected returns e with details about the program that was to be started, as a probe records
// them.
func (u *Upstream) inspected(e Evidence) Evidence {
	if u.Doctor == nil || e.Remote || e.Stage >= Spoke {
		return e
	}
	e.Program, e.Errno = launch.Inspect(u.Spec), life.Errno(e.Spawn)
	return e
}

// treat asks the doctor about trouble that waiting will not fix, once for each way of failing,
// because the user may have fixed something since. If the doctor found a different way to start or
// reach the server, it is used from the next generation on.
func (u *Upstream) treat(ctx context.Context, e Evidence, next *plan, trouble Trouble) (changed bool) {
	if u.Doctor == nil || next.login != nil || next.code == fault.LoginUnavailable {
		return false // a different address would not accept the login either
	}
	if !next.final() {
		if e.Remote && !e.Gone { // the diagnosis does not delay the retry
			next.cause = u.Cause(e)
		}
		return false
	}
	if e.Remote && u.Remote != nil && u.Remote.Served() {
		// The server was reachable at this address, for this client or others. What answers at a
		// different one is a different server.
		next.cause = u.Cause(e)
		return false
	}
	sign := e.Signature()
	t, known := u.treated[sign]
	switch {
	case known && t.Changed: // it fails as before
		u.adopt(t.before)
		u.setChanges(slices.DeleteFunc(slices.Clone(u.changes), func(did string) bool { return did == t.Did }))
		u.emit(event.Event{Kind: event.Treating, Generation: trouble.Generation, Detail: "the change did not help and was undone: " + t.Did})
		t.Changed, t.Did = false, ""
		t.Cause, _ = u.Doctor.Diagnose(u.Spec, e)
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
		t.Changed = t.Changed && len(u.changes) < maxChanges && u.adopt(t.Spec)
		if u.treated == nil {
			u.treated = map[string]treatment{}
		}
		u.treated[sign] = t
		if t.Changed {
			u.setChanges(append(slices.Clone(u.changes), t.Did))
			if t.Healed {
				u.emit(event.Event{Kind: event.Healed, Generation: trouble.Generation, Detail: t.Did})
			}
			return true
		}
	}
	next.cause = u.known(t.Cause)
	return false
}

// temporarilyAway reports whether a server that worked before and now rejects a new session is
// being replaced, or is not yet known to a gateway before it. Gauze waits for it as for a server
// that accepts no connection.
func (u *Upstream) temporarilyAway(verdict *fault.Fault) bool {
	if u.Remote == nil || !u.Remote.Served() {
		return false
	}
	switch verdict.Code {
	case fault.HTTPRefused, fault.HTTPUnavailable, fault.NotMCP:
		return true
	}
	return false
}

// adopt changes how the server is started or reached, unless other upstreams share its Remote and
// it cannot be changed for them.
func (u *Upstream) adopt(spec launch.Spec) bool {
	if u.Remote != nil {
		if u.ownRemote {
			u.Remote.Close()
			u.Remote, u.ownRemote = nil, false
		} else if !u.Remote.Relocate(u.Spec, spec) {
			return false
		}
	}
	u.adopting.Lock()
	defer u.adopting.Unlock()
	u.Spec = spec
	return true
}

func (u *Upstream) setChanges(all []string) {
	u.adopting.Lock()
	defer u.adopting.Unlock()
	u.changes = all
}

// Cause asks the doctor why the server failed, from the evidence alone. It can be called while the
// server is being treated.
func (u *Upstream) Cause(e Evidence) fault.Cause {
	cause, _ := u.diagnose(e)
	return cause
}

// Lasts reports whether the evidence strongly shows a cause that only a change of the setup can remove.
func (u *Upstream) Lasts(e Evidence) bool {
	_, lasts := u.diagnose(e)
	return lasts
}

// ServedAt returns the URL at which a command answers over HTTP that was started as a stdio server, or "".
func (u *Upstream) ServedAt(ctx context.Context, c *Conn) string {
	if u.Doctor == nil || c.pipes == nil {
		return ""
	}
	return u.Doctor.ServedAt(ctx, c.survey().Ports)
}

func (u *Upstream) diagnose(e Evidence) (cause fault.Cause, lasts bool) {
	if u.Doctor == nil {
		return fault.Cause{}, false
	}
	u.adopting.Lock()
	spec := u.Spec
	u.adopting.Unlock()
	cause, lasts = u.Doctor.Diagnose(spec, e)
	return u.known(cause), lasts
}

// known returns c with the changes that were made before on the doctor's advice.
func (u *Upstream) known(c fault.Cause) fault.Cause {
	u.adopting.Lock()
	defer u.adopting.Unlock()
	c.Changes = slices.Clone(u.changes)
	return c
}
