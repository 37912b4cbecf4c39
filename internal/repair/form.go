package repair

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form returns the tier of a change of type or form between a sent and a proposed value. Each form
// says why it keeps the meaning; a change that is none of them is not one.
func (g *closedGate) form(s *source, t *target, nodes []*jsonschema.Schema) (Tier, bool) {
	if !s.pinned && fitsAny(nodes, s.value) {
		return 0, false // it fits as it is
	}
	d := gather(nodes...)
	switch sent := s.value.(type) {
	case json.Number:
		switch got := t.value.(type) {
		case json.Number: // 5.0 and 5 are one number
			return Silent, exactNumber(sent, got)
		case string: // the digits stay
			return Silent, got == sent.String() || got == spelledOut(sent).String()
		}
	case bool:
		got, ok := t.value.(string)
		return Silent, ok && strings.EqualFold(got, strconv.FormatBool(sent))
	case string:
		switch got := t.value.(type) {
		case json.Number:
			return numberForms(sent, got, t.path, nodes)
		case bool:
			return switchForms(sent, got)
		case string:
			return textForms(s, sent, got, &d, wordsAbout(t.path, nodes))
		}
	}
	return 0, false
}

// numberForms compares a string with a number. What is not certain is Told or Shown.
func numberForms(text string, got json.Number, path []string, nodes []*jsonschema.Schema) (Tier, bool) {
	if tier, same, read := certainNumber(text, got, quantityAt(path, nodes)); read {
		return tier, same
	}
	if n, ok := scaledNumber(text); ok { // a round number
		return Told, exactNumber(n, got)
	}
	digits, _ := inDigits(text)
	n, ok := numberIn(digits)
	if !ok || !exactNumber(n, got) || strings.ContainsAny(digits, "<>~±") || slices.ContainsFunc(segments(digits), isNegation) {
		return 0, false
	}
	if found := numberForm.FindStringIndex(digits); found[0] > 0 {
		return Shown, true // what is before a number may be a sign, a limit or an estimate
	}
	about := wordsAbout(path, nodes)
	for _, unit := range segments(strings.Map(withoutDigits, digits)) { // the field says the unit
		if !about[singular(unit)] || isContrary(unit) || manyMeasures(about) {
			return Shown, true
		}
	}
	if rest := strings.Trim(numberForm.ReplaceAllString(digits, ""), " .,"); !isLetters(rest) {
		return Shown, true // a currency or percent sign
	}
	return Told, true
}

func isNegation(word string) bool { return negations[word] }

// certainNumber compares a string with a number if the string has only one reading; read is false if
// it has more, or none.
func certainNumber(text string, got json.Number, q quantity) (tier Tier, same, read bool) {
	trimmed := strings.TrimSpace(text)
	if n, ok := number(trimmed); ok { // the string is the number
		return Silent, exactNumber(n, got) && !leadingZero(trimmed), true
	}
	if n, ok := q.plainNumber(trimmed); ok { // the words are the number
		return Told, exactNumber(n, got), true
	}
	if thousands.MatchString(trimmed) { // two or more groups, or a fraction after them, are not decimals
		n, ok := number(strings.ReplaceAll(trimmed, ",", ""))
		if tier = Told; !sureThousands.MatchString(trimmed) {
			tier = Shown
		}
		return tier, ok && exactNumber(n, got), true
	}
	if value, ok := evaluatedExactly(trimmed); ok { // arithmetic has one result
		return Told, roundsTo(value, got), true
	}
	return 0, false, false
}

// isOtherReading reports whether a target is only one reading of a sent text as a number. It is
// certain enough to read, but not to write.
func (g *closedGate) isOtherReading(sent any, t *target) bool {
	text, ok := sent.(string)
	got, isNumber := t.value.(json.Number)
	if !ok || !isNumber {
		return false
	}
	_, _, read := certainNumber(text, got, quantityAt(t.path, g.schema.nodesAt(t.path)))
	return !read
}

// manyMeasures reports whether a field's name and description mention more than one unit, so that
// they do not say which one the field has.
func manyMeasures(about map[string]bool) bool {
	units := map[string]bool{}
	for word := range about {
		if measures[word] {
			units[unitOf(word)] = true
		}
	}
	return len(units) > 1
}

