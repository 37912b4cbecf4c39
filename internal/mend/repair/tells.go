package repair

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// renameOnly renames the only unknown key of an object to the only required one that is missing, if
// the value fits and the names or the schema tell that it is meant.
func (m *editor) renameOnly(v violation, object map[string]any, missing string) bool {
	from, ok := m.schema.object(v.path, object).onlyUnknown()
	if !ok || isEmpty(object[from]) {
		return false
	}
	nodes := m.schema.property(v, missing)
	isOtherSwitch := isSwitch(nodes) && !sameSwitch(from, missing)
	if len(nodes) == 0 || isOtherSwitch || hasOpposite(from, missing) {
		return false
	}
	if !m.onlyShares(v.path, object, from, missing) && (areSiblings(from, missing) || !isSpecific(nodes, object[from])) {
		return false
	}
	for _, node := range nodes {
		if _, ok := m.fitted(node, object[from], v.path, Silent); !ok {
			return false
		}
	}
	m.moveKey(v.path, object, from, missing, RuleRenamed, Told)
	return true
}

// onlyShares reports whether an unknown key says the same as the missing one, and as no other key
// that is not used: name may be the name of an owner or of a repository.
func (m *editor) onlyShares(path []string, object map[string]any, from, missing string) bool {
	if !m.sharesWords(path, from, missing) {
		return false
	}
	if slices.Equal(nameWords(from), nameWords(missing)) {
		return true
	}
	for other := range m.schema.properties(path) {
		if _, there := object[other]; !there && other != missing && m.sharesWords(path, from, other) {
			return false
		}
	}
	return true
}

// isSwitch reports whether a value must be true or false.
func isSwitch(nodes []*jsonschema.Schema) bool {
	d := gather(nodes...)
	return slices.Equal(d.kinds(), []string{"boolean"})
}

// sameSwitch reports whether the names of two booleans differ only in words like is. Any other word
// may say the opposite: hide_details is not details.
func sameSwitch(a, b string) bool {
	words := func(name string) []string {
		return slices.DeleteFunc(nameWords(name), func(word string) bool { return isIn("auxiliary", word) })
	}
	return slices.Equal(words(a), words(b))
}

// areSiblings reports whether two names share a word and each has one of its own: base_currency and
// quote_currency are different things of the same kind.
func areSiblings(a, b string) bool {
	x, y := nameWords(a), nameWords(b)
	own := func(words, others []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !isIn("generic", word) && !slices.Contains(others, word) })
	}
	return own(x, y) && own(y, x) && slices.ContainsFunc(x, func(word string) bool { return slices.Contains(y, word) })
}

// sentObject is an object of a call.
type sentObject struct {
	schema  *Schema
	path    []string
	members map[string]any
}

func (s *Schema) object(path []string, members map[string]any) sentObject {
	return sentObject{s, path, members}
}

// onlyUnknown returns the only key of an object that no schema declares.
func (o sentObject) onlyUnknown() (key string, ok bool) {
	unknown := o.unknown(2)
	if len(unknown) != 1 {
		return "", false
	}
	return unknown[0], true
}

