package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const related = "io.modelcontextprotocol/related-task"

func TestCapabilityOfTasksIsDeclared(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	if got := text(c.hello["capabilities"].(object)["tasks"]); got != `{"cancel":{},"list":{},"requests":{"tools":{"call":{}}}}` {
		t.Errorf("capability %s", got)
	}
	support := map[any]any{}
	for _, tool := range c.call("tools/list", nil)["tools"].([]any) {
		execution, _ := tool.(object)["execution"].(object)
		support[tool.(object)["name"]] = execution["taskSupport"]
	}
	if support["job"] != "optional" || support["plain"] != nil {
		t.Errorf("taskSupport %v", support)
	}
}

// A session with a version before tasks has none: the member task is ignored, as the SDK does.
func TestOlderVersionsHaveNoTasks(t *testing.T) {
	t.Parallel()
	c := connect(t, "2025-06-18", says("ok"))
	if text(c.hello["capabilities"]) == "" || c.hello["capabilities"].(object)["tasks"] != nil {
		t.Errorf("%v", c.hello)
	}
	if list := text(c.call("tools/list", nil)); strings.Contains(list, "taskSupport") {
		t.Error(list)
	}
	if got := c.call("tools/call", object{"name": "job", "task": object{}}); got["task"] != nil || got["content"] == nil {
		t.Errorf("%v", got)
	}
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"} {
		c.refused(jsonrpc.CodeMethodNotFound, method, object{"taskId": "x"})
	}
}

func TestCallWithATaskIsAnsweredImmediately(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	c := connect(t, wire.NewestLegacy, held(gate))
	before := time.Now().Add(-time.Millisecond)
	created := c.call("tools/call", object{"name": "job", "task": object{"ttl": 60000}})["task"].(object)
	if created["taskId"] != "job-1" || created["status"] != "working" || created["pollInterval"] != 1000.0 {
		t.Errorf("%v", created)
	}
	if ttl, ok := created["ttl"]; !ok || ttl != nil { // the time that was asked for is not a limit
		t.Errorf("ttl %v", created)
	}
	for _, name := range []string{"createdAt", "lastUpdatedAt"} {
		at, err := time.Parse(time.RFC3339, created[name].(string))
		if err != nil || at.Before(before.Truncate(time.Millisecond)) || at.After(time.Now()) {
			t.Errorf("%s %v: %v", name, created[name], err)
		}
	}
	waiting := c.begin("tasks/result", object{"taskId": "job-1"})
	if got := c.call("tasks/get", object{"taskId": "job-1"}); got["status"] != "working" || c.answered(waiting) {
		t.Errorf("%v", got)
	}
	close(gate)
	if told := c.becomes("job-1", Completed); told["statusMessage"] != "it worked" || told["createdAt"] != created["createdAt"] {
		t.Errorf("told %v", told)
	}
	first, err := c.answer(waiting)
	if err != nil || !strings.Contains(text(first["content"]), "let go") || text(first["_meta"].(object)[related]) != `{"taskId":"job-1"}` {
		t.Errorf("%v, %v", first, err)
	}
	if again := c.call("tasks/result", object{"taskId": "job-1"}); text(again) != text(first) {
		t.Errorf("%v, then %v", first, again)
	}
	if got := c.call("tasks/get", object{"taskId": "job-1"}); got["status"] != "completed" || got["statusMessage"] != "it worked" {
		t.Errorf("%v", got)
	}
}

// The tool learns the id of its task, and nothing of the id under which the SDK runs it.
func TestToolLearnsItsTask(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, func(_ context.Context, r *Call) (*Result, error) {
		return texted(fmt.Sprintf("task %q, may defer %v", r.TaskID, r.MayDefer)), nil
	})
	id := c.create()
	if got := text(c.call("tasks/result", object{"taskId": id})["content"]); !strings.Contains(got, `task \"job-1\", may defer false`) {
		t.Error(got)
	}
	if got := text(c.call("tools/call", object{"name": "job"})["content"]); !strings.Contains(got, `task \"\", may defer false`) {
		t.Error(got)
	}
}

