package repair

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
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
	if value, ok := arithmeticValue(text); ok {
		return Told, roundsTo(value, got)
	}
	n, tier, _ := numeral(text, path, nodes)
	return tier, tier > Off && exactNumber(n, got)
}

// numeral returns the number that a string says and the tier of reading it so, which is Off if it says
// none. certain means that it has a single reading.
func numeral(text string, path []string, nodes []*jsonschema.Schema) (n json.Number, tier Tier, certain bool) {
	trimmed := strings.TrimSpace(text)
	if n, ok := number(trimmed); ok { // the string is the number
		return n, tierIf(!leadingZero(trimmed), Silent, Off), true
	}
	if n, ok := quantityAt(path, nodes).plainNumber(trimmed); ok { // the words are the number
		return n, Told, true
	}
	if thousands.MatchString(trimmed) { // two or more groups, or a fraction after them, are not decimals
		n, _ := number(strings.ReplaceAll(trimmed, ",", ""))
		return n, tierIf(sureThousands.MatchString(trimmed), Told, Shown), true
	}
	if _, ok := arithmeticValue(trimmed); ok { // arithmetic has one result
		n, ok := evaluated(trimmed)
		return n, tierIf(ok, Told, Off), true
	}
	if n, ok := scaledNumber(text); ok { // a round number
		return n, Told, false
	}
	digits, _ := inDigits(text)
	n, ok := numberIn(digits)
	if !ok || strings.ContainsAny(digits, "<>~±") || slices.ContainsFunc(segments(digits), isNegation) {
		return "", Off, false
	}
	return n, tierIf(namesUnit(digits, path, nodes), Told, Shown), false
}

func tierIf(yes bool, a, b Tier) Tier {
	if yes {
		return a
	}
	return b
}

// namesUnit reports whether a string is a number and after it only the unit that the field has. What is
// before a number may be a sign, a limit or an estimate.
func namesUnit(digits string, path []string, nodes []*jsonschema.Schema) bool {
	about := wordsAbout(path, nodes)
	found := numberAndWords.FindStringSubmatch(digits)
	return found != nil && !slices.ContainsFunc(segments(found[1]), func(unit string) bool {
		return !about[singular(unit)] || isContrary(unit) || manyMeasures(about)
	})
}

var numberAndWords = regex.New(`^-?\d[\d,_]*(?:\.\d+)?([ \pL]*)[ .,]*$`)

func isNegation(word string) bool { return negations[word] }

// arithmeticValue returns the value of text that is clearly an arithmetic expression and not rounded.
func arithmeticValue(text string) (float64, bool) {
	if !isExpression(text) || longDigits.MatchString(text) || thousands.MatchString(strings.TrimSpace(text)) {
		return 0, false
	}
	return exactValue(text)
}

// isOtherReading reports whether a target is only one reading of a sent text as a number. It is
// certain enough to read, but not to write.
func (g *closedGate) isOtherReading(sent any, t *target) bool {
	text, ok := sent.(string)
	_, isNumber := t.value.(json.Number)
	if !ok || !isNumber {
		return false
	}
	_, _, certain := numeral(text, t.path, g.schema.nodesAt(t.path))
	return !certain
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

var (
	thousands = regex.New(`^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)
	// longDigits matches what a float64 may round.
	longDigits    = regex.New(`\d[\d.]{15}`)
	sureThousands = regex.New(`^-?\d{1,3}(?:(?:,\d{3}){2,}|,\d{3}\.\d+|,000)$`)
)

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
		if inside && strings.ContainsRune(" _-", r) {
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
	spelled := chosen(choices, func(choice any) bool { text, ok := choice.(string); return ok && isSpelling(sent, text, choices) })
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
	case only && sameNumbers(sent, got), len(meant) == 0 && isShortForm(sent, got, choices, about):
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
	return d.chosen && !isSpelling(text, got, d.choices)
}

// isSpelling reports whether a string is a choice in a different spelling.
func isSpelling(text, choice string, choices []any) bool {
	return sameChoice(text, choice, choices) || sameShortChoice(text, choice) && inOneCase(choices)
}

// sameDay reports whether two strings are the same date or time. A time of day or a zone that only
// one of them has may be a different time.
func sameDay(sent, got string) bool {
	x, y := dates(strings.TrimSpace(sent)), dates(got)
	hasClock := func(text string) bool { return strings.Contains(text, ":") }
	sameParts := hasZone(sent) == hasZone(got) && hasClock(sent) == hasClock(got)
	return sameParts && len(x) == 1 && len(y) == 1 && x[0].Equal(y[0])
}

func hasZone(text string) bool {
	_, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	return err == nil
}

// declares accepts a value that the schema declares for a required field: the only choice, or the
// default. One of several choices is the model's judgement, unless it grants or destroys something.
func (g *closedGate) declares(t *target) bool {
	if len(t.path) == 0 {
		return false
	}
	parent, key := parentOf(t.path)
	if at, sent := present(g.sent, t.path); sent && !isHollow(at) || !g.schema.needs(parent, key) {
		return false
	}
	if g.isDefault(t.path, t.value) {
		g.raise(g.fills(t))
		t.done = true
		return true
	}
	d := gather(g.schema.nodesAt(t.path)...)
	isChoice := slices.ContainsFunc(d.choices, func(choice any) bool { return exactly(choice, t.value) }) && !isEmpty(t.value)
	switch {
	case !isChoice || len(d.choices) > 1 && risk(t.value) > 0:
		return false
	case len(d.choices) == 1:
		g.raise(g.fills(t))
	default:
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
		g.doubts("only the caller knows which option is meant")
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
