package repair

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
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
		targets := g.openUnder(s.path)
		if !ok || s.pinned || s.taken() || len(text) > 4<<10 || len(targets) < 2 || len(targets) > 100 {
			continue
		}
		for _, separator := range separators {
			split := splitText{g, s, separator.split(text), targets, separator.means}
			if tier, ok := split.match(); ok {
				s.used = true
				g.raise(tier)
				g.doubtPlaces(tier)
				g.touched = g.touched || fitsAny(g.schema.nodesAt(below(s.path, "0")), text) // the separator may be a part of one item
				break
			}
		}
	}
}

// separator is what may be between the parts of a string.
type separator struct {
	form  *regex.Lazy // nil: nothing between digits and letters, as in 5kg
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
	{regex.New(`,`), nothingElse}, {regex.New(`;`), nothingElse}, {regex.New(`\n`), nothingElse}, {regex.New(`\|`), nothingElse},
	{regex.New(`\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*`), partOfName},
	{regex.New(`\s+`), partOfName},
	{nil, partOfName},
	{regex.New(`\s*[x×*/:]\s*`), relation},
	{regex.New(`\s+(?:to|by|x)\s+|\s+[-–]\s+`), relation},
	{regex.New(`[\s,;()\[\]{}|]+`), relation},
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
		isUnder := len(t.path) > len(path) && isWithin(t.path, path)
		if isUnder && t.done {
			return nil
		}
		if isUnder {
			list = append(list, t)
		}
	}
	return list
}

// splitText is a source in parts, and the targets that they may be.
type splitText struct {
	gate    *closedGate
	source  *source
	parts   []string
	targets []*target
	means   meaningOf
}

// match matches the parts with the targets and marks these.
func (p *splitText) match() (tier Tier, ok bool) {
	var found []*target
	switch container := lookup(p.gate.proposed, p.source.path); {
	case len(p.parts) != len(p.targets) || slices.Contains(p.parts, ""):
	case isList(container):
		tier, found = p.list()
	case isObject(container):
		tier, found = p.object()
	}
	for i, t := range found {
		t.done = true
		p.gate.touched = p.gate.touched || p.gate.isOtherChoice(p.parts[i], t)
	}
	return tier, len(found) > 0
}

// list matches the parts with the items of an array, in order.
func (p *splitText) list() (tier Tier, found []*target) {
	whole := p.source.value.(string)
	isUnclear := thousands.MatchString(strings.TrimSpace(whole)) || p.means == relation
	slices.SortStableFunc(p.targets, func(a, b *target) int { return slices.Compare(indices(a.path), indices(b.path)) })
	for i, part := range p.parts {
		t := p.targets[i]
		if !p.isPart(part, t) {
			return 0, nil
		}
		d := gather(p.gate.schema.nodesAt(t.path)...)
		isWhole := slices.ContainsFunc(d.choices, func(choice any) bool { return resembles(whole, plain(choice)) })
		isDeeper := len(indices(t.path)) != len(indices(p.source.path))+1
		mayBeName := p.means == partOfName && !d.chosen
		isUnclear = isUnclear || isWhole || isDeeper || mayBeName
		for j := len(p.source.path) + 1; j < len(t.path); j++ { // an item that is an object of one key
			isUnclear = isUnclear || len(p.gate.schema.properties(t.path[:j])) != 1
		}
		found = append(found, t)
	}
	return tierIf(isUnclear, Shown, Told), found
}

// object matches the parts with the keys of an object, in any order.
func (p *splitText) object() (tier Tier, found []*target) {
	free := slices.Clone(p.targets)
	for _, part := range p.parts {
		at := slices.IndexFunc(free, func(t *target) bool { return p.isPart(part, t) })
		if at < 0 {
			return 0, nil
		}
		found = append(found, free[at])
		free = slices.Delete(free, at, at+1)
	}
	optional := len(p.gate.schema.properties(p.source.path)) != len(p.targets) // a key that the proposal leaves out could be meant as well
	isUnclear := p.means == relation || len(p.parts) > 5 || optional || p.ways(p.parts, p.targets) != 1
	return tierIf(isUnclear, Shown, Told), found
}

// isPart reports whether a part is the value of a target.
func (p *splitText) isPart(part string, t *target) bool {
	if exactly(part, t.value) {
		return true
	}
	tier, ok := p.gate.form(&source{path: p.source.path, value: part}, t, p.gate.schema.nodesAt(t.path))
	return ok && tier <= Told
}

// ways counts the ways in which parts fit the keys of an object, each one key.
func (p *splitText) ways(parts []string, targets []*target) (n int) {
	if len(parts) == 0 {
		return 1
	}
	for i, t := range targets {
		if len(t.path) == len(p.source.path)+1 && p.gate.schema.mayBe(parts[0], t.path) {
			n += p.ways(parts[1:], slices.Delete(slices.Clone(targets), i, i+1))
		}
	}
	return n
}

// mayBe reports whether the schema accepts text at a path, as a string or as what it spells.
func (s *Schema) mayBe(text string, path []string) bool {
	readings := []any{text}
	if n, ok := number(text); ok {
		readings = append(readings, n)
	} else if n, ok := spelledNumber(text); ok {
		readings = append(readings, json.Number(strconv.Itoa(n)))
	}
	return slices.ContainsFunc(s.nodesAt(path), func(node *jsonschema.Schema) bool {
		d := gather(node)
		return slices.ContainsFunc(readings, func(value any) bool { return node.Validate(value) == nil }) ||
			slices.ContainsFunc(d.choices, func(choice any) bool { return resembles(text, plain(choice)) })
	})
}

// takeParts matches a target with a part of a sent string. All text comes from the caller, but only
// the caller can tell what the parts are for.
func (g *closedGate) takeParts(t *target, sources []*source) {
	got, ok := scalarText(t.value)
	if !ok || isBlank(got) || g.schema.nodesAt(t.path) == nil {
		return
	}
	for _, s := range sources {
		text, ok := s.value.(string)
		if !ok || s.pinned || s.used || leaks(last(s.path), last(t.path), text) {
			continue
		}
		parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;|\n", r) })
		at := slices.IndexFunc(parts, func(part string) bool { return strings.TrimSpace(part) == got })
		if at < 0 || len(parts) < 2 {
			continue
		}
		s.value = strings.TrimSpace(strings.Join(slices.Delete(parts, at, at+1), ","))
		t.done, t.from = true, []*source{s}
		g.raise(Shown)
		g.doubtPlaces(Shown)
		return
	}
}

// takeKey matches a target with a key that was sent and that the schema does not declare, as age in
// {"where": {"age": 30}} for {"column": "age", "value": 30}. Only the caller can tell whether that is
// meant.
func (g *closedGate) takeKey(t *target) {
	got, ok := t.value.(string)
	isKey := ok && got != "" && !isIndex(got) && !slices.Contains(g.usedKeys, got)
	isHarmless := risk(got) == 0 && !secretName(got, maskText)
	if !isKey || !isHarmless || !g.schema.declares(t.path) {
		return
	}
	if slices.ContainsFunc(g.readable(), func(s *source) bool {
		at := slices.Index(s.path, got)
		return at >= 0 && !g.schema.declares(s.path[:at+1])
	}) {
		g.usedKeys, t.done = append(g.usedKeys, got), true
		g.raise(Shown)
		g.doubtPlaces(Shown)
	}
}
