package mcptasks

import (
	"bytes"
	"encoding/json"
)

// with returns an object with one more member, or with a new value for it. The other members keep
// their order unless there was one of this name.
func with(object json.RawMessage, name string, value any) json.RawMessage {
	encoded, err := json.Marshal(value)
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(object, &members) != nil || members == nil {
		return object
	}
	if _, ok := members[name]; !ok && len(members) > 0 {
		key, _ := json.Marshal(name) // a string always encodes
		open := bytes.TrimSpace(object)
		open = open[:len(open)-1]
		return bytes.Join([][]byte{open, []byte(","), key, []byte(":"), encoded, []byte("}")}, nil)
	}
	members[name] = encoded
	out, _ := json.Marshal(members) // valid JSON always encodes
	return out
}

// within edits one member of an object.
func within(object json.RawMessage, name string, edit func(json.RawMessage) json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members == nil {
		return object
	}
	member := members[name]
	if member == nil {
		member = json.RawMessage("{}")
	}
	return with(object, name, edit(member))
}

// addTasks adds the capability of 2025-11-25 to a result of initialize.
func addTasks(result json.RawMessage) json.RawMessage {
	return within(result, "capabilities", func(capabilities json.RawMessage) json.RawMessage {
		return with(capabilities, "tasks", json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`))
	})
}

// addExtension adds the extension of 2026-07-28 to a result of server/discover.
func addExtension(result json.RawMessage) json.RawMessage {
	return within(result, "capabilities", func(capabilities json.RawMessage) json.RawMessage {
		return within(capabilities, "extensions", func(extensions json.RawMessage) json.RawMessage {
			return with(extensions, extension, struct{}{})
		})
	})
}

// addExecution marks the tools that can be called as tasks in a result of tools/list.
func addExecution(supports func(tool string) bool) func(json.RawMessage) json.RawMessage {
	return func(result json.RawMessage) json.RawMessage {
		var list struct{ Tools []json.RawMessage }
		if json.Unmarshal(result, &list) != nil || list.Tools == nil {
			return result
		}
		for i, tool := range list.Tools {
			var named struct{ Name string }
			if json.Unmarshal(tool, &named) == nil && supports(named.Name) {
				list.Tools[i] = with(tool, "execution", map[string]string{"taskSupport": "optional"})
			}
		}
		return with(result, "tools", list.Tools)
	}
}

// addRelated adds the id of its task to a result.
func addRelated(result json.RawMessage, id string) json.RawMessage {
	return within(result, "_meta", func(meta json.RawMessage) json.RawMessage {
		return with(meta, RelatedTask, map[string]string{"taskId": id})
	})
}
