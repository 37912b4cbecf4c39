package flow

import (
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Histories of an earlier version replay with the same commands: a task that runs on a cluster
// survives an update of its workers. Add new histories, and do not change old ones.
func TestHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "histories", "*.json"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(Task, workflow.RegisterOptions{Name: WorkflowName})
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(noLog{}, file); err != nil {
				t.Error(err)
			}
		})
	}
}
