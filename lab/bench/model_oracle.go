package main

import (
	"maps"
	"slices"
)

// oracle returns an accepted answer to a call: the one that keeps the most of what the caller sent.
func (c wrongCall) oracle() map[string]any {
	schema, sent := parsed(c.Schema), c.sentValue()
	if sent == nil {
		sent = c.sent()
	}
	switch accept := parsed(c.Accept).(type) {
	case []any:
		best, _ := closest(accept, leavesOf(sent)).(map[string]any)
		return best
	case map[string]any:
		return chosenAnswer(accept, schema, sent)
	}
	return nil
}

// chosenAnswer chooses a value for every key of an answer whose values are lists of accepted values. A key
// that may be absent is present if the caller sent an accepted value for it, under any name, that is
// not used elsewhere.
func chosenAnswer(accept map[string]any, schema, sent any) map[string]any {
	answer, left := map[string]any{}, leavesOf(sent)
	own, _ := sent.(map[string]any)
	for _, optional := range []bool{false, true} {
		for _, key := range slices.Sorted(maps.Keys(accept)) {
			options := asList(accept[key])
			if slices.Contains(options, any("")) != optional {
				continue
			}
			options = slices.DeleteFunc(slices.Clone(options), func(o any) bool { return o == "" })
			value := chooseValue(options, own[key], propertyOf(schema, key), left)
			kept := overlap(leavesOf(value), left) > 0 || hasKey(own, key) && exact(own[key]) == exact(value)
			if optional && (!kept || !matches(propertyOf(schema, key), value)) {
				continue
			}
			answer[key] = value
			for leaf, n := range leavesOf(value) {
				left[leaf] -= n
			}
		}
	}
	return answer
}

// chooseValue returns the accepted value that the caller sent, or the one that is closest to it.
func chooseValue(options []any, own, schema any, left leaves) any {
	if own != nil && matches(schema, own) && slices.ContainsFunc(options, func(o any) bool { return agrees(own, o) }) {
		return own
	}
	fitting := slices.DeleteFunc(expanded(options, schema, left), func(o any) bool { return !matches(schema, o) })
	return closest(fitting, left)
}

// expanded returns options without lists of accepted values in inner objects.
func expanded(options []any, schema any, left leaves) (all []any) {
	for _, option := range options {
		object, ok := option.(map[string]any)
		if !ok {
			all = append(all, option)
			continue
		}
		all = append(all, object, chosenAnswer(object, schema, left.object()))
	}
	return all
}

// object returns scalars as an object without their names.
func (l leaves) object() map[string]any {
	var list []any
	for leaf, n := range l {
		for range n {
			list = append(list, leaf)
		}
	}
	return map[string]any{"": list}
}

func propertyOf(schema any, key string) any {
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	return properties[key]
}

// closest returns the option that has the most scalars of what was sent; the first of several.
func closest(options []any, sent leaves) (best any) {
	most := -1 << 30
	for _, option := range options {
		all := leavesOf(option)
		if n := 2*overlap(all, sent) - len(all); n > most {
			best, most = option, n
		}
	}
	return best
}

// overlap returns how many scalars two values have in common.
func overlap(a, b leaves) (n int) {
	for leaf, times := range a {
		n += min(times, max(0, b[leaf]))
	}
	return n
}
