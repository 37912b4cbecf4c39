package repair

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// splitLists matches a sent string with an array of all its parts, in order. Nothing is lost except
// the separators.
func (g *closedGate) splitLists(sources []*source) {
	for _, s := range sources {
		text, ok := s.value.(string)
		if !ok || s.pinned || g.taken(s) {
			continue
		}
		list, _ := lookup(g.proposed, s.path).([]any)
		if len(list) < 2 || len(list) > maxScalars {
			continue
		}
		for _, separator := range []string{",", ";", "\n", "|"} {
			if parts := strings.Split(text, separator); len(parts) == len(list) && g.areParts(s, parts) {
				s.used = true
				g.raise(Told)
				break
			}
		}
	}
}

// areParts reports whether the parts of a source are the items of an array at its place, and marks
// them.
func (g *closedGate) areParts(s *source, parts []string) bool {
	var found []*target
	for i, part := range parts {
		path := append(slices.Clone(s.path), strconv.Itoa(i))
		at := slices.IndexFunc(g.targets, func(t *target) bool { return !t.done && slices.Equal(t.path, path) })
		if at < 0 {
			return false
		}
		t, part := g.targets[at], &source{path: path, value: strings.TrimSpace(part)}
		if !exactly(part.value, t.value) {
			if tier, ok := g.form(part, t, g.schema.nodesAt(path)); !ok || tier > Told || part.value == "" {
				return false
			}
		}
		found = append(found, t)
	}
	for _, t := range found {
		t.done = true
	}
	return true
}

// takeParts matches a target with a part of a sent string or with several sent strings in order. All
// text comes from the caller, but only the caller can tell what the parts are for.
func (g *closedGate) takeParts(t *target, sources []*source) {
	got, ok := t.value.(string)
	if n, isNumber := t.value.(json.Number); isNumber {
		got, ok = n.String(), true
	}
	if !ok || strings.TrimSpace(got) == "" || g.schema.nodesAt(t.path) == nil {
		return
	}
	for _, s := range sources {
		text, ok := s.value.(string)
		if !ok || s.pinned || s.used || leaks(last(s.path), last(t.path), text) {
			continue
		}
		parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;|\n", r) })
		if at := slices.IndexFunc(parts, func(part string) bool { return strings.TrimSpace(part) == got }); at >= 0 && len(parts) > 1 {
			parts = slices.Delete(parts, at, at+1)
			s.value = strings.Join(parts, ",")
			s.used = len(parts) == 0
			t.done, t.from = true, []*source{s}
			g.touched = g.touched || s.pinned
			g.raise(Shown)
			if len(parts) == 1 {
				s.value = strings.TrimSpace(parts[0])
			}
			return
		}
	}
}
