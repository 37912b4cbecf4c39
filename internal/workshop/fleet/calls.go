package fleet

import (
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// recall looks up the last failed call of a server that works as far as its test shows: a server
// that connects lazily starts without what its calls need.
func (f *Fleet) recall(c *Checked, m *doctor.Machine) {
	if !c.Tried || !c.Report.Healthy || len(c.Report.Steps) > 0 {
		return
	}
	if c.Recalled = f.Calls.Recall(m, f.start(c.Real(), m.Dir, c.Config.InProject())); c.Recalled != nil {
		c.Recalled.Explanation = c.Hide(c.Recalled.Explanation)
		c.Recalled.Todo, c.Recalled.About = c.hideValues(c.Recalled.Todo), c.hideValues(c.Recalled.About)
	}
}

// ofCall judges a server that starts, but whose last call failed.
func (c *Checked) ofCall(command func(State, string, Action) Verdict) Verdict {
	cause := "starts, but " + c.Recalled.Sentence(time.Now())
	if c.Recalled.Changed {
		return command(Warned, strings.TrimSuffix(cause, ".")+"; "+c.Recalled.About, Repair)
	}
	return Verdict{State: Warned, Cause: cause, Action: ByHand, Next: c.Recalled.Todo}
}

// reword plans to write what is likely to help a server whose calls fail. The values come from the
// files of a project, so the diff must be reviewed.
func (v *View) reword(d *draft, c *Checked, allowed func(clientconfig.Problem) bool) {
	if !c.Tried || c.Recalled == nil || !c.Recalled.Changed {
		return
	}
	now := d.now(c.Config)
	entry := now.Entry(c.Name) // a fix may have moved it
	if entry == nil {
		return
	}
	edit, ok := revalued(now, entry, c.Recalled.Was, c.Recalled.Spec)
	switch {
	case !ok:
		d.postpone(c.ID(), "gauze cannot change the entry: "+c.Recalled.Todo)
	case !allowed(clientconfig.Problem{File: c.File, Consent: clientconfig.Shown}):
		d.postpone(c.ID(), c.Recalled.About+"; the fix changes what the server connects to, so you must review the diff first")
	default:
		if err := d.edit(c.Config, c.ID(), clientconfig.Shown, "heal "+c.Name, edit); err != nil {
			d.skip(c.ID(), err.Error())
		}
	}
}
