package agenttools

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// admission is what the gate decided about the arguments of a call.
type admission struct {
	arguments []byte // to run the tool with
	note      string // for the model, after the result: what was adjusted; or ""
	refusal   string // why the tool must not run, and a call that would be valid; or ""
}

// admit checks the arguments of a call to a tool of ours by the rules for every server that runs
// through Gauze: they are repaired where the meaning is clear, or refused with every error and a call
// that would be valid. schema is the tool's input schema, and safe reports whether a repair that has
// to be told can do no harm. No repair sets or changes a confirmation.
func admit(g *repair.Gate, tool string, schema []byte, safe bool, raw []byte) admission {
	named, empty := respell(raw, schema)
	if empty != "" {
		return admission{refusal: failure("nothing was done: "+empty+" is an empty list",
			"call %s with at least one name in %s, or without %[2]s if it is optional", tool, empty).Error()}
	}
	d := g.Admit(repair.Call{Tool: tool, Arguments: named}, repair.Only{Schema: repair.Compile(schema), Safe: safe})
	switch {
	case d.Verdict == repair.Refused:
		return admission{refusal: d.Refusal().Message}
	case d.Verdict == repair.Unverified:
		return admission{refusal: failure("the arguments cannot be checked: "+d.Reason, "call %s with a JSON object that matches its input schema", tool).Error()}
	}
	for _, key := range confirmations {
		if !reflect.DeepEqual(valueOf(raw, key), valueOf(d.Arguments, key)) {
			return admission{refusal: failure("nothing was done: "+key+" must be passed exactly as it was given, at the top level of the arguments", `call %s without %s, or with "%[2]s" as a string`, tool, key).Error()}
		}
	}
	if len(d.Arguments) == 0 {
		d.Arguments = []byte("{}")
	}
	return admission{arguments: d.Arguments, note: d.Answered(d.Arguments, repair.Response{}).Note}
}

// confirmations are the arguments that pass on what the user decided.
var confirmations = []string{"consent", "decision"}

// valueOf returns the value of a top-level key, or nil.
func valueOf(raw []byte, key string) (value any) {
	all, _ := members(raw)
	_ = json.Unmarshal(all[key], &value) // nil if there is none
	return value
}

// otherNames are names that arguments had in earlier versions, or that models use for them.
var otherNames = map[string][]string{
	"server": {"servers", "name", "server_name", "server_id"},
	"client": {"clients", "client_id"},
}

// respell returns arguments under the names of the schema, with lists of servers and clients as text.
// What it does not understand stays as it is. empty is an argument that is a list without a name, or "":
// it does not mean the same as no argument, which is all servers.
func respell(raw, schema []byte) (named []byte, empty string) {
	all, ok := members(raw)
	if !ok {
		return raw, ""
	}
	top, _ := members(schema)
	declared, _ := members(top["properties"])
	changed := false
	for name, others := range otherNames {
		if declared[name] == nil {
			continue
		}
		used := slices.DeleteFunc(slices.Clone(others), func(other string) bool { return all[other] == nil || declared[other] != nil })
		if len(used) == 1 && all[name] == nil {
			all[name] = all[used[0]]
			delete(all, used[0])
			changed = true
		}
		if list, ok := listOf(all[name]); ok && len(list) == 0 {
			return nil, name
		} else if ok {
			all[name], changed = textOf(list), true
		}
	}
	if !changed {
		return raw, ""
	}
	again, _ := json.Marshal(all) // of valid JSON
	return again, ""
}

// listOf returns the names in a list, which may be quoted.
func listOf(raw json.RawMessage) (list []string, ok bool) {
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		raw = json.RawMessage(quoted)
	}
	return names(raw).exactly()
}

// textOf returns a list of names as a string: the only name, or the list in JSON, because a name may
// contain a comma.
func textOf(list []string) json.RawMessage {
	text := list[0]
	if len(list) > 1 || strings.Contains(text, ",") {
		quoted, _ := json.Marshal(list) // strings always encode
		text = string(quoted)
	}
	raw, _ := json.Marshal(text)
	return raw
}

// members returns the members of a JSON object in which every key occurs once.
func members(raw []byte) (all map[string]json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	all = map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		name, _ := key.(string)
		if _, twice := all[name]; twice || d.Decode(&value) != nil {
			return nil, false
		}
		all[name] = value
	}
	return all, true
}