// Clients that encode every optional member send null for none.
func TestNullIsNotATask(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	if got := c.call("tools/call", object{"name": "job", "task": nil}); got["content"] == nil {
		t.Errorf("%v", got)
	}
}

func TestInvalidTasksAreRejected(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	for _, task := range []any{7, "x", []any{}, object{"ttl": -1}, object{"ttl": "long"}} {
		c.refused(jsonrpc.CodeInvalidParams, "tools/call", object{"name": "job", "task": task})
	}
	for _, tool := range []string{"plain", "nothing"} {
		if message := c.refused(jsonrpc.CodeMethodNotFound, "tools/call", object{"name": tool, "task": object{}}); !strings.Contains(message, tool) {
			t.Error(message)
		}
	}
	if list := c.call("tasks/list", nil)["tasks"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

func TestUnknownTasks(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		for _, id := range []any{"nothing", "", nil, 7, object{}} {
			if message := c.refused(jsonrpc.CodeInvalidParams, method, object{"taskId": id}); message == "" {
				t.Errorf("%s %v: no message", method, id)
			}
		}
		c.refused(jsonrpc.CodeInvalidParams, method, nil)
	}
	c.refused(jsonrpc.CodeMethodNotFound, "tasks/update", object{"taskId": "x"}) // a method of 2026-07-28
}

func TestFailedCalls(t *testing.T) {
	t.Parallel()
	coded := &Error{Code: -32000, Message: "no\nway"}
	for name, tool := range map[string]work{
		"as a result": func(context.Context, *Call) (*Result, error) {
			r := texted(" it is full\nsecond line")
			r.IsError = true
			return r, nil
		},
		"as an error": func(context.Context, *Call) (*Result, error) { return nil, coded },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, wire.NewestLegacy, tool)
			plain, plainErr := c.answer(c.begin("tools/call", object{"name": "job"}))
			id := c.create()
			told := c.becomes(id, Failed)
			if message := told["statusMessage"].(string); message == "" || strings.Contains(message, "\n") {
				t.Errorf("told %v", told)
			}
			result, err := c.answer(c.begin("tasks/result", object{"taskId": id}))
			delete(result, "_meta")
			if text(result) != text(plain) || text(err) != text(plainErr) {
				t.Errorf("as a task %v %v, without %v %v", result, err, plain, plainErr)
			}
			c.refused(jsonrpc.CodeInvalidParams, "tasks/cancel", object{"taskId": id})
		})
	}
}

// asks is a tool that asks the user a question for each answer that it needs, all at the same time.
func asks(questions int) work {
	return func(ctx context.Context, r *Call) (*Result, error) {
		failed := make(chan error, questions)
		for range questions {
			go func() {
				_, err := r.Ask(ctx, Question{Message: "Go on?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
				failed <- err
			}()
		}
		for range questions {
			if err := <-failed; err != nil {
				return nil, err
			}
		}
		return texted("done"), nil
	}
}

func (c *client) accept(question *jsonrpc.Request) {
	c.t.Helper()
	c.write(&jsonrpc.Response{ID: question.ID, Result: json.RawMessage(`{"action":"accept","content":{}}`)})
}

func TestTaskThatAsksRequiresInput(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, asks(1))
	id := c.create()
	if told := c.becomes(id, InputRequired); told["statusMessage"] == nil {
		t.Errorf("told %v", told)
	}
	q := c.question("elicitation/create")
	if c.status(id) != "input_required" || !strings.Contains(string(q.Params), `"taskId":"`+id+`"`) {
		t.Errorf("%v, asked %s", c.status(id), q.Params)
	}
	c.accept(q)
	c.becomes(id, Working)
	c.becomes(id, Completed)
}

func TestTaskRequiresInputUntilItsLastQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, asks(2))
	id := c.create()
	first, second := c.question("elicitation/create"), c.question("elicitation/create")
	c.accept(first)
	c.call("tasks/list", nil) // the answer was read before
	if got := c.status(id); got != "input_required" {
		t.Errorf("with one question left: %v", got)
	}
	c.accept(second)
	c.becomes(id, Completed)
}

