package repair

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// properties returns the properties of the object at a path, in any branch.
func (s *Schema) properties(path []string) map[string]*jsonschema.Schema {
	found := map[string]*jsonschema.Schema{}
	for _, node := range s.nodesAt(path) {
		for key, child := range node.Properties {
			if found[key] == nil {
				found[key] = child
			}
		}
	}
	return found
}

// nodesAt returns the schemas that may apply to the value at a path, through references and all
// branches.
func (s *Schema) nodesAt(path []string) []*jsonschema.Schema { return s.follow(path, spread) }

// follow descends along a path. widen adds a schema together with others that apply to the same
// value.
func (s *Schema) follow(path []string, widen func([]*jsonschema.Schema, *jsonschema.Schema) []*jsonschema.Schema) []*jsonschema.Schema {
	nodes := widen(nil, s.root)
	for _, part := range path {
		var next []*jsonschema.Schema
		for _, node := range nodes {
			for _, child := range step(node, part) {
				next = widen(next, child)
			}
		}
		nodes = next
	}
	return nodes
}

// spread adds a schema and all schemas that may apply to the same value.
func spread(list []*jsonschema.Schema, node *jsonschema.Schema) []*jsonschema.Schema {
	if node == nil || slices.Contains(list, node) || len(list) > 200 {
		return list
	}
	list = spread(append(list, node), node.Ref)
	for _, child := range slices.Concat(node.AllOf, node.AnyOf, node.OneOf) {
		list = spread(list, child)
	}
	return spread(spread(list, node.Then), node.Else)
}

// step returns the schemas of a property or an item.
func step(node *jsonschema.Schema, part string) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	if child := node.Properties[part]; child != nil {
		list = append(list, child)
	}
	matching := len(list)
	for expression, child := range node.PatternProperties {
		if p, ok := expression.(pattern); ok && len(part) <= p.limit && p.Regexp.MatchString(part) {
			list = append(list, child)
		}
	}
	slices.SortFunc(list[matching:], func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	if child, ok := node.AdditionalProperties.(*jsonschema.Schema); ok && len(list) == 0 {
		list = append(list, child)
	}
	if i, err := strconv.Atoi(part); err == nil {
		if i < len(node.PrefixItems) {
			return append(list, node.PrefixItems[i])
		}
		switch items := node.Items.(type) {
		case *jsonschema.Schema:
			list = append(list, items)
		case []*jsonschema.Schema:
			if i < len(items) {
				list = append(list, items[i])
			}
		}
		if node.Items2020 != nil {
			list = append(list, node.Items2020)
		}
	}
	return list
}

// closure adds a schema and the schemas that apply wherever it does.
func closure(list []*jsonschema.Schema, node *jsonschema.Schema) []*jsonschema.Schema {
	if node == nil || slices.Contains(list, node) || len(list) > 100 {
		return list
	}
	list = closure(closure(append(list, node), node.Ref), node.RecursiveRef)
	if node.DynamicRef != nil {
		list = closure(list, node.DynamicRef.Ref)
	}
	for _, child := range node.AllOf {
		list = closure(list, child)
	}
	return list
}

// certain returns the schemas that always apply to the value at a path, without those of branches
// and conditions.
func (s *Schema) certain(path []string) []*jsonschema.Schema { return s.follow(path, closure) }

// needs reports whether an object must always have a key.
func (s *Schema) needs(path []string, key string) bool {
	return slices.ContainsFunc(s.certain(path), func(node *jsonschema.Schema) bool { return slices.Contains(node.Required, key) })
}

// need returns "required" or "optional", or nothing if that depends on other keys.
func (s *Schema) need(path []string, key string) string {
	switch {
	case s.needs(path, key):
		return "required"
	case s.mayRequire(path, key):
		return ""
	}
	return "optional"
}

// property returns the schemas of a key, those of the violated schema first.
func (s *Schema) property(v violation, key string) []*jsonschema.Schema {
	d := gather(v.node)
	nodes := withNew(d.inside(key), s.certain(below(v.path, key)))
	if len(nodes) == 0 {
		if node := s.properties(v.path)[key]; node != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// mayRequire reports whether any schema of the object at a path may require a key.
func (s *Schema) mayRequire(path []string, key string) bool {
	return slices.ContainsFunc(s.nodesAt(path), func(node *jsonschema.Schema) bool {
		return slices.Contains(node.Required, key) || node.MinProperties != nil || node.If != nil || len(node.Dependencies) > 0 ||
			len(node.DependentRequired) > 0 || len(node.DependentSchemas) > 0 || node.Not != nil
	})
}

// requires reports whether the validator requires a key of the object at a path.
func (s *Schema) requires(value any, path []string, key string) bool {
	return slices.ContainsFunc(withBranches(s.violations(s.root, value)), func(v violation) bool {
		keys, _ := missingKeys(v)
		_, tooFew := v.kind.(*kind.MinProperties)
		return slices.Equal(v.path, path) && (tooFew || slices.Contains(keys, key))
	})
}

// withBranches adds the violations inside branches.
func withBranches(list []violation) []violation {
	all := slices.Clone(list)
	for _, v := range list {
		for _, branch := range v.branches {
			all = append(all, withBranches(branch)...)
		}
	}
	return all
}
