package repair

import (
	"iter"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of invented values.
const (
	maxVariants = 70 // different values, for arrays with unique items
	maxInvented = 64 // items of an array, properties of an object
	maxInside   = 6  // nested containers
)

// candidate is a value that may fit.
type candidate struct {
	value any
	sure  bool // the schema allows nothing else, or the caller sent almost the same
	own   bool // it is what the caller sent, in a different form
}

// candidates returns values that may satisfy d, the likeliest first: what the caller sent, what the
// schema suggests, and samples. name is the name of the field, and received its value in the call.
func (d *demand) candidates(name string, received any, depth int) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		parts := readings(name, received)
		for i := 1; i < len(parts) && d.chosen; i++ {
			if !yield(candidate{parts[i], false, true}) {
				return
			}
		}
		for i, reading := range parts {
			if i > 0 && !yield(candidate{reading, false, true}) {
				return
			}
			for _, choice := range meantChoices(reading, d.choices) {
				if !yield(candidate{choice, len(d.choices) == 1 || isNear(reading, choice) && sameSigns(reading, choice), true}) {
					return
				}
			}
			for _, value := range derived(reading, d) {
				if !yield(candidate{value, isNear(received, value), true}) {
					return
				}
			}
		}
		for _, value := range d.suggested(name) {
			if !yield(candidate{value: value}) {
				return
			}
		}
		for _, choice := range d.safeChoices(received) {
			if !yield(candidate{choice, len(d.choices) == 1, len(d.choices) == 1}) {
				return
			}
		}
		if depth < maxInside {
			for _, branch := range d.branchesFor(received) {
				inner := gather(append([]*jsonschema.Schema{branch}, d.nodes...)...)
				inner.nodes = withoutBranches(inner.nodes, d)
				for c := range inner.candidates(name, received, depth+1) {
					if !yield(c) {
						return
					}
				}
			}
		}
		for _, kind := range d.kindsFor(received) {
			for value := range d.ofKind(kind, name, depth) {
				if !yield(candidate{value: value}) {
					return
				}
			}
		}
	}
}

// isNear reports whether a value differs from the received one only in spelling.
func isNear(received, value any) bool {
	text, ok := received.(string)
	if !ok || len(text) > 64 || typeName(value) == "array" || typeName(value) == "object" {
		return false
	}
	a, b := fold(bounded(text, 64)), fold(bounded(plain(value), 64))
	return a != "" && distance(a, b) <= min(2, len(a)/3)
}

// suggested returns the values that the schema suggests for a name, without secrets.
func (d *demand) suggested(name string) (list []any) {
	for _, node := range d.nodes {
		list = append(list, node.Examples...)
	}
	for _, node := range d.nodes {
		if node.Default != nil && *node.Default != nil {
			list = append(list, *node.Default)
		}
	}
	for _, node := range d.nodes {
		if text := describedDefault(node.Description); text != "" {
			list = append(list, meantChoices(text, d.choices)...)
			list = append(list, derived(text, d)...)
			if doc, err := decode(text); err == nil {
				list = append(list, doc.value)
			}
		}
	}
	return slices.DeleteFunc(list, func(value any) bool { return holdsSecret(name, value) || slices.ContainsFunc(d.nodes, hidesValue) })
}

var defaultForm = regexp.MustCompile(`(?i)\bdefault(?:s|ed)?(?: value)?(?: is| to|:|=)?(?: to)? ?(?:'([^']{1,60})'|"([^"]{1,60})"|` + "`([^`]{1,60})`" + `|(-?\d+(?:\.\d+)?|true|false)\b)`)

// describedDefault returns the default that a description states, as in "Default is 'celsius'".
func describedDefault(description string) string {
	if found := defaultForm.FindStringSubmatch(bounded(description, maxDescription)); found != nil {
		return found[1] + found[2] + found[3] + found[4]
	}
	return ""
}

// maxDescription limits the part of a description that is searched for a default.
const maxDescription = 2000

