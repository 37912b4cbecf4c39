package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/task"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(m.Run())
}

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, q llm.Question) (llm.Answer, error)

func (f modelFunc) Ask(ctx context.Context, q llm.Question) (llm.Answer, error) { return f(ctx, q) }

// An agent decides whether a failing server is worth another attempt.
func ExampleEvaluate() {
	v, err := task.Evaluate(context.Background(), task.Situation{
		Health:          health.Snapshot{State: health.Dead},
		Cause:           fault.Cause{Code: "invalid_api_key"},
		CauseConfidence: 0.95,
		Task:            task.Work{Done: 2, Total: 5, Needs: task.NeedAll},
	}, nil) // or a model, which decides within the bounds of the rules
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Action, "because", v.Reason)
	// Output: stop_task because the cause is permanent, so reconnecting will not help
}

func TestTheSituationOfARunningServer(t *testing.T) {
	ctx := t.Context()
	path, args, env := faultyserver.Command("-era", "modern", "-ledger", filepath.Join(t.TempDir(), "ledger"))
	transport, err := gauze.NewTransport(gauze.Options{Command: append([]string{path}, args...), Env: append(os.Environ(), env...)})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	s := task.Observe("s", transport)
	s.Task.Deadline = time.Now().Add(-time.Hour)
	v, err := task.Evaluate(ctx, s, modelFunc(func(context.Context, llm.Question) (llm.Answer, error) {
		t.Error("asked about a server that works")
		return llm.Answer{}, nil
	}))
	if err != nil || v.Action != task.ActionContinue || v.Asked {
		t.Errorf("%+v, %v of %+v", v, err, s)
	}
}

func TestTheSituationOfAServerThatDoesNotExist(t *testing.T) {
	w, err := gauze.New(gauze.Options{Command: []string{"gauze-no-such-program"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Serve(t.Context(), strings.NewReader(""), new(strings.Builder)); err == nil {
		t.Fatal("a server that does not exist was served")
	}
	if s := task.Observe("", w); s.Health.State != health.Dead || s.Reconnecting {
		t.Errorf("%+v", s)
	}
	transport, err := gauze.NewTransport(gauze.Options{Command: []string{"gauze-no-such-program"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := task.Observe("notes", transport); s.Server != "notes" || s.Health.State != health.Dead {
		t.Errorf("%+v", s)
	}
}

// A model reads each failure with its time, cause and output, and what the task has done and left.
func TestTheModelReadsTheFailuresAndTheTask(t *testing.T) {
	now := time.Now()
	s := task.Situation{
		Health: health.Snapshot{State: health.Dead}, Reconnects: 7, Automatic: 6,
		Failures: []health.Failure{
			{Kind: health.Exited, Detail: "it exited (exit status 1)", At: now.Add(-time.Minute), Cause: "server_bug_crash", Output: "no such table", Ran: 3 * time.Second},
			{Kind: health.TimedOut, At: now.Add(-10 * time.Second)},
		},
		Task: task.Work{Completed: []string{"read the notes"}, Remaining: []task.RemainingStep{{Name: "write them", NeedsServer: true, Required: true}, {Name: "tell the user"}}},
	}
	var question string
	v, err := task.Evaluate(t.Context(), s, modelFunc(func(_ context.Context, q llm.Question) (llm.Answer, error) {
		question = q.Text
		return llm.Answer{JSON: json.RawMessage(`{"action":"retry_connection","reason":"Once more.","confidence":0.9}`)}, nil
	}))
	if err != nil || v.Action != task.ActionRetryConnection || !v.ByModel {
		t.Errorf("%+v, %v", v, err)
	}
	for _, want := range []string{"1m ago: exit (it exited (exit status 1)) after it ran for 3s: server_bug_crash: no such table", "10s ago: timeout", "1 of 5 failed, after 6 automatic ones",
		"read the notes", "write them (needs the server; required)", "tell the user"} {
		if !strings.Contains(question, want) {
			t.Errorf("the question does not say %q: %s", want, question)
		}
	}
}

func TestEvaluateHealthWithAModel(t *testing.T) {
	s := task.Situation{
		Health: health.Snapshot{State: health.Dead, LastSuccess: time.Now().Add(-time.Minute)}, Reconnects: 5,
		Failures: []health.Failure{{Kind: health.Refused, At: time.Now()}}, NextTry: time.Now().Add(time.Second),
		Task: task.Work{Goal: "all or nothing", Needs: task.NeedSome, OthersHealthy: true, Deadline: time.Now().Add(time.Hour)},
	}
	answer := `{"action":"stop_task","reason":"It is all or nothing.","confidence":0.8}`
	model := modelFunc(func(context.Context, llm.Question) (llm.Answer, error) {
		return llm.Answer{JSON: json.RawMessage(answer), Model: "m", Usage: llm.Usage{InputTokens: 5}}, nil
	})
	v, err := task.Evaluate(t.Context(), s, model)
	if err != nil || v.Action != task.ActionStopTask || !v.ByModel || !v.Asked || v.Model != "m" || v.Usage.InputTokens != 5 || v.Rejected != "" {
		t.Errorf("%+v, %v", v, err)
	}
	answer = `{"action":"restart","reason":"","confidence":1}`
	if v, err = task.Evaluate(t.Context(), s, model); err != nil || v.Action != task.ActionContinue || v.ByModel || v.Rejected == "" {
		t.Errorf("%+v, %v", v, err)
	}
	failing := modelFunc(func(context.Context, llm.Question) (llm.Answer, error) { return llm.Answer{}, errors.New("down") })
	if v, err = task.Evaluate(t.Context(), s, failing); err != nil || v.Action != task.ActionContinue || !strings.Contains(v.Rejected, "down") {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err = task.Evaluate(t.Context(), task.Situation{Health: health.Snapshot{State: -1}}, nil); err == nil {
		t.Error("a situation without a valid state was accepted")
	}
}
