package repair

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// quantity is what a schema says about a number: the words of its name, and its descriptions.
type quantity struct {
	name  []string
	texts []string
}

func quantityAt(path []string, nodes []*jsonschema.Schema) (q quantity) {
	if n := len(path); n > 0 && !isIndex(path[n-1]) {
		q.name = segments(path[n-1])
	}
	for _, node := range nodes {
		if node.Description != "" {
			q.texts = append(q.texts, strings.ToLower(bounded(node.Description, 300)))
		}
	}
	return q
}

// plainNumber returns the number that text spells, or says with the unit that the field counts: "five",
// "five days" and "7 days". It has a single reading: the text says nothing else, and the schema does
// not mention a different unit.
func (q quantity) plainNumber(text string) (json.Number, bool) {
	digits, ok := inDigits(text)
	found := plainPhrase.FindStringSubmatch(digits)
	if !ok || found == nil || q.isScaled() {
		return "", false
	}
	if onlyDigits := found[2] == "" && digits == strings.TrimSpace(text); onlyDigits {
		return "", false
	}
	n, ok := number(found[1])
	return n, ok && (found[2] == "" || q.counts(found[2]))
}

var plainPhrase = regex.New(`^(\d+(?:\.\d+)?) ?(\pL*)\.?$`)

// isScaled reports whether the number may be one of thousands or hundredths, or a point in time.
func (q quantity) isScaled() bool {
	return slices.ContainsFunc(q.words(), func(word string) bool {
		word = singular(word)
		return scale(word) > 0 || isIn("altering", word) || isIn("other number", word)
	})
}

// words returns the words of the name and of the descriptions.
func (q quantity) words() []string { return append(segments(strings.Join(q.texts, " ")), q.name...) }

// counts reports whether the field is a number of units and of nothing else. A name or description
// that says so has the unit in the plural: a day is one of a month, and days are counted.
func (q quantity) counts(unit string) bool {
	want := unitOf(strings.ToLower(unit))
	named := counted(q.name)
	if isUnit(unit) || named != want && slices.Contains(q.name, want) {
		return false
	}
	told := q.described()
	measured := measures[want]
	for _, word := range q.name {
		other := unitOf(word)
		if isOther := measures[other] && other != want; isOther && (measured || named != want) {
			return false
		}
	}
	if named == want {
		return !measured || len(told) == 0 && !q.mentionsOther(want) || slices.Contains(told, want)
	}
	return len(told) == 1 && told[0] == want && !(measured && q.mentionsOther(want))
}

// mentionsOther reports whether the name or a description mentions a different unit of measure.
func (q quantity) mentionsOther(unit string) bool {
	return slices.ContainsFunc(q.words(), func(word string) bool {
		other := unitOf(word)
		return measures[other] && other != unit
	})
}

// described returns the units that the descriptions state, as in "Number of days to keep it" and
// "Timeout in seconds".
func (q quantity) described() (units []string) {
	for _, text := range q.texts {
		if unit := countedIn(text); unit != "" {
			units = append(units, unit)
		}
		for _, found := range inUnits.FindAllStringSubmatch(text, -1) {
			if unit := unitOf(found[1]); measures[unit] && isMany(found[1]) {
				units = append(units, unit)
			}
		}
	}
	slices.Sort(units)
	return slices.Compact(units)
}

// countedIn returns what a description begins with counting: "Results per page", "The maximum number
// of search results". A page of results counts nothing.
func countedIn(text string) string {
	if end := strings.IndexAny(text, ".,;:("); end >= 0 {
		text = text[:end]
	}
	words := segments(text)
	for len(words) > 0 && isIn("article", words[0]) {
		words = words[1:]
	}
	far := 0
	for len(words) > 0 && isIn("counter", words[0]) {
		words, far = words[1:], 1
	}
	if i := slices.IndexFunc(words, isMany); i < 0 || i > far {
		return ""
	}
	return counted(words)
}