// A tool that no longer waits for an answer withdraws its question, and goes on.
func TestTaskWithAWithdrawnQuestionIsWorking(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	c := connect(t, wire.NewestLegacy, func(ctx context.Context, r *Call) (*Result, error) {
		limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := asks(1)(limited, r); err == nil {
			return nil, errors.New("nobody was to answer")
		}
		return held(gate)(ctx, r)
	})
	id := c.create()
	c.becomes(id, InputRequired)
	c.question("notifications/cancelled")
	if got := c.status(id); got != "working" {
		t.Errorf("after the question was withdrawn: %v", got)
	}
	close(gate)
	c.becomes(id, Completed)
}

func TestTaskIsCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, held(nil))
	id := c.create()
	waiting := c.begin("tasks/result", object{"taskId": id})
	got := c.call("tasks/cancel", object{"taskId": id})
	if got["status"] != "cancelled" || got["taskId"] != id || got["createdAt"] == nil {
		t.Errorf("%v", got)
	}
	if _, err := c.answer(waiting); err == nil || !strings.Contains(err.Message, "nothing was done") {
		t.Errorf("result: %v", err)
	}
	c.becomes(id, Cancelled)
	if message := c.refused(jsonrpc.CodeInvalidParams, "tasks/cancel", object{"taskId": id}); !strings.Contains(message, "already cancelled") {
		t.Error(message)
	}
	if c.status(id) != "cancelled" {
		t.Error("the task did not stay cancelled")
	}
}

// What a call began is stopped, and has the status and the result of the backend.
func TestTaskIsCancelledAfterItBegan(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, held(nil))
	id := c.create()
	c.kept.put(Task{ID: id, Status: Working, Message: "1 of 3"}, `{"content":[],"structuredContent":{"at":1}}`)
	c.kept.begun[id] = true
	if got := c.call("tasks/get", object{"taskId": id}); got["statusMessage"] != "1 of 3" {
		t.Errorf("%v", got)
	}
	if got := c.call("tasks/cancel", object{"taskId": id}); got["status"] != "cancelled" || got["statusMessage"] != "stopped" {
		t.Errorf("%v", got)
	}
	if r := c.call("tasks/result", object{"taskId": id}); text(r["structuredContent"]) != `{"at":1}` || text(r["_meta"].(object)[related]) != `{"taskId":"`+id+`"}` {
		t.Errorf("%v", r)
	}
}

// A task that has not stopped yet has not ended: it has the status that it reaches.
func TestTaskThatStopsSlowly(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, held(nil))
	id := c.create()
	c.kept.put(Task{ID: id, Status: Working, Message: "1 of 3"}, "")
	c.kept.begun[id], c.kept.stopErr = true, errors.New("the servers have not exited yet")
	if message := c.refused(jsonrpc.CodeInternalError, "tasks/cancel", object{"taskId": id}); !strings.Contains(message, "not exited yet") {
		t.Error(message)
	}
	waiting := c.begin("tasks/result", object{"taskId": id})
	if got := c.status(id); got != "working" || c.answered(waiting) {
		t.Errorf("while it stops: %v", got)
	}
	c.kept.put(Task{ID: id, Status: Cancelled, Message: "stopped"}, `{"content":[]}`)
	if told := c.becomes(id, Cancelled); told["statusMessage"] != "stopped" {
		t.Errorf("told %v", told)
	}
	if r, err := c.answer(waiting); err != nil || r["content"] == nil {
		t.Errorf("%v, %v", r, err)
	}
}

