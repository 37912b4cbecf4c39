package repair

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// mostRounds ends a repair that goes on and on.
const mostRounds = 50

// stepsToMend is what one try to mend counts for in the budget of a call.
const stepsToMend = 10

// mender repairs one value. It owns value and changes it in place.
type mender struct {
	schema  *Schema
	options Options
	rank    map[string]int
	value   any
	changes []Change
	granted []any // what the schema itself gave: defaults
	within  []string
	depth   int // branches inside of branches
}

// mend repairs what is complained about and asks the validator again, until
// there is no complaint, or none that a rule applies to.
func (m *mender) mend(complaints []violation) bool {
	for range mostRounds {
		if len(complaints) == 0 {
			return true
		}
		if !m.unwrap(complaints) && !m.mendEach(complaints) {
			return false
		}
		complaints = m.schema.violations(m.schema.root, m.value)
	}
	return false
}

// mendEach repairs each complaint that a rule applies to. One above or below
// a place that was changed is left for the next round: it may be outdated.
func (m *mender) mendEach(complaints []violation) (any bool) {
	var changed []string
	for _, v := range complaints {
		m.schema.meter.pay(stepsToMend)
		if any && (hasPrefix(v.path, changed) || hasPrefix(changed, v.path)) {
			continue
		}
		if m.mendOne(v) {
			any, changed = true, v.path
		}
	}
	return any
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// mendOne applies the first rule that fits a complaint.
func (m *mender) mendOne(v violation) bool {
	at := lookup(m.value, v.path)
	switch k := v.kind.(type) {
	case *kind.Type:
		return m.omit(v, at) || m.convert(v, at, k.Want)
	case *kind.Enum:
		return m.choose(v, at, k.Want) || m.omit(v, at)
	case *kind.Const:
		return m.choose(v, at, []any{k.Want}) || m.omit(v, at)
	case *kind.AnyOf, *kind.OneOf:
		return m.branch(v, at) || m.omit(v, at)
	case *kind.Required:
		return m.missing(v, at, k.Missing)
	case *kind.DependentRequired:
		return m.missing(v, at, k.Missing)
	case *kind.Dependency:
		return m.missing(v, at, k.Missing)
	case *kind.AdditionalProperties:
		return m.unknown(v, at, k.Properties)
	case *kind.FalseSchema:
		return m.refusedKey(v)
	case *kind.Format, *kind.Pattern, *kind.MinLength:
		return m.omit(v, at)
	}
	return false
}

// set puts a value in a place and writes the receipt.
func (m *mender) set(path []string, before, after any, rule string, tier Tier) bool {
	if tier > m.options.Tier {
		return false
	}
	m.value = replaced(m.value, path, after)
	m.receipt(path, before, after, rule, tier)
	return true
}

func (m *mender) receipt(path []string, before, after any, rule string, tier Tier) {
	change := Change{Path: Path(append(slices.Clone(m.within), path...)), Rule: rule, Tier: tier}
	if _, none := before.(absent); !none {
		change.Before = encode(before, m.rank)
	}
	if _, none := after.(absent); !none {
		change.After = encode(after, m.rank)
	}
	m.changes = append(m.changes, change)
}

// replaced puts a value in a place; absent{} takes it away.
func replaced(root any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	last := path[len(path)-1]
	switch parent := lookup(root, path[:len(path)-1]).(type) {
	case map[string]any:
		if _, none := value.(absent); none {
			delete(parent, last)
		} else {
			parent[last] = value
		}
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i < len(parent) {
			parent[i] = value
		}
	}
	return root
}

// supply stands in for arguments that did not come: an empty object.
func (m *mender) supply(nothing any) {
	m.receipt(nil, nothing, map[string]any{}, RuleNoArguments, Silent)
}

// unwrap takes the whole arguments out of what a model wrapped them in: text,
// a list of one, or an object with one key the tool does not have.
func (m *mender) unwrap(complaints []violation) bool {
	if m.depth > 0 || !slices.ContainsFunc(complaints, func(v violation) bool { return len(v.path) == 0 }) {
		return false
	}
	switch v := m.value.(type) {
	case string:
		if inner, ok := opened(v); ok && isObject(inner.value) {
			m.learn(inner)
			return m.set(nil, v, inner.value, RuleEncodedTwice, inner.tier(Silent))
		}
	case []any:
		if len(v) == 1 && isObject(v[0]) {
			return m.set(nil, v, v[0], RuleOneElement, Told)
		}
	case map[string]any:
		return m.unwrapObject(v)
	}
	return false
}

func (m *mender) unwrapObject(object map[string]any) bool {
	if len(object) != 1 {
		return false
	}
	declared := m.schema.properties(nil)
	for key, value := range object {
		if declared[key] != nil {
			return false
		}
		tier, ok := wrappers[foldKey(key)]
		if key == m.options.Tool {
			tier, ok = Silent, true
		}
		if !ok {
			return false // who knows what excluding, or negating, its arguments means
		}
		inner := value
		if text, ok := value.(string); ok {
			doc, ok := opened(text)
			if !ok {
				return false
			}
			m.learn(doc)
			inner, tier = doc.value, doc.tier(tier)
		}
		if !isObject(inner) {
			return false
		}
		return m.set(nil, object, inner, RuleWrapped, tier)
	}
	return false
}

// wrappers are the names models give to the arguments as a whole.
var wrappers = map[string]Tier{"arguments": Silent, "args": Silent, "params": Silent, "input": Silent, "parameters": Silent,
	"kwargs": Silent, "toolinput": Silent, "toolarguments": Silent, "properties": Silent,
	"data": Told, "body": Told, "payload": Told, "request": Told, "json": Told}

func isObject(value any) bool { _, ok := value.(map[string]any); return ok }

// learn keeps the order of keys that came out of a text.
func (m *mender) learn(doc document) {
	for _, key := range orderedRank(doc.rank) {
		if _, known := m.rank[key]; !known {
			m.rank[key] = len(m.rank)
		}
	}
}

func orderedRank(rank map[string]int) []string {
	keys := make([]string, len(rank))
	for key, i := range rank {
		keys[i] = key
	}
	return keys
}

// opened reads a text as the list or object it spells.
func opened(text string) (document, bool) {
	if !looksLikeContainer(text) {
		return document{}, false
	}
	doc, err := decodeLoosely(text)
	if err != nil || doc.twice != "" {
		return document{}, false
	}
	switch doc.value.(type) {
	case map[string]any, []any:
		return doc, true
	}
	return document{}, false
}

// tier is how far one goes in reading a text as this document.
func (d document) tier(least Tier) Tier {
	if slices.Contains(d.loose, missingEnd) {
		return Told
	}
	return least
}

func looksLikeContainer(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.IndexByte("[{(`", text[0]) >= 0
}

// properties are those of the object at a path, in whatever branch.
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

// nodesAt are the schemas that speak about the value at a path: followed
// through references and all branches, which may promise more than holds.
func (s *Schema) nodesAt(path []string) []*jsonschema.Schema { return s.follow(path, spread) }

// follow goes down a path; widen adds a schema with those that judge the same
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

// spread adds a schema and all schemas that judge the same value.
func spread(list []*jsonschema.Schema, node *jsonschema.Schema) []*jsonschema.Schema {
	if node == nil || slices.Contains(list, node) || len(list) > 200 {
		return list
	}
	list = append(list, node)
	list = spread(list, node.Ref)
	for _, group := range [][]*jsonschema.Schema{node.AllOf, node.AnyOf, node.OneOf, {node.Then, node.Else}} {
		for _, child := range group {
			list = spread(list, child)
		}
	}
	return list
}

// step are the schemas of a property or an element.
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

// number is a text as the number it spells exactly.
func number(text string) (json.Number, bool) {
	text = strings.TrimSpace(text)
	if !isNumber(text) || hugeNumber(text) {
		return "", false
	}
	return json.Number(text), true
}
