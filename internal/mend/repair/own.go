package repair

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// A model may propose a value that is neither the caller's nor the schema's. It is the model's own,
// and is named wherever the proposal goes. It is shown if it fills a field that was rejected or left
// out; only a tool that reads gets it, and only if nothing speaks against it.

// Limits of what a model proposes by itself.
const (
	maxOwn      = 8    // values that can be named in one line
	maxOwnShown = 100  // values in a proposal that is only shown
	maxOwnLen   = 1000 // bytes of a string
)

// own records a value of the model's own, and reports whether it may be shown: it is in a field that
// was rejected or left out, is neither a secret nor a choice with a risk, and does not replace or move
// what can be read.
func (g *closedGate) own(t *target) bool {
	nodes := g.schema.nodesAt(t.path)
	at, sent := present(g.sent, t.path)
	rejected := g.isRejected(t.path)
	leftOut := !sent && !g.violated && len(nodes) > 0
	switch {
	case !rejected && !leftOut, len(g.owned) >= maxOwnShown, g.isForbidden(t, nodes), sent && isContainer(at) && !isHollow(at):
		return false
	case g.text != "" && (!rejected || strings.ContainsFunc(plain(at), unicode.IsDigit)):
		return false
	case slices.ContainsFunc(g.readable(), func(s *source) bool { return !g.isReplaceable(s, t, nodes) }):
		return false
	}
	if !rejected {
		g.doubts("it sets a field that was neither rejected nor missing")
	}
	if g.text != "" {
		g.raise(Shown)
		g.doubts(unreadDoubt)
		if isInText(g.text, t.value) {
			return true // where it belongs is the model's judgement
		}
	}
	g.adopt(t.path, t.value, false)
	return true
}

// isReplaceable reports whether nothing that was sent stands against a value of the model's own. It
// records the source that the value replaces.
func (g *closedGate) isReplaceable(s *source, t *target, nodes []*jsonschema.Schema) bool {
	if !isWithin(t.path, s.path) {
		return s.used || !exactly(s.value, t.value) // otherwise it was moved where it must not be
	}
	if len(s.path) < len(t.path) && !s.empty {
		text, ok := lookup(g.sent, s.path).(string) // the whole string
		g.doubts("it replaces a value with a different kind of value")
		if !ok || len(segments(text)) > 1 || strings.ContainsFunc(text, unicode.IsDigit) {
			return false
		}
	}
	if !s.used && g.contradicts(s, t, nodes) {
		return false
	}
	s.used = true // replaced
	return true
}

// adopt records that a value is not the caller's, and what speaks against sending it. chosen means that
// it is one of the schema's choices.
func (g *closedGate) adopt(path []string, value any, chosen bool) {
	g.owned = append(g.owned, slices.Clone(path))
	g.raise(Shown)
	text := plain(value)
	switch {
	case len(g.owned) > maxOwn:
		g.doubts(fmt.Sprintf("it contains more than %d values that the caller did not send", maxOwn))
	case g.origin.reveals(text, chosen):
		g.doubts("it may contain text from the goal or the tool's description")
	case chosen:
	case len(text) > maxOwnLen:
		g.doubts("it contains a long value that the caller did not send")
	case g.origin.leadsElsewhere(text):
		g.doubts("it points to a host, a directory or a file that the caller did not mention")
	}
}

// doubts records why the proposal must not be sent, even to a tool that only reads.
func (g *closedGate) doubts(why string) {
	if g.doubt == "" {
		g.doubt = why
	}
}

// doubtRisks records choices that grant or destroy something, unless the caller sent them as they are.
func (g *closedGate) doubtRisks() {
	for _, t := range g.targets {
		if sent, ok := present(g.sent, t.path); ok && exactly(sent, t.value) {
			continue
		}
		if d := gather(g.schema.nodesAt(t.path)...); d.chosen && risk(t.value) > 0 {
			g.doubts("it picks an option that would grant access or destroy data")
		}
	}
}

// isWithin reports whether a path is a place or below it.
func isWithin(path, place []string) bool {
	return len(path) >= len(place) && slices.Equal(path[:len(place)], place)
}

// isRejected reports whether a place, or one around it, was rejected or is missing.
func (g *closedGate) isRejected(path []string) bool {
	return slices.ContainsFunc(g.rejected, func(place []string) bool { return isWithin(path, place) })
}

