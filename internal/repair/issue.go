package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Issue is what is wrong with one field of a call.
type Issue struct {
	Field    string          `json:"field"`
	Problem  string          `json:"problem"`
	Received json.RawMessage `json:"received,omitempty"` // absent: nothing was
	Expected string          `json:"expected"`
	Fix      string          `json:"fix"`

	line   string // the same on one line
	about  string // what the tool says about the field
	top    string // the argument it is in; empty: all of them
	groups []string
}

// The groups of issues that are mended in the same way.
const (
	groupMissing = "missing"
	groupType    = "type"
	groupFormat  = "format"
	groupRange   = "range"
	groupEnum    = "enum"
	groupPattern = "pattern"
	groupExtra   = "extra"
)

const useChoice = "use one of the choices"

// finding is what is known of a field before it is put in words. All the
// complaints about one field are one finding.
type finding struct {
	path     []string
	nodes    []*jsonschema.Schema // what complains
	problems []string
	groups   []string
	fixes    []string
	expected string // in place of what the schemas say
	need     string // required, optional or neither
	missing  bool
}

// detective turns the validator's complaints into findings.
type detective struct {
	schema *Schema
	said   any
	found  []*finding
	more   int             // findings that are only counted
	tops   map[string]bool // the arguments with findings
}

// maxFindings is how many findings are put in words.
const maxFindings = 3 * maxIssues

// inquire lists the findings, in the order of the complaints.
func (s *Schema) inquire(said any, complaints []violation) *detective {
	d := &detective{schema: s, said: said, tops: map[string]bool{}}
	for _, v := range complaints {
		d.look(v)
	}
	return d
}

// full counts a finding for which there is no room.
func (d *detective) full(path []string) bool {
	if len(d.found) < maxFindings {
		return false
	}
	d.more++
	if len(path) > 0 {
		d.tops[path[0]] = true
	}
	return true
}

func (d *detective) at(path []string) *finding {
	for _, f := range d.found {
		if slices.Equal(f.path, path) {
			return f
		}
	}
	if len(path) > 0 {
		d.tops[path[0]] = true
	}
	f := &finding{path: slices.Clone(path)}
	if len(path) > 0 && isObject(lookup(d.said, path[:len(path)-1])) {
		f.need = d.schema.need(path[:len(path)-1], path[len(path)-1])
	}
	d.found = append(d.found, f)
	return f
}

// note adds a complaint to the finding about a field.
func (d *detective) note(v violation, group, problem, fix string) *finding {
	f := d.at(v.path)
	if !slices.Contains(f.problems, problem) {
		f.problems = append(f.problems, problem)
	}
	if !slices.Contains(f.fixes, fix) {
		f.fixes = append(f.fixes, fix)
	}
	if !slices.Contains(f.groups, group) {
		f.groups = append(f.groups, group)
	}
	if v.node != nil {
		f.nodes = append(f.nodes, v.node)
	}
	return f
}

func (d *detective) look(v violation) {
	if several(v) {
		d.lookAtKeys(v)
		return
	}
	if d.full(v.path) {
		return
	}
	switch k := v.kind.(type) {
	case *kind.Type:
		fix := "send " + article(strings.Join(reordered(k.Want), " or "))
		if k.Got == "array" && !slices.Contains(k.Want, "object") {
			fix = "send one " + strings.Join(reordered(k.Want), " or ") + ", not a list (for several, call once for each)"
		}
		d.note(v, groupType, "it is "+article(k.Got)+", not "+article(strings.Join(k.Want, " or ")), fix)
	case *kind.Enum:
		d.note(v, groupEnum, "it is none of the choices", useChoice)
	case *kind.Const:
		d.note(v, groupEnum, "it is not the only value allowed", "send exactly "+literal(k.Want))
	case *kind.Format:
		d.note(v, groupFormat, "it is not in the format "+k.Want, "send a string in the format "+k.Want)
	case *kind.Pattern:
		d.note(v, groupPattern, "it does not match the pattern", "send a string that matches the pattern")
	case *kind.FalseSchema:
		d.refused(v)
	case *kind.PropertyNames:
		f := d.note(violation{path: append(slices.Clone(v.path), k.Property)}, groupPattern, "the key itself is not allowed", "give the key another name, or omit it")
		names := gather(v.node)
		f.expected, f.need = "a key that is "+names.words(k.Property), ""
	case *kind.AnyOf, *kind.OneOf:
		d.fork(v)
	case *kind.Not:
		d.forbidden(v)
	default:
		d.bound(v)
	}
}

