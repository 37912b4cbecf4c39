package dashboard

import (
	"errors"
	"net/http"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// planOf returns the change that repairs an entry and saves the fix that made its server work, if one
// did: the same as gauze doctor --fix. A check of a file that has changed since proposes nothing.
func (d *Dashboard) planOf(view *fleet.View, e configEntry) fleet.Plan {
	if checked := e.Checked(); checked != nil {
		return e.Check.view.FixAndKeep([]*fleet.Checked{checked}, false, fleet.WithReview)
	}
	return view.FixAndKeep(fleet.Unchecked([]*fleet.Server{e.Server}), false, fleet.WithReview)
}

// fixData is what the confirmation of a change shows.
type fixData struct {
	configEntry
	Diff    []diffLine
	Files   []string
	Shared  bool // others use a file
	Consent string
}

// fixPage shows a whole change and asks for its confirmation.
func fixPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	f, view, s, err := d.found(r)
	if err != nil {
		return "", nil, err
	}
	c := &fixData{configEntry: d.entry(f, s)}
	plan := d.planOf(view, c.configEntry)
	if plan.Empty() {
		return "", nil, &problem{http.StatusNotFound, "This entry needs no change.", "The change may already have been made. See the entry's page."}
	}
	c.Diff, c.Consent = diffOf(plan.Diff()), plan.Consent()
	for _, change := range plan.Changes {
		c.Files = append(c.Files, f.Tilde(change.Path).String())
		c.Shared = c.Shared || change.Shared
	}
	return "Change the entry " + c.Name, c, nil
}

// applyFix makes exactly the change that was shown, if it is still the one to make.
func applyFix(d *Dashboard, r *http.Request) (next string, err error) {
	f, view, s, err := d.found(r)
	if err != nil {
		return "", err
	}
	e := d.entry(f, s)
	plan := d.planOf(view, e)
	switch {
	case plan.Empty():
		return "", &problem{http.StatusConflict, "This entry needs no change. No file was changed.", "The change may already have been made. See the entry's page."}
	case r.PostFormValue("consent") != plan.Consent():
		return "", &problem{http.StatusConflict, "The files changed after the diff was shown. No file was changed.", "Review the new diff, then confirm it."}
	case !ticked(r):
		return "", &problem{http.StatusConflict, "The change was not confirmed. No file was changed.", "Read the whole diff, then check the box."}
	}
	made, err := f.Apply(plan, r.PostFormValue("consent"))
	f.SawPlan(plan, made)
	if len(made) > 0 {
		d.work.checks.keepMade(e.ID, made)
	}
	switch {
	case errors.Is(err, backup.ErrConflict):
		return "", &problem{http.StatusConflict, "A file changed after the diff was shown: " + plaintext.Clean(err.Error()) + ".", "Review the new diff, then confirm it."}
	case err != nil:
		return "", &problem{http.StatusInternalServerError, "A file could not be written: " + plaintext.Clean(err.Error()) + ".", "The entry's page shows what changed."}
	}
	d.checkAgain(f, e.ID)
	return e.Link(), nil
}

// checkAgain checks an entry after it was changed. A project's entry must be confirmed first.
func (d *Dashboard) checkAgain(f *fleet.Fleet, id string) {
	view := f.Look()
	for _, s := range view.Servers {
		if entryID(s) == id && !s.Foreign() {
			_ = d.check(f, view, []*fleet.Server{s}, fleet.CheckOptions{}) // the button is still there
		}
	}
}
