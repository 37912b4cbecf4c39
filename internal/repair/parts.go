package repair

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// splitTexts matches a sent string with an array or an object of all its parts at the same place,
// each used once. Nothing is lost except what separates them.
//
// It is certain for an array in the order of the string, if punctuation separates the parts, or if
// blanks or "and" do and every part is a choice. It is certain for an object if the parts fit its
// keys in only one way, as a number and a unit do. Otherwise only the caller can tell: 640x480 does
// not say which is the width, Salt and Pepper may be one name, and 1 to 5 is a range.
func (g *closedGate) splitTexts(sources []*source) {
	for _, s := range sources {
		text, ok := s.value.(string)
		if !ok || s.pinned || g.taken(s) || len(text) > 4<<10 {
			continue
		}
		targets := g.openUnder(s.path)
		if len(targets) < 2 || len(targets) > 100 {
			continue
		}
		for _, separator := range separators {
			parts := separator.split(text)
			if len(parts) != len(targets) || slices.Contains(parts, "") {
				continue
			}
			if tier, ok := g.areParts(s, parts, targets, separator.means); ok {
				s.used = true
				g.raise(tier)
				g.doubtPlaces(tier)
				if fitsAny(g.schema.nodesAt(append(slices.Clone(s.path), "0")), text) {
					g.touched = true // the separator may be a part of one item
				}
				break
			}
		}
	}
}

// separator is what may be between the parts of a string.
type separator struct {
	form  *regexp.Regexp // nil: nothing between digits and letters, as in 5kg
	means meaningOf
}

// meaningOf is what a separator can mean besides a separation.
type meaningOf int

const (
	nothingElse meaningOf = iota // it only separates
	partOfName                   // it may be a part of a name or of a number
	relation                     // it may say how the parts belong together
)

var separators = []separator{
	{regexp.MustCompile(`,`), nothingElse}, {regexp.MustCompile(`;`), nothingElse}, {regexp.MustCompile(`\n`), nothingElse}, {regexp.MustCompile(`\|`), nothingElse},
	{regexp.MustCompile(`\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*`), partOfName},
	{regexp.MustCompile(`\s+`), partOfName},
	{nil, partOfName},
	{regexp.MustCompile(`\s*[x×*/:]\s*`), relation},
	{regexp.MustCompile(`\s+(?:to|by|x)\s+|\s+[-–]\s+`), relation},
	{regexp.MustCompile(`[\s,;()\[\]{}|]+`), relation},
}

