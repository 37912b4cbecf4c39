package repair

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// Documentation describes the arguments of a tool.
type Documentation struct {
	Description string                    `json:"description,omitempty"`
	Required    []string                  `json:"required"`
	Properties  map[string]map[string]any `json:"properties"`
	Examples    []any                     `json:"examples,omitempty"` // of all arguments, as the schema has them
}

// Limits of documentation.
const (
	maxDocumented    = 60      // properties
	maxListed        = 20      // choices, examples
	maxExamples      = 3       // examples of all arguments
	maxDocumentation = 8 << 10 // bytes of what a report says about the arguments
	maxDescribed     = 4 << 10 // bytes of what a model reads about a schema
	sampleDepth      = 2       // nested containers in the sample of an argument
)

// manual describes the arguments of a tool.
type manual struct{ schema *Schema }

// documentation describes a tool, which is described by about, and its arguments.
func (m manual) documentation(about string) *Documentation {
	doc := &Documentation{Description: m.purpose(about, 300), Required: []string{}}
	names := m.argumentNames()
	if m.schema.root != nil {
		root := gather(m.schema.root)
		doc.Examples = m.examples(&root)
		doc.Required = append(doc.Required, shownKeys(root.required(), maxDocumented)...)
	}
	doc.Properties = m.document(names, maxDocumentation)
	return doc
}

// document describes arguments in the keywords of JSON Schema: all by their types and then, as far as
// there is room, in detail, the first ones first.
func (m manual) document(names []string, room int) map[string]map[string]any {
	names, properties := names[:min(len(names), maxDocumented)], map[string]map[string]any{}
	for _, brief := range []bool{true, false} {
		for _, key := range names {
			shown, doc := shownKeys([]string{key}, 1)[0], m.argument(key, brief)
			cost := size(doc) + len(shown) + 4
			if had := properties[shown]; had != nil {
				cost -= size(had) + len(shown) + 4
			}
			if cost <= room {
				room -= cost
				properties[shown] = doc
			}
		}
	}
	return properties
}

