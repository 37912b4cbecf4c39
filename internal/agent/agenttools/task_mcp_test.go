package agenttools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCallAsATask(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, tasksVersion, canAsk)
	capabilities := c.hello["capabilities"].(object)
	if text, _ := json.Marshal(capabilities["tasks"]); string(text) != `{"cancel":{},"list":{},"requests":{"tools":{"call":{}}}}` {
		t.Errorf("tasks: %s", text)
	}
	id := c.create("run_task", asTask("append a", "append b"))
	if !strings.HasPrefix(id, "errand-") {
		t.Errorf("id %s", id)
	}
	if s := c.asked("notifications/tasks/status"); s["params"].(object)["status"] != "input_required" {
		t.Errorf("%v", s)
	}
	if got := c.get(id); got["status"] != "input_required" || got["statusMessage"] == "" || a.exists("ledger") {
		t.Errorf("%v", got)
	}
	waiting := c.begin("tasks/result", object{"taskId": id})
	question := c.agree()
	related, _ := json.Marshal(question["_meta"])
	if want := fmt.Sprintf(`{"io.modelcontextprotocol/related-task":{"taskId":%q}}`, id); string(related) != want || !strings.Contains(question["message"].(string), "s0: n append") {
		t.Errorf("asked %v", question)
	}
	result := c.answer(waiting)["result"].(object)
	if related, _ := json.Marshal(result["_meta"]); state(result) != "done" || !strings.Contains(string(related), id) || !slices.Equal(a.effects(), []string{"a", "b"}) {
		t.Fatalf("%v", result)
	}
	if got := c.get(id); got["status"] != "completed" || !strings.Contains(got["statusMessage"].(string), "2 of 2 steps") {
		t.Errorf("%v", got)
	}
	// The same result as without a task.
	plain := c.begin("tools/call", object{"name": "run_task", "arguments": errand("cursor/notes", "append a", "append b")})
	c.agree()
	alone := c.answer(plain)["result"].(object)
	delete(result, "_meta")
	for _, r := range []object{alone, result} {
		report := r["structuredContent"].(object)["task"].(object)
		delete(report, "timeline") // it has times
		delete(report, "id")
		delete(report, "calls") // the server numbers them
		delete(r, "content")
	}
	if a, b := fmt.Sprint(alone), fmt.Sprint(result); a != b {
		t.Errorf("without a task\n%s\nas a task\n%s", a, b)
	}
	// Another process knows the task.
	c.quit()
	c = newRawClient(a, tasksVersion, canAsk)
	if got := c.get(id); got["status"] != "completed" {
		t.Errorf("%v", got)
	}
	again := c.call("tasks/result", object{"taskId": id})
	if state(again) != "done" || again["_meta"] == nil {
		t.Errorf("%v", again)
	}
}

func TestTaskIsCancelled(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, tasksVersion, canAsk)
	id := c.create("run_task", asTask("append a", "hang_unsafe x", "append c"))
	c.agree()
	waiting := c.begin("tasks/result", object{"taskId": id})
	for !slices.Contains(a.effects(), "x") { // the second call is in progress
		c.get(id)
	}
	got := c.call("tasks/cancel", object{"taskId": id})
	if got["status"] != "cancelled" || !strings.HasPrefix(got["statusMessage"].(string), "interrupted, 1 of 3 steps done") {
		t.Errorf("%v", got)
	}
	if result, _ := c.answer(waiting)["result"].(object); state(result) != "interrupted" {
		t.Errorf("%v", c.answer(waiting))
	}
	if code, message := c.refused("tasks/cancel", object{"taskId": id}); code != -32602 || !strings.Contains(message, "already cancelled") {
		t.Errorf("%d %s", code, message)
	}
	// The task can be resumed, in another process too, and what was cancelled stays so.
	c.quit()
	c = newRawClient(a, tasksVersion, canAsk)
	if s := c.status(id); s != "cancelled" {
		t.Errorf("after a restart: %v", s)
	}
	second := c.create("resume_task", object{"id": id})
	c.agree()
	result := c.call("tasks/result", object{"taskId": second})
	if second != id+".2" || state(result) != "needs-decision" { // it was stopped during a call
		t.Fatalf("%s: %v", second, result)
	}
	if got := c.get(second); got["status"] != "completed" || !strings.HasPrefix(got["statusMessage"].(string), "needs-decision, 1 of 3 steps done: ") {
		t.Errorf("%v", got)
	}
	third := c.create("resume_task", object{"id": id, "decision": "skip"})
	c.agree()
	if result := c.call("tasks/result", object{"taskId": third}); third != id+".3" || state(result) != "done" || !slices.Equal(a.effects(), []string{"a", "x", "c"}) {
		t.Errorf("%s: %v, effects %v", third, result, a.effects())
	}
	want := map[string]any{id: "cancelled", second: "completed", third: "completed"}
	for range 2 {
		for id, status := range want {
			if got := c.status(id); got != status {
				t.Errorf("%s: %v, want %v", id, got, status)
			}
		}
		c.quit()
		c = newRawClient(a, tasksVersion, canAsk)
	}
}

