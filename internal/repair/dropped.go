package repair

import "slices"

// findDropped records the sent values that the proposal lacks.
func (g *closedGate) findDropped() {
	for _, s := range g.sources {
		if !g.isKept(s) {
			g.drop(s.path, s.pinned)
		}
	}
	g.findHollow(g.sent, nil)
	for _, s := range g.sources {
		if text, ok := s.value.(string); ok && len(s.inner) > 0 {
			doc, _ := opened(text)
			g.findHollow(doc.value, s.path)
		}
	}
}

// drop records a sent value that the proposal lacks.
func (g *closedGate) drop(path []string, valid bool) {
	g.dropped = append(g.dropped, field(path))
	g.touched, g.altered = g.touched || valid, g.altered || valid
	g.raise(Shown)
	g.doubts("it leaves out values that the caller sent")
}

// findHollow records the empty objects and arrays that the proposal lacks. Where the schema allows
// one, it says something: an empty array of labels removes them all.
func (g *closedGate) findHollow(sent any, path []string) {
	walk(sent, slices.Clone(path), func(path []string, value any) {
		if !isEmpty(value) || !isObject(value) && !isList(value) || len(path) == 0 || !g.isPinned(&source{path: path, value: value}, nil) {
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
	if s.used || !s.valid && (s.empty || g.isDefault(s.path, s.value)) {
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
	return slices.ContainsFunc(g.targets, func(t *target) bool {
		return len(t.path) > 0 && exactly(t.value, s.value) && foldKey(last(t.path)) == foldKey(last(s.path)) && !isSmall(s.value)
	})
}

// isSmall reports whether a value says little on its own, so that a second one may mean something
// else.
func isSmall(value any) bool {
	text, ok := value.(string)
	return !ok || len(text) < 3
}
