package journal

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

// recorded returns an event as the journal returns it, and the bytes of the journal's records.
func recorded(t *testing.T, e event.Event) (Record, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	stream := event.New()
	r := NewRecorder(path, stream, func(err error) { t.Error(err) })
	stream.Emit(e)
	<-r.Close()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	all, err := j.Events(t.Context(), Query{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	row, err := rowOf(1, all[0])
	if err != nil {
		t.Fatal(err)
	}
	return all[0], string(row.event)
}

// canaries is a repaired call with values and secrets in every place.
var canaries = event.Event{
	Kind: event.Repaired, Server: "notes", Client: "cursor", Tool: "write", Call: 4711, Reason: "exit",
	Detail: "days: string to number; password=hunter2",
	Told:   `days: "Trondheim" became 5; password=hunter2`,
	Changes: []event.Change{
		{Path: "days", Rule: "string to number", Reason: "the schema requires a number", Before: `"Trondheim"`, After: "5"},
		{Path: "note", Rule: "key spelling", Before: `"password=hunter2"`, After: `"token=hunter2"`},
	},
}

func TestValuesOfArgumentsAreNotRecorded(t *testing.T) {
	for _, setting := range []string{"", "on", "VALUE"} {
		t.Setenv("GAUZE_JOURNAL", setting)
		r, text := recorded(t, canaries)
		if strings.Contains(text, "Trondheim") || strings.Contains(text, "hunter2") {
			t.Errorf("GAUZE_JOURNAL=%s: %s", setting, text)
		}
		if len(r.Changes) != 2 || r.Changes[0].Path != "days" || r.Changes[0].Rule != "string to number" || r.Changes[0].Reason == "" {
			t.Errorf("%+v", r.Changes)
		}
		if e := r.Event(); e.Call != 4711 || e.Client != "cursor" || e.Reason != "exit" || r.Call != canaries.Call.String() {
			t.Errorf("%+v", e)
		}
	}
}

// What a server prints may repeat the arguments of its calls.
var printing = []event.Event{
	{Kind: event.Died, Server: "notes", Detail: "it exited (exit status 1)", Output: []string{`call login {"city":"Trondheim"} password=hunter2`}},
	{Kind: event.Stray, Server: "notes", Detail: `call login {"city":"Trondheim"} password=hunter2`},
}

func TestOutputIsRecordedOnlyIfTheUserAsksForValues(t *testing.T) {
	for _, e := range printing {
		t.Setenv("GAUZE_JOURNAL", "")
		if r, text := recorded(t, e); strings.Contains(text, "Trondheim") || r.Kind == event.Died && r.Detail != e.Detail {
			t.Errorf("%s: %s", e.Kind, text)
		}
		t.Setenv("GAUZE_JOURNAL", "values")
		if _, text := recorded(t, e); !strings.Contains(text, "Trondheim") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", e.Kind, text)
		}
	}
}

func TestValuesAreRecordedIfTheUserAsksForThem(t *testing.T) {
	t.Setenv("GAUZE_JOURNAL", "values")
	r, text := recorded(t, canaries)
	if strings.Contains(text, "hunter2") {
		t.Errorf("a secret is recorded: %s", text)
	}
	if r.Changes[0].Before != `"Trondheim"` || r.Changes[0].After != "5" || !strings.Contains(r.Told, "Trondheim") {
		t.Errorf("%+v", r)
	}
}
