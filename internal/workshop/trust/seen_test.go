package trust

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A person has seen bytes: the same name with other bytes, another place or another kind is new.
func TestSeenMeansTheseBytes(t *testing.T) {
	state := t.TempDir()
	seen := Thing{ServerEntry, "/project", "node server.js"}
	m := NewMemory(state)
	if m.Seen(seen) {
		t.Error("seen before anyone was asked")
	}
	m.Agreed(seen, "claude-code/notes")
	for name, m := range map[string]*Memory{"this process": m, "the next process": NewMemory(state)} {
		if !m.Seen(seen) {
			t.Errorf("%s: not remembered", name)
		}
		for _, other := range []Thing{
			{ServerEntry, "/project", "node server.js "},
			{ServerEntry, "/other", "node server.js"},
			{TaskPlan, "/project", "node server.js"},
			{ServerEntry, "/projectnode", " server.js"},
			{ServerEntry, "", "/project" + "node server.js"},
		} {
			if m.Seen(other) {
				t.Errorf("%s: %+v counts as seen", name, other)
			}
		}
	}
}

// A memory that does not exist has seen nothing, and neither name nor content of a file has what was
// shown.
func TestSeenRevealsNothing(t *testing.T) {
	var none *Memory
	none.Agreed(Thing{}, "")
	if none.Seen(Thing{}) {
		t.Error("a nil memory has seen something")
	}
	const secret = "sk-canary-0123456789"
	state := t.TempDir()
	NewMemory(state).Agreed(Thing{ServerEntry, "/p", "run --key " + secret}, "claude-code/notes")
	files, err := filepath.Glob(filepath.Join(state, "seen", "entry", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(files[0]+string(content), secret) || !strings.Contains(string(content), "claude-code/notes") {
		t.Errorf("%s: %s, %v", files[0], content, err)
	}
}

// Several sessions ask one memory at a time.
func TestManyAskAtOnce(t *testing.T) {
	m := NewMemory(t.TempDir())
	var wg sync.WaitGroup
	for _, where := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			mine := Thing{ServerEntry, where, "node server.js"}
			m.Agreed(mine, where)
			if !m.Seen(mine) {
				t.Errorf("%s: not remembered", where)
			}
		})
	}
	wg.Wait()
}
