package repair

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The rules, as they are named in receipts.
const (
	RuleReadText     = "read as JSON"
	RuleNoArguments  = "missing arguments to {}"
	RuleEncodedTwice = "decoded from a JSON string"
	RuleWrapped      = "unwrapped"
	RuleNumberText   = "string to number"
	RulePhrase       = "phrase to number"
	RuleBooleanText  = "string to boolean"
	RuleJSONText     = "JSON string to the value in it"
	RulePythonText   = "Python literal to JSON"
	RuleNumberToText = "number to string"
	RuleNull         = "null for an optional field"
	RuleEmpty        = "empty optional field"
	RuleNullWord     = "word for null"
	RuleChoice       = "spelling of a choice"
	RuleKey          = "spelling of a key"
	RuleRenamed      = "renamed key"
	RuleToList       = "single value to an array"
	RuleOneElement   = "array of one to its element"
	RuleSplit        = "comma-separated string to an array"
	RuleTyped        = "value unwrapped from {type, value}"
	RuleDefault      = "default of a required field"

	RuleRejectedDefault = "default that the schema rejects"
	RuleModel           = "corrected by a model"
	RuleOwn             = "proposed by a model, not in the call"
)

// omit removes an optional field that is null, empty or a word for null, where that is not allowed.
func (m *mender) omit(v violation, at any) bool {
	rule, tier := "", Told
	switch at := at.(type) {
	case nil:
		rule, tier = RuleNull, Silent
	case string:
		switch {
		case strings.TrimSpace(at) == "":
			rule = RuleEmpty
		case isNothing(at):
			rule = RuleNullWord
		}
	}
	if rule == "" {
		return false
	}
	if m.leaveOut(v, at, rule, tier) {
		return true
	}
	return rule == RuleNullWord && m.acceptsNull(v) && m.set(v.path, at, nil, rule, tier)
}

// omitDefault removes an optional field that has its declared default, where the schema rejects
// that default.
func (m *mender) omitDefault(v violation, at any) bool {
	if len(v.path) == 0 {
		return false
	}
	property := m.schema.properties(v.path[:len(v.path)-1])[v.path[len(v.path)-1]]
	if property == nil || property.Default == nil || !same(at, *property.Default) || !m.leaveOut(v, at, RuleRejectedDefault, Told) {
		return false
	}
	m.released = append(m.released, at)
	return true
}

// leaveOut removes the field of a violation if it is optional.
func (m *mender) leaveOut(v violation, at any, rule string, tier Tier) bool {
	if tier > m.options.Tier || len(v.path) == 0 {
		return false
	}
	parent, ok := lookup(m.value, v.path[:len(v.path)-1]).(map[string]any)
	if !ok {
		return false
	}
	key := v.path[len(v.path)-1]
	if _, there := parent[key]; !there || m.schema.properties(v.path[:len(v.path)-1])[key] == nil {
		return false // in a map the key is data
	}
	if len(parent) == 1 && len(m.within)+len(v.path) > 1 {
		return false // an empty filter matches everything
	}
	delete(parent, key)
	if m.schema.mayRequire(v.path[:len(v.path)-1], key) && m.requires(v.path[:len(v.path)-1], key) {
		parent[key] = at
		return false
	}
	m.receipt(v.path, at, absent{}, rule, tier)
	return true
}

func isNothing(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "null", "none", "nil", "undefined", "n/a":
		return true
	}
	return false
}

// acceptsNull reports whether null is allowed at the place of a violation.
func (m *mender) acceptsNull(v violation) bool { return v.node.Validate(nil) == nil }

// mayRequire reports whether any schema of the object at a path may require a key.
func (s *Schema) mayRequire(path []string, key string) bool {
	return slices.ContainsFunc(s.nodesAt(path), func(node *jsonschema.Schema) bool {
		return slices.Contains(node.Required, key) || node.MinProperties != nil || node.If != nil || len(node.Dependencies) > 0 ||
			len(node.DependentRequired) > 0 || len(node.DependentSchemas) > 0 || node.Not != nil
	})
}

// requires reports whether the validator requires a key of the object at a path.
func (m *mender) requires(path []string, key string) bool {
	return slices.ContainsFunc(withBranches(m.schema.violations(m.schema.root, m.value)), func(v violation) bool {
		keys, _ := missingKeys(v)
		_, tooFew := v.kind.(*kind.MinProperties)
		return slices.Equal(v.path, path) && (tooFew || slices.Contains(keys, key))
	})
}

