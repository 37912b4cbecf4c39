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
	Field       string          `json:"field"`
	Type        string          `json:"type"` // the kind of problem: one of the groups below
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

// Groups of issues with the same kind of fix.
const (
	groupMissing = "missing"
	groupType    = "type"
	groupFormat  = "format"
	groupRange   = "range"
	groupEnum    = "enum"
	groupPattern = "pattern"
	groupExtra   = "extra"
)

// Fixes that are worded by what is known about the field.
const (
	useChoice = "use one of the choices"
	addIt     = "add it"
)

// finding is what is known about a field before it is put into words. There is one finding for each
// field.
type finding struct {
	path     []string
	nodes    []*jsonschema.Schema // schemas that are violated
	problems []string
	groups   []string
	fixes    []string
	expected string // replaces the description of the schemas
	need     string // required, optional or empty
	missing  bool
}

// issueFinder turns violations into findings.
type issueFinder struct {
	schema   *Schema
	sent     any
	known    *masker
	found    []*finding
	more     int             // number of findings that are not listed
	affected map[string]bool // arguments with findings
}

// maxFindings limits the findings that are put into words.
const maxFindings = 3 * maxIssues

// findIssues returns the findings, in the order of the violations.
func (s *Schema) findIssues(sent any, violations []violation, known *masker) *issueFinder {
	d := &issueFinder{schema: s, sent: sent, known: known, affected: map[string]bool{}}
	for _, v := range violations {
		d.visit(v)
	}
	return d
}

// full reports whether the limit of findings is reached, and counts the finding if so.
func (d *issueFinder) full(path []string) bool {
	if len(d.found) < maxFindings {
		return false
	}
	d.more++
	if len(path) > 0 {
		d.affected[path[0]] = true
	}
	return true
}

// at returns the finding for a field.
func (d *issueFinder) at(path []string) *finding {
	for _, f := range d.found {
		if slices.Equal(f.path, path) {
			return f
		}
	}
	if len(path) > 0 {
		d.affected[path[0]] = true
	}
	f := &finding{path: slices.Clone(path)}
	if len(path) > 0 && isObject(lookup(d.sent, path[:len(path)-1])) {
		f.need = d.schema.need(path[:len(path)-1], path[len(path)-1])
	}
	d.found = append(d.found, f)
	return f
}

