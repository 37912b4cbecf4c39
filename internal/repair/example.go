package repair

import (
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Limits of the search for an example.
const (
	maxRounds    = 24
	maxShownText = 300       // characters of a string that is repeated in a message
	maxExample   = 6 << 10   // bytes
	maxStart     = 200 << 10 // bytes of arguments for which an example is built
)

// example is a call that would pass, derived from one that did not.
type example struct {
	value   any
	rank    map[string]int
	guesses []string // fields whose value is a guess
}

// example builds a call from the caller's own arguments, and replaces only what is wrong. It
// returns nil if it finds no call that passes validation. Secrets are masked.
func (s *Schema) example(from any, rank map[string]int, known *masker, also func(*builder)) *example {
	if s.root == nil || known.overLimit() {
		return nil
	}
	var found *example
	s.session(func() {
		for _, start := range []any{from, map[string]any{}} {
			b := &builder{schema: s, known: known, sent: from, value: clone(start), rank: copied(rank)}
			if also != nil {
				also(b)
			}
			if b.build() && b.conceal(known) {
				found = &example{b.value, b.rank, b.guesses}
				return
			}
			also = nil
		}
	})
	if found != nil && len(found.text()) > maxExample {
		return nil
	}
	return found
}

func copied(rank map[string]int) map[string]int {
	other := make(map[string]int, len(rank))
	for key, i := range rank {
		other[key] = i
	}
	return other
}

// text returns the example on one line.
func (e *example) text() []byte { return []byte(visible(string(encode(e.value, e.rank)))) }

// builder changes a value until it is valid. Unlike a mender it may invent values, because they are
// never sent.
type builder struct {
	schema  *Schema
	known   *masker
	sent    any // the arguments of the caller
	value   any
	rank    map[string]int
	guesses []string
}

// build validates after each round, because a change may cause a new violation. It stops at a value
// that it has seen before.
func (b *builder) build() bool {
	seen := map[string]bool{}
	for range maxRounds {
		violations := b.schema.violations(b.schema.root, b.value)
		if len(violations) == 0 {
			return true
		}
		text := string(encode(b.value, nil))
		if seen[text] || len(text) > maxStart {
			return false
		}
		seen[text] = true
		if !b.round(violations) {
			return false
		}
	}
	return false
}

// round fixes every violation that is not inside a value it has just changed.
func (b *builder) round(violations []violation) bool {
	var done [][]string
	for _, v := range violations {
		under := func(path []string) bool { return len(path) <= len(v.path) && slices.Equal(path, v.path[:len(path)]) }
		if slices.ContainsFunc(done, under) {
			continue
		}
		if b.amend(v) {
			done = append(done, v.path)
		}
	}
	return len(done) > 0
}

func (b *builder) amend(v violation) bool {
	at := lookup(b.value, v.path)
	if keys, _ := missingKeys(v); keys != nil {
		return b.add(v, keys)
	}
	switch k := v.kind.(type) {
	case *kind.AdditionalProperties:
		return b.drop(v.path, k.Properties)
	case *kind.FalseSchema:
		return b.remove(v.path)
	case *kind.PropertyNames:
		return b.respell(v, k.Property)
	case *kind.MinProperties:
		return b.fill(v, at)
	case *kind.MaxProperties:
		return b.thin(v, at, k.Want)
	case *kind.MinItems, *kind.Contains, *kind.MinContains:
		return b.extend(v, at)
	case *kind.MaxItems:
		return b.shorten(v, at, k.Want)
	case *kind.AdditionalItems:
		list, _ := at.([]any)
		return b.shorten(v, at, len(list)-k.Count)
	case *kind.MaxContains:
		return len(k.Got) > k.Want && b.removeItem(v.path, at, k.Got[len(k.Got)-1])
	case *kind.UniqueItems:
		return b.removeItem(v.path, at, max(k.Duplicates[0], k.Duplicates[1]))
	case *kind.AnyOf:
		return b.fork(v, at, v.node.AnyOf)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return b.decide(v, at, v.node.OneOf, k.Subschemas)
		}
		return b.fork(v, at, v.node.OneOf)
	case *kind.Not:
		return b.avoid(v, at)
	}
	return b.replace(v, at)
}

// put sets a value, and records it as a guess if it is not sure.
func (b *builder) put(path []string, c candidate) bool {
	b.value = replaced(b.value, path, c.value)
	if !c.sure {
		b.guess(path)
	}
	return true
}

func (b *builder) guess(path []string) {
	if name := field(path); !slices.Contains(b.guesses, name) {
		b.guesses = append(b.guesses, name)
	}
}

func last(path []string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if _, err := strconv.Atoi(path[i]); err != nil {
			if i < len(path)-1 {
				return singular(path[i])
			}
			return path[i]
		}
	}
	return ""
}

