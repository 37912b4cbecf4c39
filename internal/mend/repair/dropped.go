package repair

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// findDropped records the sent values that the proposal lacks.
func (g *closedGate) findDropped() {
	for _, s := range g.sources {
		if !g.isKept(s) {
			g.drop(s.path, s.pinned)
		}
	}
	g.findHollow(g.sent, nil)
	for _, s := range g.sources {
		if doc, ok := openedValue(s.value); ok && len(s.inner) > 0 {
			g.findHollow(doc, s.path)
		}
	}
}

// drop records a sent value that the proposal lacks.
func (g *closedGate) drop(path []string, valid bool) {
	g.dropped = append(g.dropped, field(path))
	isRight := len(g.rejected) > 0 && !g.isRejected(path) // if nothing is known to be wrong, it may be this value
	if valid && isRight && len(path) > 0 {
		g.lost = append(g.lost, slices.Clone(path))
	}
	g.touched, g.altered = g.touched || valid, g.altered || valid
	g.raise(Shown)
	g.doubts("it omits values that the caller sent")
}

// findHollow records the empty objects and arrays that the proposal lacks. Where the schema allows
// one, it says something: an empty array of labels removes them all.
func (g *closedGate) findHollow(sent any, path []string) {
	walk(sent, slices.Clone(path), func(path []string, value any) {
		isHollow := len(path) > 0 && isEmpty(value) && isContainer(value)
		if !isHollow || !g.isPinned(&source{path: path, value: value}, nil) {
			return
		}
		if at, there := present(g.proposed, path); !there || !isEmpty(at) {
			g.drop(path, true)
		}
	})
}

// isKept reports whether nothing is lost with a source that has no target: it says nothing, it
// repeats what is kept under a similar name, or it is a label next to the arguments. A valid value
// says something even if it is empty or the default: it may clear a field.
func (g *closedGate) isKept(s *source) bool {
	saysNothing := s.empty || g.isDefault(s.path, s.value)
	if s.used || saysNothing && !s.valid {
		return true
	}
	if len(s.inner) > 0 && slices.ContainsFunc(s.inner, func(inner *source) bool { return inner.used }) {
		return !slices.ContainsFunc(s.inner, func(inner *source) bool { return !g.isKept(inner) })
	}
	if s.pinned || len(s.path) == 0 {
		return false
	}
	name, parent := s.path[len(s.path)-1], lookup(g.sent, s.path[:len(s.path)-1])
	if object, ok := parent.(map[string]any); ok && foldKey(name) == "type" {
		if _, typed := typedValue(object); typed && len(object) == 2 {
			return true
		}
	}
	if len(s.path) == 1 && s.value == g.options.Tool && g.options.Tool != "" {
		return true
	}
	return false
}

// keepValid puts back the valid values that the proposal leaves out, if it still matches the schema.
// The proposal stays one that is only shown.
func (g *closedGate) keepValid() error {
	kept, left, dropped := clone(g.proposed), [][]string(nil), slices.Clone(g.dropped)
	for _, path := range g.lost {
		if g.putBack(kept, path) {
			dropped = slices.DeleteFunc(dropped, func(name string) bool { return name == field(path) })
		} else {
			left = append(left, path)
		}
	}
	if same(kept, g.proposed) || len(g.schema.violations(g.schema.root, kept)) > 0 {
		return nil
	}
	if same(kept, g.sent) {
		return ErrUnchanged
	}
	g.proposed, g.lost, g.dropped = kept, left, dropped
	return nil
}

// putBack puts a sent value into arguments, with all that was sent next to it if that is not there
// either, and reports whether it is there now.
func (g *closedGate) putBack(arguments any, path []string) bool {
	n := 1
	for ; n <= len(path); n++ {
		if _, there := present(arguments, path[:n]); !there {
			break
		}
	}
	if n > len(path) {
		return exactly(lookup(arguments, path), lookup(g.sent, path))
	}
	parent, ok := lookup(arguments, path[:n-1]).(map[string]any)
	value, sent := present(g.sent, path[:n])
	if !ok || !sent || slices.ContainsFunc(g.rejected, func(place []string) bool { return isWithin(place, path[:n]) }) {
		return false
	}
	parent[path[n-1]] = value
	return true
}

// Lost is a valid value that the caller sent and a proposal lacks.
type Lost struct {
	Path  []string
	Value json.RawMessage // masked if it is a secret
}

// lostValues returns the valid values that the proposal lacks.
func (g *closedGate) lostValues(known *masker) (list []Lost) {
	for _, path := range g.lost {
		list = append(list, Lost{path, encode(known.safe(lookup(g.sent, path), path), nil)})
	}
	return list
}

// keeps reports whether an example has all values that a proposal lacks.
func keeps(example string, lost []Lost) bool {
	at := strings.IndexByte(example, '{')
	if at < 0 || len(lost) == 0 {
		return false
	}
	doc, err := decode(strings.TrimSuffix(example[at:], asSentNote))
	return err == nil && !slices.ContainsFunc(lost, func(l Lost) bool {
		value, there := present(doc.value, l.Path)
		if _, named := present(doc.value, l.Path[:1]); !named && strings.HasPrefix(example, sameWith) {
			return false
		}
		return !there || !bytes.Equal(encode(value, nil), l.Value)
	})
}
