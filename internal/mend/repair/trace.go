package repair

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// trace finds the sent value of each target, the closest first: the same value at the same place,
// a different form of it there, and then values that moved. A sent value is used once.
func (g *closedGate) trace() {
	sources := g.readable()
	at := map[string][]*source{}
	for _, s := range sources {
		at[Path(s.path)] = append(at[Path(s.path)], s)
	}
	each := func(try func(t *target)) {
		for _, t := range g.targets {
			if !t.done {
				try(t)
			}
		}
	}
	each(func(t *target) { g.claim(t, at[Path(t.path)], true) })
	each(func(t *target) { g.claim(t, at[Path(t.path)], false) })
	g.splitTexts(sources)
	if len(g.targets)*len(sources) > maxPairs {
		return
	}
	each(func(t *target) { g.claim(t, sources, true) })
	each(func(t *target) { g.claim(t, sources, false) })
	each(func(t *target) { g.takeParts(t, sources) })
	each(g.takeKey)
}

// maxPairs limits the comparisons of sent and proposed values.
const maxPairs = 40_000

// readable returns the sources, together with those in strings that contain JSON.
func (g *closedGate) readable() (list []*source) {
	for _, s := range g.sources {
		list = append(list, s)
		list = append(list, s.inner...)
	}
	return list
}

// claim uses the unused source that requires the smallest change. exact means that the value must be
// the same.
func (g *closedGate) claim(t *target, sources []*source, exact bool) {
	var best *source
	least := Shown + 1
	for _, s := range sources {
		if g.schema.meter.pay(1); s.taken() {
			continue
		}
		if tier, ok := g.match(s, t, exact); ok && tier < least {
			best, least = s, tier
		}
	}
	if best == nil {
		return
	}
	best.used, t.done, t.from = true, true, []*source{best}
	if best.pinned && (least > Off) {
		g.touched, g.altered = true, g.altered || !g.isRejected(best.path)
		least = max(least, Told)
	}
	other := g.isOtherChoice(best.value, t)
	g.touched = g.touched || isOtherName(best, t) || other || g.isOtherReading(best.value, t)
	g.raise(least)
	if other && least > Told {
		g.judged(best, t)
	}
	if place, _ := g.place(best, t); place > Told {
		g.moved(best)
	}
}

// moved records a value whose new place is the model's judgement. Several of them may be swapped.
func (g *closedGate) moved(s *source) {
	name := strings.Join(names(s.path), "\x00")
	if g.mover != "" && g.mover != name {
		g.doubtPlaces(Shown)
	}
	g.mover = name
}

// doubtPlaces records that the places of several values, or of parts of one, are the model's judgement.
func (g *closedGate) doubtPlaces(tier Tier) {
	if tier > Told {
		g.doubts("only the caller knows which value belongs where")
	}
}

// isOtherName reports whether a value gets a key whose name is not a form of the old one. That no
// other key is left for it does not mean that the caller meant this one.
func isOtherName(s *source, t *target) bool {
	if len(s.path) == 0 || len(s.path) != len(t.path) || !slices.Equal(s.path[:len(s.path)-1], t.path[:len(t.path)-1]) {
		return false
	}
	old, name := last(s.path), last(t.path)
	if foldKey(old) == foldKey(name) || isIndex(old) && isIndex(name) {
		return false
	}
	lacks := func(words, others []string) bool {
		return slices.ContainsFunc(others, func(word string) bool { return !slices.Contains(words, word) })
	}
	x, y := segments(old), segments(name)
	return lacks(x, y) && lacks(y, x) && distance(fold(old), fold(name)) > 2
}

// taken reports whether a source was used, as a whole or in parts.
func (s *source) taken() bool {
	return s.used || slices.ContainsFunc(s.inner, func(inner *source) bool { return inner.used })
}

// match returns the tier of using a source for a target.
func (g *closedGate) match(s *source, t *target, exact bool) (Tier, bool) {
	fills, clears := s.empty && !exactly(s.value, t.value), !s.empty && isEmpty(t.value)
	if fills || clears {
		return 0, false
	}
	value, ok := Off, exactly(s.value, t.value)
	if !ok && !exact {
		value, ok = g.form(s, t, g.schema.nodesAt(t.path))
	}
	if !ok {
		return 0, false
	}
	place, ok := g.place(s, t)
	return max(value, place), ok
}

