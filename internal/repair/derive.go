package repair

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// derived are readings of what was received that may be what was meant. None
// of them is ever applied: they are offered, in the order of their likeliness.
func derived(received any, d *demand) []any {
	switch v := received.(type) {
	case string:
		return derivedFromText(v, d)
	case json.Number:
		return derivedFromNumber(v, d)
	case bool:
		if d.takes("string") {
			return []any{strconv.FormatBool(v)}
		}
	case []any:
		if len(v) == 1 {
			return v
		}
	}
	if d.takes("array") && received != nil && !isList(received) {
		return []any{[]any{received}}
	}
	return nil
}

func derivedFromText(text string, d *demand) (list []any) {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > maxSpelled {
		return d.cut(trimmed)
	}
	if d.takes("number") || d.takes("integer") {
		if n, ok := numberIn(trimmed); ok {
			list = append(append(list, n), derivedFromNumber(n, d)...)
		}
	}
	if d.takes("boolean") {
		switch strings.ToLower(trimmed) {
		case "yes", "y", "on", "1":
			list = append(list, true)
		case "no", "n", "off", "0":
			list = append(list, false)
		}
	}
	if d.takes("array") && trimmed != "" {
		list = append(list, splitItems(trimmed), []any{text})
	}
	if d.takes("string") {
		list = append(list, derivedTexts(text, trimmed, d)...)
	}
	return list
}

func derivedTexts(text, trimmed string, d *demand) (list []any) {
	for _, when := range dates(trimmed) {
		list = append(list, when.Format(time.DateOnly), when.Format(time.RFC3339))
	}
	if trimmed == "" {
		return list
	}
	forms := []string{trimmed, strings.ToLower(trimmed), strings.ToUpper(trimmed),
		strings.Join(strings.Fields(trimmed), "_"), strings.Join(strings.Fields(strings.ToLower(trimmed)), "-"),
		strings.ToLower(strings.Join(segments(trimmed), "_"))}
	for _, prefix := range formatPrefixes[d.format] {
		forms = append(forms, prefix+trimmed)
	}
	for _, form := range forms {
		list = append(list, form)
	}
	return append(list, d.cut(trimmed)...)
}

// cut shortens a text to the length allowed.
func (d *demand) cut(text string) []any {
	if d.length.most < 0 || d.length.most > maxSpelled || !d.takes("string") {
		return nil
	}
	for i := range text {
		if utf8.RuneCountInString(text[:i]) == d.length.most {
			return []any{strings.TrimSpace(text[:i])}
		}
	}
	return nil
}

var formatPrefixes = map[string][]string{"uri": {"https://"}, "url": {"https://"}}

// splitItems takes a text for a list with commas.
func splitItems(text string) []any {
	var items []any
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

var (
	numberForm  = regexp.MustCompile(`-?\d[\d,_]*(?:\.\d+)?`)
	numberWords = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")
)

// numberIn is the only number in a text: "7 days", "1,000", "five".
func numberIn(text string) (json.Number, bool) {
	for i, word := range numberWords {
		if strings.EqualFold(text, word) {
			return json.Number(strconv.Itoa(i)), true
		}
	}
	if len(text) > 60 {
		return "", false
	}
	found := numberForm.FindAllString(text, 2)
	if len(found) != 1 {
		return "", false
	}
	return number(strings.NewReplacer(",", "", "_", "").Replace(found[0]))
}

// derivedFromNumber are the numbers nearest to one that the schema takes.
func derivedFromNumber(n json.Number, d *demand) (list []any) {
	value, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	if d.takes("number") || d.takes("integer") {
		if near, ok := d.nearNumber(value); ok {
			list = append(list, near)
		}
	}
	if d.takes("string") {
		list = append(list, n.String())
	}
	if d.takes("boolean") && (n == "0" || n == "1") {
		list = append(list, n == "1")
	}
	if d.takes("array") {
		list = append(list, []any{n})
	}
	return list
}

// nearNumber moves a number to the nearest one that is in range and a
// multiple; whether it is both is for the validator to say.
func (d *demand) nearNumber(value *big.Rat) (json.Number, bool) {
	step := d.step()
	if d.least != nil && value.Cmp(d.least) < 0 {
		value = d.least
	}
	if d.most != nil && value.Cmp(d.most) > 0 {
		value = d.most
	}
	if step != nil {
		value = roundTo(value, step)
	}
	grain := step
	if grain == nil {
		grain = d.grain()
	}
	if d.least != nil && (value.Cmp(d.least) < 0 || d.leastIsOut && value.Cmp(d.least) == 0) {
		value = new(big.Rat).Add(value, grain)
	}
	if d.most != nil && (value.Cmp(d.most) > 0 || d.mostIsOut && value.Cmp(d.most) == 0) {
		value = new(big.Rat).Sub(value, grain)
	}
	return jsonNumber(value)
}

// step is what a number must be a multiple of; nil if of nothing.
func (d *demand) step() *big.Rat {
	var step *big.Rat
	if d.types != nil && !d.onlyIntegers() && len(d.steps) == 0 {
		return nil
	}
	if d.onlyIntegers() {
		step = big.NewRat(1, 1)
	}
	for _, other := range d.steps {
		if step = commonMultiple(step, other); step == nil {
			return other
		}
	}
	return step
}

func (d *demand) onlyIntegers() bool {
	for _, name := range d.types {
		if name == "number" {
			return false
		}
	}
	return len(d.types) > 0
}

// commonMultiple is the least number that both divide: lcm(a/b, c/d) is
// lcm(a, c) / gcd(b, d) for fractions in lowest terms.
func commonMultiple(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	if a.Num().BitLen()+b.Num().BitLen()+a.Denom().BitLen()+b.Denom().BitLen() > 4_000 {
		return nil
	}
	top := new(big.Int).Mul(a.Num(), b.Num())
	top.Div(top, new(big.Int).GCD(nil, nil, a.Num(), b.Num()))
	return new(big.Rat).SetFrac(top, new(big.Int).GCD(nil, nil, a.Denom(), b.Denom()))
}

// grain is a distance from a bound that stays inside of the range.
func (d *demand) grain() *big.Rat {
	grain := big.NewRat(1, 1)
	if d.least == nil || d.most == nil {
		return grain
	}
	width := new(big.Rat).Sub(d.most, d.least)
	for range 40 {
		if grain.Cmp(width) < 0 {
			break
		}
		grain = new(big.Rat).Quo(grain, big.NewRat(2, 1))
	}
	return grain
}

func roundTo(value, step *big.Rat) *big.Rat {
	half := new(big.Rat).Add(new(big.Rat).Quo(value, step), big.NewRat(1, 2))
	whole := new(big.Int).Div(half.Num(), half.Denom()) // Euclidean, so down: the denominator is positive
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

// jsonNumber writes a number every reader holds; larger ones are not offered.
func jsonNumber(r *big.Rat) (json.Number, bool) {
	text := ratText(r)
	f, _ := r.Float64()
	return json.Number(text), isNumber(text) && math.Abs(f) < 1<<53
}

// dates reads a text as a day, in the ways people write one and mean one.
func dates(text string) (found []time.Time) {
	if len(text) > 40 {
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly,
		"2006/01/02", "2006.01.02", "20060102", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "02.01.2006"} {
		if when, err := time.Parse(layout, text); err == nil {
			found = append(found, when)
		}
	}
	return found
}