// withBranches adds the violations inside branches.
func withBranches(list []violation) []violation {
	all := slices.Clone(list)
	for _, v := range list {
		for _, branch := range v.branches {
			all = append(all, withBranches(branch)...)
		}
	}
	return all
}

// convert changes the form of a value of the wrong type.
func (m *mender) convert(v violation, at any, want []string) bool {
	wants := func(name string) bool { return slices.Contains(want, name) }
	switch at := at.(type) {
	case string:
		return m.convertText(v, at, wants)
	case json.Number:
		if len(want) == 1 && wants("string") {
			return m.set(v.path, at, at.String(), RuleNumberToText, Silent)
		}
	case []any:
		if len(at) == 1 && !wants("array") && m.fits(v.node, at[0]) {
			return m.set(v.path, at, at[0], RuleOneElement, Told)
		}
	case map[string]any:
		if m.open(v, at) {
			return true
		}
	}
	if wants("array") && at != nil && !isList(at) {
		if m.fits(v.node, []any{at}) {
			return m.set(v.path, at, []any{at}, RuleToList, Told)
		}
	}
	return false
}

// open extracts the value from an object that describes it, as {"type": "number", "value": 5} does,
// or that repeats the name of the field. An item of an array may describe several items.
func (m *mender) open(v violation, at map[string]any) bool {
	inner, ok := typedValue(at)
	if !ok {
		inner, ok = at[last(v.path)]
		ok = ok && len(at) == 1
	}
	if !ok {
		return false
	}
	if m.fits(v.node, inner) {
		return m.set(v.path, at, inner, RuleTyped, Told)
	}
	several, _ := inner.([]any)
	if len(several) == 0 || slices.ContainsFunc(several, func(item any) bool { return !m.fits(v.node, item) }) {
		return false
	}
	parent := v.path[:len(v.path)-1]
	list, ok := lookup(m.value, parent).([]any)
	i, err := strconv.Atoi(v.path[len(v.path)-1])
	if d := gather(m.schema.nodesAt(parent)...); !ok || err != nil || d.isTuple() {
		return false
	}
	return m.set(parent, list, slices.Concat(list[:i], several, list[i+1:]), RuleTyped, Told)
}

func isList(value any) bool { _, ok := value.([]any); return ok }

func (m *mender) convertText(v violation, at string, wants func(string) bool) bool {
	if (wants("integer") || wants("number")) && m.convertNumber(v, at, wants("number")) {
		return true
	}
	if wants("boolean") {
		switch strings.ToLower(strings.TrimSpace(at)) {
		case "true":
			return m.set(v.path, at, true, RuleBooleanText, Silent)
		case "false":
			return m.set(v.path, at, false, RuleBooleanText, Silent)
		}
	}
	if wants("null") && isNothing(at) {
		return m.set(v.path, at, nil, RuleNullWord, Told)
	}
	if doc, ok := opened(at); ok && (wants("object") && isObject(doc.value) || wants("array") && isList(doc.value)) {
		rule, tier := RuleJSONText, doc.tier(Silent)
		if len(doc.loose) > 1 || len(doc.loose) == 1 && doc.loose[0] != missingBrackets {
			rule, tier = RulePythonText, Told
		}
		m.learn(doc)
		return m.set(v.path, at, doc.value, rule, tier)
	}
	if wants("array") && isOneItem(at) && m.fits(v.node, []any{at}) {
		return m.set(v.path, at, []any{at}, RuleToList, Told)
	}
	return wants("array") && m.split(v, at)
}

// convertNumber reads text as the number that it spells. fraction means that it need not be whole.
func (m *mender) convertNumber(v violation, at string, fraction bool) bool {
	n, isNumber := number(at)
	rule, ok := RuleNumberText, isNumber && !leadingZero(at)
	if !isNumber {
		rule = RulePhrase
		n, ok = m.quantity(v).plainNumber(at)
	}
	if !ok || !isExact(n) || !fraction && !isWhole(n) {
		return false
	}
	if !fraction {
		n = spelledOut(n)
	}
	if rule == RulePhrase {
		m.exchange(at, n)
	}
	return m.set(v.path, at, n, rule, Silent)
}

