package repair

import (
	"encoding/json"
	"math/big"
	"slices"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// demand is what several schemas together require of one value. Descriptions and samples are
// derived from it; a sample is still validated against the schemas.
type demand struct {
	nodes []*jsonschema.Schema // schemas that apply to the value

	types    []string // nil if any
	choices  []any    // from const and enum
	chosen   bool     // there is a const or enum; choices may still be empty
	format   string
	patterns []jsonschema.Regexp

	least, most                   *big.Rat // bounds of a number
	exclusiveLeast, exclusiveMost bool     // the bound itself is excluded
	steps                         []*big.Rat

	length, items, properties span
	different                 bool // items must be unique
}

// span is a range of lengths: of characters, items or properties.
type span struct {
	least int
	most  int // -1 if unlimited
}

// gather combines the requirements of schemas.
func gather(nodes ...*jsonschema.Schema) demand {
	d := demand{length: span{0, -1}, items: span{0, -1}, properties: span{0, -1}}
	for _, node := range nodes {
		d.nodes = closure(d.nodes, node)
	}
	for _, node := range d.nodes {
		d.add(node)
	}
	return d
}

func (d *demand) add(node *jsonschema.Schema) {
	if node.Types != nil {
		d.limitTypes(node.Types.ToStrings())
	}
	if node.Const != nil {
		d.limitChoices([]any{*node.Const})
	}
	if node.Enum != nil {
		d.limitChoices(node.Enum.Values)
	}
	if node.Format != nil && d.format == "" {
		d.format = node.Format.Name
	}
	if node.Pattern != nil {
		d.patterns = append(d.patterns, node.Pattern)
	}
	d.above(node.Minimum, false)
	d.above(node.ExclusiveMinimum, true)
	d.below(node.Maximum, false)
	d.below(node.ExclusiveMaximum, true)
	if node.MultipleOf != nil && node.MultipleOf.Sign() > 0 {
		d.steps = append(d.steps, node.MultipleOf)
	}
	d.length.narrow(node.MinLength, node.MaxLength)
	d.items.narrow(node.MinItems, node.MaxItems)
	d.properties.narrow(node.MinProperties, node.MaxProperties)
	d.different = d.different || node.UniqueItems
}

func (d *demand) limitTypes(types []string) {
	if d.types == nil {
		d.types = types
		return
	}
	var both []string
	for _, name := range d.types {
		switch {
		case slices.Contains(types, name), name == "integer" && slices.Contains(types, "number"):
			both = append(both, name)
		case name == "number" && slices.Contains(types, "integer"):
			both = append(both, "integer")
		}
	}
	if both != nil { // no value fits both: keep the first list
		d.types = both
	}
}

func (d *demand) limitChoices(choices []any) {
	if !d.chosen {
		d.chosen, d.choices = true, choices
		return
	}
	d.choices = slices.DeleteFunc(slices.Clone(d.choices), func(choice any) bool {
		return !slices.ContainsFunc(choices, func(other any) bool { return same(choice, other) })
	})
}

// isStricter reports whether a bound that is tighter by this sign, or equal and exclusive, replaces one.
func isStricter(tighter int, exclusive bool) bool { return tighter > 0 || tighter == 0 && exclusive }

func (d *demand) above(bound *big.Rat, out bool) {
	if bound != nil && (d.least == nil || isStricter(bound.Cmp(d.least), out)) {
		d.least, d.exclusiveLeast = bound, out
	}
}

func (d *demand) below(bound *big.Rat, out bool) {
	if bound != nil && (d.most == nil || isStricter(d.most.Cmp(bound), out)) {
		d.most, d.exclusiveMost = bound, out
	}
}

func (s *span) narrow(least, most *int) {
	if least != nil {
		s.least = max(s.least, *least)
	}
	if most != nil && (s.most < 0 || *most < s.most) {
		s.most = *most
	}
}

// kinds returns the types that a value may have, inferred from other keywords if the schema does
// not name any.
func (d *demand) kinds() []string {
	if d.types != nil {
		return d.types
	}
	for _, node := range d.nodes {
		switch {
		case node.Properties != nil, node.Required != nil, node.MinProperties != nil, node.PropertyNames != nil,
			node.AdditionalProperties != nil, node.PatternProperties != nil:
			return []string{"object"}
		case node.Items != nil, node.Items2020 != nil, node.PrefixItems != nil, node.MinItems != nil, node.Contains != nil, node.UniqueItems:
			return []string{"array"}
		case node.MinLength != nil, node.MaxLength != nil, node.Pattern != nil, node.Format != nil:
			return []string{"string"}
		case node.Minimum != nil, node.Maximum != nil, node.ExclusiveMinimum != nil, node.ExclusiveMaximum != nil, node.MultipleOf != nil:
			return []string{"number"}
		}
	}
	return nil
}

// accepts reports whether a value of a type is allowed.
func (d *demand) accepts(name string) bool {
	kinds := d.kinds()
	return kinds == nil || slices.Contains(kinds, name) || name == "integer" && slices.Contains(kinds, "number")
}

// isTuple reports whether the items of an array have schemas of their own.
func (d *demand) isTuple() bool {
	return slices.ContainsFunc(d.nodes, func(node *jsonschema.Schema) bool { return len(node.PrefixItems)+len(itemList(node)) > 0 })
}

// branches returns the alternatives of the first anyOf or oneOf.
func (d *demand) branches() []*jsonschema.Schema {
	for _, node := range d.nodes {
		if len(node.AnyOf) > 0 {
			return node.AnyOf
		}
		if len(node.OneOf) > 0 {
			return node.OneOf
		}
	}
	return nil
}

// required returns the keys that an object must have, without duplicates and in the order of the
// schema.
func (d *demand) required() []string {
	var keys []string
	for _, node := range d.nodes {
		for _, key := range node.Required {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// inside returns the schemas of a property or an item.
func (d *demand) inside(part string) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, node := range d.nodes {
		list = append(list, step(node, part)...)
	}
	return list
}

// same reports whether two JSON values are equal.
func same(a, b any) bool {
	x, okX := a.(json.Number)
	y, okY := b.(json.Number)
	if okX && okY {
		return sameNumber(x, y)
	}
	return typeName(a) == typeName(b) && string(encode(a, nil)) == string(encode(b, nil))
}

// typeName returns the JSON Schema type of a value.
func typeName(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if isWhole(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "nothing"
}
