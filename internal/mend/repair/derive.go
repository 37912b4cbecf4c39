package repair

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// derived returns values that the caller may have meant, the likeliest first. They are only
// offered, never applied.
func derived(received any, d *demand) []any {
	switch v := received.(type) {
	case string:
		return derivedFromText(v, d)
	case json.Number:
		return derivedFromNumber(v, d)
	case bool:
		if d.accepts("string") {
			return []any{strconv.FormatBool(v)}
		}
	case nil, []any:
		return nil // see readings
	}
	if d.accepts("array") {
		return []any{[]any{received}}
	}
	return nil
}

func derivedFromText(text string, d *demand) (list []any) {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > maxSpelled {
		return d.cut(trimmed)
	}
	if n, ok := numberIn(trimmed); ok && (d.accepts("number") || d.accepts("integer")) {
		list = append(append(list, n), derivedFromNumber(n, d)...)
	}
	if d.accepts("boolean") {
		switch strings.ToLower(trimmed) {
		case "yes", "y", "on", "1":
			list = append(list, true)
		case "no", "n", "off", "0":
			list = append(list, false)
		}
	}
	if d.accepts("array") && trimmed != "" {
		list = append(list, d.splitItems(trimmed), []any{text})
	}
	if !d.accepts("string") || trimmed == "" {
		return list
	}
	for _, when := range dates(trimmed) {
		list = append(list, when.Format(time.DateOnly), when.Format(time.RFC3339))
	}
	list = append(list, trimmed, strings.ToLower(trimmed), strings.ToUpper(trimmed), strings.Join(strings.Fields(trimmed), "_"),
		strings.Join(strings.Fields(strings.ToLower(trimmed)), "-"), strings.Join(segments(trimmed), "_"))
	for _, prefix := range formatPrefixes[d.format] {
		list = append(list, prefix+trimmed)
	}
	return append(list, d.cut(trimmed)...)
}

