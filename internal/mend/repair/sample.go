package repair

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// Limits of invented values.
const (
	maxVariants = 70  // different values, for arrays with unique items
	maxInvented = 64  // items of an array, properties of an object
	maxInside   = 6   // nested containers
	maxTries    = 300 // candidates for one field
)

// candidate is a value that may fit.
type candidate struct {
	value any
	sure  bool // the schema allows nothing else, or the caller sent almost the same
	own   bool // it is what the caller sent, in a different form
}

// pick returns the first candidate that every schema and accept allow. If there is none, it returns
// the first container, whose contents can be fixed later. It must be called within a session.
func pick(nodes []*jsonschema.Schema, name string, received any, depth int, accept func(any) bool) (candidate, bool) {
	d := gather(nodes...)
	var best *candidate
	tries := 0
	d.propose(name, received, depth, func(c candidate) (stop bool) {
		tries++
		switch {
		case tries > maxTries:
			return true
		case accept != nil && !accept(c.value):
		case fitsAll(nodes, c.value):
			best = &c
			return true
		case best == nil && !d.chosen && isContainer(c.value) && d.accepts(typeName(c.value)):
			best = &candidate{value: c.value, own: c.own}
		}
		return false
	})
	if best == nil {
		return candidate{}, false
	}
	best.value = clone(best.value)
	return *best, true
}

func fitsAll(nodes []*jsonschema.Schema, value any) bool {
	return !slices.ContainsFunc(nodes, func(node *jsonschema.Schema) bool { return node.Validate(value) != nil })
}

// propose calls try with values that may satisfy d until it stops, the likeliest first: what the
// caller sent, what the schema suggests, and samples. name is the name of the field, and received its
// value in the call.
func (d *demand) propose(name string, received any, depth int, try func(candidate) (stop bool)) bool {
	each := func(values []any, isSure func(any) bool, own bool) bool {
		return slices.ContainsFunc(values, func(value any) bool { return try(candidate{value, isSure(value), own}) })
	}
	never, only := func(any) bool { return false }, func(any) bool { return len(d.choices) == 1 }
	parts := readings(name, received)
	for i, part := range parts {
		isChoice := func(choice any) bool { return len(d.choices) == 1 || isNear(part, choice) && sameSigns(part, choice) }
		isForm := func(value any) bool { return isNear(received, value) }
		isOwn := i > 0 && try(candidate{part, false, true})
		if isOwn || each(meantChoices(part, d.choices), isChoice, true) || each(derived(part, d), isForm, true) {
			return true
		}
	}
	if each(d.suggested(name), never, false) || each(d.safeChoices(received), only, len(d.choices) == 1) {
		return true
	}
	for _, branch := range d.branchesFor(received) {
		inner := gather(append([]*jsonschema.Schema{branch}, d.nodes...)...)
		inner.nodes = withoutBranches(inner.nodes, d)
		if depth < maxInside && inner.propose(name, received, depth+1, try) {
			return true
		}
	}
	return slices.ContainsFunc(d.kindsFor(received), func(kind string) bool { return each(d.samples(kind, name, depth), never, false) })
}

// isNear reports whether a value differs from the received one only in spelling.
func isNear(received, value any) bool {
	text, ok := received.(string)
	if !ok || len(text) > 64 || isContainer(value) {
		return false
	}
	a, b := fold(bounded(text, 64)), fold(bounded(plain(value), 64))
	return a != "" && distance(a, b) <= min(2, len(a)/3)
}

// suggested returns the values that the schema suggests for a name, without secrets.
func (d *demand) suggested(name string) (list []any) {
	var defaults, described []any
	for _, node := range d.nodes {
		list = append(list, node.Examples...)
		if node.Default != nil && *node.Default != nil {
			defaults = append(defaults, *node.Default)
		}
		if text := describedDefault(node.Description); text != "" {
			described = append(append(described, meantChoices(text, d.choices)...), derived(text, d)...)
			if doc, err := decode(text); err == nil {
				described = append(described, doc.value)
			}
		}
	}
	list = slices.Concat(list, defaults, described)
	return slices.DeleteFunc(list, func(value any) bool { return holdsSecret(name, value) || slices.ContainsFunc(d.nodes, hidesValue) })
}

