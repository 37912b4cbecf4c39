package repair

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// retype changes the form of a value of the wrong type.
func (e *editor) retype(v violation, at any, want []string) bool {
	wants := func(name string) bool { return slices.Contains(want, name) }
	switch at := at.(type) {
	case string:
		return e.retypeText(v, at, wants)
	case json.Number:
		if len(want) == 1 && wants("string") {
			return e.set(v.path, at, at.String(), RuleNumberToText, Silent)
		}
	case []any:
		if !wants("array") && e.openOne(v, at) {
			return true
		}
	case map[string]any:
		if e.open(v, at) {
			return true
		}
	}
	return wants("array") && at != nil && !isList(at) && e.fits(v.node, []any{at}) && e.set(v.path, at, []any{at}, RuleToList, Told)
}

// openOne extracts the only item of an array.
func (e *editor) openOne(v violation, at []any) bool {
	return len(at) == 1 && e.fits(v.node, at[0]) && e.set(v.path, at, at[0], RuleOneElement, Told)
}

// open extracts the value from an object that describes it, as {"type": "number", "value": 5} does,
// or that repeats the name of the field. An item of an array may describe several items.
func (e *editor) open(v violation, at map[string]any) bool {
	inner, ok := typedValue(at)
	if !ok {
		inner, ok = at[last(v.path)]
		ok = ok && len(at) == 1
	}
	if !ok {
		return false
	}
	if e.fits(v.node, inner) {
		return e.set(v.path, at, inner, RuleTyped, Told)
	}
	several, _ := inner.([]any)
	if len(v.path) == 0 || len(several) == 0 || slices.ContainsFunc(several, func(item any) bool { return !e.fits(v.node, item) }) {
		return false
	}
	parent, key := parentOf(v.path)
	list, ok := lookup(e.value, parent).([]any)
	i, err := strconv.Atoi(key)
	if d := gather(e.schema.nodesAt(parent)...); !ok || err != nil || d.isTuple() {
		return false
	}
	return e.set(parent, list, slices.Concat(list[:i], several, list[i+1:]), RuleTyped, Told)
}

func (e *editor) retypeText(v violation, at string, wants func(string) bool) bool {
	if (wants("integer") || wants("number")) && e.retypeNumber(v, at, wants("number")) {
		return true
	}
	if on := strings.ToLower(strings.TrimSpace(at)); wants("boolean") && (on == "true" || on == "false") {
		return e.set(v.path, at, on == "true", RuleBooleanText, Silent)
	}
	if wants("null") && isNothing(at) {
		return e.set(v.path, at, nil, RuleNullWord, Told)
	}
	if doc, ok := opened(at); ok && wants(typeName(doc.value)) {
		rule, tier := RuleJSONText, doc.tier(Silent)
		if len(doc.loose) > 1 || len(doc.loose) == 1 && doc.loose[0] != missingBrackets {
			rule, tier = RulePythonText, Told
		}
		learn(e.rank, doc)
		return e.set(v.path, at, doc.value, rule, tier)
	}
	if wants("array") && isOneItem(at) && e.fits(v.node, []any{at}) {
		return e.set(v.path, at, []any{at}, RuleToList, Told)
	}
	return wants("array") && e.split(v, at)
}

// retypeNumber reads text as the number that it spells. fraction means that it need not be whole.
func (e *editor) retypeNumber(v violation, at string, fraction bool) bool {
	n, isNumber := number(at)
	rule, ok := RuleNumberText, isNumber && !leadingZero(at)
	if !isNumber {
		path := slices.Concat(e.within, v.path)
		rule = RulePhrase
		n, ok = quantityAt(path, e.whole.nodesAt(path)).plainNumber(at)
	}
	if fits := fraction || isWhole(n); !ok || !fits || !isExact(n) {
		return false
	}
	if !fraction {
		n = spelledOut(n)
	}
	if rule == RulePhrase {
		e.exchange(at, n)
	}
	return e.set(v.path, at, n, rule, Silent)
}

