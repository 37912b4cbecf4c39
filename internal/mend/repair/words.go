package repair

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Limits of the description of a schema.
const (
	maxAllChoices  = 12  // choices that are all listed
	maxNearChoices = 5   // closest choices that are listed of more
	maxToolsListed = 20  // tools that are listed if none has a similar name
	maxNamed       = 8   // properties of an object
	maxForms       = 4   // alternatives of anyOf and oneOf
	maxNested      = 4   // nested forms
	maxPhrase      = 360 // characters of one description
	maxLiteral     = 80  // characters of one value
)

// words describes what is expected, for a caller who sent received.
func (d *demand) words(received any) string { return bounded(d.phrase(received, 0), maxPhrase) }

func (d *demand) phrase(received any, depth int) string {
	if depth > maxNested {
		return "any value" // a schema may contain itself
	}
	if d.chosen {
		return choiceWords(d.choices, received)
	}
	branches := d.branches()
	kinds := d.kinds()
	if isType := len(branches) == 0 || slices.Equal(kinds, []string{"object"}); isType && kinds != nil {
		parts := make([]string, len(kinds))
		for i, name := range reordered(kinds) {
			parts[i] = d.typeWords(name, depth)
		}
		return strings.Join(parts, ", or ")
	}
	if len(branches) > 0 {
		return d.formWords(received, depth)
	}
	for _, node := range d.nodes {
		switch {
		case node.Bool != nil && !*node.Bool:
			return "no value"
		case node.Not != nil:
			inner := gather(node.Not)
			return "anything but " + inner.phrase(nil, depth+1)
		}
	}
	return "any value"
}

// reordered puts null last, because it is rarely meant.
func reordered(kinds []string) []string {
	if i := slices.Index(kinds, "null"); i >= 0 && len(kinds) > 1 {
		kinds = append(slices.Delete(slices.Clone(kinds), i, i+1), "null")
	}
	return kinds
}

// formWords describes the alternatives of anyOf and oneOf.
func (d *demand) formWords(received any, depth int) string {
	var parts []string
	branches := d.branches()
	for i, branch := range branches {
		if len(parts) == maxForms {
			parts = append(parts, fmt.Sprintf("one of %d other forms", len(branches)-i))
			break
		}
		form := gather(branch)
		form.types = firstOf(form.types, d.types)
		if text := form.phrase(received, depth+1); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", or ")
}

func firstOf(a, b []string) []string {
	if a != nil {
		return a
	}
	return b
}

// typeWords describes a value of one type.
func (d *demand) typeWords(name string, depth int) string {
	text := name + strings.Join(d.clauses(name), "")
	if depth > 1 {
		return text
	}
	switch name {
	case "array":
		text += d.itemWords(depth)
	case "object":
		text += d.keyWords(depth)
	}
	return text
}

// clauses returns what the schemas require of a value beside its type, each as it continues the type.
func (d *demand) clauses(name string) (list []string) {
	add := func(prefix, words string) {
		if words != "" {
			list = append(list, prefix+words)
		}
	}
	switch name {
	case "string":
		add(" of ", d.length.words("character"))
		if d.format != "" {
			add(" in the format ", d.format)
			for _, sample := range formatSamples[d.format][:min(len(formatSamples[d.format]), 1)] {
				list[len(list)-1] += ", like " + sample
			}
		}
		for _, pattern := range d.patterns {
			add(" matching the pattern ", bounded(visible(pattern.String()), 120))
		}
	case "number", "integer":
		add("", d.boundWords())
		for _, step := range d.steps {
			add(", a multiple of ", ratText(step))
		}
	case "array":
		words := d.items.words(word(d.different, "unique item", "item"))
		if d.different && words == "" {
			words = "unique items"
		}
		add(" of ", words)
	case "object":
		add(" of ", d.properties.words("key"))
	}
	return list
}

// constraints lists what the schemas require beside a type, or of the choices.
func (d *demand) constraints() (list []string) {
	if d.chosen {
		return []string{choiceWords(d.choices, nil)}
	}
	for _, name := range d.kinds() {
		for _, clause := range d.clauses(name) {
			list = append(list, strings.TrimPrefix(strings.TrimLeft(spellRange(clause), " ,"), "of "))
		}
	}
	return list
}

// spellRange returns a clause with its range in words.
func spellRange(clause string) string {
	from, to, isRange := strings.Cut(clause, "..")
	if !isRange || strings.HasPrefix(clause, " matching ") {
		return clause
	}
	return word(strings.HasPrefix(from, " of "), from, " from"+from) + " to " + to
}

// boundWords describes the bounds of a number, after a space; empty if there are none.
func (d *demand) boundWords() string {
	text := ""
	if d.least != nil {
		text = word(d.exclusiveLeast, " above ", " of at least ") + ratText(d.least)
	}
	switch {
	case d.most == nil:
	case d.least != nil && !d.exclusiveLeast && !d.exclusiveMost:
		text = " " + ratText(d.least) + ".." + ratText(d.most)
	default:
		text += word(d.least != nil, " and", "") + word(d.exclusiveMost, " below ", " up to ") + ratText(d.most)
	}
	return text
}

