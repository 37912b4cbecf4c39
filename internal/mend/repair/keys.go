package repair

// missing supplies required keys: in a different spelling, under the only unknown name, or with the
// default.
func (e *editor) missing(v violation, at any, keys []string) bool {
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	renamed := false
	for _, key := range keys {
		renamed = e.rename(v.path, object, key) || renamed
	}
	if renamed || e.options.Tier < Told {
		return renamed
	}
	return len(keys) == 1 && e.renameOnly(v, object, keys[0]) || e.fillDefault(v.path, object, keys) || e.guessing() && e.add(v, keys)
}

// fillDefault sets a missing key to its default.
func (e *editor) fillDefault(path []string, object map[string]any, keys []string) bool {
	declared := e.schema.properties(path)
	for key, value := range object {
		if declared[key] == nil && !isEmpty(value) {
			return false // it may be the missing value under a different name
		}
	}
	for _, key := range keys {
		if property := declared[key]; property != nil && property.Default != nil {
			if value := *property.Default; value != nil && property.Validate(value) == nil {
				e.granted = append(e.granted, value)
				return e.set(below(path, key), absent{}, clone(value), RuleDefault, Told)
			}
		}
	}
	return false
}

// rename moves the value of a differently spelled key to the declared key. Only one undeclared key
// may match it, and no other declared key.
func (e *editor) rename(path []string, object map[string]any, key string) bool {
	declared := e.schema.properties(path)
	if _, there := object[key]; there || declared[key] == nil {
		return false
	}
	for name := range declared {
		if name != key && foldKey(name) == foldKey(key) {
			return false
		}
	}
	var found []string
	for name := range object {
		if declared[name] == nil && foldKey(name) == foldKey(key) {
			found = append(found, name)
		}
	}
	if len(found) != 1 || e.options.Tier < Silent {
		return false
	}
	e.moveKey(path, object, found[0], key, RuleKey, Silent)
	return true
}

// moveKey gives a value a different key.
func (e *editor) moveKey(path []string, object map[string]any, from, to, rule string, tier Tier) {
	value := object[from]
	delete(object, from)
	object[to] = value
	if i, ok := e.rank[from]; ok {
		if _, known := e.rank[to]; !known {
			e.rank[to] = i
		}
	}
	e.receipt(below(path, to), map[string]any{from: value}, map[string]any{to: value}, rule, tier)
}

// unknown handles keys that the object may not have: a declared one is spelled differently, or the
// value says nothing.
func (e *editor) unknown(path []string, at any, keys []string) bool {
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	changed := false
	for _, key := range keys {
		for name := range e.schema.properties(path) {
			if foldKey(name) == foldKey(key) && e.rename(path, object, name) {
				changed = true
				break
			}
		}
	}
	for _, key := range keys {
		value, there := object[key]
		othersStay := len(object) > 1 || len(e.within)+len(path) == 0
		if isNothing := there && isEmpty(value); isNothing && othersStay && e.options.Tier >= Told {
			delete(object, key)
			e.receipt(below(path, key), value, absent{}, RuleEmpty, Told)
			changed = true
		}
	}
	return changed || e.guessing() && e.drop(path, keys)
}

// forbidden handles a key or an item that unevaluatedProperties or false rejects.
func (e *editor) forbidden(path []string) bool {
	if len(path) == 0 {
		return false
	}
	parent, key := parentOf(path)
	if at := lookup(e.value, parent); isObject(at) {
		return e.unknown(parent, at, []string{key})
	}
	return e.guessing() && e.remove(path)
}

// omit removes an optional field that is null, empty or a word for null, where that is not allowed.
func (e *editor) omit(v violation, at any) bool {
	rule, tier := "", Told
	if at == nil {
		rule, tier = RuleNull, Silent
	} else if text, ok := at.(string); ok && isNothing(text) {
		rule = RuleNullWord
	} else if ok && isBlank(text) {
		rule = RuleEmpty
	}
	if rule == "" {
		return false
	}
	if e.leaveOut(v.path, at, rule, tier) {
		return true
	}
	return rule == RuleNullWord && v.node.Validate(nil) == nil && e.set(v.path, at, nil, rule, tier)
}

// omitDefault removes an optional field that has its declared default, where the schema rejects
// that default.
func (e *editor) omitDefault(v violation, at any) bool {
	if len(v.path) == 0 {
		return false
	}
	parent, key := parentOf(v.path)
	property := e.schema.properties(parent)[key]
	isDefault := property != nil && property.Default != nil && same(at, *property.Default)
	if !isDefault || !e.leaveOut(v.path, at, RuleRejectedDefault, Told) {
		return false
	}
	e.released = append(e.released, at)
	return true
}

// leaveOut removes a field if it is optional.
func (e *editor) leaveOut(path []string, at any, rule string, tier Tier) bool {
	if tier > e.options.Tier || len(path) == 0 {
		return false
	}
	above, key := parentOf(path)
	parent, ok := lookup(e.value, above).(map[string]any)
	if _, there := parent[key]; !ok || !there || e.schema.properties(above)[key] == nil {
		return false // in a map the key is data
	}
	if len(parent) == 1 && len(e.within)+len(path) > 1 {
		return false // an empty filter matches everything
	}
	delete(parent, key)
	if e.schema.mayRequire(above, key) && e.schema.requires(e.value, above, key) {
		parent[key] = at
		return false
	}
	e.receipt(path, at, absent{}, rule, tier)
	return true
}