// demanded returns the schemas that a new value at the place of a violation must match.
func (b *builder) demanded(v violation) []*jsonschema.Schema {
	nodes := []*jsonschema.Schema{v.node}
	for _, node := range b.schema.certain(v.path) {
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// replace finds a different value for a field: what the caller sent in a different form or, for a
// required field, an invented one. An optional field is rather left out.
func (b *builder) replace(v violation, at any) bool {
	if b.firstList(v, at) {
		return true
	}
	nodes := b.demanded(v)
	c, ok := pick(nodes, last(v.path), b.known.without(at), 0, b.unlikeOthers(v.path))
	ok = ok && (fitsAll(nodes, c.value) || !same(c.value, at))
	if !ok {
		c, ok = pick(nodes[:1], last(v.path), b.known.without(at), 0, nil) // other schemas may depend on a different field
		ok = ok && fitsAll(nodes[:1], c.value)
	}
	if !ok || !c.own {
		if b.moveToChoice(v, at) || b.leaveOut(v.path) {
			return true
		}
	}
	if !ok {
		return b.remove(v.path)
	}
	b.lift(v.path, at)
	return b.put(v.path, c)
}

// firstList replaces an array of arrays with the first of them, if that is what the schema expects.
func (b *builder) firstList(v violation, at any) bool {
	if !isList(at) || len(v.path) == 0 {
		return false
	}
	parent := v.path[:len(v.path)-1]
	lists, ok := lookup(b.value, parent).([]any)
	if nodes := b.schema.certain(parent); !ok || len(nodes) == 0 || !fitsAll(nodes, lists[0]) {
		return false
	}
	return b.put(parent, candidate{value: clone(lists[0])})
}

// moveToChoice moves a value to the only other field that has it as a choice.
func (b *builder) moveToChoice(v violation, at any) bool {
	text, ok := at.(string)
	if !ok || len(v.path) == 0 || text == "" {
		return false
	}
	path := v.path[:len(v.path)-1]
	object, ok := lookup(b.value, path).(map[string]any)
	if !ok || b.schema.needs(path, last(v.path)) {
		return false
	}
	var found []string
	for name, node := range b.schema.properties(path) {
		_, there := object[name]
		if d := gather(node); !there && d.chosen && node.Validate(text) == nil {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return false
	}
	b.rename(object, v.path[len(v.path)-1], found[0])
	b.guess(append(slices.Clone(path), found[0]))
	return true
}

// leaveOut removes an optional field, or an item of an array that is long enough without it.
func (b *builder) leaveOut(path []string) bool {
	if len(path) == 0 {
		return false
	}
	parent := path[:len(path)-1]
	if list, ok := lookup(b.value, parent).([]any); ok {
		d := gather(b.schema.certain(parent)...)
		return len(list) > max(1, d.items.least) && len(d.inside(strconv.Itoa(len(list)))) > 0 && b.remove(path)
	}
	object, _ := lookup(b.value, parent).(map[string]any)
	return b.schema.properties(parent)[path[len(path)-1]] != nil && (len(object) > 1 || len(parent) == 0) && b.remove(path)
}

// lift moves the values of an object that is about to be replaced to declared fields next to it.
func (b *builder) lift(path []string, at any) {
	inner, ok := at.(map[string]any)
	if !ok || len(path) == 0 {
		return
	}
	b.liftFrom(path[:len(path)-1], inner)
}

// liftFrom moves the values of an inner object to declared fields of the object at a path.
func (b *builder) liftFrom(path []string, inner map[string]any) {
	object, ok := lookup(b.value, path).(map[string]any)
	if !ok {
		return
	}
	declared := b.schema.properties(path)
	for key, value := range inner {
		if _, there := object[key]; !there && declared[key] != nil {
			object[key] = value
		}
	}
}

// unlikeOthers returns a filter that rejects duplicates of the items in an array with unique items.
func (b *builder) unlikeOthers(path []string) func(any) bool {
	if len(path) == 0 {
		return nil
	}
	parent := path[:len(path)-1]
	list, ok := lookup(b.value, parent).([]any)
	if d := gather(b.schema.certain(parent)...); !ok || !d.different {
		return nil
	}
	return func(value any) bool {
		return !slices.ContainsFunc(list, func(other any) bool { return same(value, other) })
	}
}

// remove deletes an optional property or an item.
func (b *builder) remove(path []string) bool {
	if len(path) == 0 {
		return false
	}
	parent, key := path[:len(path)-1], path[len(path)-1]
	switch at := lookup(b.value, parent).(type) {
	case map[string]any:
		if _, there := at[key]; !there || b.schema.needs(parent, key) {
			return false
		}
		if near := b.schema.meantBy(parent, at, key); near != "" {
			return b.renameTo(parent, at, key, near)
		}
		delete(at, key)
		return true
	case []any:
		i, err := strconv.Atoi(key)
		return err == nil && b.removeItem(parent, at, i)
	}
	return false
}

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

func (b *builder) removeItem(path []string, at any, i int) bool {
	list, ok := at.([]any)
	if !ok || i < 0 || i >= len(list) {
		return false
	}
	b.value = replaced(b.value, path, slices.Delete(slices.Clone(list), i, i+1))
	return true
}

// add supplies missing keys: the value of a similar undeclared key, or a value that the schema
// accepts.
func (b *builder) add(v violation, keys []string) bool {
	object, ok := lookup(b.value, v.path).(map[string]any)
	if !ok {
		return false
	}
	changed := false
	for _, key := range keys {
		path := append(slices.Clone(v.path), key)
		if from := b.schema.misspelled(v.path, object, key); from != "" {
			changed = b.renameTo(v.path, object, from, key)
			continue
		}
		nodes := b.schema.property(v, key)
		if c, ok := pick(nodes, key, b.sentChoice(nodes, path), 0, nil); ok {
			changed = b.put(path, c)
		}
	}
	return changed
}

// sentChoice returns what the caller sent for a choice, so that its opposite is not invented.
func (b *builder) sentChoice(nodes []*jsonschema.Schema, path []string) any {
	if d := gather(nodes...); d.chosen {
		return b.known.without(lookup(b.sent, path))
	}
	return nil
}

// property returns the schemas of a key, those of the violated schema first.
func (s *Schema) property(v violation, key string) []*jsonschema.Schema {
	d := gather(v.node)
	nodes := d.inside(key)
	for _, node := range s.certain(append(slices.Clone(v.path), key)) {
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 {
		if node := s.properties(v.path)[key]; node != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (b *builder) rename(object map[string]any, from, to string) bool {
	object[to] = object[from]
	delete(object, from)
	if i, ok := b.rank[from]; ok {
		if _, known := b.rank[to]; !known {
			b.rank[to] = i
		}
	}
	return true
}

// drop removes undeclared keys, or renames them to a similar declared key.
func (b *builder) drop(path []string, keys []string) bool {
	object, ok := lookup(b.value, path).(map[string]any)
	if !ok {
		return false
	}
	for _, key := range keys {
		if near := b.schema.meantBy(path, object, key); near != "" {
			b.renameTo(path, object, key, near)
			continue
		}
		if inner, ok := object[key].(map[string]any); ok {
			b.liftFrom(path, inner)
		}
		delete(object, key)
	}
	return true
}

// renameTo is rename, and records a guess if the names are not similar.
func (b *builder) renameTo(path []string, object map[string]any, from, to string) bool {
	if !alike(from, to) {
		b.guess(append(slices.Clone(path), to))
	}
	return b.rename(object, from, to)
}

// alike reports whether one name may be the other, misspelled or with a prefix.
func alike(a, b string) bool {
	d := distance(fold(a), fold(b))
	return d <= 2 && d < (len(fold(b))+1)/2 || sameTail(a, b)
}

// respell gives a key an allowed name, or removes it.
func (b *builder) respell(v violation, key string) bool {
	object, ok := lookup(b.value, v.path).(map[string]any)
	if !ok {
		return false
	}
	c, ok := pick([]*jsonschema.Schema{v.node}, "key", key, 0, func(value any) bool {
		name, text := value.(string)
		_, there := object[name]
		return text && !there
	})
	if name, text := c.value.(string); ok && text {
		b.rename(object, key, name)
		b.guess(append(slices.Clone(v.path), name))
		return true
	}
	return b.remove(append(slices.Clone(v.path), key))
}

// fill adds properties until there are enough.
func (b *builder) fill(v violation, at any) bool {
	object, ok := at.(map[string]any)
	if !ok || v.node.MinProperties == nil || *v.node.MinProperties > maxInvented {
		return false
	}
	nodes := gather(b.demanded(v)...)
	names := nodes.declared()
	for i := range maxInvented {
		names = append(names, "key"+strconv.Itoa(i+1))
	}
	changed := false
	for _, name := range names {
		if len(object) >= *v.node.MinProperties {
			break
		}
		if _, there := object[name]; there {
			continue
		}
		if c, ok := pick(nodes.inside(name), name, nil, 0, nil); ok {
			changed = b.put(append(slices.Clone(v.path), name), c)
		}
	}
	return changed
}

// thin removes properties until there are few enough, undeclared ones first.
func (b *builder) thin(v violation, at any, most int) bool {
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	declared := b.schema.properties(v.path)
	keys := orderedKeys(object, b.rank)
	slices.Reverse(keys)
	changed := false
	for _, keep := range []bool{true, false} {
		for _, key := range keys {
			if len(object) > most && !(keep && declared[key] != nil) && !b.schema.needs(v.path, key) {
				delete(object, key)
				changed = true
			}
		}
	}
	return changed
}

// extend adds items until there are enough of the required kind.
func (b *builder) extend(v violation, at any) bool {
	list, ok := at.([]any)
	if !ok {
		return false
	}
	want := len(list) + 1
	if k, ok := v.kind.(*kind.MinItems); ok {
		want = k.Want
	}
	if want > maxInvented && want > len(list)+1 {
		return false
	}
	d := gather(b.demanded(v)...)
	if _, few := v.kind.(*kind.MinItems); !few && d.items.most >= 0 && want > d.items.most && len(list) > 0 {
		list = list[:len(list)-1] // no room: replace the last one
		want--
	}
	list = slices.Clone(list)
	for len(list) < want {
		item, ok := d.element(list, last(v.path), 0)
		if !ok {
			return false
		}
		list = append(list, item)
	}
	return b.put(v.path, candidate{value: list})
}

func (b *builder) shorten(v violation, at any, most int) bool {
	list, ok := at.([]any)
	if !ok || most < 0 || most >= len(list) {
		return false
	}
	return b.put(v.path, candidate{value: slices.Clone(list[:most])})
}

// fork changes a value toward the closest branch, if any branch accepts values of its type.
func (b *builder) fork(v violation, at any, branches []*jsonschema.Schema) bool {
	if i, ok := closest(v, at); ok && i < len(branches) {
		if b.round(v.branches[i]) {
			return true
		}
	}
	return b.replace(v, at)
}

// decide makes a value that matches two branches match only one: by removing a key, or with a value
// of either branch.
func (b *builder) decide(v violation, at any, branches []*jsonschema.Schema, both []int) bool {
	if b.dropKey(v.path, at, func() bool { return v.node.Validate(at) == nil }) {
		return true
	}
	for _, i := range both {
		nodes := append(b.demanded(v), branches[i])
		if c, ok := pick(nodes, last(v.path), b.known.without(at), 0, nil); ok && fitsAll(nodes, c.value) {
			return b.put(v.path, c)
		}
	}
	return b.replace(v, at)
}

// dropKey removes the first key of an object that is not required and without which it is valid.
func (b *builder) dropKey(path []string, at any, valid func() bool) bool {
	object, _ := at.(map[string]any)
	for _, key := range orderedKeys(object, b.rank) {
		value := object[key]
		delete(object, key)
		if valid() && !b.schema.needs(path, key) {
			return true
		}
		object[key] = value
	}
	return false
}

// avoid changes a value that matches a forbidden schema.
func (b *builder) avoid(v violation, at any) bool {
	if b.dropKey(v.path, at, func() bool { return v.node.Not.Validate(at) != nil }) {
		return true
	}
	nodes := b.demanded(v)
	if c, ok := pick(nodes, last(v.path), b.known.without(at), 0, func(value any) bool { return !same(value, at) }); ok && fitsAll(nodes, c.value) {
		return b.put(v.path, c)
	}
	return b.remove(v.path)
}

// conceal replaces secrets and very long strings of the caller with a mask or, if the schema does
// not accept that, with a sample.
func (b *builder) conceal(known *masker) bool {
	type place struct {
		path  []string
		value any
	}
	var places []place
	walk(b.value, nil, func(path []string, value any) {
		text, ok := scalarText(value)
		if ok && (known.values[text] || len(text) > maxShownText || known.sent[text] && known.hides(path, text)) {
			places = append(places, place{slices.Clone(path), value})
		}
	})
	for _, p := range places {
		if !b.concealed(known, p.path, p.value) {
			return false
		}
	}
	return b.concealKeys()
}

func (b *builder) concealed(known *masker, path []string, value any) bool {
	fits := func(other any) bool {
		text, _ := scalarText(other)
		if known.values[text] || same(other, value) {
			return false
		}
		b.value = replaced(b.value, path, other)
		return len(b.schema.violations(b.schema.root, b.value)) == 0
	}
	if fits(maskText) {
		return true
	}
	nodes := b.schema.certain(path)
	if c, ok := pick(nodes, last(path), nil, 0, fits); ok && fits(c.value) {
		b.guess(path)
		return true
	}
	b.value = replaced(b.value, path, value)
	return false
}

// concealKeys reports whether no key of the example is a secret.
func (b *builder) concealKeys() bool {
	safe := true
	walk(b.value, nil, func(path []string, value any) {
		if object, ok := value.(map[string]any); ok {
			for key := range object {
				safe = safe && !looksSecret(key)
			}
		}
	})
	return safe
}