// findRejected records the places that were rejected or are missing: those that violate the schema. If
// none does, the server rejected what the schema accepts, and its message says which.
func (g *closedGate) findRejected(wrong []violation) {
	for _, v := range wrong {
		keys, _ := missingKeys(v)
		if extra, ok := v.kind.(*kind.AdditionalProperties); ok {
			keys = extra.Properties
		}
		switch {
		case keys != nil:
			for _, key := range keys {
				g.rejected = append(g.rejected, append(slices.Clone(v.path), key))
			}
		case len(v.path) > 0:
			g.rejected = append(g.rejected, v.path)
		default:
			for _, branch := range v.branches {
				g.findRejected(branch)
			}
		}
	}
	if g.violated = g.violated || len(wrong) > 0; !g.violated && g.options.Said != "" {
		g.rejected = serverText{g.schema, g.sent, g.options.Said[:min(len(g.options.Said), maxComplaintLen)]}.rejectedBy()
	}
}

// rejectedBy returns the arguments that a server's text rejects. If it says of none what is wrong with
// it, the only argument was rejected.
func (w serverText) rejectedBy() [][]string {
	paths := w.faulted()
	if object, ok := w.sent.(map[string]any); ok && len(paths) == 0 && len(object) == 1 {
		for name := range object {
			paths = append(paths, []string{name})
		}
	}
	return paths
}

// faulted returns the arguments that a text names as libraries do, or else those whose name or value is
// in a line that says what is wrong.
func (w serverText) faulted() (paths [][]string) {
	if paths = w.named(); len(paths) > 0 {
		return paths
	}
	names := w.candidateNames()
	for _, name := range names[:min(len(names), maxNamesCompared)] {
		isRejected := func(line string) bool { return rejects(line, name, lookup(w.sent, []string{name})) }
		if slices.ContainsFunc(strings.Split(w.said, "\n"), isRejected) {
			paths = append(paths, []string{name})
		}
	}
	return paths
}

// rejects reports whether a line rejects an argument by its name or its value.
func rejects(line, name string, value any) bool {
	if !phrases.Of("wrong value").MatchString(line) {
		return false
	}
	text, ok := scalarText(value)
	return hasName(line, name) || ok && len(text) >= 3 && strings.Contains(line, text)
}

// Blames reports whether a server's text rejects an argument of a call, in its own words.
func (s *Schema) Blames(arguments []byte, said string) bool {
	doc, err := decode(string(arguments))
	rejects := len(said) <= maxComplaintLen && phrases.Of("wrong value").MatchString(said) && !phrases.Of("other cause").MatchString(said)
	return err == nil && rejects && len(serverText{s.Ready(), doc.value, said}.faulted()) > 0
}

// isForbidden reports whether a value of the model's own must not even be shown: it is a secret or at
// the place of one, has characters that are not seen, or is a choice that grants or destroys
// something.
func (g *closedGate) isForbidden(t *target, nodes []*jsonschema.Schema) bool {
	if text, ok := scalarText(t.value); ok {
		if g.known == nil {
			g.known = g.schema.masker(g.sent)
		}
		isUnseen := func(r rune) bool { return r != '\n' && unseen(r) }
		if g.known.hides(t.path, text) || g.known.in(text) != text || strings.ContainsFunc(text, isUnseen) {
			return true
		}
	}
	switch value := t.value.(type) {
	case nil:
		return true
	case bool:
		return value || slices.ContainsFunc(segments(strings.Join(t.path, " ")), func(word string) bool { return hedges[word] })
	}
	d := gather(nodes...)
	return d.chosen && risk(t.value) > 0
}

// hedges are words in the names of switches that keep a call from doing something.
var hedges = wordSet(`dry safe test preview draft simulate mock confirm ask check validate verify only exclude skip limit`)

// contradicts reports whether a value that the schema rejects can be read with certainty, so that a
// different one is not a correction of it.
func (g *closedGate) contradicts(s *source, t *target, nodes []*jsonschema.Schema) bool {
	sent, isText := s.value.(string)
	if len(s.path) != len(t.path) || s.empty || fitsAny(nodes, s.value) || isSameDay(sent, plain(t.value)) {
		return false
	}
	d := gather(nodes...)
	if isText && d.chosen {
		return true // the choices that can be meant are forms of what was sent
	}
	return slices.ContainsFunc(derived(s.value, &d), func(reading any) bool {
		tier, ok := g.form(s, &target{path: t.path, value: reading}, nodes)
		return ok && tier <= Told && fitsAny(nodes, reading) && !exactly(reading, t.value)
	})
}

// isSameDay reports whether two strings are one day.
func isSameDay(a, b string) bool {
	x, y := dates(strings.TrimSpace(a)), dates(strings.TrimSpace(b))
	return len(x) == 1 && len(y) == 1 && x[0].Format(time.DateOnly) == y[0].Format(time.DateOnly)
}
