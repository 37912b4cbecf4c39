package repair

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Documentation describes the arguments of a tool.
type Documentation struct {
	Description string                    `json:"description,omitempty"`
	Required    []string                  `json:"required"`
	Properties  map[string]map[string]any `json:"properties"`
	Examples    []any                     `json:"examples,omitempty"` // of all arguments, as the schema has them

	brevity int
	schema  *Schema
	about   string
}

// Limits of documentation.
const (
	maxDocumented = 60 // properties
	maxListed     = 20 // choices, examples
	maxExamples   = 3  // examples of all arguments
)

// documentation describes a tool that is described by about, and its arguments.
func (s *Schema) documentation(about string) *Documentation { return s.documented(about, 0) }

// less returns the same with less detail, or nil.
func (d *Documentation) less() *Documentation {
	if d.brevity >= onlyRequired {
		return nil
	}
	return d.schema.documented(d.about, d.brevity+1)
}

// How brief the documentation of a schema is.
const (
	withoutNested = iota + 1
	withoutWords
	othersByType // the constraints of required arguments only
	onlyRequired
)

// documented describes the arguments as briefly as asked; 0: completely.
func (s *Schema) documented(about string, brevity int) *Documentation {
	doc := &Documentation{Required: []string{}, Properties: map[string]map[string]any{}, brevity: brevity, schema: s, about: about}
	if s.root == nil {
		return doc
	}
	root := gather(s.root)
	if brevity < othersByType {
		doc.Description = s.purpose(about, 300)
	}
	if brevity < withoutWords {
		doc.Examples = s.examples(&root)
	}
	for _, key := range root.required() {
		if len(doc.Required) < maxDocumented {
			doc.Required = append(doc.Required, visible(bounded(key, 120)))
		}
	}
	for _, key := range s.argumentNames() {
		needed := slices.Contains(root.required(), key)
		if len(doc.Properties) >= maxDocumented || brevity == onlyRequired && !needed {
			continue
		}
		depth := 2
		if brevity >= withoutNested {
			depth = 0
		}
		shown := s.document(key, depth, brevity < withoutWords)
		if brevity == othersByType && !needed {
			shown = map[string]any{"type": shown["type"]}
		}
		doc.Properties[visible(bounded(key, 120))] = shown
	}
	return doc
}

// examples returns the examples of all arguments that the schema has, without those that it rejects and
// those with a secret.
func (s *Schema) examples(root *demand) (list []any) {
	known := s.masker()
	s.session(func() {
		for _, node := range root.nodes {
			for _, value := range node.Examples {
				if len(list) < maxExamples && isObject(value) && !known.holds(nil, value) && fitsAll([]*jsonschema.Schema{s.root}, value) {
					list = append(list, shownValue(value))
				}
			}
		}
	})
	return list
}

// purpose returns what the tool does: its own description, or that of its arguments.
func (s *Schema) purpose(about string, n int) string {
	if s.root != nil {
		for _, node := range gather(s.root).nodes {
			about = cmp.Or(about, node.Description)
		}
	}
	return remark(about, n)
}