func TestTwoCancelsOfOneTask(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, held(nil))
	id := c.create()
	first, second := c.begin("tasks/cancel", object{"taskId": id}), c.begin("tasks/cancel", object{"taskId": id})
	if r, err := c.answer(first); err != nil || r["status"] != "cancelled" {
		t.Errorf("first: %v, %v", r, err)
	}
	if _, err := c.answer(second); err == nil || err.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("second: %v", err)
	}
}

// A task whose tool returns while a cancellation is being rejected ends with what the tool returned.
func TestRejectedCancellation(t *testing.T) {
	t.Parallel()
	k := &taskCall{id: "job-1", stop: func() {}, returned: make(chan struct{}), ended: make(chan struct{})}
	var c *conn
	var told []string
	c = newConn(t.Context(), nil, &Server{Tasks: &kept{}}, written(func(m message) {
		if m.Error != nil {
			c.returned(k, texted("ok"), nil)
		}
		told = append(told, m.Method)
	}))
	c.known[k.id], c.open, c.unanswered = k, 1, maxRunning
	c.cancelTask(request{id: json.RawMessage("7")}, k.id)
	select {
	case <-k.ended:
	default:
		t.Fatal("the task has no end")
	}
	if got := c.state(k); got.Status != Completed || text(told) != `["","notifications/tasks/status"]` {
		t.Errorf("%v, told %v", got, told)
	}
}

// Tasks of the backend that this connection did not create.
func TestTasksOfTheBackend(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	c.kept.put(Task{ID: "old", Status: Completed, Message: "all done"}, `{"content":[]}`)
	c.kept.put(Task{ID: "other", Status: Working}, "")
	c.kept.put(Task{ID: "ours", Status: Working}, "")
	c.kept.begun["ours"] = true
	if got := c.call("tasks/get", object{"taskId": "old"}); got["status"] != "completed" || got["statusMessage"] != "all done" {
		t.Errorf("%v", got)
	}
	if r := c.call("tasks/result", object{"taskId": "old"}); r["_meta"] == nil {
		t.Errorf("%v", r)
	}
	c.refused(jsonrpc.CodeInvalidParams, "tasks/cancel", object{"taskId": "old"})
	if message := c.refused(jsonrpc.CodeInternalError, "tasks/cancel", object{"taskId": "other"}); !strings.Contains(message, "gauze task stop other") {
		t.Error(message)
	}
	if got := c.call("tasks/cancel", object{"taskId": "ours"}); got["status"] != "cancelled" {
		t.Errorf("%v", got)
	}
	waiting := c.begin("tasks/result", object{"taskId": "other"})
	c.call("tasks/list", nil)
	if c.answered(waiting) {
		t.Error("the result of a task that is running was returned")
	}
	c.kept.put(Task{ID: "other", Status: Failed}, `{"content":[],"isError":true}`)
	if r, err := c.answer(waiting); err != nil || r["isError"] != true {
		t.Errorf("%v, %v", r, err)
	}
}

func TestClientStopsWaitingForAResult(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	c := connect(t, wire.NewestLegacy, held(gate))
	id := c.create()
	waiting := c.begin("tasks/result", object{"taskId": id})
	c.call("tasks/list", nil)
	c.notify("notifications/cancelled", object{"requestId": waiting.Raw()})
	if _, err := c.answer(waiting); err == nil {
		t.Error("the request has a result")
	}
	if c.status(id) != "working" { // only the wait was canceled
		t.Error("the task did not go on")
	}
	close(gate)
	c.becomes(id, Completed)
}