// cut shortens a string to the allowed length.
func (d *demand) cut(text string) []any {
	if d.length.most < 0 || d.length.most > maxSpelled || !d.accepts("string") {
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

// splitItems splits a string at its commas, into numbers where only numbers are allowed.
func (d *demand) splitItems(text string) []any {
	each := gather(d.inside("0")...)
	var items []any
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if n, ok := number(item); ok && each.onlyNumbers() {
			items = append(items, n)
		} else if item != "" {
			items = append(items, item)
		}
	}
	return items
}

// readings returns what a caller may have meant by a value of the wrong form: the value itself, the
// items of an array, the values of an object, the parts of a comma-separated string.
func readings(name string, received any) []any {
	list := []any{received}
	switch v := received.(type) {
	case []any:
		list = append(list, v[:min(len(v), maxReadings)]...)
	case map[string]any:
		if value, ok := typedValue(v); ok {
			list = append(list, value)
		}
		if value, ok := v[name]; ok {
			list = append(list, value)
		}
		for _, key := range orderedKeys(v, nil)[:min(len(v), maxReadings)] {
			list = append(list, v[key])
		}
	case string:
		if parts := strings.Split(v, ","); len(parts) > 1 && len(parts) <= maxReadings {
			for _, part := range parts {
				list = append(list, strings.TrimSpace(part))
			}
		}
	}
	return list
}

// maxReadings limits the parts of a value that are tried.
const maxReadings = 20

var (
	numberForm  = regex.New(`-?\d[\d,_]*(?:\.\d+)?`)
	numberWords = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")
)

// numberIn returns the only number in a string, as in "7 days", "1,000", "five days" and "10k". Digits
// in a word are not a number.
func numberIn(text string) (json.Number, bool) {
	if len(text) > 60 {
		return "", false
	}
	if n, ok := scaledNumber(text); ok {
		return n, true
	}
	text, ok := inDigits(text)
	if !ok {
		return "", false
	}
	found := numberForm.FindAllStringIndex(text, 2)
	if len(found) != 1 || strings.ContainsAny(text, "*/^()") {
		return calculated(text)
	}
	from, to := found[0][0], found[0][1]
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	if inWord(before) || inWord(after) {
		return "", false
	}
	return number(strings.NewReplacer(",", "", "_", "").Replace(text[from:to]))
}

// inWord reports whether a character next to a number makes it a part of a word.
func inWord(r rune) bool { return unicode.IsLetter(r) || strings.ContainsRune("_-.@#&=", r) }

// derivedFromNumber returns the allowed number that is closest to a number, and other forms of it.
func derivedFromNumber(n json.Number, d *demand) (list []any) {
	value, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	if d.accepts("number") || d.accepts("integer") {
		if middle, ok := d.middle(); ok && d.within(value) != value {
			value = middle
		}
		if near, ok := d.nearNumber(value); ok {
			list = append(list, near)
		}
	}
	if d.accepts("string") {
		list = append(list, n.String())
	}
	if d.accepts("boolean") && (n == "0" || n == "1") {
		list = append(list, n == "1")
	}
	if d.accepts("array") {
		list = append(list, []any{n})
	}
	return list
}

// middle returns the middle of a range with two ends, a whole number if the range is wide. Copying an
// example must not ask for an extreme.
func (d *demand) middle() (*big.Rat, bool) {
	if d.least == nil || d.most == nil {
		return nil, false
	}
	middle := new(big.Rat).Add(d.least, d.most)
	middle.Mul(middle, big.NewRat(1, 2))
	if new(big.Rat).Sub(d.most, d.least).Cmp(big.NewRat(4, 1)) > 0 {
		middle = roundTo(middle, big.NewRat(1, 1))
	}
	return middle, true
}

// within returns a number, or the end of the range that it is beyond.
func (d *demand) within(value *big.Rat) *big.Rat {
	if d.least != nil && value.Cmp(d.least) < 0 {
		return d.least
	}
	if d.most != nil && value.Cmp(d.most) > 0 {
		return d.most
	}
	return value
}

// nearNumber moves a number to the closest one that is in range and a multiple. The validator
// decides whether it is both.
func (d *demand) nearNumber(value *big.Rat) (json.Number, bool) {
	value = d.within(value)
	if step := d.step(); step != nil {
		value = roundTo(value, step)
	}
	if d.least != nil && isStricter(d.least.Cmp(value), d.exclusiveLeast) {
		value = new(big.Rat).Add(value, d.grain())
	}
	if d.most != nil && isStricter(value.Cmp(d.most), d.exclusiveMost) {
		value = new(big.Rat).Sub(value, d.grain())
	}
	return jsonNumber(value)
}

// step returns the largest number that a number must be a multiple of, or nil.
func (d *demand) step() (step *big.Rat) {
	if d.onlyIntegers() {
		step = big.NewRat(1, 1)
	}
	for _, other := range d.steps {
		if step == nil || other.Cmp(step) > 0 {
			step = other
		}
	}
	return step
}

// grain returns the distance between two numbers: the step, or one that stays within the range.
func (d *demand) grain() *big.Rat {
	if step := d.step(); step != nil {
		return step
	}
	grain := big.NewRat(1, 1)
	if d.least != nil && d.most != nil {
		if quarter := new(big.Rat).Sub(d.most, d.least); quarter.Mul(quarter, big.NewRat(1, 4)).Cmp(grain) < 0 {
			return quarter
		}
	}
	return grain
}

func (d *demand) onlyIntegers() bool { return len(d.types) > 0 && !slices.Contains(d.types, "number") }

// onlyNumbers reports whether a value must be a number.
func (d *demand) onlyNumbers() bool {
	kinds := d.kinds()
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(name string) bool { return name != "number" && name != "integer" })
}

// dates parses a string as a day, in the usual unambiguous notations.
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
