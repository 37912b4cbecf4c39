package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
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
	switch {
	case g.text != "" && (!rejected || strings.ContainsFunc(plain(at), unicode.IsDigit)), len(g.owned) >= maxOwnShown, len(nodes) == 0 && !sent && !rejected, g.isForbidden(t, nodes):
		return false
	case sent && (isObject(at) || isList(at)) && !isHollow(at):
		return false
	case !rejected && (sent || g.violated || !g.addsField(t.path)):
		return false
	}
	for _, s := range g.readable() {
		if !g.isReplaceable(s, t, nodes) {
			return false
		}
	}
	if !rejected {
		g.doubts("it adds a value that was neither rejected nor missing")
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
		if g.doubts("it replaces a value of a different kind"); !ok || len(segments(text)) > 1 || strings.ContainsFunc(text, unicode.IsDigit) {
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
	case g.reveals(text, chosen):
		g.doubts("it may contain text of the goal or of the tool's description")
	case chosen:
	case len(text) > maxOwnLen:
		g.doubts("it contains a long value that the caller did not send")
	case g.leadsElsewhere(text):
		g.doubts("it leads to a host, a folder or a file that the caller did not name")
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
			g.doubts("it contains a choice that grants or destroys something")
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

// addsField reports whether a place is in a field that was not sent, rather than in an array that was.
func (g *closedGate) addsField(path []string) bool {
	for i := range path {
		if _, sent := present(g.sent, path[:i+1]); !sent {
			return isObject(lookup(g.sent, path[:i]))
		}
	}
	return false
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
		g.rejected = g.schema.rejectedBy(g.sent, g.options.Said)
	}
}

// rejectedBy returns the arguments that a server's text rejects. If it says of none what is wrong with
// it, the only argument was rejected.
func (s *Schema) rejectedBy(sent any, said string) [][]string {
	paths := s.faulted(sent, said[:min(len(said), maxComplaintLen)])
	if object, ok := sent.(map[string]any); ok && len(paths) == 0 && len(object) == 1 {
		for name := range object {
			paths = append(paths, []string{name})
		}
	}
	return paths
}

// faulted returns the arguments that a text names as libraries do, or else those whose name or value is
// in a line that says what is wrong.
func (s *Schema) faulted(sent any, said string) (paths [][]string) {
	if paths = s.named(sent, said); len(paths) > 0 {
		return paths
	}
	names := s.candidateNames(sent)
	for _, name := range names[:min(len(names), maxNamesCompared)] {
		if slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool { return rejects(line, name, lookup(sent, []string{name})) }) {
			paths = append(paths, []string{name})
		}
	}
	return paths
}

// rejects reports whether a line rejects an argument by its name or its value.
func rejects(line, name string, value any) bool {
	if !wrongWords().MatchString(line) {
		return false
	}
	words := segments(line)
	if own := segments(name); len(own) > 0 && strings.Contains(" "+strings.Join(words, " ")+" ", " "+strings.Join(own, " ")+" ") {
		return true
	}
	text, ok := scalarText(value)
	return ok && len(text) >= 3 && strings.Contains(line, text)
}

// wrongWords matches what a tool says about a value that it does not accept.
var wrongWords = lazily(`(?i)\b(?:too (?:long|short|large|small|big|many|few|high|low)|(?:must|should|has to|have to|cannot|can't) (?:not )?(?:be|start|begin|end|contain|match|have|exceed)|` +
	`exceeds?|invalid|malformed|missing|required|not (?:an? )?valid|not (?:allowed|supported|accepted)|unsupported|out of range|at (?:most|least)|(?:longer|shorter) than)\b`)

// Blames reports whether a server's text rejects an argument of a call, in its own words.
func (s *Schema) Blames(arguments []byte, said string) bool {
	doc, err := decode(string(arguments))
	if err != nil || len(said) > maxComplaintLen || otherCauses().MatchString(said) || !wrongWords().MatchString(said) {
		return false
	}
	return len(s.Ready().faulted(doc.value, said)) > 0
}

// isForbidden reports whether a value of the model's own must not even be shown: it is a secret or at
// the place of one, has characters that are not seen, or is a choice that grants or destroys
// something.
func (g *closedGate) isForbidden(t *target, nodes []*jsonschema.Schema) bool {
	if text, ok := scalarText(t.value); ok {
		if g.known == nil {
			g.known = g.schema.masker(g.sent)
		}
		if g.known.hides(t.path, text) || g.known.in(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unseen(r) }) {
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
	if len(s.path) != len(t.path) || s.empty || fitsAny(nodes, s.value) {
		return false
	}
	d := gather(nodes...)
	if _, isText := s.value.(string); isText && d.chosen {
		return true // the choices that can be meant are forms of what was sent
	}
	return slices.ContainsFunc(certainReadings(s.value, t, nodes), func(value any) bool { return fitsAny(nodes, value) })
}

// certainReadings returns what a value can be read as with certainty, as far as that differs from what
// the target has.
func certainReadings(value any, t *target, nodes []*jsonschema.Schema) (list []any) {
	switch v := value.(type) {
	case bool:
		list = []any{strconv.FormatBool(v)}
	case json.Number:
		list = []any{v.String()}
		if whole := spelledOut(v); exactNumber(v, whole) {
			list = append(list, whole)
		}
	case string:
		digits, _ := inDigits(v)
		for _, n := range numbersIn(digits) {
			if tier, ok := numberForms(v, n, t.path, nodes); ok && tier <= Told {
				list = append(list, n)
			}
		}
		for _, on := range []bool{true, false} {
			if _, ok := switchForms(v, on); ok {
				list = append(list, on)
			}
		}
		list = append(list, trimmedOf(v), strings.ToUpper(v), strings.ToLower(v))
		if day, ok := t.value.(string); ok && isOtherDay(v, day) {
			list = append(list, v, dates(v)[0].Format("2006-01-02"), dates(v)[0].Format("2006-01-02T15:04:05Z07:00"))
		}
	}
	return slices.DeleteFunc(list, func(reading any) bool { return exactly(reading, t.value) })
}

// numbersIn returns the numbers that a string may be read as.
func numbersIn(text string) (list []json.Number) {
	text = strings.TrimSpace(text)
	for _, form := range []string{text, strings.ReplaceAll(text, ",", "")} {
		if n, ok := number(form); ok {
			list = append(list, n)
		}
	}
	if n, ok := spelledNumber(text); ok {
		list = append(list, json.Number(strconv.Itoa(n)))
	}
	if n, ok := numberIn(text); ok {
		list = append(list, n)
	}
	return list
}

// isOtherDay reports whether two strings are different days.
func isOtherDay(a, b string) bool {
	x, y := dates(strings.TrimSpace(a)), dates(strings.TrimSpace(b))
	return len(x) == 1 && len(y) == 1 && x[0].Format("2006-01-02") != y[0].Format("2006-01-02")
}
