package servertest

import (
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gauze-mcp/gauze/temporal/flow"
)

var record = flag.String("record", "", "directory for the histories of tests, which later versions must replay")

// replays checks that the history of a task leads to the same commands again, and records it if
// asked.
func (b *bench) replays(id, name string) {
	b.t.Helper()
	all := &history.History{}
	events := b.Temporal.GetWorkflowHistory(b.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			b.t.Fatal(err)
		}
		all.Events = append(all.Events, e)
	}
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(flow.Task, workflow.RegisterOptions{Name: flow.WorkflowName})
	if err := replayer.ReplayWorkflowHistory(noLog{}, all); err != nil {
		b.t.Errorf("%s: %v", name, err)
	}
	b.t.Logf("%s: %d events", name, len(all.Events))
	if *record == "" {
		return
	}
	text, err := protojson.MarshalOptions{Indent: " "}.Marshal(all)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*record, name+".json"), []byte(b.anonymous(string(text))), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

var payload = regexp.MustCompile(`("data": *")([A-Za-z0-9+/=]+)(")`)

// anonymous replaces the names of this machine and its directories, also in payloads.
func (b *bench) anonymous(text string) string {
	host, err := os.Hostname()
	if err != nil {
		b.t.Fatal(err)
	}
	// Not the bare name of the host: it may be part of a word, or of encoded data.
	names := strings.NewReplacer(b.dir, "/home/user/tasks", bin, "/home/user/bin", "@"+host, "@worker", `"HostName":"`+host+`"`, `"HostName":"worker"`)
	return names.Replace(payload.ReplaceAllStringFunc(text, func(found string) string {
		parts := payload.FindStringSubmatch(found)
		data, err := base64.StdEncoding.DecodeString(parts[2])
		if err != nil {
			return found
		}
		return parts[1] + base64.StdEncoding.EncodeToString([]byte(names.Replace(string(data)))) + parts[3]
	}))
}