// branchesFor returns the alternatives, those that accept the received value first.
func (d *demand) branchesFor(received any) []*jsonschema.Schema {
	branches := slices.Clone(d.branches())
	slices.SortStableFunc(branches, func(a, b *jsonschema.Schema) int { return branchRank(a, received) - branchRank(b, received) })
	return branches
}

func branchRank(node *jsonschema.Schema, received any) int {
	d := gather(node)
	switch {
	case received != nil && d.accepts(typeName(received)):
		return 0
	case slices.Equal(d.kinds(), []string{"null"}):
		return 2
	}
	return 1
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

func (d *demand) ofKind(kind, name string, depth int) iter.Seq[any] {
	switch kind {
	case "string":
		return d.strings(name)
	case "number", "integer":
		return d.numbers(kind)
	case "boolean":
		return slices.Values([]any{false, true}) // copying an example must not confirm or force anything
	case "array":
		return func(yield func(any) bool) {
			if list, ok := d.list(name, depth); ok {
				yield(list)
			}
		}
	case "object":
		return func(yield func(any) bool) { yield(d.object(depth)) }
	}
	return slices.Values([]any{nil})
}

// formatSamples are strings in the usual formats.
var formatSamples = map[string][]string{
	"email": {"user@example.com"}, "idn-email": {"user@example.com"},
	"uri": {"https://example.com"}, "url": {"https://example.com"}, "iri": {"https://example.com"},
	"uri-reference": {"/path"}, "iri-reference": {"/path"}, "uri-template": {"/items/{id}"},
	"uuid": {"123e4567-e89b-12d3-a456-426614174000"},
	"date": {"2024-01-31"}, "time": {"12:30:00Z", "12:30:00"}, "date-time": {"2024-01-31T12:30:00Z"}, "duration": {"P1D"}, "period": {"P1D"},
	"ipv4": {"192.0.2.1"}, "ipv6": {"2001:db8::1"}, "hostname": {"example.com"}, "idn-hostname": {"example.com"},
	"json-pointer": {"/a"}, "relative-json-pointer": {"0/a"}, "regex": {"^a$"}, "semver": {"1.0.0"},
}

// strings returns strings in the format, strings that match the pattern, or a placeholder that
// cannot be mistaken for a value.
func (d *demand) strings(name string) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, sample := range formatSamples[d.format] {
			if !yield(sample) {
				return
			}
		}
		if d.format != "" && len(formatSamples[d.format]) > 0 {
			for i := range maxVariants {
				if !yield(varied(d.format, i)) {
					return
				}
			}
		}
		if len(d.patterns) > 0 && !yield(name) { // a name also reads as a placeholder
			return
		}
		for _, pattern := range d.patterns {
			for _, text := range spellings(pattern.String(), d.length) {
				if !yield(text) {
					return
				}
			}
		}
		for _, text := range placeholders(name, d.length) {
			if !yield(text) {
				return
			}
		}
	}
}

// varied returns a different string in a format.
func varied(format string, i int) string {
	n := strconv.Itoa(i + 1)
	switch format {
	case "email", "idn-email":
		return "user" + n + "@example.com"
	case "uuid":
		return "123e4567-e89b-12d3-a456-4266141740" + string(rune('1'+i/10%9)) + string(rune('0'+i%10))
	case "ipv4":
		return "192.0.2." + n
	case "ipv6":
		return "2001:db8::" + n
	case "date":
		return "2024-02-" + string(rune('0'+i/10%3)) + string(rune('0'+i%10))
	}
	return formatSamples[format][0] + "/" + n
}

