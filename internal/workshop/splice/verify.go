package splice

import "slices"

// change is the one difference that an edit may make.
type change struct {
	set, remove, rename bool
	want                any
	name                string
}

// verify refuses the new document unless it equals the old one with exactly this change.
func (d *Document) verify(next *Document, path []any, c change) {
	t := comparison{ordered: d.format != TOML, pairs: map[*node]*node{}}
	switch at, ok := next.At(path...); {
	case !t.changed(d.root, next.root, path, c) || !t.sameTargets():
		refuse("another value would also change")
	case c.set && (!ok || !equal(at.Value(), c.want)):
		refuse("the new value would not be read back as written")
	case c.remove && ok && isName(path):
		refuse("a merge key also provides the value")
	}
}

func isName(path []any) bool {
	_, ok := path[len(path)-1].(string)
	return ok
}

// comparison compares two trees. In TOML the order of members does not matter.
type comparison struct {
	ordered bool
	pairs   map[*node]*node // anchored nodes that correspond
	aliases [][2]*node      // what the aliases that correspond refer to, perhaps in a value that is compared later
}

// sameTargets reports whether the aliases refer to anchored nodes that correspond.
func (t *comparison) sameTargets() bool {
	return !slices.ContainsFunc(t.aliases, func(targets [2]*node) bool { return t.pairs[targets[0]] != targets[1] })
}

func (t *comparison) same(a, b *node) bool {
	if a.anchor != "" {
		t.pairs[a] = b
	}
	if a.target != nil && b.target != nil {
		t.aliases = append(t.aliases, [2]*node{a.target, b.target})
		return true
	}
	if a.target != nil || b.target != nil {
		return false
	}
	return a.resembles(b) && a.text == b.text && a.truth == b.truth && t.sameChildren(a.children, b.children, b)
}

// resembles reports whether two nodes have the same type, tag and anchor.
func (n *node) resembles(b *node) bool {
	return n.kind == b.kind && n.tagged == b.tagged && n.anchor == b.anchor
}

// sameChildren compares entries of two collections, the second of which is b.
func (t *comparison) sameChildren(some, others []child, b *node) bool {
	if len(some) != len(others) {
		return false
	}
	for i := range some {
		twin := &others[i]
		if !t.ordered && b.kind == MapKind {
			twin = b.find(some[i].name)
		}
		if twin == nil || some[i].name != twin.name || !t.same(some[i].node, twin.node) {
			return false
		}
	}
	return true
}

// changed reports whether b equals a except for the change at path.
func (t *comparison) changed(a, b *node, path []any, c change) bool {
	switch {
	case len(path) == 0:
		return c.set && b.target == nil && equal(b.value(), c.want)
	case a.kind == NullKind && c.set:
		return equal(b.value(), nest(path, c.want))
	case !a.resembles(b):
		return false
	}
	here := len(path) == 1
	newStep := path[0]
	if c.rename && here {
		newStep = c.name
	}
	if index, isIndex := path[0].(int); isIndex && c.remove && here {
		others := slices.Clone(a.children)
		return index >= 0 && index < len(others) && t.sameChildren(slices.Delete(others, index, index+1), b.children, b)
	}
	before, i := a.without(path[0])
	after, j := b.without(newStep)
	switch {
	case !t.sameChildren(before, after, b), c.rename && here && b.find(path[0].(string)) != nil:
		return false
	case c.remove && here:
		return i >= 0 && j < 0
	case i < 0:
		return c.set && j >= 0 && (j == len(b.children)-1 || !t.ordered) && equal(b.children[j].node.value(), nest(path[1:], c.want))
	case j < 0:
		// A TOML table that exists only because of its members disappears with
		// the last one.
		return c.remove && a.children[i].node.vanishes(path[1:])
	case t.ordered && i != j:
		return false
	case c.rename && here:
		return t.same(a.children[i].node, b.children[j].node)
	}
	return t.changed(a.children[i].node, b.children[j].node, path[1:], c)
}

// without returns the entries that a step does not lead to, and the index of the one that it leads to, or -1.
func (n *node) without(step any) (rest []child, at int) {
	at = -1
	for i, c := range n.children {
		if n.kind == MapKind && c.name == step || n.kind == ListKind && i == step {
			at = i
		} else {
			rest = append(rest, c)
		}
	}
	return rest, at
}

func (n *node) vanishes(path []any) bool {
	if len(path) == 0 {
		return true
	}
	if !n.scattered || n.origin == originHeader || len(n.children) != 1 || n.step(path[0]) == nil {
		return false
	}
	return n.step(path[0]).vanishes(path[1:])
}