// note adds a problem to the finding for a field.
func (d *issueFinder) note(v violation, group, problem, fix string) *finding {
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

func (d *issueFinder) visit(v violation) {
	if keys, with := missingKeys(v); keys != nil {
		d.lacks(v, keys, with)
		return
	}
	if k, ok := v.kind.(*kind.AdditionalProperties); ok {
		d.extra(v, k.Properties)
		return
	}
	if d.full(v.path) {
		return
	}
	switch k := v.kind.(type) {
	case *kind.Type:
		fix := "send " + article(strings.Join(reordered(k.Want), " or ")) + d.limits(v)
		if k.Got == "array" && !slices.Contains(k.Want, "object") {
			fix = "send one " + strings.Join(reordered(k.Want), " or ") + ", not an array (for several values, call the tool once for each)"
		}
		if d.calculates(v) {
			fix += ", the result of the calculation"
		}
		d.note(v, groupType, "it is "+article(k.Got)+", not "+article(strings.Join(k.Want, " or ")), fix)
	case *kind.Enum:
		d.note(v, groupEnum, "it is not one of the choices", useChoice)
	case *kind.Const:
		d.note(v, groupEnum, "it is not the only allowed value", "send exactly "+literal(k.Want))
	case *kind.Format:
		d.note(v, groupFormat, "it is not in the format "+k.Want, "send a string in the format "+k.Want)
	case *kind.Pattern:
		d.note(v, groupPattern, "it does not match the pattern", "send a string that matches the pattern")
	case *kind.FalseSchema:
		d.refused(v)
	case *kind.PropertyNames:
		f := d.note(violation{path: append(slices.Clone(v.path), k.Property)}, groupPattern, "the key itself is not allowed", "rename the key")
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

// calculates reports whether a calculation, such as 2 * pi, was sent for a number. One that is hidden
// is not calculated.
func (d *issueFinder) calculates(v violation) bool {
	text, ok := lookup(d.sent, v.path).(string)
	if need := gather(v.node); !ok || !need.onlyNumbers() || d.known.secret(v.path, text) {
		return false
	}
	_, ok = calculated(text)
	return ok
}

// bound describes numbers and lengths that are out of range.
func (d *issueFinder) bound(v violation) {
	problem, fix := "it is not the expected value", "send the expected value"
	switch k := v.kind.(type) {
	case *kind.Minimum, *kind.ExclusiveMinimum:
		problem, fix = "it is too small", "send a number"+d.limits(v)
	case *kind.Maximum, *kind.ExclusiveMaximum:
		problem, fix = "it is too large", "send a number"+d.limits(v)
	case *kind.MultipleOf:
		problem, fix = "it is not a multiple of "+ratText(k.Want), "send a multiple of "+ratText(k.Want)
	case *kind.MinLength:
		problem, fix = fmt.Sprintf("it has %s, which is too few", plural(k.Got, "character")), fmt.Sprintf("send at least %s", plural(k.Want, "character"))
	case *kind.MaxLength:
		problem, fix = fmt.Sprintf("it has %s, which is too many", plural(k.Got, "character")), fmt.Sprintf("shorten it to at most %s", plural(k.Want, "character"))
	case *kind.MinItems:
		problem, fix = fmt.Sprintf("it has %s, which is too few", plural(k.Got, "item")), fmt.Sprintf("add %d more to have %s", k.Want-k.Got, d.count(v, "item"))
	case *kind.MaxItems:
		problem, fix = fmt.Sprintf("it has %s, which is too many", plural(k.Got, "item")), fmt.Sprintf("remove %d to have %s", k.Got-k.Want, d.count(v, "item"))
	case *kind.MinProperties:
		problem, fix = fmt.Sprintf("it has %s, which is too few", plural(k.Got, "key")), fmt.Sprintf("add %d more to have at least %s", k.Want-k.Got, plural(k.Want, "key"))
	case *kind.MaxProperties:
		problem, fix = fmt.Sprintf("it has %s, which is too many", plural(k.Got, "key")), fmt.Sprintf("remove %d to keep at most %s", k.Got-k.Want, plural(k.Want, "key"))
	case *kind.AdditionalItems:
		problem, fix = fmt.Sprintf("it has %s too many", plural(k.Count, "item")), "remove the last "+word(k.Count == 1, "item", plural(k.Count, "item"))
	case *kind.UniqueItems:
		i, j := k.Duplicates[0], k.Duplicates[1]
		problem, fix = fmt.Sprintf("items %d and %d are equal", i, j), fmt.Sprintf("remove item %d, which is equal to item %d", max(i, j), min(i, j))
	case *kind.Contains:
		problem, fix = "a required kind of item is missing", "add "+d.contained(v)
	case *kind.MinContains:
		problem, fix = fmt.Sprintf("it has %d of the %d required items", len(k.Got), k.Want), fmt.Sprintf("add %d more, each %s", k.Want-len(k.Got), d.contained(v))
	case *kind.MaxContains:
		problem, fix = fmt.Sprintf("it has %d such items, and at most %d are allowed", len(k.Got), k.Want), fmt.Sprintf("remove %d of the matching items (%s)", len(k.Got)-k.Want, d.contained(v))
	}
	d.note(v, groupRange, problem, fix)
}

// limits describes the bounds of a number, for the end of a phrase; empty if there are none.
func (d *issueFinder) limits(v violation) string {
	need := gather(append([]*jsonschema.Schema{v.node}, d.schema.certain(v.path)...)...)
	return need.limits()
}

// limits describes the bounds of a number, after a space; empty if there are none.
func (d *demand) limits() string {
	var parts []string
	if d.least != nil {
		parts = append(parts, word(d.exclusiveLeast, "above ", "from ")+ratText(d.least))
	}
	if d.most != nil {
		to := word(d.least != nil && !d.exclusiveLeast, "to ", "up to ")
		parts = append(parts, word(d.exclusiveMost, "below ", to)+ratText(d.most))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, word(d.exclusiveLeast || d.exclusiveMost, " and ", " "))
}

// count describes the allowed number of items.
func (d *issueFinder) count(v violation, noun string) string {
	need := gather(append([]*jsonschema.Schema{v.node}, d.schema.certain(v.path)...)...)
	return need.items.words(noun)
}

func (d *issueFinder) contained(v violation) string {
	inner := gather(v.node.Contains)
	return inner.words(nil)
}

// lacks describes missing keys.
func (d *issueFinder) lacks(v violation, keys []string, with string) {
	object, _ := lookup(d.sent, v.path).(map[string]any)
	for _, key := range keys {
		missing := violation{path: append(slices.Clone(v.path), key)}
		if d.full(missing.path) {
			continue
		}
		fix := addIt
		if from := d.schema.misspelled(v.path, object, key); from != "" {
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

// extra describes keys that are not allowed.
func (d *issueFinder) extra(v violation, keys []string) {
	object, _ := lookup(d.sent, v.path).(map[string]any)
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
		expected, fix := "no key with this name", "remove it"
		if near := NearestNames(key, names, maxNearChoices); len(near) > 0 {
			shown := make([]string, len(near))
			for i, name := range near {
				shown[i] = field([]string{name})
			}
			expected, fix = "one of the keys "+strings.Join(shown, ", "), "use one of these keys, or remove it"
			if len(names) == 1 {
				expected, fix = "the key "+shown[0], "use this key, or remove it"
			}
			if more := len(names) - len(near); more > 0 {
				expected += fmt.Sprintf(" and %d more", more)
			}
		}
		if !slices.ContainsFunc(names, func(name string) bool { return !leaks(key, name, object[key]) }) {
			fix = "remove it"
		}
		if meant := d.schema.meantBy(v.path, object, key); meant != "" {
			fix = "rename it to " + field([]string{meant}) + " if that is what you meant"
		}
		f := d.note(at, groupExtra, "the tool does not accept this key", fix)
		f.expected, f.need = expected, ""
	}
}

// refused describes a key or an item that no schema allows.
func (d *issueFinder) refused(v violation) {
	if len(v.path) == 0 {
		d.note(v, groupExtra, "the tool accepts no arguments", "use a different tool")
		return
	}
	parent := v.path[:len(v.path)-1]
	if isObject(lookup(d.sent, parent)) {
		d.extra(violation{path: parent}, v.path[len(v.path)-1:])
		return
	}
	f := d.note(v, groupExtra, "no items are allowed here", "remove it")
	f.expected = "no items here"
}

// forbidden describes a value that matches a forbidden schema.
func (d *issueFinder) forbidden(v violation) {
	inner := gather(v.node.Not)
	if keys := inner.required(); len(keys) > 0 && isObject(lookup(d.sent, v.path)) {
		f := d.note(v, groupExtra, "these keys cannot be combined", "remove one of "+visible(strings.Join(keys, ", ")))
		f.expected = "not all of " + visible(strings.Join(keys, ", "))
		return
	}
	f := d.note(v, groupType, "this value is not allowed", "send a different value")
	f.expected = "anything but " + inner.words(nil)
}

// fork describes a value that matches no branch: what the closest branch requires or, if none is
// close, all of them.
func (d *issueFinder) fork(v violation) {
	at := lookup(d.sent, v.path)
	if k, ok := v.kind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		d.ambiguous(v, k.Subschemas)
		return
	}
	if sets := onlyMissing(v); sets != nil {
		f := d.note(v, groupMissing, "one of several sets of keys is required", "add one of the sets")
		f.expected = "one of: " + strings.Join(sets, ", or ")
		f.nodes = nil
		return
	}
	if d.discriminator(v) {
		return
	}
	if i, ok := closest(v, at); ok && len(v.branches[i]) > 0 {
		for _, inner := range v.branches[i] {
			d.visit(inner)
		}
		return
	}
	forms := gather(v.node)
	f := d.note(v, groupType, "it matches none of the allowed forms", "send one of the forms")
	if _, chosen := forms.allChoices(); chosen {
		f.groups = []string{groupEnum}
	}
	if text := forms.formWords(at, 0); text != "" && !forms.chosen {
		f.expected = bounded(text, maxPhrase)
	}
}

// allChoices returns the choices of all branches, if every branch has some.
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

func (d *issueFinder) ambiguous(v violation, both []int) {
	f := d.note(v, groupType, "it matches two forms, but must match exactly one", "send the fields of one form only")
	var forms []string
	for _, i := range both {
		if i < len(v.node.OneOf) {
			inner := gather(v.node.OneOf[i])
			forms = append(forms, inner.words(nil))
		}
	}
	f.expected = bounded("only one of: "+strings.Join(forms, ", or "), maxPhrase)
}

// onlyMissing returns the sets of keys that the branches require, if they require nothing else.
func onlyMissing(v violation) (sets []string) {
	nodes := branchesOf(v)
	for i, branch := range v.branches {
		if i < len(nodes) {
			if d := gather(nodes[i]); len(d.declared()) > 0 {
				return nil // the branches are different forms, and one is the closest
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

// discriminator recognizes branches that are distinguished by one field, if that field has none of
// their values, and describes only that.
func (d *issueFinder) discriminator(v violation) bool {
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
	f := d.note(violation{path: path}, groupEnum, "it is not one of the choices", useChoice)
	f.expected = choiceWords(choices, lookup(d.sent, path))
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

// issues puts the findings into words.
func (d *issueFinder) issues(shown *example) []Issue {
	list := make([]Issue, len(d.found))
	for i, f := range d.found {
		list[i] = d.schema.issue(d.sent, f, d.known, shown)
	}
	return list
}

func (s *Schema) issue(sent any, f *finding, known *masker, shown *example) Issue {
	received := lookup(sent, f.path)
	d := gather(append(slices.Clone(f.nodes), s.certain(f.path)...)...)
	issue := Issue{Field: field(f.path), Type: f.groups[0], Problem: strings.Join(f.problems, "; "), Expected: f.expected, groups: f.groups}
	if len(f.path) > 0 {
		issue.top = f.path[0]
	}
	if issue.Expected == "" {
		issue.Expected, issue.Constraints = d.words(known.safe(received, f.path)), d.constraints()
	}
	issue.Fix = f.fix(received, shown, issue.Expected)
	issue.about = s.about(f, &d)
	got := "missing"
	if !f.missing {
		got = "received " + known.show(received, f.path)
		if received != nil {
			got += " (" + typeName(received) + ")"
		}
		issue.Received = known.data(received, f.path)
	}
	if f.counted(received) {
		got += ": " + issue.Problem
	}
	issue.line = fmt.Sprintf("%s - %s; expected %s", issue.Field, got, issue.Expected)
	if f.need != "" {
		issue.line += " (" + f.need + ")"
	}
	fix := issue.Fix
	if strings.HasPrefix(issue.Expected, "one of ") {
		fix = strings.Replace(fix, issue.Expected, "one of these", 1)
	}
	issue.line += ". Fix: " + fix + "."
	return issue
}

// counted reports whether something has to be counted to see the problem: characters, items or keys.
func (f *finding) counted(received any) bool {
	_, number := received.(json.Number)
	return !number && !f.missing && len(f.nodes) > 0 && slices.Contains(f.groups, groupRange)
}

// fix says what to do, with a value from the example if there is one. Of several choices it lists
// all and pushes none.
func (f *finding) fix(received any, shown *example, expected string) string {
	fixes := f.fixes
	value, ok := f.sample(received, shown)
	if strings.HasPrefix(expected, "one of ") && !slices.Contains(f.groups, groupExtra) {
		fixes = slices.DeleteFunc(slices.Clone(fixes), func(fix string) bool { return fix == useChoice })
		fixes, ok = append(fixes, "use "+expected), false
	}
	text := strings.Join(fixes, "; ")
	switch {
	case text == addIt && !ok:
		text = "add it with the value that the request says or implies"
	case text == useChoice && ok:
		text = "use " + value
	case ok && !strings.Contains(" "+text+" ", " "+value+" ") && !strings.HasPrefix(text, "rename"):
		text += ", e.g. " + value
	}
	if f.need == "optional" && !f.missing && (isEmpty(received) || shown.omits(f.path)) {
		text += ", or omit it"
	}
	return text
}

// omits reports whether there is an example that does without a field.
func (e *example) omits(path []string) bool {
	if e == nil {
		return false
	}
	_, there := present(e.value, path)
	return !there
}

func (f *finding) sample(received any, shown *example) (string, bool) {
	if shown == nil || slices.Contains(f.groups, groupExtra) {
		return "", false
	}
	value, there := present(shown.value, f.path)
	if !there || isEmpty(value) || !f.missing && same(value, received) {
		return "", false
	}
	if text, ok := value.(string); ok && strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
		return "", false // a placeholder
	}
	text := visible(string(encode(value, shown.rank)))
	return text, len([]rune(text)) <= maxLiteral
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

// data returns the received value as JSON, masked and shortened.
func (k *masker) data(value any, path []string) json.RawMessage {
	safe := encode(k.safe(value, path), nil)
	if len(safe) > 200 {
		safe = encode(bounded(string(safe), 200), nil)
	}
	return json.RawMessage(visible(string(safe)))
}