func TestTaskIsCancelledBeforeItBegins(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, tasksVersion, canAsk)
	id := c.create("run_task", asTask("append a"))
	c.asked("elicitation/create")
	if got := c.call("tasks/cancel", object{"taskId": id}); got["status"] != "cancelled" {
		t.Errorf("%v", got)
	}
	if _, message := c.refused("tasks/result", object{"taskId": id}); !strings.Contains(message, "nothing was done") {
		t.Errorf("%s", message)
	}
	if a.exists("ledger") {
		t.Error("it ran")
	}
}

func TestTwoTasksAtTheSameTimeAndTheirList(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, tasksVersion, canAsk)
	var ids []string
	for range 2 {
		ids = append(ids, c.create("run_task", asTask("hang x")))
		c.agree()
	}
	for c.get(ids[0])["statusMessage"] == nil || c.get(ids[1])["statusMessage"] == nil { // they have not begun
	}
	declined := c.create("run_task", asTask("append a"))
	q := c.asked("elicitation/create")
	c.send(object{"jsonrpc": "2.0", "id": q["id"], "result": object{"action": "decline"}})
	if r := c.call("tasks/result", object{"taskId": declined}); r["structuredContent"].(object)["status"] != "declined" {
		t.Errorf("%v", r)
	}
	listed := map[string]any{}
	for _, one := range c.call("tasks/list", object{})["tasks"].([]any) {
		listed[one.(object)["taskId"].(string)] = one.(object)["status"]
	}
	if len(listed) != 3 || listed[ids[0]] != "working" || listed[ids[1]] != "working" || listed[declined] != "completed" {
		t.Errorf("%v", listed)
	}
	if got := c.call("tasks/cancel", object{"taskId": ids[0]}); got["status"] != "cancelled" {
		t.Errorf("%v", got)
	}
	if s := c.status(ids[1]); s != "working" {
		t.Errorf("the other task is %v", s)
	}
	// A task whose process ended has the status of one that was stopped, and is listed.
	c.quit()
	c = newRawClient(a, tasksVersion, canAsk)
	if got := c.call("tasks/list", nil)["tasks"].([]any); len(got) != 2 || c.status(ids[1]) != "cancelled" {
		t.Errorf("%v, %v", got, c.get(ids[1]))
	}
}

