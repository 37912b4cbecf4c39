package repair

import (
	"slices"
	"strconv"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// guess changes what no rule can: it may drop what was sent and invent values, because the result is
// only shown.
func (e *editor) guess(v violation, at any) bool {
	list, _ := at.([]any)
	switch k := v.kind.(type) {
	case *kind.PropertyNames:
		return e.respell(v, k.Property)
	case *kind.MinProperties:
		return e.fill(v, at)
	case *kind.MaxProperties:
		return e.thin(v.path, at)
	case *kind.MinItems, *kind.Contains, *kind.MinContains:
		return e.extend(v, list)
	case *kind.MaxItems:
		return k.Want < len(list) && e.put(v.path, candidate{value: slices.Clone(list[:k.Want])})
	case *kind.AdditionalItems:
		return k.Count <= len(list) && e.put(v.path, candidate{value: slices.Clone(list[:len(list)-k.Count])})
	case *kind.MaxContains:
		return e.cutItem(v.path, list, k.Got[len(k.Got)-1])
	case *kind.UniqueItems:
		return e.cutItem(v.path, list, max(k.Duplicates[0], k.Duplicates[1]))
	case *kind.AnyOf:
		return e.fork(v, at)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return e.fork(v, at)
		}
		return e.dropKey(v, at) || e.replace(v, at)
	case *kind.Not:
		return e.dropKey(v, at) || e.replace(v, at)
	}
	return e.replace(v, at)
}

// put sets a value, and records it as a guess if it is not sure.
func (e *editor) put(path []string, c candidate) bool {
	tier := Shown
	if c.sure {
		tier = Silent
	}
	return e.set(path, nil, c.value, "", tier)
}

// demanded returns the schemas that a new value at the place of a violation must match.
func (s *Schema) demanded(v violation) []*jsonschema.Schema {
	return withNew([]*jsonschema.Schema{v.node}, s.certain(v.path))
}

// withNew adds schemas that a list does not have.
func withNew(list, more []*jsonschema.Schema) []*jsonschema.Schema {
	for _, node := range more {
		if !slices.Contains(list, node) {
			list = append(list, node)
		}
	}
	return list
}

// replace finds a different value for a field: what the caller sent in a different form or, for a
// required field, an invented one. An optional field is rather left out.
func (e *editor) replace(v violation, at any) bool {
	if e.firstList(v.path, at) {
		return true
	}
	nodes := e.schema.demanded(v)
	c, ok := pick(nodes, last(v.path), e.known.without(at), 0, e.unlikeOthers(v.path))
	ok = ok && (fitsAll(nodes, c.value) || !same(c.value, at))
	if (!ok || !c.own) && (e.moveToChoice(v.path, at) || e.leaveOut(v.path, at, RuleEmpty, Silent) || e.leaveOutItem(v.path)) {
		return true
	}
	if !ok {
		return e.remove(v.path)
	}
	if inner, ok := at.(map[string]any); ok && len(v.path) > 0 {
		e.lift(v.path[:len(v.path)-1], inner)
	}
	return e.put(v.path, c)
}

// firstList replaces an array of arrays with the first of them, if that is what the schema expects.
func (e *editor) firstList(path []string, at any) bool {
	if !isList(at) || len(path) == 0 {
		return false
	}
	parent, _ := parentOf(path)
	lists, ok := lookup(e.value, parent).([]any)
	if nodes := e.schema.certain(parent); !ok || len(nodes) == 0 || !fitsAll(nodes, lists[0]) {
		return false
	}
	return e.put(parent, candidate{value: clone(lists[0])})
}

// moveToChoice moves a value to the only other field that has it as a choice.
func (e *editor) moveToChoice(path []string, at any) bool {
	text, ok := at.(string)
	if !ok || len(path) == 0 || text == "" {
		return false
	}
	parent, key := parentOf(path)
	object, ok := lookup(e.value, parent).(map[string]any)
	var found []string
	for name, node := range e.schema.properties(parent) {
		_, there := object[name]
		if d := gather(node); !there && d.chosen && node.Validate(text) == nil {
			found = append(found, name)
		}
	}
	if !ok || len(found) != 1 || e.schema.needs(parent, key) {
		return false
	}
	e.moveKey(parent, object, key, found[0], RuleRenamed, Shown)
	return true
}

// lift moves the values of an object that is about to be removed to declared fields next to it.
func (e *editor) lift(path []string, inner map[string]any) {
	object, ok := lookup(e.value, path).(map[string]any)
	declared := e.schema.properties(path)
	for key, value := range inner {
		if _, there := object[key]; ok && !there && declared[key] != nil {
			object[key] = value
		}
	}
}

// unlikeOthers returns a filter that rejects duplicates of the items in an array with unique items.
func (e *editor) unlikeOthers(path []string) func(any) bool {
	if len(path) == 0 {
		return nil
	}
	parent, _ := parentOf(path)
	list, ok := lookup(e.value, parent).([]any)
	if d := gather(e.schema.certain(parent)...); !ok || !d.different {
		return nil
	}
	return differentFrom(list)
}

// leaveOutItem removes an item of an array that is long enough without it.
func (e *editor) leaveOutItem(path []string) bool {
	if len(path) == 0 {
		return false
	}
	parent, _ := parentOf(path)
	list, ok := lookup(e.value, parent).([]any)
	d := gather(e.schema.certain(parent)...)
	return ok && len(list) > max(1, d.items.least) && len(d.inside(strconv.Itoa(len(list)))) > 0 && e.remove(path)
}

