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
	if kinds := d.kinds(); kinds != nil && (len(branches) == 0 || len(kinds) == 1 && kinds[0] == "object") {
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

func (d *demand) typeWords(name string, depth int) string {
	switch name {
	case "string":
		return "string" + d.stringWords()
	case "number", "integer":
		return name + d.numberWords()
	case "array":
		return "array" + d.arrayWords(depth)
	case "object":
		return "object" + d.objectWords(depth)
	}
	return name
}

func (d *demand) stringWords() string {
	text := ""
	if words := d.length.words("character"); words != "" {
		text = " of " + words
	}
	if d.format != "" {
		text += " in the format " + d.format
		if sample := formatSamples[d.format]; len(sample) > 0 {
			text += ", like " + sample[0]
		}
	}
	for _, pattern := range d.patterns {
		text += " matching the pattern " + bounded(visible(pattern.String()), 120)
	}
	return text
}

func (d *demand) numberWords() string {
	var parts []string
	switch {
	case d.least != nil && d.most != nil && !d.exclusiveLeast && !d.exclusiveMost:
		parts = append(parts, ratText(d.least)+".."+ratText(d.most))
	default:
		if d.least != nil {
			parts = append(parts, word(d.exclusiveLeast, "above ", "from ")+ratText(d.least))
		}
		if d.most != nil {
			parts = append(parts, word(d.exclusiveMost, "below ", "up to ")+ratText(d.most))
		}
	}
	text := ""
	if len(parts) > 0 {
		text = " " + strings.Join(parts, ", ")
	}
	for _, step := range d.steps {
		text += ", a multiple of " + ratText(step)
	}
	return text
}

func word(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func (d *demand) arrayWords(depth int) string {
	text := ""
	noun := word(d.different, "unique item", "item")
	if words := d.items.words(noun); words != "" {
		text = " of " + words
	} else if d.different {
		text = " of unique items"
	}
	if depth > 1 {
		return text
	}
	var fixed []string
	for _, node := range d.nodes {
		for i := range max(len(node.PrefixItems), len(itemList(node))) {
			inner := gather(step(node, strconv.Itoa(i))...)
			fixed = append(fixed, inner.phrase(nil, depth+1))
		}
		if node.Contains != nil {
			inner := gather(node.Contains)
			text += ", " + containsWords(node.MinContains, node.MaxContains) + " " + inner.phrase(nil, depth+1)
		}
	}
	if len(fixed) > 0 {
		return text + " [" + strings.Join(fixed, "; ") + "]"
	}
	if rest := gather(d.inside("0")...); len(rest.nodes) > 0 {
		if each := rest.phrase(nil, depth+1); each != "any value" {
			text += ", each " + each
		}
	}
	return text
}

func containsWords(least, most *int) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%d..%d of them", *least, *most)
	case least != nil:
		return fmt.Sprintf("at least %d of them", *least)
	case most != nil && *most == 1:
		return "exactly one of them"
	case most != nil:
		return fmt.Sprintf("at least one and at most %d of them", *most)
	}
	return "at least one of them"
}

func (d *demand) objectWords(depth int) string {
	text := ""
	if words := d.properties.words("key"); words != "" {
		text = " of " + words
	}
	if depth > 1 {
		return text
	}
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
		return fmt.Sprintf("at least %d and at most %s, which is impossible", s.least, plural(s.most, noun))
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
	return fmt.Sprintf("one of %d choices, %s: %s (and %d more)", len(choices), word(received == nil, "such as", "the closest"), strings.Join(near, ", "), len(choices)-len(near))
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
	if a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a)) {
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
