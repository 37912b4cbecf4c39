package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// What was planned for a file is not written to a different one, even if that
// has the same bytes.
func TestASwappedFileIsNotWritten(t *testing.T) {
	windowstest.Skip(t)
	const name = ".cursor/mcp.json"
	link := func(t *testing.T, to, from string) {
		if err := os.Symlink(to, from); err != nil {
			t.Skip(err) // Windows without the privilege
		}
	}
	for what, c := range map[string]struct {
		before, after func(t *testing.T, path, other string)
		words         string
	}{
		"a file for a link": {
			after: func(t *testing.T, path, other string) {
				os.Remove(path)
				link(t, other, path)
			}, words: "symbolic link",
		},
		"a link for another": {
			before: func(t *testing.T, path, other string) {
				os.Rename(path, other+".mine")
				link(t, other+".mine", path)
			},
			after: func(t *testing.T, path, other string) {
				os.Remove(path)
				link(t, other, path)
			}, words: "replaced",
		},
		"its folder for a link": {
			after: func(t *testing.T, path, other string) {
				os.Rename(filepath.Dir(path), filepath.Dir(path)+".old")
				link(t, filepath.Dir(other), filepath.Dir(path))
			}, words: "replaced",
		},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHome(t)
			h.write("elsewhere/mcp.json", settings[name])
			path, other := filepath.Join(h.dir, name), filepath.Join(h.dir, "elsewhere/mcp.json")
			if c.before != nil {
				c.before(t, path, other)
			}
			plan := h.wrapNotes()
			c.after(t, path, other)
			made, err := h.fleet.Apply(plan, plan.Consent())
			if !errors.Is(err, backup.ErrConflict) || !strings.Contains(err.Error(), c.words) || len(made) > 0 {
				t.Errorf("made %v, error %v", made, err)
			}
			if h.read("elsewhere/mcp.json") != settings[name] {
				t.Error("the other file was changed")
			}
		})
	}
}

// A link that was there when the file was read is followed, as before.
func TestALinkThatWasReadIsWritten(t *testing.T) {
	windowstest.Skip(t)
	h := newHome(t)
	path, dotfiles := filepath.Join(h.dir, ".cursor/mcp.json"), filepath.Join(h.dir, "dotfiles.json")
	os.Rename(path, dotfiles)
	if err := os.Symlink(dotfiles, path); err != nil {
		t.Skip(err)
	}
	h.apply(h.wrapNotes())
	if !strings.Contains(h.read("dotfiles.json"), "gauze") {
		t.Error("not written")
	}
	if to, _ := os.Readlink(path); to != dotfiles {
		t.Error("the link is gone")
	}
}

// A link that appears where no file was is not written through.
func TestALinkInPlaceOfNoFileIsNotWritten(t *testing.T) {
	windowstest.Skip(t)
	h := newHome(t)
	path := filepath.Join(h.dir, ".cursor/mcp.json")
	os.Remove(path)
	clients, err := Clients([]string{"cursor"})
	if err != nil {
		t.Fatal(err)
	}
	view := h.fleet.Look(clients...)
	plan, err := view.Add(NewServer{Name: "new", Spec: launch.Spec{Command: "npx"}}, clients)
	if err != nil || plan.Empty() {
		t.Fatal(err, plan.Skipped)
	}
	if err := os.Symlink(filepath.Join(h.dir, "surprise.json"), path); err != nil {
		t.Skip(err)
	}
	if _, err := h.fleet.Apply(plan, plan.Consent()); !errors.Is(err, backup.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "surprise.json")); err == nil {
		t.Error("written through the link")
	}
}

// wrapNotes plans to wrap cursor/notes.
func (h *home) wrapNotes() Plan {
	h.t.Helper()
	view := h.fleet.Look()
	for _, s := range view.Servers {
		if s.ID() == "cursor/notes" {
			return view.Wrap([]*Server{s}, false)
		}
	}
	h.t.Fatal("cursor/notes is not there")
	return Plan{}
}