// unknown returns the keys of an object that no schema declares, at most n.
func (o sentObject) unknown(n int) (keys []string) {
	nodes := o.schema.nodesAt(o.path)
	for key := range o.members {
		if len(keys) < n && !slices.ContainsFunc(nodes, func(node *jsonschema.Schema) bool { return len(step(node, key)) > 0 }) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// isSpecific reports whether schemas accept so little that a value which fits must be meant for
// them: a choice other than yes and no, or an object with certain keys.
func isSpecific(nodes []*jsonschema.Schema, value any) bool {
	d := gather(nodes...)
	switch value := value.(type) {
	case string:
		return d.chosen && !isIn("switch", strings.ToLower(value)) && fitsAll(nodes, value)
	case map[string]any:
		return len(d.required()) > 0 && len(value) > 1 && fitsAll(nodes, value)
	}
	return false
}

// sharesWords reports whether an unknown key says the same as a declared one: path and file_path,
// shelf and shelf_number. The last word tells what it is, so a longer name must end with the
// shorter one, or add words after it that say nothing. What is added before a word like id must be
// the name of what surrounds it, because user_id is not the id of a project.
func (m *editor) sharesWords(path []string, unknown, declared string) bool {
	if bare := beforeMarkup(unknown); bare != unknown {
		return foldKey(bare) == foldKey(declared)
	}
	x, y := nameWords(unknown), nameWords(declared)
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	if len(x) <= len(y) {
		before, after := y[:len(y)-len(x)], y[len(x):]
		counts := func(word string) bool { return isIn("counting", word) }
		says := func(word string) bool { return !isIn("identifying", word) }
		return slices.Equal(y[len(before):], x) && (isPlural(unknown) || !slices.ContainsFunc(before, counts)) ||
			slices.Equal(y[:len(x)], x) && !slices.ContainsFunc(after, says)
	}
	added := x[:len(x)-len(y)]
	if !slices.Equal(x[len(added):], y) {
		return false
	}
	around := nameWords(m.options.Tool + " " + strings.Join(slices.Concat(m.within, path), " "))
	isNew := func(word string) bool { return !slices.Contains(around, word) }
	return len(y) > 1 || !isIn("generic", y[0]) || !slices.ContainsFunc(added, isNew)
}

// beforeMarkup returns the name at the start of a key that continues with markup, as in
// rooms" kind="list.
func beforeMarkup(key string) string {
	if i := strings.IndexAny(key, "\"'=<>:"); i > 0 {
		return strings.TrimSpace(key[:i])
	}
	return key
}

func isPlural(name string) bool {
	words := segments(name)
	return len(words) > 0 && singular(words[len(words)-1]) != words[len(words)-1]
}

// nameWords returns the words of a name that mean something, in the singular.
func nameWords(name string) (words []string) {
	for _, word := range segments(name) {
		if !fillers[word] {
			words = append(words, singular(word))
		}
	}
	return words
}

var fillers = wordSet(`of the a an for my your param params parameter parameters arg args argument arguments kwargs`)

// hasOpposite reports whether one name has a word that the other lacks and that changes the meaning.
func hasOpposite(a, b string) bool {
	x, y := segments(a), segments(b)
	lacks := func(words []string) func(string) bool {
		return func(word string) bool { return isContrary(word) && !slices.Contains(words, word) }
	}
	return slices.ContainsFunc(x, lacks(y)) || slices.ContainsFunc(y, lacks(x))
}

// hasContrary reports whether a name has a word that changes the meaning of what follows.
func hasContrary(name string) bool {
	return slices.ContainsFunc(segments(name), func(word string) bool { return isContrary(word) || isAction(word) })
}

func isContrary(word string) bool { return contrary[word] || contrary[singular(word)] }

// contrary are words of which another name may have the opposite.
var contrary = wordSet(`not no non never without exclude excluded excluding except skip ignore ignored omit disable disabled deny
	denied include included only enable enabled allow allowed from to source src target dest destination origin start end begin stop
	before after since until min max minimum maximum least most lower upper old new previous prev next first last original parent child
	in out input output result left right up down north south east west on off inner outer own other another alternative default
	fallback backup example sample unless delete deleted remove removed drop dropped add added base head local remote home away pickup
	dropoff departure arrival sender receiver lt gt lte gte`)

// meantBy returns the declared key that is missing and that an undeclared key was sent for, if any:
// one with a similar name, one that shares a word, or the only place that is left for a value of its
// type. Required keys come first.
func (o sentObject) meantBy(key string) string {
	declared := o.schema.properties(o.path)
	if declared[key] != nil {
		return ""
	}
	var open []string
	for name := range declared {
		if _, there := o.members[name]; !there && !leaks(key, name, o.members[key]) {
			open = append(open, name)
		}
	}
	slices.Sort(open)
	if name := likeliest(key, open); name != "" {
		return name
	}
	if only, ok := o.onlyUnknown(); !ok || only != key {
		return ""
	}
	missing := o.missingFrom()
	if _, flag := o.members[key].(bool); flag && (len(missing) == 0 || o.members[key] == true) {
		return "" // copying an example must not switch anything on
	}
	if len(missing) > 0 {
		open = slices.DeleteFunc(missing, func(name string) bool { return !slices.Contains(open, name) })
	}
	open = slices.DeleteFunc(open, func(name string) bool { return !suits(declared[name], o.members[key]) || hasOpposite(key, name) })
	if len(open) != 1 {
		return ""
	}
	return open[0]
}

// misspelled returns the undeclared key that was sent instead of a missing one, if any. It is the
// other direction of meantBy.
func (o sentObject) misspelled(missing string) string {
	if len(o.members) > maxScalars {
		return ""
	}
	unknown := slices.DeleteFunc(o.unknown(len(o.members)), func(key string) bool { return leaks(key, missing, o.members[key]) })
	if name := likeliest(missing, unknown); name != "" {
		return name
	}
	if len(unknown) == 1 && o.meantBy(unknown[0]) == missing {
		return unknown[0]
	}
	return ""
}

// likeliest returns the name that is similar to another, or the only one that shares a word with it.
func likeliest(name string, names []string) string {
	for _, near := range NearestNames(name, names, 1) {
		if alike(near, name) && !hasOpposite(near, name) {
			return near
		}
	}
	if len(names) > maxNamesCompared {
		return ""
	}
	words := nameWords(name)
	best, most, tied := "", 0, false
	for _, other := range names {
		n := sharedWords(words, nameWords(other))
		if n == 0 || hasOpposite(name, other) {
			continue
		}
		switch {
		case n > most:
			best, most, tied = other, n, false
		case n == most:
			tied = true
		}
	}
	if tied {
		return ""
	}
	return best
}

// maxNamesCompared limits the names that are compared word by word.
const maxNamesCompared = 200

// missingFrom returns the required keys that an object lacks.
func (o sentObject) missingFrom() (keys []string) {
	d := gather(o.schema.certain(o.path)...)
	for _, key := range d.required() {
		if _, there := o.members[key]; !there {
			keys = append(keys, key)
		}
	}
	return keys
}

// suits reports whether a schema accepts values of this type, or of the type of its first item.
func suits(node *jsonschema.Schema, value any) bool {
	if node == nil || isEmpty(value) {
		return false
	}
	d := gather(node)
	if list, ok := value.([]any); ok && !d.accepts("array") {
		value = list[0]
	}
	return d.accepts(typeName(value))
}