// split reads comma-separated text as an array of numbers or of choices. In free text a comma may
// belong to a sentence.
func (e *editor) split(v violation, at string) bool {
	mayBeList := strings.Contains(at, ",") && len(at) <= maxChoiceLen && !hasThousands(at)
	if !mayBeList || e.options.Tier < Told {
		return false
	}
	d := gather(v.node)
	items := gather(d.inside("0")...)
	hasComma := func(choice any) bool { return strings.Contains(plain(choice), ",") }
	if !items.onlyNumbers() && !items.chosen || slices.ContainsFunc(items.choices, hasComma) {
		return false
	}
	mayBeOne := hasMixedCommas(at) || !items.onlyIntegers() && hasDecimalComma(at)
	if mayBeOne && !items.chosen {
		return false
	}
	var parts []any
	for part := range strings.SplitSeq(at, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	inner, ok := e.fitted(v.node, parts, v.path, Told)
	if !ok || slices.Contains(parts, "") {
		return false
	}
	e.exchange(at, parts)
	e.granted, e.released = append(e.granted, inner.granted...), append(e.released, inner.released...)
	return e.set(v.path, at, inner.value, RuleSplit, Told)
}

// isOneItem reports whether a string is a single item, not several and not an encoded array.
func isOneItem(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !looksLikeContainer(text) && !strings.ContainsAny(text, ",;|\n") && !isNothing(text)
}

// typedValue returns x of an object in the form of a schema: {"type": "number", "value": x}, the
// same with the items or choices of an array, or {"type": x} where x is not a type.
func typedValue(object map[string]any) (any, bool) {
	name, isText := object["type"].(string)
	typed := isText && typeNames[strings.ToLower(name)]
	value, has := object["value"]
	switch {
	case len(object) == 1 && has:
		return value, true
	case len(object) == 1:
		return name, isText && !typed
	case len(object) != 2 || !typed:
		return nil, false
	case has:
		return value, true
	}
	for _, key := range []string{"items", "enum"} {
		if list, ok := object[key].([]any); ok {
			return list, true
		}
	}
	return nil, false
}

// typeNames are names of types in schemas and in the languages that models write.
var typeNames = wordSet(`string str text char varchar number numeric integer int int32 int64 long float float32 float64 double decimal
	boolean bool array list tuple object dict map any date datetime date-time time timestamp`)

// choose finds the only choice that has the words of the value, or else differs from it only in
// separators or punctuation, or the number that a string spells.
func (e *editor) choose(v violation, at any, choices []any) bool {
	switch at := at.(type) {
	case string:
		return len(at) <= maxChoiceLen && e.chooseText(v, at, choices)
	case json.Number:
		return slices.Contains(choices, any(at.String())) && e.set(v.path, at, at.String(), RuleNumberToText, Silent)
	case map[string]any:
		return e.open(v, at)
	case []any:
		return e.openOne(v, at)
	}
	return false
}

// maxChoiceLen limits the strings that are compared with choices.
const maxChoiceLen = 1000

func (e *editor) chooseText(v violation, text string, choices []any) bool {
	tier, found := Silent, chosen(choices, func(choice any) bool {
		switch choice := choice.(type) {
		case string:
			return sameChoice(text, choice, choices)
		case json.Number:
			n, ok := number(text)
			return ok && sameNumber(n, choice)
		case bool:
			return strings.EqualFold(strings.TrimSpace(text), strconv.FormatBool(choice))
		}
		return false
	})
	if len(found) == 0 {
		oneCase := inOneCase(choices)
		tier, found = Told, chosen(choices, func(choice any) bool {
			name, ok := choice.(string)
			return ok && (oneCase && sameShortChoice(text, name) || punctuatedChoice(text, name))
		})
	}
	if len(found) != 1 || !e.set(v.path, text, found[0], RuleChoice, tier) {
		return false
	}
	if fold(text) != fold(plain(found[0])) {
		e.exchange(text, found[0])
	}
	return true
}

// chosen returns the choices that are meant.
func chosen(choices []any, isMeant func(any) bool) (list []any) {
	for _, choice := range choices {
		if isMeant(choice) {
			list = append(list, choice)
		}
	}
	return list
}

// branch edits a value against each branch of anyOf or oneOf, and uses the result with the fewest
// changes. If two results tie and differ, it uses none.
func (e *editor) branch(v violation, at any) bool {
	var best *editor
	several, ways := false, map[string]bool{}
	cost := func(e *editor) int { return int(tierOf(e.changes))<<16 + len(e.changes) }
	for _, node := range branchesOf(v) {
		by, ok := e.fitted(node, at, v.path, Told) // to find all readings
		if !ok || len(by.changes) == 0 {
			continue
		}
		text := string(encode(by.value, nil))
		switch {
		case best == nil || cost(by) < cost(best):
			best, several = by, false
		case cost(by) == cost(best) && text != string(encode(best.value, nil)):
			several = true
		}
		ways[text] = true
	}
	if best == nil || several || tierOf(best.changes) > e.options.Tier || len(ways) > 1 && best.changes[0].Rule == RuleNumberToText {
		return false
	}
	e.value = replaced(e.value, v.path, best.value)
	e.changes = append(e.changes, best.changes...)
	e.granted, e.released = append(e.granted, best.granted...), append(e.released, best.released...)
	return true
}

// tierOf returns the highest tier of changes.
func tierOf(changes []Change) (tier Tier) {
	for _, change := range changes {
		tier = max(tier, change.Tier)
	}
	return tier
}

// isEmpty reports whether a value is null or empty.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// saysNothing reports whether a value is null, blank or a word for null.
func saysNothing(value any) bool {
	text, ok := value.(string)
	return value == nil || ok && (isBlank(text) || isNothing(text))
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// isNothing reports whether a string is a word for null.
func isNothing(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "null", "none", "nil", "undefined", "n/a":
		return true
	}
	return false
}
