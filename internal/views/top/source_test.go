package top

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

func TestMachineReadsWhatIsRecorded(t *testing.T) {
	m := &Machine{Journal: filepath.Join(t.TempDir(), "journal.db")}
	defer m.Close()
	want := func(tools ...string) {
		t.Helper()
		items, err := m.Items(t.Context())
		var got []string
		for _, it := range items {
			got = append(got, it.Tool)
		}
		if err != nil || !slices.Equal(got, tools) {
			t.Errorf("items of %q, %v; want %q", got, err, tools)
		}
	}
	record := func(tool string) {
		events := event.New()
		r := journal.NewRecorder(m.Journal, events, func(err error) { t.Error(err) })
		call := event.NewCallID()
		events.Emit(event.Event{Kind: event.Repaired, Server: "notes", Tool: tool, Call: call})
		events.Emit(event.Event{Kind: event.Saved, Server: "notes", Tool: tool, Call: call, Detail: "repaired"})
		<-r.Close()
	}
	want()
	if _, err := os.Stat(m.Journal); err == nil {
		t.Error("reading creates a journal")
	}
	record("first")
	want("first")
	want("first")
	record("second")
	want("first", "second")
}

// A configuration file names a server, but does not decide what is run to check it.
func TestDoctorRunsNoCommandLineThatIsOnlyAName(t *testing.T) {
	dir, err := os.MkdirTemp("", "gauze-top-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var checked []string
	m := &Machine{StateDir: dir, Check: func(_ context.Context, name string) (string, error) {
		checked = append(checked, name)
		return "works", nil
	}}
	for _, name := range []string{"touch /tmp/x", "https://example.com/mcp", "npx server", "notes"} {
		a, err := live.Announce(dir, name, live.Source{
			Server: func() live.Server { return live.Server{Name: name} },
			Detail: func() live.Detail { return live.Detail{Server: live.Server{Name: name}, Command: "npx server"} },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
	}
	servers, err := m.Servers(t.Context())
	if err != nil || len(servers) != 4 {
		t.Fatalf("%v, %v", servers, err)
	}
	for _, s := range servers {
		m.Doctor(t.Context(), s)
	}
	if !slices.Equal(checked, []string{"notes", "npx server"}) {
		t.Errorf("checked %q", checked)
	}
}