var defaultForm = regex.New(`(?i)\bdefault(?:s|ed)?(?: value)?(?: is| to|:|=)?(?: to)? ?` +
	`(?:'([^']{1,60})'|"([^"]{1,60})"|` + "`([^`]{1,60})`" + `|(-?\d+(?:\.\d+)?|true|false)\b)`)

// describedDefault returns the default that a description states, as in "Default is 'celsius'".
func describedDefault(description string) string {
	if found := defaultForm.FindStringSubmatch(bounded(description, maxDescription)); found != nil {
		return found[1] + found[2] + found[3] + found[4]
	}
	return ""
}

// maxDescription limits the part of a description that is searched for a default.
const maxDescription = 2000

// branchesFor returns the alternatives, those that accept the received value first and null last.
func (d *demand) branchesFor(received any) []*jsonschema.Schema {
	rank := func(node *jsonschema.Schema) int {
		inner := gather(node)
		switch {
		case received != nil && inner.accepts(typeName(received)):
			return 0
		case slices.Equal(inner.kinds(), []string{"null"}):
			return 2
		}
		return 1
	}
	branches := slices.Clone(d.branches())
	slices.SortStableFunc(branches, func(a, b *jsonschema.Schema) int { return rank(a) - rank(b) })
	return branches
}

// withoutBranches drops the schemas whose alternatives are already used.
func withoutBranches(nodes []*jsonschema.Schema, d *demand) []*jsonschema.Schema {
	taken := d.branches()
	list := make([]*jsonschema.Schema, 0, len(nodes))
	for _, node := range nodes {
		if slices.Equal(node.AnyOf, taken) || slices.Equal(node.OneOf, taken) {
			bare := *node
			bare.AnyOf, bare.OneOf = nil, nil
			node = &bare
		}
		list = append(list, node)
	}
	return list
}

// kindsFor returns the allowed types, that of the received value first and null last.
func (d *demand) kindsFor(received any) []string {
	kinds := reordered(d.kinds())
	if kinds == nil {
		kinds = []string{"string", "object", "integer", "array", "boolean", "null"}
		if d.branches() != nil || d.chosen {
			return nil
		}
	}
	if i := slices.Index(kinds, typeName(received)); i > 0 && received != nil {
		kinds = append([]string{kinds[i]}, slices.Delete(slices.Clone(kinds), i, i+1)...)
	}
	return kinds
}

// samples returns values of a type.
func (d *demand) samples(kind, name string, depth int) []any {
	switch kind {
	case "string":
		return d.strings(name)
	case "number", "integer":
		return d.numbers(kind)
	case "boolean":
		return []any{false, true} // copying an example must not confirm or force anything
	case "array":
		if list, ok := d.list(name, depth); ok {
			return []any{list}
		}
		return nil
	case "object":
		return []any{d.object(depth)}
	}
	return []any{nil}
}

// formatSamples are strings in the usual formats.
var formatSamples = map[string][]string{
	"email": {"user@example.com", "user2@example.com"}, "idn-email": {"user@example.com"}, "iri": {"https://example.com"},
	"uri": {"https://example.com", "https://example.com/2"}, "url": {"https://example.com", "https://example.com/2"},
	"uri-reference": {"/path"}, "iri-reference": {"/path"}, "uri-template": {"/items/{id}"},
	"uuid": {"123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174001"},
	"date": {"2024-01-31", "2024-02-01"}, "time": {"12:30:00Z", "12:30:00"}, "date-time": {"2024-01-31T12:30:00Z", "2024-02-01T12:30:00Z"},
	"duration": {"P1D", "P2D"}, "period": {"P1D"}, "ipv4": {"192.0.2.1", "192.0.2.2"}, "ipv6": {"2001:db8::1", "2001:db8::2"},
	"hostname": {"example.com", "example.org"}, "idn-hostname": {"example.com"}, "json-pointer": {"/a"}, "relative-json-pointer": {"0/a"},
	"regex": {"^a$"}, "semver": {"1.0.0"},
}