var measures = wordSet(`millisecond ms second sec minute min hour hr day week month year bit byte kb mb gb tb kib mib gib
	millimeter mm centimeter cm meter metre m kilometer km inch foot feet yard mile gram g kilogram kg ounce pound lb
	celsius fahrenheit kelvin cent dollar euro percent`)

func isLetters(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' })
}

func withoutDigits(r rune) rune {
	if unicode.IsDigit(r) || r == '.' || r == ',' {
		return ' '
	}
	return r
}

var (
	thousands = regexp.MustCompile(`^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)
	// longDigits matches what a float64 may round.
	longDigits    = regexp.MustCompile(`\d[\d.]{15}`)
	sureThousands = regexp.MustCompile(`^-?\d{1,3}(?:(?:,\d{3}){2,}|,\d{3}\.\d+|,000)$`)
)

// evaluatedExactly returns the value of text that is clearly an arithmetic expression.
func evaluatedExactly(text string) (float64, bool) {
	plain := plainExpression(text)
	if !arithmetic.MatchString(plain) || notation.MatchString(plain) || len(plain) > 60 {
		return 0, false
	}
	c := calculator{text: plain}
	value, ok := c.sum(0)
	return value, ok && c.skip() == 0 && math.Abs(value) < 1<<53 && !longDigits.MatchString(plain)
}

// roundsTo reports whether a number is a value, rounded to four or more decimal places or exact.
func roundsTo(value float64, got json.Number) bool {
	_, fraction, _ := strings.Cut(got.String(), ".")
	if strings.ContainsAny(got.String(), "eE") {
		return false
	}
	if places := min(len(fraction), 15); places >= 4 {
		return strconv.FormatFloat(value, 'f', places, 64) == got.String()
	}
	n, err := got.Float64()
	return err == nil && n == value
}

// wordsAbout returns the words of the name and the description of a field.
func wordsAbout(path []string, nodes []*jsonschema.Schema) map[string]bool {
	found := map[string]bool{}
	texts := []string{last(path)}
	for _, node := range nodes {
		texts = append(texts, bounded(node.Description, 300))
	}
	for _, text := range texts {
		for _, word := range segments(text) {
			found[singular(word)] = true
		}
	}
	return found
}

// switchForms compares a string with a boolean. Other words may mean either.
func switchForms(text string, got bool) (Tier, bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return Silent, got
	case "false":
		return Silent, !got
	case "yes", "on":
		return Told, got
	case "no", "off":
		return Told, !got
	}
	return 0, false
}

// textForms compares two strings.
func textForms(s *source, sent, got string, d *demand, about map[string]bool) (Tier, bool) {
	if d.chosen {
		return choiceForms(sent, got, d.choices, about)
	}
	if sameDay(sent, got) { // one instant in two notations
		return Told, true
	}
	if s.pinned {
		return 0, false // a valid string stays as it is
	}
	switch {
	case trimmedOf(sent) == got && got != "": // blanks and quotes around a value are not a part of it
		return Told, true
	case respelling(sent) == respelling(got): // the schema accepts only this case or separator
		return Told, respelling(got) != ""
	case slices.ContainsFunc(formatPrefixes[d.format], func(prefix string) bool { return prefix+trimmedOf(sent) == got }):
		return Shown, true
	}
	return 0, false
}

func trimmedOf(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == text[len(text)-1] && strings.IndexByte("\"'`", text[0]) >= 0 {
		return text[1 : len(text)-1]
	}
	return text
}

