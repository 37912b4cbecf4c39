package task

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var record = flag.Bool("record", false, "write the decisions of histories that have none yet")

// history is a log that a version of gauze wrote, and what that version decided after each entry.
type history struct {
	About     string            `json:"about"`
	Entries   []Entry           `json:"entries"`
	Decisions []json.RawMessage `json:"decisions"`
}

// Histories replay with the same decisions. A change here means that a task that an earlier version
// stopped continues differently: add a new history instead of changing one.
func TestHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "histories", "*.json"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var h history
			if err := json.Unmarshal(text, &h); err != nil {
				t.Fatal(err)
			}
			var got []json.RawMessage
			for n := range h.Entries {
				s, err := Fold(h.Entries[:n+1])
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, encodeDecision(t, s.Next()))
			}
			if *record && len(h.Decisions) == 0 {
				h.Decisions = got
				writeHistory(t, file, h)
			}
			if len(got) != len(h.Decisions) {
				t.Fatalf("%d entries, %d decisions", len(got), len(h.Decisions))
			}
			for n := range got {
				if want := compact(t, h.Decisions[n]); string(got[n]) != want {
					t.Errorf("after entry %d (%s):\ngot  %s\nwant %s", n+1, h.Entries[n].Kind, got[n], want)
				}
			}
		})
	}
}

func compact(t *testing.T, text json.RawMessage) string {
	t.Helper()
	var d Decision
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return string(encodeDecision(t, d))
}

// encodeDecision returns a decision without its words, which may change.
func encodeDecision(t *testing.T, d Decision) json.RawMessage {
	t.Helper()
	if d.Stop != nil {
		d.Stop.Message = ""
	}
	out, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func writeHistory(t *testing.T, file string, h history) {
	t.Helper()
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
