package mcptasks

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// codeMissingCapability is the error for a client that did not declare the extension.
const codeMissingCapability = -32021

func missingExtension() error {
	return &jsonrpc.Error{Code: codeMissingCapability, Message: "the client must declare the extension " + extension + " in this request",
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + extension + `":{}}}}`)}
}

// complete is an empty result.
var complete = map[string]string{"resultType": "complete"}

// modernMethod handles a method of 2026-07-28. A task of that version is one of the backend.
func (c *conn) modernMethod(request jsonrpc.ID, method string, p params) {
	if method != "get" && method != "update" && method != "cancel" {
		c.refuse(request, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "unknown method tasks/" + method + " in version " + p.Meta.Version})
		return
	}
	if !p.Meta.declares() {
		c.refuse(request, missingExtension())
		return
	}
	id, err := p.taskID()
	var found Task
	if err == nil {
		found, err = c.find(id)
	}
	switch {
	case err != nil:
		c.refuse(request, err)
	case method == "get":
		c.reply(request, c.detailed(found), nil)
	case method == "cancel" && !found.Status.terminal():
		c.reply(request, complete, c.stopDurable(id))
	default: // a task asks for no input after it was created, and one that has ended cannot be canceled
		c.reply(request, complete, nil)
	}
}

// detailed returns a task with its result or error.
func (c *conn) detailed(t Task) modernTask {
	out := t.modern("complete")
	switch t.Status {
	case Completed:
		result, err := c.backend.Result(c.ctx, t.ID)
		if err == nil {
			out.Result = result
			break
		}
		out.Status, out.Message = Failed, firstLine(err.Error())
		fallthrough
	case Failed:
		out.Error = map[string]any{"code": jsonrpc.CodeInternalError, "message": out.Message}
	}
	return out
}

// deferred returns the task in whose favor a tool returned no result, or the result.
func (c *conn) deferred(result json.RawMessage) json.RawMessage {
	id := relatedTo(result)
	if id == "" {
		return result
	}
	found, err := c.backend.Find(c.ctx, id)
	if err != nil {
		return result
	}
	out, err := json.Marshal(found.modern("task"))
	if err != nil {
		return result
	}
	return out
}