// respelling returns a string in which the case of letters and the separators between them do not
// count. Everything else does: signs, digits, paths.
func respelling(text string) string {
	runes := []rune(strings.TrimSpace(text))
	var b strings.Builder
	for i, r := range runes {
		inside := i > 0 && i < len(runes)-1 && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1])
		if inside && (r == ' ' || r == '_' || r == '-') {
			continue
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// choiceForms compares a string with a choice of the schema. A different spelling of only one choice
// is that choice. So is a misspelling or a shorter form, certain enough to read (see isOtherChoice),
// unless it has other numbers, or grants or destroys something. Any other choice is the model's
// judgement.
func choiceForms(sent, got string, choices []any, about map[string]bool) (Tier, bool) {
	var spelled []any
	for _, choice := range choices {
		if text, ok := choice.(string); ok && (sameChoice(sent, text, choices) || sameShortChoice(sent, text) && inOneCase(choices)) {
			spelled = append(spelled, choice)
		}
	}
	switch {
	case slices.Contains(spelled, any(got)):
		return Silent, len(spelled) == 1
	case len(spelled) > 0 || turnsAround(sent, got) || !sameSigns(sent, got):
		return 0, false
	}
	meant := meantChoices(sent, choices)
	only := len(meant) == 1 && meant[0] == any(got)
	switch {
	case risk(got) > 0:
		return Shown, only
	case only && sameNumbers(sent, got) || len(meant) == 0 && isShortForm(sent, got, choices, about):
		return Told, true
	}
	return Shown, len(meant) == 0 || slices.Contains(meant, any(got))
}

// isOtherChoice reports whether a target is a choice of the schema that a sent value does not spell.
// However similar it is, a tool that writes must not get it.
func (g *closedGate) isOtherChoice(sent any, t *target) bool {
	text, ok := sent.(string)
	got, isText := t.value.(string)
	if !ok || !isText || text == got {
		return false
	}
	d := gather(g.schema.nodesAt(t.path)...)
	return d.chosen && !sameChoice(text, got, d.choices) && !(sameShortChoice(text, got) && inOneCase(d.choices))
}

// sameDay reports whether two strings are the same date or time. A time of day or a zone that only
// one of them has may be a different time.
func sameDay(sent, got string) bool {
	x, y := dates(strings.TrimSpace(sent)), dates(got)
	if len(x) != 1 || len(y) != 1 || hasZone(sent) != hasZone(got) {
		return false
	}
	if hasClock(sent) != hasClock(got) {
		return false
	}
	return x[0].Equal(y[0])
}

func hasZone(text string) bool {
	_, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	return err == nil
}

func hasClock(text string) bool { return strings.Contains(text, ":") }

// declares accepts a value that the schema declares for a required field: the only choice, or the
// default. One of several choices is the model's judgement, unless it grants or destroys something.
func (g *closedGate) declares(t *target) bool {
	if len(t.path) == 0 {
		return false
	}
	parent, key := t.path[:len(t.path)-1], t.path[len(t.path)-1]
	if _, sent := present(g.sent, t.path); sent && !isHollow(lookup(g.sent, t.path)) || !g.schema.needs(parent, key) {
		return false
	}
	if g.isDefault(t.path, t.value) {
		g.raise(g.fills(t))
		t.done = true
		return true
	}
	d := gather(g.schema.nodesAt(t.path)...)
	if !d.chosen || !slices.ContainsFunc(d.choices, func(choice any) bool { return exactly(choice, t.value) }) || isEmpty(t.value) {
		return false
	}
	if len(d.choices) == 1 {
		g.raise(g.fills(t))
	} else if risk(t.value) > 0 {
		return false
	} else {
		g.adopt(t.path, t.value, true)
	}
	t.done = true
	return true
}

// judged records a choice that the caller did not spell: it is the model's own, and in doubt if it has
// other numbers than what was sent, or if that is a list of choices.
func (g *closedGate) judged(s *source, t *target) {
	g.adopt(t.path, t.value, true)
	if !sameNumbers(plain(s.value), plain(t.value)) || len(s.path) != len(t.path) {
		g.doubts("only the caller can tell which choice is meant")
	}
}

// fills returns the tier of a value of the schema for a field that the caller left out. Consent, and
// what grants or destroys something, must come from the caller, and so must the opposite of a word
// for nothing.
func (g *closedGate) fills(t *target) Tier {
	if text, ok := lookup(g.sent, t.path).(string); ok && isNothing(text) || risk(t.value) > 0 {
		return Shown
	}
	return Told
}

func fitsAny(nodes []*jsonschema.Schema, value any) bool {
	return slices.ContainsFunc(nodes, func(node *jsonschema.Schema) bool { return node.Validate(value) == nil })
}

// exactly reports whether two values are equal, numbers without rounding.
func exactly(a, b any) bool {
	x, okX := a.(json.Number)
	y, okY := b.(json.Number)
	if okX && okY {
		return exactNumber(x, y)
	}
	return same(a, b)
}

func exactNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Rat).SetString(a.String())
	y, okY := new(big.Rat).SetString(b.String())
	return okX && okY && x.Cmp(y) == 0
}
