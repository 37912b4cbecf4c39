package taskcli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
)

func TestShownTimelineHasNoSecrets(t *testing.T) {
	data := json.RawMessage(`{"plan":{"servers":{"s":{"env":{"API_KEY":"hunter2hunter2"}}}},"arguments":{"password":"hunter2hunter2","note":"two\nlines"}}`)
	var out strings.Builder
	entries := []task.Entry{{Seq: 1, Kind: "started", Data: data}}
	if err := taskcli.Show(&out, taskcli.Ref{ID: "t-1"}, &task.State{}, entries, false, true); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "hunter2") || !strings.Contains(got, `"two\nlines"`) {
		t.Error(got)
	}
}

// Programs receive all of what was recorded, also its lines, without secrets.
func TestJSONIsNotShortened(t *testing.T) {
	long := strings.Repeat("one line\n", 1000)
	s := &task.State{Plan: task.Plan{Name: long}, Stopped: &task.Stopped{Why: task.StepFailed, Message: long, Diagnosis: long + "password=hunter2hunter2", Remedy: long}}
	shown := taskcli.Shown(taskcli.Ref{ID: "t-1"}, s, false)
	if shown.Name != long || shown.Stopped.Message != long || !strings.HasPrefix(shown.Stopped.Diagnosis, long) || shown.Stopped.Remedy != long {
		t.Errorf("%+v", shown)
	}
	if strings.Contains(shown.Stopped.Diagnosis, "hunter2") {
		t.Errorf("%s", shown.Stopped.Diagnosis)
	}
	if done := taskcli.Shown(taskcli.Ref{ID: "t-1"}, &task.State{Done: &task.Done{Summary: long}}, false); done.Summary != long {
		t.Errorf("%+v", done)
	}
}
