package upstream

import (
	"context"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
)

// Doctor is asked when a server cannot be kept running: it names the cause
// from the evidence, and may find another way to start the same program or to
// reach the same server.
type Doctor func(ctx context.Context, spec Spec, e Evidence) Treated

// Treated is what a doctor found and did.
type Treated struct {
	Healed bool
	Spec   Spec   // how it is started now, if it was healed
	Did    string // what was changed, in one line
	Cause  string // why it failed, in one sentence; empty: nobody knows
	Todo   string // what a person has to do
}

// treat asks the doctor about a trouble that will not pass by itself. It is
// asked once for each way of failing: a person may have mended something
// meanwhile, and that is worth a try without it.
func (u *Upstream) treat(ctx context.Context, e Evidence, next *plan, generation int) (healed bool) {
	if u.Spec.URL != "" && u.Remote != nil && !u.ownRemote {
		return false // others reach the server as it is
	}
	if u.Doctor == nil || !next.permanent {
		return false
	}
	sign := e.signature()
	if t, known := u.treated[sign]; known {
		next.detail = told(next.detail, t)
		return false
	}
	t := u.Doctor(ctx, u.Spec, e)
	if ctx.Err() != nil {
		return false
	}
	if u.treated == nil {
		u.treated = map[string]Treated{}
	}
	u.treated[sign] = t
	if t.Healed {
		u.Spec = t.Spec
		if u.ownRemote { // it belongs to the old address
			u.Remote.Close()
			u.Remote, u.ownRemote = nil, false
		}
		u.emit(event.Event{Kind: event.Healed, Generation: generation, Detail: t.Did})
		return true
	}
	next.detail = told(next.detail, t)
	return false
}

// told adds what the doctor knows to what was seen.
func told(detail string, t Treated) string {
	if t.Cause == "" {
		return detail
	}
	detail += ". " + fault.Quote(t.Cause)
	if t.Todo != "" {
		detail += " What to do: " + fault.Quote(t.Todo)
	}
	return detail
}