// several reports whether a complaint is about several keys at once.
func several(v violation) bool {
	switch v.kind.(type) {
	case *kind.Required, *kind.DependentRequired, *kind.Dependency, *kind.AdditionalProperties:
		return true
	}
	return false
}

func (d *detective) lookAtKeys(v violation) {
	switch k := v.kind.(type) {
	case *kind.Required:
		d.lacks(v, k.Missing, "")
	case *kind.DependentRequired:
		d.lacks(v, k.Missing, k.Prop)
	case *kind.Dependency:
		d.lacks(v, k.Missing, k.Prop)
	case *kind.AdditionalProperties:
		d.extra(v, k.Properties)
	}
}

// bound tells of numbers that are too small or too large.
func (d *detective) bound(v violation) {
	problem, fix := "it is not what is expected", "send what is expected"
	switch k := v.kind.(type) {
	case *kind.Minimum:
		problem, fix = "it is too small", "send "+ratText(k.Want)+" or more"
	case *kind.Maximum:
		problem, fix = "it is too large", "send "+ratText(k.Want)+" or less"
	case *kind.ExclusiveMinimum:
		problem, fix = "it is too small", "send more than "+ratText(k.Want)
	case *kind.ExclusiveMaximum:
		problem, fix = "it is too large", "send less than "+ratText(k.Want)
	case *kind.MultipleOf:
		problem, fix = "it is not a multiple of "+ratText(k.Want), "send a multiple of "+ratText(k.Want)
	case *kind.MinLength:
		problem, fix = fmt.Sprintf("it has %s, too few", plural(k.Got, "character")), fmt.Sprintf("send at least %s", plural(k.Want, "character"))
	case *kind.MaxLength:
		problem, fix = fmt.Sprintf("it has %s, too many", plural(k.Got, "character")), fmt.Sprintf("shorten it to at most %s", plural(k.Want, "character"))
	case *kind.MinItems:
		problem, fix = fmt.Sprintf("it has %s, too few", plural(k.Got, "item")), fmt.Sprintf("add %d more for at least %s", k.Want-k.Got, plural(k.Want, "item"))
	case *kind.MaxItems:
		problem, fix = fmt.Sprintf("it has %s, too many", plural(k.Got, "item")), fmt.Sprintf("leave out %d to keep at most %s", k.Got-k.Want, plural(k.Want, "item"))
	case *kind.MinProperties:
		problem, fix = fmt.Sprintf("it has %s, too few", plural(k.Got, "key")), fmt.Sprintf("add %d more for at least %s", k.Want-k.Got, plural(k.Want, "key"))
	case *kind.MaxProperties:
		problem, fix = fmt.Sprintf("it has %s, too many", plural(k.Got, "key")), fmt.Sprintf("leave out %d to keep at most %s", k.Got-k.Want, plural(k.Want, "key"))
	case *kind.AdditionalItems:
		problem, fix = fmt.Sprintf("it has %s too many", plural(k.Count, "item")), fmt.Sprintf("leave out the last %s", plural(k.Count, "item"))
	case *kind.UniqueItems:
		i, j := k.Duplicates[0], k.Duplicates[1]
		problem, fix = fmt.Sprintf("items %d and %d are equal", i, j), fmt.Sprintf("leave out item %d, which is equal to item %d", max(i, j), min(i, j))
	case *kind.Contains:
		problem, fix = "no item is of the kind that must be there", "add "+d.contained(v)
	case *kind.MinContains:
		problem, fix = fmt.Sprintf("%d of the %d items needed are there", len(k.Got), k.Want), fmt.Sprintf("add %d more, each %s", k.Want-len(k.Got), d.contained(v))
	case *kind.MaxContains:
		problem, fix = fmt.Sprintf("%d items are there, at most %d may be", len(k.Got), k.Want), fmt.Sprintf("leave out %d of %s", len(k.Got)-k.Want, d.contained(v))
	}
	d.note(v, groupRange, problem, fix)
}

func (d *detective) contained(v violation) string {
	inner := gather(v.node.Contains)
	return inner.words(nil)
}

// lacks tells of keys that are not there.
func (d *detective) lacks(v violation, keys []string, with string) {
	object, _ := lookup(d.said, v.path).(map[string]any)
	for _, key := range keys {
		missing := violation{path: append(slices.Clone(v.path), key)}
		if d.full(missing.path) {
			continue
		}
		fix := "add it"
		if from := d.schema.misspelt(v.path, object, key); from != "" {
			fix = "rename " + field([]string{from}) + " to " + field([]string{key})
		}
		f := d.note(missing, groupMissing, "it is missing", fix)
		f.nodes = append(f.nodes, d.schema.property(v, key)...)
		f.missing, f.need = true, "required"
		if with != "" {
			f.need = "required together with " + field([]string{with})
		}
	}
}