// place returns the tier of moving a value from where it was sent to where it is proposed.
func (g *closedGate) place(s *source, t *target) (Tier, bool) {
	from, to := names(s.path), names(t.path)
	if !slices.Equal(s.path, t.path) && (hasNumberKey(g.sent, s.path) || hasNumberKey(g.proposed, t.path)) {
		return Shown, !s.pinned
	}
	if slices.Equal(from, to) {
		if len(s.path) == len(t.path) {
			return Off, true
		}
		return Told, !s.pinned // one value to an array, or an one-element array to its element
	}
	mayMove := !s.pinned && !s.empty && g.schema.declares(t.path)
	if !mayMove || hasOpposite(last(s.path), last(t.path)) {
		return 0, false
	}
	if _, ok := scalarText(s.value); ok && leaks(last(s.path), last(t.path), s.value) {
		return 0, false
	}
	switch {
	case len(to) < len(from) && slices.Equal(from[:len(to)], to):
		return unwraps(from[len(to):], last(t.path))
	case len(from) < len(to) && slices.Equal(to[:len(from)], from):
		return g.wraps(to, len(from)), true
	}
	return g.renames(s, t, from, to), true
}

// names returns the keys of a path, without the positions in arrays.
func names(path []string) []string {
	return slices.DeleteFunc(slices.Clone(path), isIndex)
}

// hasNumberKey reports whether a part of a path that looks like a position in an array is a key.
func hasNumberKey(root any, path []string) bool {
	for i, part := range path {
		if isIndex(part) && isObject(lookup(root, path[:i])) {
			return true
		}
	}
	return false
}

func isIndex(part string) bool { _, err := strconv.Atoi(part); return err == nil }

// unwraps returns the tier of taking a value out of an object. Keys such as value say nothing, and
// others may be an operator or a unit.
func unwraps(keys []string, name string) (Tier, bool) {
	tier := Told
	for _, key := range keys {
		if hasContrary(key) || negations[fold(key)] {
			return 0, false
		}
		if !valueKeys[foldKey(key)] && foldKey(key) != foldKey(name) {
			tier = Shown
		}
	}
	return tier, true
}

var valueKeys = wordSet(`value val text string content item items values`)

// wraps returns the tier of putting a value into an object: it is certain if each key that is added
// is the only one that the object requires or declares.
func (g *closedGate) wraps(to []string, from int) Tier {
	for i := from; i < len(to); i++ {
		d := gather(g.schema.certain(to[:i])...)
		if len(g.schema.properties(to[:i])) != 1 && !slices.Equal(d.required(), to[i:i+1]) {
			return Shown
		}
	}
	return Told
}

// renames returns the tier of giving a value a different key: Silent for a different spelling, Told
// if no other key can be meant, and Shown if that is the model's judgement.
func (g *closedGate) renames(s *source, t *target, from, to []string) Tier {
	at, ok := onlyDifference(s.path, t.path)
	if !ok {
		if len(from) == 0 || len(to) == 0 || len(from) != len(s.path) {
			return Shown
		}
		return g.relocates(from, to)
	}
	parent, old, name := s.path[:at], s.path[at], t.path[at]
	object, ok := lookup(g.sent, parent).(map[string]any)
	if !ok || hasOpposite(old, name) || leaks(old, name, s.value) {
		return Shown
	}
	if nodes := g.schema.nodesAt(t.path); isSwitch(nodes) && !sameSwitch(old, name) {
		return Shown
	}
	o := g.schema.object(parent, object)
	switch {
	case foldKey(old) == foldKey(name):
		return Silent
	case o.renumbered(old, name):
		g.touched = true // certain enough to read, but not to write
		return Told
	case areSiblings(old, name):
		return Shown
	}
	return tierIf(o.meantBy(old) == name && o.misspelled(name) == old || o.onlyPair(old, name), Told, Shown)
}