// inUnits matches a unit after a preposition or in parentheses.
var inUnits = regex.New(`(?:\bin (?:whole |full )?|\()(\pL+)\b`)

// counted returns what the first words count, as in days_ahead and "search results per page": the
// first plural, unless another noun follows, as in results_page.
func counted(words []string) string {
	i := slices.IndexFunc(words, isMany)
	if i < 0 || i+1 < len(words) && !isIn("continuing", words[i+1]) {
		return ""
	}
	return unitOf(words[i])
}

// isMany reports whether a word is a plural, or a unit that has none.
func isMany(word string) bool {
	if isIn("unit", word) || isIn("plural", word) {
		return true
	}
	return singular(word) != word && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is")
}

// unitOf returns a unit in the singular, spelled out.
func unitOf(word string) string {
	if long := lexicon()["unit"][word]; long != "" {
		return long
	}
	return singular(word)
}

// scale returns how many a word such as dozen stands for, or 0.
func scale(word string) int64 {
	n, _ := strconv.ParseInt(lexicon()["scale"][word], 10, 64)
	return n
}

// scaledNumber returns the number that text says with a scale, as in "10k" and "a dozen". It has a
// second reading: a round number is often not meant exactly.
func scaledNumber(text string) (json.Number, bool) {
	found := scaledPhrase.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if found == nil || scale(found[3]) == 0 {
		return "", false
	}
	count := found[2]
	if n, ok := spelledNumber(found[1]); ok {
		count = strconv.Itoa(n)
	} else if found[1] == "a" {
		count = "1"
	}
	value, ok := new(big.Rat).SetString(count)
	if !ok || leadingZero(count) {
		return "", false
	}
	return jsonNumber(value.Mul(value, big.NewRat(scale(found[3]), 1)))
}

var scaledPhrase = regex.New(`^(?:(\pL+) |(\d{1,9}(?:\.\d{1,9})?) ?)(\pL+)$`)

// inDigits returns text with its number in digits: "about 25 days" for "about twenty-five days". It is
// not ok if the text spells something else, as fractions, ranges and several numbers are.
func inDigits(text string) (digits string, ok bool) {
	words := strings.Fields(text)
	from := slices.IndexFunc(words, spellsNumber)
	if from < 0 {
		return strings.TrimSpace(text), true
	}
	to := len(words)
	for !spellsNumber(words[to-1]) {
		to--
	}
	n, ok := spelledNumber(strings.TrimSuffix(strings.Join(words[from:to], " "), "."))
	if !ok || strings.ContainsAny(text, "0123456789") {
		return "", false
	}
	return strings.Join(slices.Concat(words[:from], []string{strconv.Itoa(n)}, words[to:]), " "), true
}

// spellsNumber reports whether a word is, or contains, a part of a number in words.
func spellsNumber(word string) bool {
	return slices.ContainsFunc(segments(strings.ToLower(word)), func(part string) bool {
		return smallNumber(part) >= 0 || part != "k" && scale(singular(part)) > 0 || isIn("altering", part)
	})
}

// spelledNumber returns the number below 1000 that words spell, as "thirty", "twenty-five" and "two
// hundred and five" do.
func spelledNumber(text string) (n int, ok bool) {
	words := strings.Split(strings.ReplaceAll(strings.ToLower(text), "-", " "), " ")
	if len(words) == 1 && words[0] == "zero" {
		return 0, true
	}
	for i, word := range words {
		value := smallNumber(word)
		isUnits := value < 10 && n%100 >= 20 && n%10 == 0
		joins := word == "and" && i > 0 && i+1 < len(words)
		switch {
		case word == "hundred" && 0 < n && n < 10:
			n *= 100
		case joins && words[i-1] == "hundred":
		case value > 0 && (n%100 == 0 || isUnits):
			n += value
		default:
			return 0, false
		}
	}
	return n, true
}

// smallNumber returns the number of a single word, or -1.
func smallNumber(word string) int {
	if n, err := strconv.Atoi(lexicon()["number"][word]); err == nil {
		return n
	}
	return -1
}