// extra tells of keys the object may not have.
func (d *detective) extra(v violation, keys []string) {
	object, _ := lookup(d.said, v.path).(map[string]any)
	declared := d.schema.properties(v.path)
	names := make([]string, 0, len(declared))
	for name := range declared {
		names = append(names, name)
	}
	for _, key := range keys {
		at := violation{path: append(slices.Clone(v.path), key)}
		if d.full(at.path) {
			continue
		}
		expected, fix := "no such key", "leave it out"
		if near := NearestNames(key, names, nearEnum); len(near) > 0 {
			shown := make([]string, len(near))
			for i, name := range near {
				shown[i] = field([]string{name})
			}
			expected += "; declared are " + strings.Join(shown, ", ")
			if more := len(names) - len(near); more > 0 {
				expected += fmt.Sprintf(" and %d more", more)
			}
		}
		if meant := d.schema.meantBy(v.path, object, key); meant != "" {
			fix = "rename it to " + field([]string{meant}) + ", or leave it out"
		}
		f := d.note(at, groupExtra, "there is no such key", fix)
		f.expected, f.need = expected, ""
	}
}

// refused tells of a value no schema allows: a key or an element too many.
func (d *detective) refused(v violation) {
	if len(v.path) == 0 {
		d.note(v, groupExtra, "nothing is allowed here", "call another tool")
		return
	}
	parent := v.path[:len(v.path)-1]
	if isObject(lookup(d.said, parent)) {
		d.extra(violation{path: parent}, v.path[len(v.path)-1:])
		return
	}
	f := d.note(v, groupExtra, "there may be no item here", "leave it out")
	f.expected = "no item here"
}

// forbidden tells of a value that fits what it must not fit.
func (d *detective) forbidden(v violation) {
	inner := gather(v.node.Not)
	if keys := inner.required(); len(keys) > 0 && isObject(lookup(d.said, v.path)) {
		f := d.note(v, groupExtra, "keys are there that must not be there together", "leave out "+field(keys[:1]))
		f.expected = "not all of " + visible(strings.Join(keys, ", "))
		return
	}
	f := d.note(v, groupType, "it is something that is not allowed", "send something else")
	f.expected = "anything but " + inner.words(nil)
}

// fork tells of a value that fits no branch: what the closest one misses, or,
// if none is close, all of them.
func (d *detective) fork(v violation) {
	at := lookup(d.said, v.path)
	if k, ok := v.kind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		d.ambiguous(v, k.Subschemas)
		return
	}
	if sets := onlyMissing(v); sets != nil {
		f := d.note(v, groupMissing, "one of several sets of keys is needed", "add "+sets[0])
		f.expected = "one of: " + strings.Join(sets, ", or ")
		f.nodes = nil
		return
	}
	if d.kindOfShape(v) {
		return
	}
	if i, ok := closest(v, at); ok && len(v.branches[i]) > 0 {
		for _, inner := range v.branches[i] {
			d.look(inner)
		}
		return
	}
	forms := gather(v.node)
	f := d.note(v, groupType, "it fits none of the forms allowed", "send one of the forms")
	if _, chosen := forms.allChoices(); chosen {
		f.groups = []string{groupEnum}
	}
	if text := forms.formWords(at, 0); text != "" && !forms.chosen {
		f.expected = bounded(text, maxPhrase)
	}
}

// allChoices are the choices of all branches, if every branch has some.
func (d *demand) allChoices() (choices []any, ok bool) {
	for _, branch := range d.branches() {
		inner := gather(branch)
		if !inner.chosen {
			return nil, false
		}
		choices = append(choices, inner.choices...)
	}
	return choices, len(choices) > 0
}

func (d *detective) ambiguous(v violation, both []int) {
	f := d.note(v, groupType, "it fits two forms, and must fit exactly one", "send the fields of one form only")
	var forms []string
	for _, i := range both {
		if i < len(v.node.OneOf) {
			inner := gather(v.node.OneOf[i])
			forms = append(forms, inner.words(nil))
		}
	}
	f.expected = bounded("only one of: "+strings.Join(forms, ", or "), maxPhrase)
}

// onlyMissing are the sets of keys the branches ask for, if that is all that
// they ask for.
func onlyMissing(v violation) (sets []string) {
	nodes := branchesOf(v)
	for i, branch := range v.branches {
		if i < len(nodes) {
			if d := gather(nodes[i]); len(d.declared()) > 0 {
				return nil // forms of their own, of which one is the closest
			}
		}
		if len(branch) != 1 || !slices.Equal(branch[0].path, v.path) {
			return nil
		}
		k, ok := branch[0].kind.(*kind.Required)
		if !ok {
			return nil
		}
		sets = append(sets, visible(strings.Join(k.Missing, " and ")))
	}
	return sets
}