// argumentNames returns the declared arguments, required ones first, each group in the order of the
// schema.
func (s *Schema) argumentNames() []string {
	var rank map[string]int
	if doc, err := decode(string(s.raw)); err == nil {
		rank = doc.rank
	}
	declared := make(map[string]any, len(s.declared))
	for name := range s.declared {
		declared[name] = nil
	}
	names := orderedKeys(declared, rank)
	slices.SortStableFunc(names, func(a, b string) int { return order(s.needs(nil, b)) - order(s.needs(nil, a)) })
	return names
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

func (s *Schema) document(key string, depth int, words bool) map[string]any {
	nodes := s.argumentNodes(key)
	d := gather(nodes...)
	doc := d.document(detail{s.masker(), words}, []string{key}, depth)
	if sample, ok := s.sampleOf(key, nodes, &d); ok && words && doc["examples"] == nil && doc["default"] == nil {
		doc["examples"] = []any{json.RawMessage(sample)}
	}
	return doc
}

// detail is what the documentation of a value may contain.
type detail struct {
	known *masker
	words bool // descriptions, defaults and examples
}

// document describes what the schemas require of the value at a path, in JSON Schema keywords.
func (d *demand) document(o detail, path []string, depth int) map[string]any {
	doc := map[string]any{}
	switch {
	case len(d.types) == 1:
		doc["type"] = d.types[0]
	case len(d.types) > 1:
		doc["type"] = d.types
	}
	if d.chosen {
		doc["enum"] = shownValues(d.choices)
		if len(d.choices) > maxListed {
			doc["enumCount"] = len(d.choices)
		}
	}
	if d.format != "" {
		doc["format"] = d.format
	}
	if len(d.patterns) > 0 {
		doc["pattern"] = visible(bounded(d.patterns[0].String(), 200))
	}
	d.documentNumbers(doc)
	d.length.document(doc, "minLength", "maxLength")
	d.items.document(doc, "minItems", "maxItems")
	d.properties.document(doc, "minProperties", "maxProperties")
	if d.different {
		doc["uniqueItems"] = true
	}
	if o.words {
		d.documentWords(doc, o.known, path)
	}
	if depth > 0 {
		d.documentInside(doc, o, path, depth)
	}
	return doc
}

// constraints lists in words what the schemas require beside a type.
func (d *demand) constraints() (list []string) {
	add := func(words string) {
		if words = strings.TrimSpace(words); words != "" {
			list = append(list, words)
		}
	}
	if d.chosen {
		add(choiceWords(d.choices, nil))
	}
	counts := func(s span, noun string) { add(strings.Replace(s.words(noun), "..", " to ", 1)) }
	counts(d.length, "character")
	if d.format != "" {
		add("in the format " + d.format)
	}
	for _, pattern := range d.patterns {
		add("matches the pattern " + visible(bounded(pattern.String(), 200)))
	}
	add(d.limits())
	for _, step := range d.steps {
		add("a multiple of " + ratText(step))
	}
	counts(d.items, word(d.different, "unique item", "item"))
	if d.different && d.items.words("item") == "" {
		add("unique items")
	}
	counts(d.properties, "key")
	return list
}

func (d *demand) documentNumbers(doc map[string]any) {
	if d.least != nil {
		doc[word(d.exclusiveLeast, "exclusiveMinimum", "minimum")] = json.Number(ratText(d.least))
	}
	if d.most != nil {
		doc[word(d.exclusiveMost, "exclusiveMaximum", "maximum")] = json.Number(ratText(d.most))
	}
	if len(d.steps) > 0 {
		doc["multipleOf"] = json.Number(ratText(d.steps[0]))
	}
	for key, value := range doc { // omit a number that JSON cannot express
		if n, ok := value.(json.Number); ok && !isNumber(n.String()) {
			delete(doc, key)
		}
	}
}

func (s span) document(doc map[string]any, least, most string) {
	if s.least > 0 {
		doc[least] = s.least
	}
	if s.most >= 0 {
		doc[most] = s.most
	}
}

// documentWords adds constraints in words, descriptions, and defaults and examples that are not secrets.
func (d *demand) documentWords(doc map[string]any, known *masker, path []string) {
	if constraints := d.constraints(); len(constraints) > 0 {
		doc["constraints"] = constraints
	}
	for _, node := range d.nodes {
		if _, there := doc["description"]; !there && node.Description != "" {
			doc["description"] = remark(node.Description, 200)
		}
		if _, there := doc["default"]; !there && node.Default != nil && d.accepts(typeName(*node.Default)) && !known.holds(path, *node.Default) {
			doc["default"] = shownValue(*node.Default)
		}
		if _, there := doc["examples"]; !there && len(node.Examples) > 0 && !slices.ContainsFunc(node.Examples, func(value any) bool { return known.holds(path, value) }) {
			doc["examples"] = shownValues(node.Examples)
		}
	}
}

func (d *demand) documentInside(doc map[string]any, o detail, path []string, depth int) {
	below := func(key string) []string { return append(slices.Clone(path), key) }
	if items := gather(d.inside("0")...); len(items.nodes) > 0 && d.accepts("array") {
		doc["items"] = items.document(o, below("0"), depth-1)
	}
	inside := map[string]any{}
	for _, key := range d.declared() {
		if len(inside) < maxListed {
			inner := gather(d.inside(key)...)
			inside[visible(bounded(key, 120))] = inner.document(o, below(key), depth-1)
		}
	}
	if len(inside) > 0 {
		doc["properties"] = inside
	}
	if required := d.required(); len(required) > 0 {
		shown := make([]string, 0, len(required))
		for _, key := range required[:min(len(required), maxListed)] {
			shown = append(shown, visible(bounded(key, 120)))
		}
		doc["required"] = shown
	}
	if branches := d.branches(); len(branches) > 0 {
		var forms []any
		for _, branch := range branches[:min(len(branches), maxForms)] {
			inner := gather(branch)
			forms = append(forms, inner.document(o, path, depth-1))
		}
		doc["anyOf"] = forms
	}
}

func shownValues(values []any) []any {
	list := make([]any, 0, min(len(values), maxListed))
	for _, value := range values[:min(len(values), maxListed)] {
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

// sampleDepth is the number of nested containers in the sample of an argument.
const sampleDepth = 2

// Limits of the documentation in text.
const (
	maxUsage = 12   // arguments of which all are documented in full
	maxBrief = 1200 // bytes of those of which only the type is documented
)

// usage returns the arguments that are documented in full, and those of which only the type is. Of a
// tool with many arguments, the former are required or have an issue.
func (s *Schema) usage(affected map[string]bool) (full, brief []string) {
	names := s.argumentNames()
	for _, key := range names {
		if len(names) <= maxUsage || affected[key] || s.needs(nil, key) {
			full = append(full, key)
		} else {
			brief = append(brief, key)
		}
	}
	return full, brief
}

// briefly documents arguments by their types, on one line of at most limit bytes; empty if there are
// none.
func (s *Schema) briefly(names []string, limit int) string {
	var types []string
	byType := map[string][]string{}
	for _, key := range names {
		d := gather(s.argumentNodes(key)...)
		name := d.typeNames() + word(s.needs(nil, key), ", required", "")
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

// usageLine documents one argument, with its description or without.
func (s *Schema) usageLine(key string, described bool) string {
	nodes := s.argumentNodes(key)
	d := gather(nodes...)
	phrase := bounded(d.phrase(nil, 0), 200)
	line := fmt.Sprintf("- %s: %s (%s)", field([]string{key}), phrase, word(s.needs(nil, key), "required", "optional"))
	known, fallback, about := s.masker(), "", ""
	for _, node := range d.nodes {
		if fallback == "" && node.Default != nil && *node.Default != nil && d.accepts(typeName(*node.Default)) && !known.holds([]string{key}, *node.Default) {
			fallback = ", default " + bounded(literal(*node.Default), 40)
		}
		about = cmp.Or(about, node.Description)
	}
	line += fallback
	if sample, ok := s.sampleOf(key, nodes, &d); ok && fallback == "" && !strings.Contains(phrase, "like "+strings.Trim(sample, `"`)) {
		line += ", e.g. " + sample
	}
	if about != "" && described {
		line += " - " + string(encode(remark(about, 120), nil))
	}
	return line
}

// argumentNodes returns the schemas of an argument.
func (s *Schema) argumentNodes(key string) []*jsonschema.Schema {
	if nodes := s.certain([]string{key}); len(nodes) > 0 {
		return nodes
	}
	return []*jsonschema.Schema{s.declared[key]}
}

// sampleOf returns a value for an argument, if it shows more than the type already says.
func (s *Schema) sampleOf(key string, nodes []*jsonschema.Schema, d *demand) (text string, ok bool) {
	if d.chosen || d.saysAll(key) {
		return "", false
	}
	s.session(func() {
		known := false
		if text, known = s.samples[key]; known {
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
		if s.samples == nil {
			s.samples = map[string]string{}
		}
		s.samples[key] = text
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
	if len(d.suggested(name)) > 0 || d.format != "" || len(d.patterns) > 0 || d.least != nil || d.most != nil || len(d.steps) > 0 {
		return false
	}
	return !slices.ContainsFunc(d.kinds(), func(name string) bool { return name == "array" || name == "object" })
}