// onlyDifference returns the position at which two paths have different keys, if they differ only
// there.
func onlyDifference(a, b []string) (at int, ok bool) {
	if len(a) != len(b) {
		return 0, false
	}
	for at < len(a) && a[at] == b[at] {
		at++
	}
	return at, at < len(a) && !isIndex(a[at]) && !isIndex(b[at]) && slices.Equal(a[at+1:], b[at+1:])
}

// onlyPair reports whether a value fits only one missing required key, and that key only this value.
func (o sentObject) onlyPair(old, name string) bool {
	declared, missing := o.schema.properties(o.path), o.missingFrom()
	fits := func(key, name string) bool { return fitsNode(declared[name], o.members[key]) }
	return slices.Contains(missing, name) && fits(old, name) &&
		!slices.ContainsFunc(missing, func(other string) bool { return other != name && fits(old, other) }) &&
		!slices.ContainsFunc(o.unknown(len(o.members)), func(other string) bool { return other != old && fits(other, name) })
}

func fitsNode(node *jsonschema.Schema, value any) bool {
	return node != nil && (node.Validate(value) == nil || suits(node, value))
}

// relocates returns the tier of moving a value to a different object under the same key. It is
// certain if no other place in the proposal has that key.
func (g *closedGate) relocates(from, to []string) Tier {
	name := foldKey(to[len(to)-1])
	if foldKey(from[len(from)-1]) != name || slices.ContainsFunc(from, hasContrary) && !slices.ContainsFunc(to, hasContrary) {
		return Shown
	}
	isOther := func(path, known []string) bool {
		other := names(path)
		return len(other) > 0 && foldKey(other[len(other)-1]) == name && !slices.Equal(other, known)
	}
	isUnclear := g.isElsewhere(from, to) || slices.ContainsFunc(g.targets, func(t *target) bool { return isOther(t.path, to) }) ||
		slices.ContainsFunc(g.readable(), func(s *source) bool { return isOther(s.path, from) })
	return tierIf(isUnclear, Shown, Told)
}

// isElsewhere reports whether a value moves to an object with a different name, or into one of
// several objects that declare its key.
func (g *closedGate) isElsewhere(from, to []string) bool {
	if len(from) == len(to) {
		return !slices.EqualFunc(from, to, func(a, b string) bool { return foldKey(a) == foldKey(b) })
	}
	if len(to) < len(from) {
		return false
	}
	name, parent := to[len(to)-1], to[:len(to)-2]
	for object := range g.schema.properties(parent) {
		if object != to[len(to)-2] && g.schema.properties(append(slices.Clone(parent), object))[name] != nil {
			return true
		}
	}
	return false
}

// inOrder reports whether values that were sent in an array are in the same order in the proposal,
// and values of one item stay together, at each level of nested arrays.
func (g *closedGate) inOrder() bool {
	type pair struct{ from, to []int }
	lists := map[string][]pair{}
	for _, t := range g.targets {
		for _, s := range t.from {
			from, to, path := indices(s.path), indices(t.path), s.path
			for len(from) > 0 && len(to) > 0 {
				for !isIndex(path[len(path)-1]) {
					path = path[:len(path)-1]
				}
				key := Path(names(path)) + strconv.Itoa(len(from))
				lists[key] = append(lists[key], pair{from, to})
				if len(from) != len(to) {
					break
				}
				from, to, path = from[:len(from)-1], to[:len(to)-1], path[:len(path)-1]
			}
		}
	}
	for _, pairs := range lists {
		sorting.Stable(pairs, func(a, b pair) int { return slices.Compare(a.from, b.from) })
		for i := 1; i < len(pairs); i++ {
			a, b := pairs[i-1], pairs[i]
			order, isSame := slices.Compare(a.to, b.to), slices.Equal(a.from, b.from)
			if order > 0 || isSame != (order == 0) && len(a.from) == len(a.to) {
				return false
			}
		}
	}
	return true
}

func indices(path []string) (list []int) {
	for _, part := range path {
		if i, err := strconv.Atoi(part); err == nil {
			list = append(list, i)
		}
	}
	return list
}