func (s separator) split(text string) (parts []string) {
	if s.form == nil {
		at := strings.IndexFunc(text, unicode.IsLetter)
		if at < 1 || !isNumber(strings.TrimSpace(text[:at])) {
			return nil
		}
		return []string{strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])}
	}
	if s.means == relation {
		text = strings.Trim(text, "()[]{} ")
	}
	for _, part := range s.form.Split(text, 101) {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// openUnder returns the targets below a path that have no source yet.
func (g *closedGate) openUnder(path []string) (list []*target) {
	for _, t := range g.targets {
		if len(t.path) > len(path) && slices.Equal(t.path[:len(path)], path) {
			if t.done {
				return nil
			}
			list = append(list, t)
		}
	}
	return list
}

// areParts matches the parts of a source with targets at its place and marks them.
func (g *closedGate) areParts(s *source, parts []string, targets []*target, means meaningOf) (tier Tier, ok bool) {
	var found []*target
	switch container := lookup(g.proposed, s.path); {
	case isList(container):
		tier, found = g.listParts(s, parts, targets, means)
	case isObject(container):
		tier, found = g.objectParts(s, parts, targets, means)
	}
	for i, t := range found {
		t.done = true
		g.touched = g.touched || g.isOtherChoice(parts[i], t)
	}
	return tier, len(found) > 0
}

// listParts matches parts with the items of an array, in order.
func (g *closedGate) listParts(s *source, parts []string, targets []*target, means meaningOf) (tier Tier, found []*target) {
	tier = Told
	whole := s.value.(string)
	if thousands.MatchString(strings.TrimSpace(whole)) || means == relation {
		tier = Shown
	}
	slices.SortStableFunc(targets, func(a, b *target) int { return slices.Compare(indices(a.path), indices(b.path)) })
	for i, part := range parts {
		t := targets[i]
		if !g.isPart(s, part, t) {
			return 0, nil
		}
		d := gather(g.schema.nodesAt(t.path)...)
		isWhole := slices.ContainsFunc(d.choices, func(choice any) bool { return resembles(whole, plain(choice)) })
		if isWhole || means == partOfName && !d.chosen || len(indices(t.path)) != len(indices(s.path))+1 {
			tier = Shown
		}
		for j := len(s.path) + 1; j < len(t.path); j++ { // an item that is an object of one key
			if len(g.schema.properties(t.path[:j])) != 1 {
				tier = Shown
			}
		}
		found = append(found, t)
	}
	return tier, found
}

// objectParts matches parts with the keys of an object, in any order.
func (g *closedGate) objectParts(s *source, parts []string, targets []*target, means meaningOf) (tier Tier, found []*target) {
	free := slices.Clone(targets)
	for _, part := range parts {
		at := slices.IndexFunc(free, func(t *target) bool { return g.isPart(s, part, t) })
		if at < 0 {
			return 0, nil
		}
		found = append(found, free[at])
		free = slices.Delete(free, at, at+1)
	}
	if means == relation || len(parts) > 5 || len(g.schema.properties(s.path)) != len(targets) || g.ways(s, parts, targets) != 1 {
		return Shown, found // an optional key that the proposal leaves out could be meant as well
	}
	return Told, found
}

// isPart reports whether a part of a source is the value of a target.
func (g *closedGate) isPart(s *source, part string, t *target) bool {
	if exactly(part, t.value) {
		return true
	}
	tier, ok := g.form(&source{path: s.path, value: part}, t, g.schema.nodesAt(t.path))
	return ok && tier <= Told
}

// ways counts the ways in which parts fit the keys of an object, each one key.
func (g *closedGate) ways(s *source, parts []string, targets []*target) (n int) {
	if len(parts) == 0 {
		return 1
	}
	for i, t := range targets {
		if len(t.path) == len(s.path)+1 && g.mayBe(parts[0], t.path) {
			n += g.ways(s, parts[1:], slices.Delete(slices.Clone(targets), i, i+1))
		}
	}
	return n
}

// mayBe reports whether the schema accepts text at a path, as a string or as what it spells.
func (g *closedGate) mayBe(text string, path []string) bool {
	readings := []any{text}
	if n, ok := number(text); ok {
		readings = append(readings, n)
	} else if n, ok := spelledNumber(text); ok {
		readings = append(readings, json.Number(strconv.Itoa(n)))
	}
	return slices.ContainsFunc(g.schema.nodesAt(path), func(node *jsonschema.Schema) bool {
		d := gather(node)
		return slices.ContainsFunc(readings, func(value any) bool { return node.Validate(value) == nil }) ||
			slices.ContainsFunc(d.choices, func(choice any) bool { return resembles(text, plain(choice)) })
	})
}

// takeParts matches a target with a part of a sent string. All text comes from the caller, but only
// the caller can tell what the parts are for.
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
			g.doubtPlaces(Shown)
			if len(parts) == 1 {
				s.value = strings.TrimSpace(parts[0])
			}
			return
		}
	}
}

// takeKey matches a target with a key that was sent and that the schema does not declare, as age in
// {"where": {"age": 30}} for {"column": "age", "value": 30}. Only the caller can tell whether that is
// meant.
func (g *closedGate) takeKey(t *target) {
	got, ok := t.value.(string)
	if !ok || got == "" || g.usedKeys[got] || !g.schema.declares(t.path) || risk(got) > 0 {
		return
	}
	for _, s := range g.readable() {
		at := slices.Index(s.path, got)
		if at < 0 || isIndex(got) || g.schema.declares(s.path[:at+1]) || secretName(got, maskText) {
			continue
		}
		if g.usedKeys == nil {
			g.usedKeys = map[string]bool{}
		}
		g.usedKeys[got], t.done = true, true
		g.raise(Shown)
		g.doubtPlaces(Shown)
		return
	}
}
