package repair

import (
	"maps"
	"slices"
)

// Limits of an example.
const (
	maxShownText = 300       // characters of a string that is repeated in a message
	maxExample   = 6 << 10   // bytes
	maxStart     = 200 << 10 // bytes of arguments for which an example is built
)

// example is a call that would pass, made of one that did not.
type example struct {
	value   any
	rank    map[string]int
	guesses []string // fields whose value is a guess
}

// example edits the caller's own arguments until they pass, with guesses where no rule applies. It
// returns nil if it finds no call that passes validation. Secrets are masked.
func (s *Schema) example(from any, rank map[string]int, known *masker, also func(*editor)) *example {
	if s.root == nil || known.overLimit() {
		return nil
	}
	var found *example
	s.session(func() {
		for _, start := range []any{from, map[string]any{}} {
			e := &editor{schema: s, whole: s, options: Options{Tier: Shown}, known: known, sent: from, value: clone(start), rank: map[string]int{}}
			maps.Copy(e.rank, rank)
			if also != nil {
				also(e)
			}
			if e.edit(s.violations(s.root, e.value)) && e.conceal() {
				found = &example{e.value, e.rank, e.guesses}
				return
			}
			also = nil
		}
	})
	if found != nil && len(found.text()) > maxExample {
		return nil
	}
	return found
}

// text returns the example on one line.
func (e *example) text() []byte { return []byte(visible(string(encode(e.value, e.rank)))) }

// conceal replaces secrets and very long strings of the caller with a mask or, if the schema does
// not accept that, with a sample. It reports whether no secret is left.
func (e *editor) conceal() bool {
	type place struct {
		path  []string
		value any
	}
	var places []place
	safe := true
	walk(e.value, nil, func(path []string, value any) {
		if object, ok := value.(map[string]any); ok {
			for key := range object {
				safe = safe && !looksSecret(key)
			}
		}
		text, ok := scalarText(value)
		isSecret := e.known.values[text] || e.known.sent[text] && e.known.hides(path, text)
		if ok && (isSecret || len(text) > maxShownText) {
			places = append(places, place{slices.Clone(path), value})
		}
	})
	return safe && !slices.ContainsFunc(places, func(p place) bool { return !e.concealed(p.path, p.value) })
}

func (e *editor) concealed(path []string, value any) bool {
	fits := func(other any) bool {
		text, _ := scalarText(other)
		if e.known.values[text] || same(other, value) {
			return false
		}
		e.value = replaced(e.value, path, other)
		return len(e.schema.violations(e.schema.root, e.value)) == 0
	}
	if fits(maskText) {
		return true
	}
	c, ok := pick(e.schema.certain(path), last(path), nil, 0, fits)
	return ok && fits(c.value) && e.put(path, c)
}
