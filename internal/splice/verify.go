package splice

import (
	"fmt"
	"slices"
)

// change is the one difference that an edit may make.
type change struct {
	set, remove, rename bool
	want                any
	name                string
}

// verified returns the new document only if it equals the old one with exactly
// this change, and if the cross-check agrees with both.
func (d *Document) verified(next *Document, path []any, c change) (*Document, error) {
	if next == d {
		return d, nil
	}
	t := comparison{ordered: d.format != TOML, pairs: map[*node]*node{}}
	why := ""
	switch at, ok := next.At(path...); {
	case !t.changed(d.root, next.root, path, c):
		why = "another value would also change"
	case c.set && (!ok || !equal(at.Value(), c.want)):
		why = "the new value would not be read back as written"
	case c.remove && ok && isName(path):
		why = "a merge key also provides the value"
	default:
		for _, document := range []*Document{d, next} {
			if err := document.crossCheck(); err != nil {
				why = fmt.Sprintf("another parser reads the file differently (%v)", err)
			}
		}
	}
	if why != "" {
		return nil, d.refuse(path, why, c.want)
	}
	return next, nil
}

func isName(path []any) bool {
	_, ok := path[len(path)-1].(string)
	return ok
}

// comparison compares two trees. In TOML the order of members does not matter.
type comparison struct {
	ordered bool
	pairs   map[*node]*node // anchored nodes that correspond
}

func (t *comparison) same(a, b *node) bool {
	if a.anchor != "" {
		t.pairs[a] = b
	}
	if (a.target == nil) != (b.target == nil) {
		return false
	}
	if a.target != nil {
		return t.pairs[a.target] == b.target
	}
	if a.kind != b.kind || a.text != b.text || a.truth != b.truth || a.tagged != b.tagged || a.anchor != b.anchor {
		return false
	}
	return t.sameChildren(a, b, a.children, b.children)
}

func (t *comparison) sameChildren(a, b *node, some, others []child) bool {
	if len(some) != len(others) {
		return false
	}
	for i := range some {
		twin := &others[i]
		if !t.ordered && a.kind == MapKind {
			if twin = b.find(some[i].name); twin == nil {
				return false
			}
		}
		if some[i].name != twin.name || !t.same(some[i].node, twin.node) {
			return false
		}
	}
	return true
}

// changed reports whether b equals a except for the change at path.
func (t *comparison) changed(a, b *node, path []any, c change) bool {
	if len(path) == 0 {
		return c.set && b.target == nil && equal(b.value(), c.want)
	}
	if a.kind == NullKind && c.set {
		return equal(b.value(), nest(path, c.want))
	}
	if a.kind != b.kind || a.tagged != b.tagged || a.anchor != b.anchor {
		return false
	}
	last := len(path) == 1
	if index, isIndex := path[0].(int); isIndex {
		if a.kind != ListKind || index < 0 || index > len(a.children) {
			return false
		}
		if c.remove && last {
			return index < len(a.children) && t.sameChildren(a, b, slices.Delete(slices.Clone(a.children), index, index+1), b.children)
		}
		if index >= len(b.children) || !t.sameChildren(a, b, a.children[:index], b.children[:index]) {
			return false
		}
		if index == len(a.children) {
			return c.set && len(b.children) == index+1 && equal(b.children[index].node.value(), nest(path[1:], c.want))
		}
		return t.changed(a.children[index].node, b.children[index].node, path[1:], c) &&
			t.sameChildren(a, b, a.children[index+1:], b.children[index+1:])
	}
	name, _ := path[0].(string)
	if a.kind != MapKind {
		return false
	}
	old, now := a.find(name), b.find(name)
	without := func(children []child, name string) (rest []child, at int) {
		at = -1
		for i, c := range children {
			if c.name != name {
				rest = append(rest, c)
			} else {
				at = i
			}
		}
		return rest, at
	}
	newName := name
	if c.rename && last {
		newName = c.name
		if b.find(name) != nil {
			return false
		}
		now = b.find(newName)
	}
	before, place := without(a.children, name)
	after, newPlace := without(b.children, newName)
	if !t.sameChildren(a, b, before, after) {
		return false
	}
	switch {
	case c.remove && last:
		return old != nil && now == nil
	case old == nil:
		return c.set && now != nil && (newPlace == len(b.children)-1 || !t.ordered) && equal(now.node.value(), nest(path[1:], c.want))
	case now == nil:
		// A TOML table that exists only because of its members disappears with
		// the last one.
		return c.remove && old.node.vanishes(path[1:])
	case t.ordered && place != newPlace:
		return false
	case c.rename && last:
		return t.same(old.node, now.node)
	}
	return t.changed(old.node, now.node, path[1:], c)
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