func TestListOfTasksHasPages(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, tasksVersion, canAsk)
	store := protocolTasks{newService(context.Background(), Options{Fleet: a.fleet, StateDir: filepath.Join(a.dir, "state", "tasks")})}
	defer store.svc.tasks.close()
	journal, err := store.svc.tasks.open()
	if err != nil {
		t.Fatal(err)
	}
	const count = tasksPerPage + 3
	for range count {
		plan, err := store.svc.newCall(context.Background(), "run_task", nil).planOf(json.RawMessage(`{"servers":{"n":"cursor/notes"},"steps":[{"id":"a","server":"n","tool":"append"}]}`))
		if err == nil {
			_, err = journal.Start(context.Background(), plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	seen, params := map[any]bool{}, object{}
	for pages := 1; ; pages++ {
		page := c.call("tasks/list", params)
		for _, one := range page["tasks"].([]any) {
			seen[one.(object)["taskId"]] = true
		}
		if page["nextCursor"] == nil {
			if pages != 2 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		params["cursor"] = page["nextCursor"]
	}
	if len(seen) != count {
		t.Errorf("%d tasks", len(seen))
	}
	for _, cursor := range []any{"nothing", 7} {
		if code, _ := c.refused("tasks/list", object{"cursor": cursor}); code != -32602 {
			t.Errorf("cursor %v: %d", cursor, code)
		}
	}
}

func TestBadRequestsAboutTasks(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, tasksVersion, object{})
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		for _, id := range []any{"nothing", "nothing.2", "", nil, 7, "../x", "a.b.c", strings.Repeat("x", 10_000)} {
			if code, message := c.refused(method, object{"taskId": id}); code != -32602 || message == "" || len(message) > 500 {
				t.Errorf("%s %.20v: %d %s", method, id, code, message)
			}
		}
	}
	for _, task := range []any{7, object{"ttl": -1}, object{"ttl": "long"}} {
		if code, _ := c.refused("tools/call", object{"name": "run_task", "arguments": asTask("append a"), "task": task}); code != -32602 {
			t.Errorf("task %v: %d", task, code)
		}
	}
	if code, message := c.refused("tools/call", object{"name": "list_servers", "task": object{}}); code != -32601 || !strings.Contains(message, "list_servers") {
		t.Errorf("%d %s", code, message)
	}
	if code, _ := c.refused("tasks/update", object{"taskId": "x"}); code != -32601 {
		t.Errorf("tasks/update: %d", code)
	}
	// A tool that rejects its arguments makes the task fail, and a client that cannot ask gets a command.
	id := c.create("run_task", object{"plan": 7})
	if r := c.call("tasks/result", object{"taskId": id}); r["isError"] != true || c.status(id) != "failed" {
		t.Errorf("%v, %v", r, c.get(id))
	}
	id = c.create("run_task", asTask("append a"))
	r := c.call("tasks/result", object{"taskId": id})
	if r["structuredContent"].(object)["status"] != needsPerson || c.status(id) != "completed" || a.exists("ledger") {
		t.Errorf("%v, %v", r, c.get(id))
	}
}

// A client whose version has no tasks sees nothing of them.
func TestOlderClientSeesNoTasks(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, "2025-06-18", canAsk)
	if c.hello["capabilities"].(object)["tasks"] != nil {
		t.Errorf("%v", c.hello)
	}
	if text, _ := json.Marshal(c.call("tools/list", nil)); strings.Contains(string(text), "taskSupport") {
		t.Error("tools/list has taskSupport")
	}
	if code, _ := c.refused("tasks/list", object{}); code != -32601 {
		t.Errorf("tasks/list: %d", code)
	}
	in := asTask("append a")
	in["wait_seconds"] = 60
	call := c.begin("tools/call", object{"name": "run_task", "arguments": in, "task": object{"ttl": 1}, "_meta": object{"io.modelcontextprotocol/related-task": object{"taskId": "x"}}})
	if q := c.agree(); q["_meta"] != nil {
		t.Errorf("asked %v", q)
	}
	if r, _ := c.answer(call)["result"].(object); state(r) != "done" {
		t.Errorf("%v", r)
	}
}

func TestToolsThatSupportTasks(t *testing.T) {
	t.Parallel()
	c := newRawClient(tasksHome(t), tasksVersion, canAsk)
	list := c.call("tools/list", nil)
	var supported []string
	for _, one := range list["tools"].([]any) {
		if e, ok := one.(object)["execution"].(object); ok && e["taskSupport"] == "optional" {
			supported = append(supported, one.(object)["name"].(string))
		}
	}
	slices.Sort(supported)
	if !slices.Equal(supported, []string{"resume_task", "run_task"}) {
		t.Errorf("%v", supported)
	}
	text, _ := json.Marshal(list)
	if t.Logf("tools/list has %d bytes", len(text)); len(text) >= maxListBytes {
		t.Errorf("tools/list has %d bytes, the limit is %d", len(text), maxListBytes)
	}
}