func TestListHasCallsAndTasksOfTheBackend(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	defer close(gate)
	c := connect(t, wire.NewestLegacy, held(gate))
	first, second, durable := c.create(), c.create(), c.create()
	for _, id := range []string{durable, "old", "older"} {
		c.kept.put(Task{ID: id, Status: Completed}, `{"content":[]}`)
	}
	c.kept.pages = map[string][]string{"": {durable, "old"}, "old": {"older"}}
	list := func(params object) (ids []any, next any) {
		page := c.call("tasks/list", params)
		for _, one := range page["tasks"].([]any) {
			ids = append(ids, one.(object)["taskId"].(string)+" "+one.(object)["status"].(string))
		}
		return ids, page["nextCursor"]
	}
	// The call that is in the backend has not returned, so it is still working.
	ids, next := list(nil)
	if want := []any{second + " working", first + " working", durable + " working", "old completed"}; text(ids) != text(want) || next != "old" {
		t.Errorf("%v then %v, want %v", ids, next, want)
	}
	if ids, next := list(object{"cursor": next}); text(ids) != `["older completed"]` || next != nil {
		t.Errorf("%v then %v", ids, next)
	}
	for _, cursor := range []any{"nothing", 7} {
		c.refused(jsonrpc.CodeInvalidParams, "tasks/list", object{"cursor": cursor})
	}
}

func TestNumberOfOpenTasksIsLimited(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	c := connect(t, wire.NewestLegacy, held(gate))
	var last string
	for range maxOpenCalls {
		last = c.create()
	}
	if message := c.refused(jsonrpc.CodeInternalError, "tools/call", object{"name": "job", "task": object{}}); !strings.Contains(message, "64 tasks are open") {
		t.Error(message)
	}
	c.call("tasks/cancel", object{"taskId": last})
	c.create()
	close(gate)
}

// Calls whose tasks have ended are forgotten, the oldest first; those that are open never.
func TestOldestTasksAreForgotten(t *testing.T) {
	t.Parallel()
	c := newConn(t.Context(), nil, nil, nil)
	for i := range maxKnownCalls + 2 {
		k := &taskCall{}
		if !c.register(k, fmt.Sprint(i)) {
			t.Fatal("not registered")
		}
		if i > 0 {
			k.final = &final{status: Completed}
			c.open--
		}
	}
	if len(c.known) != maxKnownCalls || len(c.order) != maxKnownCalls || c.known["0"] == nil || c.known["1"] != nil || c.known["2"] != nil || c.known["3"] == nil {
		t.Errorf("%d known, %d in order, begins with %v", len(c.known), len(c.order), c.order[:3])
	}
}

// A task that was to be resumed and was not leaves its id.
func TestIDsOfTasksAreUnique(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	c.kept.next = "again"
	for _, want := range []string{"again", "again.2", "again.3"} {
		if id := c.create(); id != want {
			t.Errorf("%s, want %s", id, want)
		}
		c.becomes(want, Completed)
	}
}

// When the client closes its side, the calls are canceled, so that the server ends.
func TestClientIsGone(t *testing.T) {
	t.Parallel()
	canceled := make(chan struct{})
	c := connect(t, wire.NewestLegacy, func(ctx context.Context, _ *Call) (*Result, error) {
		<-ctx.Done()
		close(canceled)
		return nil, ctx.Err()
	})
	id := c.create()
	c.begin("tasks/result", object{"taskId": id})
	c.conn.Close()
	for _, ended := range []func() bool{
		func() bool {
			select {
			case <-canceled:
				return true
			case <-time.After(20 * time.Second):
				return false
			}
		},
		func() bool {
			select {
			case <-c.ended:
				return true
			case <-time.After(20 * time.Second):
				return false
			}
		},
	} {
		if !ended() {
			t.Fatal("it goes on")
		}
	}
}

// JSON-RPC 2.0, section 4.1: a notification is not answered.
func TestNotificationsAreNotAnswered(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.NewestLegacy, says("ok"))
	for _, method := range []string{"tasks/get", "tasks/cancel", "tools/call", "tools/list", "subscriptions/listen"} {
		c.notify(method, object{"taskId": "x", "name": "plain", "task": object{}, "notifications": object{"taskIds": []any{"x"}}})
	}
	c.call("tasks/list", nil)
	if c.answered(jsonrpc.ID{}) {
		t.Error("a notification was answered")
	}
}