// quantity returns what the tool says about the number at the place of a violation.
func (m *mender) quantity(v violation) quantity {
	path := slices.Concat(m.within, v.path)
	return quantityAt(path, m.whole.nodesAt(path))
}

// split reads comma-separated text as an array of numbers or of choices. In free text a comma may
// belong to a sentence.
func (m *mender) split(v violation, at string) bool {
	if m.options.Tier < Told || !strings.Contains(at, ",") || len(at) > maxChoiceLen || hasThousands(at) {
		return false
	}
	d := gather(v.node)
	items := gather(d.inside("0")...)
	if !items.onlyNumbers() && !items.chosen || slices.ContainsFunc(items.choices, hasComma) {
		return false
	}
	if !items.chosen && (hasMixedCommas(at) || !items.onlyIntegers() && hasDecimalComma(at)) {
		return false
	}
	var parts []any
	for part := range strings.SplitSeq(at, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	list, inner, ok := m.fitted(v.node, parts, v.path, Told)
	if !ok || slices.Contains(parts, "") {
		return false
	}
	m.released = append(m.released, inner.released...)
	m.exchange(at, parts)
	m.granted = append(m.granted, inner.granted...)
	return m.set(v.path, at, list, RuleSplit, Told)
}

// exchange tells the last check that a scalar became others with the same content.
func (m *mender) exchange(before, after any) {
	m.released, m.granted = append(m.released, before), append(m.granted, after)
}

func hasComma(choice any) bool {
	text, ok := choice.(string)
	return ok && strings.Contains(text, ",")
}

// hasThousands reports whether the commas of a string may separate the thousands of one number.
func hasThousands(text string) bool {
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(text), "-"), ",")
	for i, part := range parts {
		whole, _, _ := strings.Cut(part, ".")
		if n := digits(whole); n != len(whole) || n == 0 || n > 3 || i > 0 && n != 3 {
			return false
		}
	}
	return true
}

// hasMixedCommas reports whether only some commas of a string are followed by a space, so that the
// others may be part of a number: "1,234, 5,678".
func hasMixedCommas(text string) bool {
	spaced := strings.Count(text, ", ")
	return spaced > 0 && spaced < strings.Count(text, ",")
}

// hasDecimalComma reports whether a string may be one number with a decimal comma: "0,75" and
// "1.234,56".
func hasDecimalComma(text string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "-"), ",")
	isWhole := digits(whole) == len(whole) || hasThousands(strings.ReplaceAll(whole, ".", ","))
	return isWhole && fraction != "" && digits(fraction) == len(fraction)
}

// onlyNumbers reports whether a value must be a number.
func (d *demand) onlyNumbers() bool {
	kinds := d.kinds()
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(name string) bool { return name != "number" && name != "integer" })
}

// isOneItem reports whether a string is a single item, not several and not an encoded array.
func isOneItem(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !looksLikeContainer(text) && !strings.ContainsAny(text, ",;|\n") && !isNothing(text)
}

func leadingZero(text string) bool {
	text = strings.TrimPrefix(strings.TrimSpace(text), "-")
	return len(text) > 1 && text[0] == '0' && text[1] != '.' && text[1] != 'e' && text[1] != 'E'
}

// isWhole reports whether a number is an integer that every JSON parser can represent.
func isWhole(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}

// spelledOut writes an integer without fraction and exponent.
func spelledOut(n json.Number) json.Number {
	f, _ := n.Float64()
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// isExact reports whether every JSON parser reads the same number.
func isExact(n json.Number) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	return len(strings.Trim(strings.Replace(strings.TrimPrefix(mantissa, "-"), ".", "", 1), "0")) <= 15
}

