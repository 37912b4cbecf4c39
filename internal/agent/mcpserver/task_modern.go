package mcpserver

import "encoding/json"

func missingExtension() error {
	return &Error{Code: codeMissingCapability, Message: "the client must declare the extension " + extension + " in this request",
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + extension + `":{}}}}`)}
}

// modernTask handles a method of 2026-07-28. A task of that version is one of the backend.
func (c *conn) modernTask(r request, method string) (any, error) {
	if method != "get" && method != "update" && method != "cancel" {
		return nil, &Error{Code: CodeMethodNotFound, Message: "unknown method tasks/" + method + " in protocol version " + r.client.version}
	}
	if !r.client.declaresTasks() {
		return nil, missingExtension()
	}
	id, err := r.taskID()
	var found Task
	if err == nil {
		found, err = c.find(id)
	}
	switch {
	case err != nil:
		return nil, err
	case method == "get":
		return c.detailed(found), nil
	case method == "cancel" && !found.Status.terminal():
		err = c.stopDurable(id)
	}
	// A task asks for no input after it was created, and one that has ended cannot be canceled.
	return object{"resultType": "complete"}, err
}

// detailed returns a task with its result or error.
func (c *conn) detailed(t Task) modernTask {
	out := t.modern("complete")
	switch t.Status {
	case Completed:
		result, err := c.server.Tasks.Result(c.ctx, t.ID)
		if err == nil {
			out.Result = result
			break
		}
		out.Status, out.Message = Failed, firstLine(err.Error())
		fallthrough
	case Failed:
		out.Error = map[string]any{"code": CodeInternal, "message": out.Message}
	}
	return out
}
