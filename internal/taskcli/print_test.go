package taskcli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskcli"
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
