package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Issue is what is wrong with one field of a call.
type Issue struct {
	Field       string          `json:"field"`
	Type        string          `json:"type"` // the kind of problem: one of the groups of findings
	Problem     string          `json:"problem"`
	Received    json.RawMessage `json:"received,omitempty"` // absent if the field is missing
	Expected    string          `json:"expected"`
	Constraints []string        `json:"constraints,omitempty"` // what Expected says beside the type, one by one
	Fix         string          `json:"fix"`

	line   string // the issue on one line
	about  string // the description of the field in the schema
	top    string // the argument that contains the field; empty for the arguments as a whole
	groups []string
}

// issues puts the findings into words. shown is a call that would pass, or nil.
func (d *finder) issues(shown *example) []Issue {
	list := make([]Issue, len(d.found))
	for i, f := range d.found {
		list[i] = d.issue(f, shown)
	}
	return list
}

func (d *finder) issue(f *finding, shown *example) Issue {
	received := lookup(d.sent, f.path)
	need := gather(append(slices.Clone(f.nodes), d.schema.certain(f.path)...)...)
	issue := f.issue()
	if len(f.path) > 0 {
		issue.top, issue.about = f.path[0], d.schema.about(f, &need)
	}
	if issue.Expected == "" {
		issue.Expected, issue.Constraints = need.words(d.known.safe(received, f.path)), need.constraints()
	}
	issue.Fix = f.fix(received, shown, issue.Expected)
	got := "missing"
	if !f.missing {
		got = "received " + d.known.show(received, f.path)
		if received != nil {
			got += " (" + typeName(received) + ")"
		}
		issue.Received = d.known.data(received, f.path)
	}
	if f.counted(received) {
		got += ": " + issue.Problem
	}
	issue.write(got, f.need)
	return issue
}

// issue returns what the finding says about itself.
func (f *finding) issue() Issue {
	return Issue{Field: field(f.path), Type: f.groups[0], Problem: strings.Join(f.problems, "; "), Expected: f.expected,
		Fix: strings.Join(f.fixes, "; "), groups: f.groups}
}

// write puts the issue on one line. got says what was received, and need whether the field is required.
func (i *Issue) write(got, need string) {
	fix := i.Fix
	if strings.HasPrefix(i.Expected, "one of ") {
		fix = strings.Replace(fix, i.Expected, "one of these", 1)
	}
	if need != "" {
		need = " (" + need + ")"
	}
	i.line = fmt.Sprintf("%s - %s; expected %s%s. Fix: %s.", i.Field, got, i.Expected, need, fix)
}

// counted reports whether something has to be counted to see the problem: characters, items or keys.
func (f *finding) counted(received any) bool {
	_, number := received.(json.Number)
	return !number && !f.missing && len(f.nodes) > 0 && f.is(groupRange)
}

// fix says what to do, with a value from the example if there is one. Of several choices it lists
// all and pushes none.
func (f *finding) fix(received any, shown *example, expected string) string {
	fixes := f.fixes
	value, ok := f.sample(received, shown)
	if strings.HasPrefix(expected, "one of ") && !f.is(groupExtra) {
		fixes = slices.DeleteFunc(slices.Clone(fixes), func(fix string) bool { return fix == useChoice })
		fixes, ok = append(fixes, "use "+expected), false
	}
	text := strings.Join(fixes, "; ")
	switch {
	case text == addIt && !ok:
		text = "add it, with the value that the user stated or implied"
	case text == useChoice && ok:
		text = "use " + value
	case ok && !strings.Contains(" "+text+" ", " "+value+" ") && !strings.HasPrefix(text, "rename"):
		text += ", e.g. " + value
	}
	if isUseless := isEmpty(received) || !shown.has(f.path); isUseless && f.need == "optional" && !f.missing {
		text += ", or omit it"
	}
	return text
}

// has reports whether the example has a field. Without an example, all are kept.
func (e *example) has(path []string) bool {
	if e == nil {
		return true
	}
	_, there := present(e.value, path)
	return there
}

// sample returns the value of the example for a field, if it shows what to send.
func (f *finding) sample(received any, shown *example) (string, bool) {
	if shown == nil || f.is(groupExtra) {
		return "", false
	}
	value, _ := present(shown.value, f.path)
	text, ok := shown.literal(f.path)
	return text, ok && (f.missing || !same(value, received))
}

// literal returns the value of a field as it is shown, unless it is empty, a placeholder or long.
func (e *example) literal(path []string) (string, bool) {
	if e == nil {
		return "", false
	}
	value, there := present(e.value, path)
	text := visible(string(encode(value, e.rank)))
	isPlaceholder := strings.HasPrefix(text, `"<`) && strings.HasSuffix(text, `>"`)
	return text, there && !isEmpty(value) && !isPlaceholder && len([]rune(text)) <= maxLiteral
}

// present is lookup that distinguishes null from a missing field.
func present(value any, path []string) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	parent, key := lookup(value, path[:len(path)-1]), path[len(path)-1]
	if object, ok := parent.(map[string]any); ok {
		item, there := object[key]
		return item, there
	}
	item := lookup(value, path)
	return item, item != nil
}

// about returns the description of a field in the schema.
func (s *Schema) about(f *finding, d *demand) string {
	for _, node := range append(slices.Clone(d.nodes), s.nodesAt(f.path)...) {
		if node.Description != "" {
			return remark(node.Description, 160)
		}
	}
	return ""
}

// data returns the received value as JSON, masked and shortened.
func (k *masker) data(value any, path []string) json.RawMessage {
	safe := encode(k.safe(value, path), nil)
	if len(safe) > 200 {
		safe = encode(bounded(string(safe), 200), nil)
	}
	return json.RawMessage(visible(string(safe)))
}