func size(doc map[string]any) int {
	data, _ := marshal(doc) // a value of JSON: cannot fail
	return len(data)
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

// shownKeys returns the first n keys, as they can be shown.
func shownKeys(keys []string, n int) []string {
	shown := make([]string, min(len(keys), n))
	for i := range shown {
		shown[i] = visible(bounded(keys[i], 120))
	}
	return shown
}

// argument describes an argument.
func (m manual) argument(key string, brief bool) map[string]any {
	nodes := m.argumentNodes(key)
	d := gather(nodes...)
	if brief {
		return map[string]any{"type": d.typeValue()}
	}
	doc := d.document(m.schema.masker(), []string{key}, 2)
	if sample, ok := m.sampleOf(key, nodes, &d); ok && doc["examples"] == nil && doc["default"] == nil {
		doc["examples"] = []any{json.RawMessage(sample)}
	}
	return doc
}

// Describe returns the part of the schema that a correction of a call needs, as JSON: all of it if it
// is short, and otherwise the arguments that are wrong or required first.
func (s *Schema) Describe(arguments []byte) (described json.RawMessage) {
	defer func() {
		if recover() != nil { // no schema may prevent a question
			described = json.RawMessage(`{}`)
		}
	}()
	if doc, err := decode(string(s.Ready().raw)); err == nil {
		whole := encode(mapped(withoutExamples(doc.value), func(text string) string { return redact.Text(visible(text)) }), doc.rank)
		if len(whole) <= maxDescribed {
			return whole
		}
	}
	m := manual{s}
	names := m.relevant(arguments)
	required := slices.DeleteFunc(slices.Clone(names), func(key string) bool { return !s.needs(nil, key) })
	whole := map[string]any{"type": "object", "properties": map[string]any{}, "required": shownKeys(required, maxListed)}
	whole["properties"] = m.document(names, maxDescribed-size(whole))
	described, _ = marshal(whole)
	if len(described) > maxDescribed {
		return json.RawMessage(`{}`)
	}
	return described
}

// withoutExamples returns a schema without values for secrets, such as a default password.
func withoutExamples(schema any) any {
	shown := clone(schema)
	walk(schema, nil, func(path []string, value any) {
		text, ok := scalarText(value)
		for i := 0; ok && i+2 < len(path); i++ {
			isExample := path[i+2] == "default" || path[i+2] == "example" || path[i+2] == "examples"
			if path[i] == "properties" && isExample && secretName(bounded(path[i+1], 200), text) {
				shown = replaced(shown, path, maskText)
				return
			}
		}
	})
	return shown
}

// relevant returns the declared arguments: wrong and missing ones first, then those that were sent,
// then the required ones, then the rest.
func (m manual) relevant(arguments []byte) []string {
	doc, _, _ := m.schema.decodeSent(arguments)
	object, _ := doc.value.(map[string]any)
	var wrong []string
	m.schema.session(func() { wrong = wrongArguments(m.schema.violations(m.schema.root, doc.value)) })
	rank := func(key string) int {
		_, sent := object[key]
		return 4*order(slices.Contains(wrong, key)) + 2*order(sent) + order(m.schema.needs(nil, key))
	}
	names := m.argumentNames()
	slices.SortStableFunc(names, func(a, b string) int { return rank(b) - rank(a) })
	return names
}

// examples returns the examples of all arguments that the schema has, without those that it rejects and
// those with a secret.
func (m manual) examples(root *demand) (list []any) {
	known := m.schema.masker()
	m.schema.session(func() {
		for _, node := range root.nodes {
			for _, value := range node.Examples {
				mayShow := len(list) < maxExamples && isObject(value) && !known.holds(nil, value)
				if mayShow && m.schema.root.Validate(value) == nil {
					list = append(list, shownValue(value))
				}
			}
		}
	})
	return list
}

// purpose returns what the tool does: its own description, or that of its arguments.
func (m manual) purpose(about string, n int) string {
	if m.schema.root != nil {
		for _, node := range gather(m.schema.root).nodes {
			about = cmp.Or(about, node.Description)
		}
	}
	return remark(about, n)
}

// argumentNames returns the declared arguments, required ones first, each group in the order of the
// schema.
func (m manual) argumentNames() []string {
	doc, _ := decode(string(m.schema.raw))
	declared := make(map[string]any, len(m.schema.declared))
	for name := range m.schema.declared {
		declared[name] = nil
	}
	names := orderedKeys(declared, doc.rank)
	slices.SortStableFunc(names, func(a, b string) int { return order(m.schema.needs(nil, b)) - order(m.schema.needs(nil, a)) })
	return names
}

// argumentNodes returns the schemas of an argument.
func (m manual) argumentNodes(key string) []*jsonschema.Schema {
	if nodes := m.schema.certain([]string{key}); len(nodes) > 0 {
		return nodes
	}
	return []*jsonschema.Schema{m.schema.declared[key]}
}

// typeValue returns the types of a value as the keyword type has them; nil if there is none.
func (d *demand) typeValue() any {
	switch len(d.types) {
	case 0:
		return nil
	case 1:
		return d.types[0]
	}
	return d.types
}

// document describes what the schemas require of the value at a path, in JSON Schema keywords.
func (d *demand) document(known *masker, path []string, depth int) map[string]any {
	doc := map[string]any{}
	set := func(key string, value any, isSet bool) {
		if isSet {
			doc[key] = value
		}
	}
	count := func(s span, least, most string) {
		set(least, s.least, s.least > 0)
		set(most, s.most, s.most >= 0)
	}
	set("type", d.typeValue(), d.types != nil)
	set("enum", shownValues(d.choices), d.chosen)
	set("enumCount", len(d.choices), len(d.choices) > maxListed)
	set("format", d.format, d.format != "")
	if len(d.patterns) > 0 {
		doc["pattern"] = visible(bounded(d.patterns[0].String(), 200))
	}
	number := func(key string, r *big.Rat) {
		if r != nil && isNumber(ratText(r)) { // some numbers cannot be expressed
			doc[key] = json.Number(ratText(r))
		}
	}
	number(word(d.exclusiveLeast, "exclusiveMinimum", "minimum"), d.least)
	number(word(d.exclusiveMost, "exclusiveMaximum", "maximum"), d.most)
	for _, step := range d.steps[:min(len(d.steps), 1)] {
		number("multipleOf", step)
	}
	count(d.length, "minLength", "maxLength")
	count(d.items, "minItems", "maxItems")
	count(d.properties, "minProperties", "maxProperties")
	set("uniqueItems", true, d.different)
	constraints := d.constraints()
	set("constraints", constraints, len(constraints) > 0)
	for _, node := range d.nodes {
		set("description", remark(node.Description, 200), doc["description"] == nil && node.Description != "")
		if doc["default"] == nil && d.mayShowDefault(node, known, path) {
			doc["default"] = shownValue(*node.Default)
		}
		mayShow := func(value any) bool { return !known.holds(path, value) }
		set("examples", shownValues(node.Examples), doc["examples"] == nil && all(node.Examples, mayShow))
	}
	if depth > 0 {
		d.documentInside(doc, known, path, depth)
	}
	return doc
}

// mayShowDefault reports whether the default of a schema is of an accepted type and not a secret.
func (d *demand) mayShowDefault(node *jsonschema.Schema, known *masker, path []string) bool {
	return node.Default != nil && d.accepts(typeName(*node.Default)) && !known.holds(path, *node.Default)
}

// documentInside describes the items, the properties and the forms of a value.
func (d *demand) documentInside(doc map[string]any, known *masker, path []string, depth int) {
	if items := gather(d.inside("0")...); len(items.nodes) > 0 && d.accepts("array") {
		doc["items"] = items.document(known, below(path, "0"), depth-1)
	}
	inside := map[string]any{}
	for _, key := range d.declared() {
		if len(inside) < maxListed {
			inner := gather(d.inside(key)...)
			inside[shownKeys([]string{key}, 1)[0]] = inner.document(known, below(path, key), depth-1)
		}
	}
	if len(inside) > 0 {
		doc["properties"] = inside
	}
	if required := shownKeys(d.required(), maxListed); len(required) > 0 {
		doc["required"] = required
	}
	var forms []any
	for _, branch := range d.branches()[:min(len(d.branches()), maxForms)] {
		inner := gather(branch)
		forms = append(forms, inner.document(known, path, depth-1))
	}
	if len(forms) > 0 {
		doc["anyOf"] = forms
	}
}

func shownValues(values []any) []any {
	list := make([]any, 0, min(len(values), maxListed))
	for _, value := range values[:cap(list)] {
		list = append(list, shownValue(value))
	}
	return list
}

// shownValue returns a value from a schema, shortened.
func shownValue(value any) any {
	if text := string(encode(value, nil)); len(text) > 200 {
		return bounded(text, 120)
	}
	return value
}

// typeNames returns the types of a value, or of its choices.
func (d *demand) typeNames() string {
	kinds := d.kinds()
	for _, choice := range d.choices {
		if name := typeName(choice); d.types == nil && !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	if kinds == nil {
		return "any"
	}
	return strings.Join(reordered(kinds), " or ")
}

// Limits of the documentation in text.
const (
	maxUsage = 12   // arguments of which all are documented in full
	maxBrief = 1200 // bytes of those of which only the type is documented
)

// usage documents the arguments, as far as there is room. Of a tool with many arguments, those that are
// required or have an issue are documented in full, and the others by their types. The examples of
// those with an issue are from the call that is shown.
func (m manual) usage(p *page, affected map[string]bool, shown *example) {
	var full, brief []string
	names := m.argumentNames()
	for _, key := range names {
		if len(names) <= maxUsage || affected[key] || m.schema.needs(nil, key) {
			full = append(full, key)
		} else {
			brief = append(brief, key)
		}
	}
	reserved := len(m.briefly(brief, min(maxBrief, p.left/2)))
	for i, key := range full {
		line := m.usageLine(key, !affected[key], shown)
		if p.left < len(line)+reserved+40 {
			brief = append(full[i:], brief...)
			break
		}
		p.add(line)
	}
	p.add(m.briefly(brief, min(maxBrief, p.left-1)))
}

// briefly documents arguments by their types, on one line of at most limit bytes; empty if there are
// none.
func (m manual) briefly(names []string, limit int) string {
	var types []string
	byType := map[string][]string{}
	for _, key := range names {
		d := gather(m.argumentNodes(key)...)
		name := d.typeNames() + word(m.schema.needs(nil, key), ", required", "")
		if byType[name] == nil {
			types = append(types, name)
		}
		byType[name] = append(byType[name], field([]string{key}))
	}
	line, left := "- others:", len(names)
	for _, name := range types {
		shown := 0
		for _, one := range byType[name] {
			if len(line)+len(one)+len(name)+40 > limit {
				break
			}
			line += word(shown == 0, " ", ", ") + one
			shown++
		}
		if left -= shown; shown > 0 {
			line += " (" + name + ")" + word(left > 0, ";", "")
		}
	}
	switch {
	case left == len(names):
		return word(left > 0, fmt.Sprintf("- and %d more", left), "")
	case left > 0:
		return line + fmt.Sprintf(" and %d more", left)
	}
	return line
}

// usageLine documents one argument: with its description, or with the example that its issue has.
func (m manual) usageLine(key string, described bool, shown *example) string {
	nodes := m.argumentNodes(key)
	d := gather(nodes...)
	phrase := bounded(d.phrase(nil, 0), 200)
	line := fmt.Sprintf("- %s: %s (%s)", field([]string{key}), phrase, word(m.schema.needs(nil, key), "required", "optional"))
	known, fallback, about := m.schema.masker(), "", ""
	for _, node := range d.nodes {
		if fallback == "" && d.mayShowDefault(node, known, []string{key}) && *node.Default != nil {
			fallback = ", default " + bounded(literal(*node.Default), 40)
		}
		about = cmp.Or(about, node.Description)
	}
	line += fallback
	sample, ok := m.sampleOf(key, nodes, &d)
	if value, said := shown.literal([]string{key}); said && !described {
		sample = value
	}
	if ok && fallback == "" && !strings.Contains(phrase, "like "+strings.Trim(sample, `"`)) {
		line += ", e.g. " + sample
	}
	if about != "" && described {
		line += " - " + string(encode(remark(about, 120), nil))
	}
	return line
}

// sampleOf returns a value for an argument, if it shows more than the type already says.
func (m manual) sampleOf(key string, nodes []*jsonschema.Schema, d *demand) (text string, ok bool) {
	if d.chosen || d.saysAll(key) {
		return "", false
	}
	m.schema.session(func() {
		known := false
		if text, known = m.schema.samples[key]; known {
			return
		}
		c, found := pick(nodes, key, nil, maxInside-sampleDepth, nil)
		if found && isEmpty(c.value) {
			c.value = d.filled(c.value, key)
		}
		if found && !isEmpty(c.value) && fitsAll(nodes, c.value) {
			text = visible(string(encode(c.value, nil)))
		}
		if len([]rune(text)) > maxLiteral {
			text = ""
		}
		if m.schema.samples == nil {
			m.schema.samples = map[string]string{}
		}
		m.schema.samples[key] = text
	})
	return text, text != ""
}

// filled returns an empty container with an item, or with its optional properties.
func (d *demand) filled(empty any, name string) any {
	if isList(empty) {
		if item, ok := d.element(nil, name, maxInside-sampleDepth); ok {
			return []any{item}
		}
		return empty
	}
	object := map[string]any{}
	for _, key := range d.declared() {
		if c, ok := pick(d.inside(key), key, nil, maxInside-1, nil); ok && len(object) < maxNamed {
			object[key] = c.value
		}
	}
	return object
}

// saysAll reports whether the requirements are only types of scalars, for which any sample would be
// arbitrary.
func (d *demand) saysAll(name string) bool {
	isBounded := d.least != nil || d.most != nil || len(d.steps) > 0
	hasForm := d.format != "" || len(d.patterns) > 0
	isContainer := func(name string) bool { return name == "array" || name == "object" }
	return !isBounded && !hasForm && len(d.suggested(name)) == 0 && !slices.ContainsFunc(d.kinds(), isContainer)
}