// typedValue returns x of an object in the form of a schema: {"type": "number", "value": x}, the
// same with the items or choices of an array, or {"type": x} where x is not a type.
func typedValue(object map[string]any) (any, bool) {
	name, typed := object["type"].(string)
	typed = typed && typeNames[strings.ToLower(name)]
	switch {
	case len(object) == 1:
		if value, has := object["value"]; has {
			return value, true
		}
		value, has := object["type"].(string)
		return value, has && !typed
	case len(object) != 2 || !typed:
		return nil, false
	}
	if value, has := object["value"]; has {
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

// fits reports whether a value fits a schema, possibly after repair.
func (m *mender) fits(node *jsonschema.Schema, value any) bool {
	_, _, ok := m.fitted(node, value, nil, m.options.Tier)
	return ok
}

// fitted repairs a copy of a value against one schema.
func (m *mender) fitted(node *jsonschema.Schema, value any, path []string, tier Tier) (any, *mender, bool) {
	if m.depth >= 4 {
		return nil, nil, false
	}
	m.schema.meter.pay(stepsPerRepair)
	inner := &mender{schema: m.schema.only(node), whole: m.whole, options: Options{Tool: m.options.Tool, Tier: tier}, rank: m.rank, value: clone(value),
		within: append(slices.Clone(m.within), path...), depth: m.depth + 1}
	ok := inner.mend(m.schema.violations(node, inner.value))
	return inner.value, inner, ok
}

// only returns the schema with a different root, within the same session.
func (s *Schema) only(node *jsonschema.Schema) *Schema {
	return &Schema{root: node, nodes: s.nodes, meter: s.meter}
}

// branch repairs a value against each branch of anyOf or oneOf, and uses the result with the fewest
// changes. If two results tie and differ, it uses none.
func (m *mender) branch(v violation, at any) bool {
	branches := v.node.AnyOf
	if _, one := v.kind.(*kind.OneOf); one {
		branches = v.node.OneOf
	}
	type way struct {
		value   any
		text    string
		by      *mender
		tier    Tier
		changes int
	}
	var best *way
	several := false
	ways := map[string]bool{}
	for _, node := range branches {
		value, by, ok := m.fitted(node, at, v.path, Told) // to find all readings
		if !ok || len(by.changes) == 0 {
			continue
		}
		found := &way{value: value, text: string(encode(value, nil)), by: by, changes: len(by.changes)}
		for _, change := range by.changes {
			found.tier = max(found.tier, change.Tier)
		}
		ways[found.text] = true
		switch {
		case best == nil || found.tier < best.tier || found.tier == best.tier && found.changes < best.changes:
			best, several = found, false
		case best.text != found.text && found.tier == best.tier && found.changes == best.changes:
			several = true
		}
	}
	if best == nil || several || best.tier > m.options.Tier || len(ways) > 1 && best.by.changes[0].Rule == RuleNumberToText {
		return false
	}
	m.value = replaced(m.value, v.path, best.value)
	m.changes = append(m.changes, best.by.changes...)
	m.granted = append(m.granted, best.by.granted...)
	m.released = append(m.released, best.by.released...)
	return true
}

// choose finds the only choice that has the words of the value, or else differs from it only in
// separators or punctuation, or the number that a string spells.
func (m *mender) choose(v violation, at any, choices []any) bool {
	text, ok := at.(string)
	if len(text) > maxChoiceLen {
		return false
	}
	if !ok {
		if n, ok := at.(json.Number); ok {
			return m.chooseNumber(v, n, choices)
		}
		return m.convertChoice(v, at, choices)
	}
	var found []any
	tier := Silent
	for _, choice := range choices {
		switch choice := choice.(type) {
		case string:
			if sameChoice(text, choice, choices) {
				found = append(found, choice)
			}
		case json.Number:
			if n, ok := number(text); ok && sameNumber(n, choice) {
				found = append(found, choice)
			}
		case bool:
			if strings.EqualFold(strings.TrimSpace(text), strconv.FormatBool(choice)) {
				found = append(found, choice)
			}
		}
	}
	if len(found) == 0 {
		tier = Told
		oneCase := inOneCase(choices)
		for _, choice := range choices {
			if name, ok := choice.(string); ok && (oneCase && sameShortChoice(text, name) || punctuatedChoice(text, name)) {
				found = append(found, name)
			}
		}
	}
	if len(found) != 1 || !m.set(v.path, at, found[0], RuleChoice, tier) {
		return false
	}
	if fold(text) != fold(plain(found[0])) {
		m.exchange(text, found[0])
	}
	return true
}

// maxChoiceLen limits the strings that are compared with choices.
const maxChoiceLen = 1000

// chooseNumber finds a number among choices that are strings.
func (m *mender) chooseNumber(v violation, n json.Number, choices []any) bool {
	for _, choice := range choices {
		if text, ok := choice.(string); ok && text == n.String() {
			return m.set(v.path, n, text, RuleNumberToText, Silent)
		}
	}
	return false
}

// convertChoice extracts a choice from an array of one, or from an object that describes it.
func (m *mender) convertChoice(v violation, at any, choices []any) bool {
	if object, ok := at.(map[string]any); ok {
		return m.open(v, object)
	}
	list, ok := at.([]any)
	if ok && len(list) == 1 && m.fits(v.node, list[0]) {
		return m.set(v.path, at, list[0], RuleOneElement, Told)
	}
	return false
}

func sameNumber(a, b json.Number) bool {
	x, errX := a.Float64()
	y, errY := b.Float64()
	return a == b || errX == nil && errY == nil && x == y
}

// missing finds a required key in a different spelling, or uses its default.
func (m *mender) missing(v violation, at any, keys []string) bool {
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	renamed := false
	for _, key := range keys {
		renamed = m.rename(v.path, object, key) || renamed
	}
	if renamed || m.options.Tier < Told {
		return renamed
	}
	if len(keys) == 1 && m.renameOnly(v, object, keys[0]) {
		return true
	}
	declared := m.schema.properties(v.path)
	for key, value := range object {
		if declared[key] == nil && !isEmpty(value) {
			return false // it may be the missing value under a different name
		}
	}
	for _, key := range keys {
		if property := declared[key]; property != nil && property.Default != nil {
			if value := *property.Default; value != nil && property.Validate(value) == nil {
				m.granted = append(m.granted, value)
				return m.set(append(slices.Clone(v.path), key), absent{}, clone(value), RuleDefault, Told)
			}
		}
	}
	return false
}

// rename moves the value of a differently spelled key to the declared key. Only one undeclared key
// may match it, and no other declared key.
func (m *mender) rename(path []string, object map[string]any, key string) bool {
	declared := m.schema.properties(path)
	if _, there := object[key]; there || declared[key] == nil {
		return false
	}
	for name := range declared {
		if name != key && foldKey(name) == foldKey(key) {
			return false
		}
	}
	var found []string
	for name := range object {
		if declared[name] == nil && foldKey(name) == foldKey(key) {
			found = append(found, name)
		}
	}
	if len(found) != 1 || m.options.Tier < Silent {
		return false
	}
	m.moveKey(path, object, found[0], key, RuleKey, Silent)
	return true
}

// moveKey gives a value a different key.
func (m *mender) moveKey(path []string, object map[string]any, from, to, rule string, tier Tier) {
	value := object[from]
	delete(object, from)
	object[to] = value
	if i, ok := m.rank[from]; ok {
		if _, known := m.rank[to]; !known {
			m.rank[to] = i
		}
	}
	m.receipt(append(slices.Clone(path), to), map[string]any{from: value}, map[string]any{to: value}, rule, tier)
}

// unknown handles keys that the object may not have.
func (m *mender) unknown(v violation, at any, keys []string) bool {
	object, ok := at.(map[string]any)
	if !ok {
		return false
	}
	changed := false
	for _, key := range keys {
		changed = m.respell(v.path, object, key) || changed
	}
	for _, key := range keys {
		value, there := object[key]
		if there && isEmpty(value) && m.options.Tier >= Told && (len(object) > 1 || len(m.within)+len(v.path) == 0) {
			delete(object, key)
			m.receipt(append(slices.Clone(v.path), key), value, absent{}, RuleEmpty, Told)
			changed = true
		}
	}
	return changed
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

// refusedKey handles a key that unevaluatedProperties rejects.
func (m *mender) refusedKey(v violation) bool {
	if len(v.path) == 0 {
		return false
	}
	parent, key := v.path[:len(v.path)-1], v.path[len(v.path)-1]
	if _, ok := lookup(m.value, parent).(map[string]any); !ok {
		return false
	}
	return m.unknown(violation{path: parent, node: v.node}, lookup(m.value, parent), []string{key})
}

func (m *mender) respell(path []string, object map[string]any, key string) bool {
	for name := range m.schema.properties(path) {
		if foldKey(name) == foldKey(key) && m.rename(path, object, name) {
			return true
		}
	}
	return false
}