func word(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// itemWords describes the items of an array.
func (d *demand) itemWords(depth int) string {
	matching := ""
	var fixed []string
	for _, node := range d.nodes {
		for i := range max(len(node.PrefixItems), len(itemList(node))) {
			inner := gather(step(node, strconv.Itoa(i))...)
			fixed = append(fixed, inner.phrase(nil, depth+1))
		}
		if node.Contains != nil {
			inner := gather(node.Contains)
			matching += word(matching != "", " and", "") + " with "
			matching += containsWords(node.MinContains, node.MaxContains) + ": " + inner.phrase(nil, depth+1)
		}
	}
	if len(fixed) > 0 {
		return " [" + strings.Join(fixed, "; ") + "]" + matching
	}
	if rest := gather(d.inside("0")...); len(rest.nodes) > 0 {
		if each := rest.phrase(nil, depth+1); each != "any value" {
			return ", each " + each + word(matching != "", ",", "") + matching
		}
	}
	return matching
}

// containsWords describes how many items of an array must match.
func containsWords(least, most *int) string {
	low := 1
	if least != nil {
		low = *least
	}
	count := word(low == 1, "one matching item", plural(low, "matching item"))
	switch {
	case most == nil:
		return "at least " + count
	case *most == low:
		return "exactly " + count
	}
	return fmt.Sprintf("%d..%d matching items", low, *most)
}

// keyWords describes the keys of an object.
func (d *demand) keyWords(depth int) string {
	text := ""
	named, optional := d.required(), ""
	if len(named) == 0 {
		named, optional = d.declared(), "optional "
	}
	var names []string
	for _, key := range named {
		inner := gather(d.inside(key)...)
		name := Path([]string{visible(key)})
		if detail := inner.phrase(nil, depth+1); detail != "any value" {
			name += " (" + detail + ")"
		}
		names = append(names, name)
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", len(names)-maxNamed))
	}
	if len(names) > 0 {
		text += " with " + optional + strings.Join(names, ", ")
	}
	for _, node := range d.nodes {
		if node.PropertyNames != nil {
			inner := gather(node.PropertyNames)
			text += ", each key " + inner.phrase(nil, depth+1)
		}
	}
	return text
}

// declared returns the names of an object's properties, in order.
func (d *demand) declared() []string {
	names := map[string]bool{}
	for _, node := range d.nodes {
		for name := range node.Properties {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// words describes a range; empty if it is unlimited.
func (s span) words(noun string) string {
	switch {
	case s.least <= 0 && s.most < 0:
		return ""
	case s.most >= 0 && s.least > s.most:
		return fmt.Sprintf("at least %d and at most %s (which is impossible)", s.least, plural(s.most, noun))
	case s.least == s.most:
		return "exactly " + plural(s.least, noun)
	case s.least <= 0:
		return "at most " + plural(s.most, noun)
	case s.most < 0:
		return "at least " + plural(s.least, noun)
	}
	return fmt.Sprintf("%d..%s", s.least, plural(s.most, noun))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// choiceWords lists the choices: all of a few, the closest of many.
func choiceWords(choices []any, received any) string {
	if len(choices) == 1 {
		return "exactly " + literal(choices[0])
	}
	all := literals(choices)
	if len(choices) <= maxAllChoices && len(strings.Join(all, ", ")) <= maxPhrase-20 {
		return "one of " + strings.Join(all, ", ")
	}
	near := literals(nearest(received, choices, maxNearChoices))
	return fmt.Sprintf("one of %d allowed values, %s: %s (and %d more)",
		len(choices), word(received == nil, "such as", "closest"), strings.Join(near, ", "), len(choices)-len(near))
}

func literals(values []any) []string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = literal(value)
	}
	return list
}

// literal returns a value from a schema on one line.
func literal(value any) string {
	return bounded(visible(string(encode(value, nil))), maxLiteral)
}

// nearest returns the n choices that are most similar to a value, the most similar first.
func nearest(received any, choices []any, n int) []any {
	sorted := slices.Clone(choices)
	if received != nil {
		slices.SortStableFunc(sorted, func(a, b any) int { return unlike(received, a) - unlike(received, b) })
	}
	return sorted[:min(n, len(sorted))]
}

// unlike measures how different a choice is from a value.
func unlike(received, choice any) int {
	a, b := fold(bounded(plain(received), 64)), fold(bounded(plain(choice), 64))
	far := 2 * distance(a, b)
	contains := strings.Contains(a, b) || strings.Contains(b, a)
	if a != "" && b != "" && contains {
		far /= 2
	}
	if x, ok := number(plain(received)); ok {
		if y, ok := number(plain(choice)); ok {
			f, _ := x.Float64()
			g, _ := y.Float64()
			return int(min(max(f-g, g-f), 1<<20))
		}
	}
	return far
}

// plain returns a scalar as text.
func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return string(encode(value, nil))
}

// ratText formats a number in the usual notation.
func ratText(r *big.Rat) string {
	if r.IsInt() {
		return shortNumber(r.Num().String(), r)
	}
	if digits, exact := r.FloatPrec(); exact && digits <= 20 {
		return shortNumber(r.FloatString(digits), r)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func shortNumber(text string, r *big.Rat) string {
	if len(text) <= 24 {
		return text
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