// strings returns strings in the format, strings that match the pattern, or a placeholder that
// cannot be mistaken for a value.
func (d *demand) strings(name string) (list []any) {
	for _, sample := range formatSamples[d.format] {
		list = append(list, sample)
	}
	if len(d.patterns) > 0 {
		list = append(list, name) // also reads as a placeholder
	}
	for _, pattern := range d.patterns {
		for _, text := range spellings(pattern.String(), d.length) {
			list = append(list, text)
		}
	}
	if d.length.least > maxSpelled {
		return list
	}
	if name == "" {
		name = "text"
	}
	base := "<" + name + strings.Repeat("x", max(0, d.length.least-len([]rune(name))-2)) + ">"
	if d.length.most >= 0 && d.length.most < len([]rune(base)) {
		list = append(list, strings.Repeat("a", max(d.length.least, min(d.length.most, 3))))
	} else {
		list = append(list, base)
	}
	for i := range maxVariants {
		n := strconv.Itoa(i + 2)
		list = append(list, strings.TrimSuffix(base, ">")+" "+n+">", n+strings.Repeat("a", max(0, d.length.least-len(n))))
	}
	return append(list, "")
}

// numbers counts up and down from the middle of the allowed range, or from its end.
func (d *demand) numbers(kind string) (list []any) {
	whole := *d
	whole.types = []string{kind}
	start, grain := d.within(big.NewRat(1, 1)), whole.grain()
	if middle, ok := d.middle(); ok {
		start = middle
	}
	for i := range maxVariants {
		for _, sign := range []int64{1, -1} {
			away := new(big.Rat).Mul(grain, big.NewRat(sign*int64(i), 1))
			if n, ok := whole.nearNumber(away.Add(away, start)); ok {
				list = append(list, n)
			}
		}
	}
	return list
}

// list returns an array of the minimum length, with different items.
func (d *demand) list(name string, depth int) ([]any, bool) {
	least := d.items.least
	for _, node := range d.nodes {
		if node.Contains != nil && least == 0 {
			least = 1
		}
		if node.MinContains != nil {
			least = max(least, *node.MinContains)
		}
		if len(d.inside("0")) > 0 && d.items.most != 0 {
			least = max(least, min(1, len(node.PrefixItems)+len(itemList(node))))
		}
	}
	list := []any{}
	for len(list) < least && least <= maxInvented {
		item, ok := d.element(list, name, depth)
		if !ok {
			break
		}
		list = append(list, item)
	}
	return list, least <= maxInvented
}

func itemList(node *jsonschema.Schema) []*jsonschema.Schema {
	list, _ := node.Items.([]*jsonschema.Schema)
	return list
}

// element returns a new item for an array, different from the others if possible.
func (d *demand) element(list []any, name string, depth int) (any, bool) {
	if depth >= maxInside {
		return nil, false
	}
	nodes := d.inside(strconv.Itoa(len(list)))
	for _, node := range d.nodes {
		if node.Contains != nil {
			nodes = append(nodes, node.Contains)
		}
	}
	c, ok := pick(nodes, singular(name), nil, depth+1, differentFrom(list))
	if !ok && !d.different {
		c, ok = pick(nodes, singular(name), nil, depth+1, nil)
	}
	return c.value, ok
}

// differentFrom returns a filter that rejects the values of a list.
func differentFrom(list []any) func(any) bool {
	return func(value any) bool {
		return !slices.ContainsFunc(list, func(other any) bool { return same(value, other) })
	}
}

func singular(name string) string {
	if base, ok := strings.CutSuffix(name, "s"); ok && len(base) > 2 {
		return base
	}
	return name
}

// object returns an object with the required keys.
func (d *demand) object(depth int) map[string]any {
	object := map[string]any{}
	for _, key := range d.required() {
		if depth >= maxInside || len(object) >= maxInvented {
			break
		}
		if c, ok := pick(d.inside(key), key, nil, depth+1, nil); ok {
			object[key] = c.value
		}
	}
	return object
}

// last returns the name of the last field on a path; for an item, in the singular.
func last(path []string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if isIndex(path[i]) {
			continue
		}
		if i < len(path)-1 {
			return singular(path[i])
		}
		return path[i]
	}
	return ""
}