// In 2026-07-28 the client declares the extension, and the server answers with a task what takes longer
// than wait_seconds.
func TestModernTask(t *testing.T) {
	t.Parallel()
	a := tasksHome(t)
	c := newRawClient(a, modern, nil)
	able := object{"elicitation": object{"form": object{}}, "extensions": object{"io.modelcontextprotocol/tasks": object{}}}
	with := func(capabilities, params object) object {
		params["_meta"] = object{"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": capabilities,
			"io.modelcontextprotocol/clientInfo": object{"name": "raw", "version": "1"}}
		return params
	}
	found := c.call("server/discover", with(able, object{}))
	if extensions, _ := found["capabilities"].(object)["extensions"].(object); extensions["io.modelcontextprotocol/tasks"] == nil || found["capabilities"].(object)["tasks"] != nil {
		t.Errorf("%v", found)
	}
	run := func(capabilities object, wait float64, steps ...string) object {
		in := errand("cursor/notes", steps...)
		in["wait_seconds"] = wait
		asked := c.call("tools/call", with(capabilities, object{"name": "run_task", "arguments": in}))
		if asked["resultType"] != "input_required" {
			t.Fatalf("%v", asked)
		}
		return c.call("tools/call", with(capabilities, object{"name": "run_task", "arguments": in, "requestState": asked["requestState"],
			"inputResponses": object{answerName: object{"action": "accept", "content": object{"agree": true}}}}))
	}
	if r := run(able, 60, "append a"); r["resultType"] != "complete" || state(r) != "done" {
		t.Errorf("%v", r)
	}
	if r := run(object{"elicitation": object{"form": object{}}}, 0.001, "hang x"); r["resultType"] != "complete" || state(r) != "running" {
		t.Errorf("without the extension: %v", r)
	}
	created := run(able, 0.001, "append b", "hang_unsafe x")
	if created["resultType"] != "task" || created["status"] != "working" || created["pollIntervalMs"] == nil || created["content"] != nil {
		t.Fatalf("%v", created)
	}
	id := object{"taskId": created["taskId"]}
	for !slices.Contains(a.effects(), "x") {
		if got := c.call("tasks/get", with(able, id)); got["status"] != "working" || got["resultType"] != "complete" {
			t.Fatalf("%v", got)
		}
	}
	for _, method := range []string{"tasks/update", "tasks/cancel"} {
		if got := c.call(method, with(able, id)); len(got) != 1 || got["resultType"] != "complete" {
			t.Errorf("%s: %v", method, got)
		}
	}
	if got := c.call("tasks/get", with(able, id)); got["status"] != "cancelled" {
		t.Errorf("%v", got)
	}
	resumed := c.call("tools/call", with(able, object{"name": "resume_task", "arguments": object{"id": created["taskId"], "wait_seconds": 0.000001}}))
	second := object{"taskId": fmt.Sprint(created["taskId"]) + ".2"}
	for {
		got := c.call("tasks/get", with(able, second))
		if got["status"] == "working" {
			continue
		}
		if result, _ := got["result"].(object); got["status"] != "completed" || state(result) != "needs-decision" {
			t.Errorf("%v, created by %v", got, resumed)
		}
		break
	}
	for method, want := range map[string]int{"tasks/get": -32021, "tasks/cancel": -32021, "tasks/result": -32601, "tasks/list": -32601} {
		if code, _ := c.refused(method, with(object{}, id)); code != want {
			t.Errorf("%s: %d", method, code)
		}
	}
	if code, _ := c.refused("tasks/get", with(able, object{"taskId": "nothing"})); code != -32602 {
		t.Errorf("unknown: %d", code)
	}
}
