package fleet

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

func TestOneUndoRevertsAllFilesOfAPlan(t *testing.T) {
	h := newHome(t)
	before := map[string]string{}
	for _, name := range []string{".cursor/mcp.json", ".codex/config.toml", gooseFile()} {
		before[name] = h.read(name)
	}
	view := h.fleet.Look()
	servers, err := view.Choose(Choice{Names: []string{"cursor/notes", "codex/time", "goose/clock"}})
	if err != nil {
		t.Fatal(err)
	}
	plan := view.Wrap(servers, false)
	made, err := h.fleet.Apply(plan, plan.Consent())
	if err != nil || len(made) != len(before) {
		t.Fatalf("%d files written: %v", len(made), err)
	}
	back, err := h.fleet.Reversal(made[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	for name := range before {
		if !strings.Contains(filepath.ToSlash(back.Diff), name) {
			t.Errorf("the diff does not show %s", name)
		}
	}
	if _, err := h.fleet.Undo(back, "no consent"); !errors.Is(err, ErrConsent) {
		t.Errorf("without consent: %v", err)
	}
	undone, err := h.fleet.Undo(back, back.Consent())
	if err != nil || len(undone) != len(before) {
		t.Fatalf("%d files restored: %v", len(undone), err)
	}
	for name, text := range before {
		if h.read(name) != text {
			t.Errorf("%s is not restored", name)
		}
	}
	if again, err := h.fleet.Revert(undone[0].ID, false); err != nil || len(again) != len(before) {
		t.Errorf("the undo is undone in %d files: %v", len(again), err)
	}
	if _, err := h.fleet.Revert("77", false); !errors.Is(err, backup.ErrUnknown) {
		t.Errorf("an unknown change: %v", err)
	}
}

func TestAnUndoOfAPlanRestoresWhatItCan(t *testing.T) {
	h := newHome(t)
	cursor := h.read(".cursor/mcp.json")
	view := h.fleet.Look()
	servers, err := view.Choose(Choice{Names: []string{"cursor/notes", "codex/time"}})
	if err != nil {
		t.Fatal(err)
	}
	plan := view.Wrap(servers, false)
	made, err := h.fleet.Apply(plan, plan.Consent())
	if err != nil {
		t.Fatal(err)
	}
	h.write(".codex/config.toml", "# edited since\n")
	undone, err := h.fleet.Revert(made[0].ID, false)
	if len(undone) != 1 || !errors.Is(err, backup.ErrConflict) {
		t.Errorf("%d files restored: %v", len(undone), err)
	}
	if h.read(".cursor/mcp.json") != cursor || h.read(".codex/config.toml") != "# edited since\n" {
		t.Error("the file that changed since was overwritten, or the other one was not restored")
	}
}
