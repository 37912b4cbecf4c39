package mcpserver

import (
	"context"
	"encoding/json"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// able are the capabilities of a client with the extension.
var able = object{"extensions": object{extension: object{}}}

// as adds what a request of 2026-07-28 says about the client.
func as(capabilities, params object) object {
	params["_meta"] = object{"io.modelcontextprotocol/protocolVersion": wire.FirstModern, "io.modelcontextprotocol/clientCapabilities": capabilities,
		"io.modelcontextprotocol/clientInfo": object{"name": "raw", "version": "1"}}
	return params
}

func TestExtensionIsDiscovered(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.FirstModern, says("ok"))
	capabilities := c.call("server/discover", as(object{}, object{}))["capabilities"].(object)
	if text(capabilities["extensions"]) != `{"io.modelcontextprotocol/tasks":{}}` || capabilities["tasks"] != nil {
		t.Errorf("%v", capabilities)
	}
	if list := text(c.call("tools/list", as(able, object{}))); strings.Contains(list, "taskSupport") {
		t.Error(list)
	}
}

// deferring is a tool that returns a task if it may, and a text otherwise.
func deferring(id string) work {
	return func(_ context.Context, r *Call) (*Result, error) {
		if r.MayDefer {
			return &Result{Task: id}, nil
		}
		return texted("now"), nil
	}
}

func TestToolReturnsATask(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.FirstModern, deferring("later"))
	c.kept.put(Task{ID: "later", Status: Working, Message: "1 of 2"}, "")
	call := object{"name": "job"}
	created := c.call("tools/call", as(able, call))
	ttl, hasTTL := created["ttlMs"]
	if created["resultType"] != "task" || created["taskId"] != "later" || created["status"] != "working" || created["pollIntervalMs"] != 1000.0 || ttl != nil || !hasTTL || created["content"] != nil {
		t.Errorf("%v", created)
	}
	if got := c.call("tasks/get", as(able, object{"taskId": "later"})); got["resultType"] != "complete" || got["statusMessage"] != "1 of 2" || got["result"] != nil {
		t.Errorf("%v", got)
	}
	// The tool returns a result to a client that did not declare the extension in this request.
	if got := c.call("tools/call", as(object{}, call)); !strings.Contains(text(got["content"]), "now") {
		t.Errorf("%v", got)
	}
}

func TestTaskThatCannotBeReadIsNotReturned(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.FirstModern, deferring("nothing"))
	if got := c.call("tools/call", as(able, object{"name": "job"})); got["resultType"] == "task" {
		t.Errorf("%v", got)
	}
}

func TestModernTaskHasItsResultOrError(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.FirstModern, says("ok"))
	c.kept.put(Task{ID: "good", Status: Completed}, `{"content":[]}`)
	c.kept.put(Task{ID: "lost", Status: Completed}, "")
	c.kept.put(Task{ID: "bad", Status: Failed, Message: "why"}, "")
	for id, want := range map[string]string{
		"good": `completed {"content":[]} null`,
		"lost": `failed null {"code":-32603,"message":"the result cannot be read"}`,
		"bad":  `failed null {"code":-32603,"message":"why"}`,
	} {
		got := c.call("tasks/get", as(able, object{"taskId": id}))
		if s := got["status"].(string) + " " + text(got["result"]) + " " + text(got["error"]); s != want {
			t.Errorf("%s: %s, want %s", id, s, want)
		}
	}
}

func TestModernTaskIsCancelled(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.FirstModern, says("ok"))
	c.kept.put(Task{ID: "ours", Status: Working}, "")
	c.kept.put(Task{ID: "other", Status: Working}, "")
	c.kept.begun["ours"] = true
	for _, method := range []string{"tasks/update", "tasks/cancel", "tasks/cancel"} { // one that has ended cannot be canceled again, which is no error
		if got := c.call(method, as(able, object{"taskId": "ours"})); text(got) != `{"resultType":"complete"}` {
			t.Errorf("%s: %v", method, got)
		}
	}
	if got := c.call("tasks/get", as(able, object{"taskId": "ours"})); got["status"] != "cancelled" {
		t.Errorf("%v", got)
	}
	c.refused(jsonrpc.CodeInternalError, "tasks/cancel", as(able, object{"taskId": "other"}))
}

func TestModernErrors(t *testing.T) {
	t.Parallel()
	c := connect(t, wire.FirstModern, says("ok"))
	c.kept.put(Task{ID: "x", Status: Working}, "")
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		c.refused(codeMissingCapability, method, as(object{}, object{"taskId": "x"}))
		c.refused(jsonrpc.CodeInvalidParams, method, as(able, object{"taskId": "nothing"}))
		c.refused(jsonrpc.CodeInvalidParams, method, as(able, object{"taskId": 7}))
	}
	for _, method := range []string{"tasks/result", "tasks/list"} { // of 2025-11-25
		c.refused(jsonrpc.CodeMethodNotFound, method, as(able, object{"taskId": "x"}))
	}
	listen := object{"notifications": object{"taskIds": []any{"x"}}}
	_, err := c.answer(c.begin("subscriptions/listen", as(object{}, listen)))
	if err == nil || err.Code != codeMissingCapability || string(err.Data) != `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}` {
		t.Errorf("%v", err)
	}
}

func TestRelatedTaskIsAdded(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"content":[],"n":12345678901234567890}`: `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}},"content":[],"n":12345678901234567890}`,
		`null`: `null`,
		`[1]`:  `[1]`,
		``:     ``,
	} {
		if got := addRelated(json.RawMessage(result), "x"); string(got) != want {
			t.Errorf("%s: %s, want %s", result, got, want)
		}
	}
}