// spellings returns strings that a pattern matches, of the required length.
func spellings(pattern string, length span) (list []string) {
	if length.least > maxSpelled {
		return nil
	}
	for more := range 12 {
		if text, ok := spell(pattern, more); ok && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, more := range []int{length.least, length.least / 2, length.least / 3} {
		if text, ok := spell(pattern, more); ok && more > 0 && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, text := range slices.Clone(list) { // the pattern may allow a longer string
		if missing := length.least - len([]rune(text)); missing > 0 {
			list = append(list, text+strings.Repeat("a", missing), strings.Repeat("a", missing)+text)
		}
	}
	return list
}

func placeholders(name string, length span) (list []string) {
	if length.least > maxSpelled {
		return nil
	}
	if name == "" {
		name = "text"
	}
	base := "<" + name + ">"
	if missing := length.least - len([]rune(base)); missing > 0 {
		base = "<" + name + strings.Repeat("x", missing) + ">"
	}
	list = append(list, base)
	if length.most >= 0 && length.most < len([]rune(base)) {
		list = []string{strings.Repeat("a", max(length.least, min(length.most, 3)))}
	}
	for i := range maxVariants {
		n := strconv.Itoa(i + 2)
		list = append(list, strings.TrimSuffix(base, ">")+" "+n+">", n+strings.Repeat("a", max(0, length.least-len(n))))
	}
	return append(list, "")
}

// numbers counts up and down from the middle of the allowed range.
func (d *demand) numbers(kind string) iter.Seq[any] {
	return func(yield func(any) bool) {
		whole := *d
		whole.types = []string{kind}
		start := big.NewRat(1, 1)
		switch middle, ok := d.middle(); {
		case ok:
			start = middle
		case d.least != nil && d.least.Cmp(start) > 0:
			start = d.least
		case d.most != nil && d.most.Cmp(start) < 0:
			start = d.most
		}
		grain := whole.step()
		if grain == nil {
			grain = d.grain()
		}
		for i := range maxVariants {
			for _, sign := range []int64{1, -1} {
				value := new(big.Rat).Add(start, new(big.Rat).Mul(grain, big.NewRat(sign*int64(i), 1)))
				if n, ok := whole.nearNumber(value); ok && !yield(n) {
					return
				}
				if n, ok := jsonNumber(value); ok && !yield(n) {
					return
				}
			}
		}
	}
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
	if least > maxInvented {
		return nil, false
	}
	list := []any{}
	for len(list) < least {
		item, ok := d.element(list, name, depth)
		if !ok {
			return list, true
		}
		list = append(list, item)
	}
	return list, true
}

func itemList(node *jsonschema.Schema) []*jsonschema.Schema {
	list, _ := node.Items.([]*jsonschema.Schema)
	return list
}

// element returns a new item for an array, different from the others.
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
	c, ok := pick(nodes, singular(name), nil, depth+1, func(value any) bool {
		return !slices.ContainsFunc(list, func(other any) bool { return same(value, other) })
	})
	if !ok && !d.different {
		c, ok = pick(nodes, singular(name), nil, depth+1, nil)
	}
	return c.value, ok
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
	if depth >= maxInside {
		return object
	}
	for _, key := range d.required() {
		if len(object) >= maxInvented {
			break
		}
		if c, ok := pick(d.inside(key), key, nil, depth+1, nil); ok {
			object[key] = c.value
		}
	}
	return object
}

// maxTries limits the candidates for one field.
const maxTries = 300

// pick returns the first candidate that every schema and accept allow. If there is none, it returns
// the first container, whose contents can be fixed later. It must be called within a session.
func pick(nodes []*jsonschema.Schema, name string, received any, depth int, accept func(any) bool) (candidate, bool) {
	d := gather(nodes...)
	var rough *candidate
	tries := 0
	for c := range d.candidates(name, received, depth) {
		if tries++; tries > maxTries {
			break
		}
		if accept != nil && !accept(c.value) {
			continue
		}
		if fitsAll(nodes, c.value) {
			c.value = clone(c.value)
			return c, true
		}
		if rough == nil && !d.chosen && (isObject(c.value) || isList(c.value)) && d.accepts(typeName(c.value)) {
			rough = &candidate{value: clone(c.value), own: c.own}
		}
	}
	if rough != nil {
		return *rough, true
	}
	return candidate{}, false
}

func fitsAll(nodes []*jsonschema.Schema, value any) bool {
	for _, node := range nodes {
		if node.Validate(value) != nil {
			return false
		}
	}
	return true
}