// remove deletes an optional property or an item.
func (e *editor) remove(path []string) bool {
	if len(path) == 0 {
		return false
	}
	parent, key := parentOf(path)
	switch at := lookup(e.value, parent).(type) {
	case map[string]any:
		_, there := at[key]
		return there && !e.schema.needs(parent, key) && e.drop(parent, []string{key})
	case []any:
		i, err := strconv.Atoi(key)
		return err == nil && e.cutItem(parent, at, i)
	}
	return false
}

// cutItem removes an item of an array. That is a guess if the item says something that no other one says.
func (e *editor) cutItem(path []string, list []any, i int) bool {
	if i < 0 || i >= len(list) {
		return false
	}
	rest := slices.Delete(slices.Clone(list), i, i+1)
	isTwin := slices.ContainsFunc(rest, func(other any) bool { return same(other, list[i]) })
	return e.put(path, candidate{value: rest, sure: isTwin || list[i] == nil || list[i] == ""})
}

// add supplies missing keys: the value of a similar undeclared key, or a value that the schema
// accepts.
func (e *editor) add(v violation, keys []string) bool {
	object, ok := lookup(e.value, v.path).(map[string]any)
	if !ok {
		return false
	}
	changed := false
	for _, key := range keys {
		if from := e.schema.object(v.path, object).misspelled(key); from != "" {
			changed = e.guessName(v.path, object, from, key)
			continue
		}
		nodes, path := e.schema.property(v, key), below(v.path, key)
		var sent any // of a choice, so that its opposite is not invented
		if d := gather(nodes...); d.chosen {
			sent = e.known.without(lookup(e.sent, path))
		}
		if c, ok := pick(nodes, key, sent, 0, nil); ok {
			changed = e.put(path, c)
		}
	}
	return changed
}

// drop removes undeclared keys, or renames them to a similar declared key.
func (e *editor) drop(path []string, keys []string) bool {
	object, ok := lookup(e.value, path).(map[string]any)
	for _, key := range keys {
		if near := e.schema.object(path, object).meantBy(key); ok && near != "" {
			e.guessName(path, object, key, near)
			continue
		}
		if inner, ok := object[key].(map[string]any); ok {
			e.lift(path, inner)
		}
		delete(object, key)
	}
	return ok
}

// guessName gives a value a different key, which is a guess if the names are not similar.
func (e *editor) guessName(path []string, object map[string]any, from, to string) bool {
	tier := Shown
	if alike(from, to) {
		tier = Silent
	}
	e.moveKey(path, object, from, to, RuleRenamed, tier)
	return true
}

// alike reports whether one name may be the other, misspelled or with a prefix.
func alike(a, b string) bool {
	d := distance(fold(a), fold(b))
	return d <= 2 && d < (len(fold(b))+1)/2 || sameTail(a, b)
}

// respell gives a key an allowed name, or removes it.
func (e *editor) respell(v violation, key string) bool {
	object, _ := lookup(e.value, v.path).(map[string]any)
	c, ok := pick([]*jsonschema.Schema{v.node}, "key", key, 0, func(value any) bool {
		name, isText := value.(string)
		_, there := object[name]
		return isText && !there
	})
	if name, isText := c.value.(string); ok && isText {
		e.moveKey(v.path, object, key, name, RuleRenamed, Shown)
		return true
	}
	return e.remove(below(v.path, key))
}

// fill adds a property: one that is declared, or one with a name of its own.
func (e *editor) fill(v violation, at any) bool {
	object, ok := at.(map[string]any)
	d := gather(e.schema.demanded(v)...)
	for _, name := range append(d.declared(), "key"+strconv.Itoa(len(object)+1)) {
		if _, there := object[name]; ok && !there {
			if c, ok := pick(d.inside(name), name, nil, 0, nil); ok {
				return e.put(below(v.path, name), c)
			}
		}
	}
	return false
}

// thin removes a property, undeclared and late ones first.
func (e *editor) thin(path []string, at any) bool {
	object, _ := at.(map[string]any)
	declared := e.schema.properties(path)
	for _, anyKey := range []bool{false, true} {
		for _, key := range slices.Backward(orderedKeys(object, e.rank)) {
			if (anyKey || declared[key] == nil) && !e.schema.needs(path, key) {
				delete(object, key)
				return true
			}
		}
	}
	return false
}

// extend adds an item of the required kind. In an array that is full, it replaces the last one.
func (e *editor) extend(v violation, list []any) bool {
	d := gather(e.schema.demanded(v)...)
	if n := len(list); n > 0 && n == d.items.most {
		list = list[:n-1]
	}
	item, ok := d.element(list, last(v.path), 0)
	return ok && e.put(v.path, candidate{value: append(slices.Clone(list), item)})
}

// fork changes a value toward the closest branch, if any branch accepts values of its type.
func (e *editor) fork(v violation, at any) bool {
	if i, ok := closest(v, at); ok && e.round(v.branches[i]) {
		return true
	}
	return e.replace(v, at)
}

// dropKey removes the first key of an object that is not required and without which it is valid.
func (e *editor) dropKey(v violation, at any) bool {
	object, _ := at.(map[string]any)
	for _, key := range orderedKeys(object, e.rank) {
		value := object[key]
		delete(object, key)
		if v.node.Validate(at) == nil && !e.schema.needs(v.path, key) {
			return true
		}
		object[key] = value
	}
	return false
}