// kindOfShape recognises branches that are told apart by one field, when that
// field has none of their values: only this needs to be said.
func (d *detective) kindOfShape(v violation) bool {
	var path []string
	var choices []any
	for _, branch := range v.branches {
		found := false
		for _, inner := range branch {
			want, ok := fixed(inner)
			if ok && len(inner.path) == len(v.path)+1 && (path == nil || slices.Equal(path, inner.path)) {
				path, found = inner.path, true
				choices = append(choices, want...)
				break
			}
		}
		if !found {
			return false
		}
	}
	if len(v.branches) < 2 {
		return false
	}
	f := d.note(violation{path: path}, groupEnum, "it is none of the choices", useChoice)
	f.expected = choiceWords(choices, lookup(d.said, path))
	f.need = "required"
	return true
}

func fixed(v violation) ([]any, bool) {
	switch k := v.kind.(type) {
	case *kind.Const:
		return []any{k.Want}, true
	case *kind.Enum:
		return k.Want, true
	}
	return nil, false
}

func article(noun string) string {
	switch {
	case noun == "null":
		return noun
	case noun != "" && strings.ContainsRune("aeio", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}

// issues puts findings in words.
func (d *detective) issues(known *secretive, shown *example) []Issue {
	list := make([]Issue, len(d.found))
	for i, f := range d.found {
		list[i] = d.schema.issue(d.said, f, known, shown)
	}
	return list
}

func (s *Schema) issue(said any, f *finding, known *secretive, shown *example) Issue {
	received := lookup(said, f.path)
	d := gather(append(slices.Clone(f.nodes), s.certain(f.path)...)...)
	issue := Issue{Field: field(f.path), Problem: strings.Join(f.problems, "; "), Expected: f.expected, groups: f.groups}
	if len(f.path) > 0 {
		issue.top = f.path[0]
	}
	if issue.Expected == "" {
		issue.Expected = d.words(known.safe(received, f.path))
	}
	issue.Fix = f.fix(received, shown, &d)
	issue.about = s.about(f, &d)
	got := "missing"
	if !f.missing {
		got = "received " + known.show(received, f.path)
		if received != nil {
			got += " (" + typeName(received) + ")"
		}
		issue.Received = known.data(received, f.path)
	}
	issue.line = fmt.Sprintf("%s - %s; expected %s", issue.Field, got, issue.Expected)
	if f.need != "" {
		issue.line += " (" + f.need + ")"
	}
	issue.line += ". Fix: " + issue.Fix + "."
	return issue
}

// fix says what to do, with a value from the example if there is one.
func (f *finding) fix(received any, shown *example, d *demand) string {
	text := strings.Join(f.fixes, "; ")
	value, ok := f.sample(received, shown)
	if text == useChoice {
		if choices := nearest(received, d.choices, 1); !ok && len(choices) == 1 {
			value, ok = literal(choices[0]), true
		}
		if ok {
			text = "use " + value
		}
	} else if ok && !strings.Contains(" "+text+" ", " "+value+" ") && !strings.HasPrefix(text, "rename") {
		text += ", e.g. " + value
	}
	if f.need == "optional" && !f.missing {
		text += ", or omit it"
	}
	return text
}

func (f *finding) sample(received any, shown *example) (string, bool) {
	if shown == nil || slices.Contains(f.groups, groupExtra) {
		return "", false
	}
	value, there := present(shown.value, f.path)
	if !there || !f.missing && same(value, received) {
		return "", false
	}
	text := visible(string(encode(value, shown.rank)))
	return text, len([]rune(text)) <= maxLiteral
}

// present is lookup that tells null from nothing.
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

// about is what the schema says about a field, in its own words.
func (s *Schema) about(f *finding, d *demand) string {
	if len(f.path) == 0 {
		return ""
	}
	for _, node := range append(slices.Clone(d.nodes), s.nodesAt(f.path)...) {
		if node.Description != "" {
			return remark(node.Description, 160)
		}
	}
	return ""
}

// data is what was received, as JSON of a bounded length.
func (k *secretive) data(value any, path []string) json.RawMessage {
	safe := encode(k.safe(value, path), nil)
	if len(safe) > 200 {
		safe = encode(bounded(string(safe), 200), nil)
	}
	return json.RawMessage(visible(string(safe)))
}
