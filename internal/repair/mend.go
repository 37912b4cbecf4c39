package repair

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxRepairRounds limits the validations of one repair.
const maxRepairRounds = 50

// stepsPerRepair is what one attempted repair costs in the budget of a call.
const stepsPerRepair = 10

// mender repairs one value in place.
type mender struct {
	schema  *Schema
	whole   *Schema // of the tool, of which schema may be a branch
	options Options
	rank    map[string]int
	value   any
	changes []Change
	within  []string

	// What the last check must not miss: values from the schema, as defaults are, and values that
	// were removed or became others on purpose.
	granted, released []any

	depth int // nested branches
}

// attempt repairs a copy of a value with changes up to a tier. It keeps what it did if that was
// enough, or if the tier is the highest.
func (m *mender) attempt(tier Tier, value any, violations []violation) bool {
	try := *m
	try.options.Tier, try.rank, try.value, try.changes = tier, maps.Clone(m.rank), clone(value), slices.Clip(m.changes)
	mended := try.mend(violations) && keepsValues(value, try.value, try.granted, try.released) && m.options.allows(try.changes)
	if mended || tier == m.options.Tier {
		*m = try
	}
	return mended
}

// mend repairs violations and validates again, until there are none, or none that a rule applies
// to.
func (m *mender) mend(violations []violation) bool {
	for range maxRepairRounds {
		if len(violations) == 0 {
			return true
		}
		if !m.unwrap(violations) && !m.mendEach(violations) {
			return false
		}
		violations = m.schema.violations(m.schema.root, m.value)
	}
	return false
}

// mendEach repairs each violation that a rule applies to. One above or below a changed place is
// left for the next round, because it may be outdated.
func (m *mender) mendEach(violations []violation) (any bool) {
	var changed []string
	for _, v := range violations {
		m.schema.meter.pay(stepsPerRepair)
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

// mendOne applies the first matching rule to a violation.
func (m *mender) mendOne(v violation) bool {
	at := lookup(m.value, v.path)
	if keys, _ := missingKeys(v); keys != nil {
		return m.missing(v, at, keys)
	}
	switch k := v.kind.(type) {
	case *kind.Type:
		return m.omit(v, at) || m.convert(v, at, k.Want) || m.omitDefault(v, at)
	case *kind.Enum:
		return m.choose(v, at, k.Want) || m.omit(v, at) || m.omitDefault(v, at)
	case *kind.Const:
		return m.choose(v, at, []any{k.Want}) || m.omit(v, at) || m.omitDefault(v, at)
	case *kind.AnyOf, *kind.OneOf:
		return m.branch(v, at) || m.omit(v, at) || m.omitDefault(v, at)
	case *kind.AdditionalProperties:
		return m.unknown(v, at, k.Properties)
	case *kind.FalseSchema:
		return m.refusedKey(v)
	case *kind.Format, *kind.Pattern, *kind.MinLength:
		return m.omit(v, at) || m.omitDefault(v, at)
	}
	return m.omitDefault(v, at)
}

// set changes a value and adds the receipt.
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

// replaced sets the value at a path; absent{} removes it.
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

// supply adds the receipt for {} in place of missing arguments.
func (m *mender) supply(nothing any) {
	m.receipt(nil, nothing, map[string]any{}, RuleNoArguments, Silent)
}

// unwrap extracts the arguments from what a model wrapped them in: a string, an array of one, or an
// object with a single key that the tool does not declare.
func (m *mender) unwrap(violations []violation) bool {
	if m.depth > 0 || !slices.ContainsFunc(violations, func(v violation) bool { return len(v.path) == 0 }) {
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
	if len(object) == 2 {
		return m.unwrapCall(object)
	}
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
		if !ok && (hasContrary(key) || !m.areArguments(value, declared)) {
			return false // the key may change the meaning, as not or exclude would
		}
		if !ok {
			tier = Told
		}
		return m.unwrapTo(object, value, tier)
	}
	return false
}

// unwrapTo replaces all arguments with an object, or with the object that a string contains.
func (m *mender) unwrapTo(object map[string]any, value any, tier Tier) bool {
	if text, ok := value.(string); ok {
		doc, ok := opened(text)
		if !ok {
			return false
		}
		m.learn(doc)
		value, tier = doc.value, doc.tier(tier)
	}
	return isObject(value) && m.set(nil, object, value, RuleWrapped, tier)
}

// areArguments reports whether an object has all required keys and only declared ones.
func (m *mender) areArguments(value any, declared map[string]*jsonschema.Schema) bool {
	object, _ := value.(map[string]any)
	for key := range object {
		if declared[key] == nil {
			return false
		}
	}
	d := gather(m.schema.root)
	return len(object) > 0 && !slices.ContainsFunc(d.required(), func(key string) bool { _, there := object[key]; return !there })
}

// unwrapCall extracts the arguments from a whole call of this tool, {"name": ..., "arguments": ...}.
func (m *mender) unwrapCall(object map[string]any) bool {
	declared := m.schema.properties(nil)
	name, arguments, found, nameKey := any(nil), any(nil), 0, ""
	for key, value := range object {
		switch foldKey(key) {
		case "name", "tool", "toolname", "function", "functionname":
			name, nameKey = value, key
			found++
		case "arguments", "args", "parameters", "params", "input", "kwargs":
			arguments = value
			found++
			if declared[key] != nil {
				return false
			}
		}
	}
	if inner, _ := arguments.(map[string]any); declared[nameKey] != nil && inner[nameKey] == nil {
		return false // the name may be an argument itself
	}
	if found != 2 || name != m.options.Tool || name == "" || arguments == nil || !m.unwrapTo(object, arguments, Silent) {
		return false
	}
	m.released = append(m.released, name)
	return true
}

// wrappers are the names that models use for the arguments as a whole.
var wrappers = map[string]Tier{"arguments": Silent, "args": Silent, "params": Silent, "input": Silent, "parameters": Silent,
	"kwargs": Silent, "toolinput": Silent, "toolarguments": Silent, "properties": Silent,
	"data": Told, "body": Told, "payload": Told, "request": Told, "json": Told}

func isObject(value any) bool { _, ok := value.(map[string]any); return ok }

// learn remembers the order of the keys in a decoded string.
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

// opened decodes a string that contains an array or an object.
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

// tier returns the tier of reading a string as this document.
func (d document) tier(least Tier) Tier {
	if d.uncertain() {
		return Told
	}
	return least
}

func looksLikeContainer(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.IndexByte("[{(`", text[0]) >= 0
}

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
	list = append(list, node)
	list = spread(list, node.Ref)
	for _, group := range [][]*jsonschema.Schema{node.AllOf, node.AnyOf, node.OneOf, {node.Then, node.Else}} {
		for _, child := range group {
			list = spread(list, child)
		}
	}
	return list
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

// number returns the number that a string spells, if it can be represented exactly.
func number(text string) (json.Number, bool) {
	text = strings.TrimSpace(text)
	if !isNumber(text) || hugeNumber(text) {
		return "", false
	}
	return json.Number(text), true
}
