package repair

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// maxRounds limits the validations of one edit.
const maxRounds = 50

// stepsPerEdit is what one attempted change costs in the budget of a call.
const stepsPerEdit = 10

// editor changes one value in place until it matches its schema. A change has a tier, and the tier of
// the options limits the changes. What is sent is made of silent and told changes. An example that is
// only shown may also contain guesses, which begin where the others end (guess.go).
type editor struct {
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

	// Of an example.
	known   *masker
	sent    any      // the arguments of the caller
	guesses []string // fields whose value is a guess
}

// guessing reports whether guesses are allowed, because the result is only shown.
func (e *editor) guessing() bool { return e.options.Tier == Shown }

// attempt edits a copy of a value with changes up to a tier. It keeps what it did if that was
// enough, or if the tier is the highest.
func (e *editor) attempt(tier Tier, value any, violations []violation) bool {
	try := *e
	try.options.Tier, try.rank, try.value, try.changes = tier, maps.Clone(e.rank), clone(value), slices.Clip(e.changes)
	fits := try.edit(violations) && keepsValues(value, try.value, try.granted, try.released) && e.options.allows(try.changes)
	if fits || tier == e.options.Tier {
		*e = try
	}
	return fits
}

// edit changes what violates the schema and validates again, until nothing does, or nothing that can
// be changed. Guesses may lead back to a value that was there before.
func (e *editor) edit(violations []violation) bool {
	seen := map[string]bool{}
	for range maxRounds {
		if len(violations) == 0 {
			return true
		}
		if e.guessing() {
			text := string(encode(e.value, nil))
			if seen[text] || len(text) > maxStart {
				return false
			}
			seen[text] = true
		}
		if !e.unwrap(violations) && !e.round(violations) {
			return false
		}
		violations = e.schema.violations(e.schema.root, e.value)
	}
	return false
}

// round changes what it can. A violation above or below a changed place is left for the next round,
// because it may be outdated.
func (e *editor) round(violations []violation) (any bool) {
	var changed []string
	for _, v := range violations {
		if !e.guessing() {
			e.schema.meter.pay(stepsPerEdit)
		}
		if any && (isWithin(v.path, changed) || isWithin(changed, v.path)) {
			continue
		}
		if e.fix(v) {
			any, changed = true, v.path
		}
	}
	return any
}

// fix makes the first change that applies to a violation.
func (e *editor) fix(v violation) bool {
	at := lookup(e.value, v.path)
	if keys, _ := missingKeys(v); keys != nil {
		return e.missing(v, at, keys)
	}
	switch k := v.kind.(type) {
	case *kind.AdditionalProperties:
		return e.unknown(v.path, at, k.Properties)
	case *kind.FalseSchema:
		return e.forbidden(v.path)
	}
	if !e.guessing() {
		return e.convert(v, at)
	}
	isSecret := e.known.holds(v.path, at) // what is made of a secret reveals it
	return !isSecret && e.convert(v, at) || e.guess(v, at)
}

// convert changes the form of a value, or leaves it out if it says nothing.
func (e *editor) convert(v violation, at any) bool {
	switch k := v.kind.(type) {
	case *kind.Type:
		return e.omit(v, at) || e.retype(v, at, k.Want) || e.omitDefault(v, at)
	case *kind.Enum:
		return e.choose(v, at, k.Want) || e.omit(v, at) || e.omitDefault(v, at)
	case *kind.Const:
		return e.choose(v, at, []any{k.Want}) || e.omit(v, at) || e.omitDefault(v, at)
	case *kind.AnyOf, *kind.OneOf:
		return e.branch(v, at) || e.omit(v, at) || e.omitDefault(v, at)
	case *kind.Format, *kind.Pattern, *kind.MinLength:
		return e.omit(v, at) || e.omitDefault(v, at)
	}
	return e.omitDefault(v, at)
}

// set changes a value and adds the receipt.
func (e *editor) set(path []string, before, after any, rule string, tier Tier) bool {
	if tier > e.options.Tier {
		return false
	}
	e.value = replaced(e.value, path, after)
	e.receipt(path, before, after, rule, tier)
	return true
}

// guessed records that the value of a field is a guess, and with it all that is inside.
func (e *editor) guessed(name string) {
	inside := func(name, other string) bool { return name == other || strings.HasPrefix(name, other+".") }
	if slices.ContainsFunc(e.guesses, func(other string) bool { return inside(name, other) }) {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(e.guesses), func(other string) bool { return inside(other, name) })
	e.guesses = append(rest, name)
}

// receipt records a change. In an example, a new value that must be told is a guess.
func (e *editor) receipt(path []string, before, after any, rule string, tier Tier) {
	_, isNew := before.(absent)
	_, isGone := after.(absent)
	if e.guessing() {
		if tier > Silent && !isGone {
			e.guessed(field(path))
		}
		return
	}
	change := Change{Path: Path(slices.Concat(e.within, path)), Rule: rule, Tier: tier}
	if !isNew {
		change.Before = encode(before, e.rank)
	}
	if !isGone {
		change.After = encode(after, e.rank)
	}
	e.changes = append(e.changes, change)
}

// exchange tells the last check that a scalar became others with the same content.
func (e *editor) exchange(before, after any) {
	e.released, e.granted = append(e.released, before), append(e.granted, after)
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

// fits reports whether a value fits a schema, possibly after repair.
func (e *editor) fits(node *jsonschema.Schema, value any) bool {
	_, ok := e.fitted(node, value, nil, e.options.Tier)
	return ok
}

// fitted edits a copy of a value against one schema, without guesses.
func (e *editor) fitted(node *jsonschema.Schema, value any, path []string, tier Tier) (*editor, bool) {
	if e.depth >= 4 {
		return nil, false
	}
	e.schema.meter.pay(stepsPerEdit)
	inner := &editor{schema: e.schema.only(node), whole: e.whole, options: Options{Tool: e.options.Tool, Tier: min(tier, Told)}, rank: e.rank,
		value: clone(value), within: slices.Concat(e.within, path), depth: e.depth + 1}
	return inner, inner.edit(e.schema.violations(node, inner.value))
}

// only returns the schema with a different root, within the same session.
func (s *Schema) only(node *jsonschema.Schema) *Schema {
	return &Schema{root: node, nodes: s.nodes, meter: s.meter}
}

// parentOf splits a path that is not empty.
func parentOf(path []string) (parent []string, key string) {
	return path[:len(path)-1], path[len(path)-1]
}

// below returns the path of a key or an item.
func below(path []string, key string) []string { return append(slices.Clone(path), key) }
