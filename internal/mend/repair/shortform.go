package repair

import (
	"slices"
	"strconv"
	"strings"
)

// isShortForm reports whether a choice is a shorter form of sent words, and the only one: the same
// period, or the same words abbreviated.
func isShortForm(sent, got string, choices []any, about map[string]bool) bool {
	isShorter := func(choice string) bool { return abbreviates(sent, choice) }
	return samePeriod(sent, got, choices, about) || isShorter(got) && only(choices, isShorter)
}

// only reports whether exactly one of the choices has a property.
func only(choices []any, has func(choice string) bool) bool {
	return len(chosen(choices, func(choice any) bool { text, ok := choice.(string); return ok && has(text) })) == 1
}

// samePeriod reports whether two strings are one length of time, as "the last 6 months" and
// six_months. Words for the past add nothing where no choice has any words besides a length of the
// same time, and the field is not about the future.
func samePeriod(sent, got string, choices []any, about map[string]bool) bool {
	a, b := periodOf(sent), periodOf(got)
	isSame := a.unit != "" && a.unit == b.unit && a.count == b.count
	if !isSame || len(b.others) > 0 {
		return false
	}
	if slices.ContainsFunc(a.others, func(word string) bool { return !pastWords[word] }) {
		return false
	}
	for word := range about {
		if futureWords[word] && len(a.others) > 0 {
			return false
		}
	}
	return only(choices, func(choice string) bool {
		c := periodOf(choice)
		return c.unit == a.unit && c.count == a.count
	})
}

// period is a length of time.
type period struct {
	count  int
	unit   string
	others []string // words that are not a part of it
}

func periodOf(text string) (p period) {
	p.count = 1
	counted := false
	for _, word := range meaning(text) {
		n := slices.Index(numberWords, word)
		if parsed, err := strconv.Atoi(word); err == nil {
			n = parsed
		}
		switch {
		case timeUnits[word] && p.unit == "":
			p.unit = word
		case n >= 0 && !counted && p.unit == "":
			p.count, counted = n, true
		case !fillers[word]:
			p.others = append(p.others, word)
		}
	}
	return p
}

var (
	timeUnits   = wordSet(`second minute hour day week month quarter year decade century`)
	pastWords   = wordSet(`last past`)
	futureWords = wordSet(`next future forecast ahead upcoming coming horizon until remaining expire expiry expiration`)
)

// abbreviates reports whether a choice is made of the beginnings of the sent words, each of them and
// in order, as Sci-fi of "Science fiction". A choice that also abbreviates other words is still the
// only one in the list, so that no other can be meant.
func abbreviates(sent, choice string) bool {
	long, short := segments(bounded(sent, 120)), segments(bounded(choice, 120))
	if len(long) < 2 || len(long) != len(short) || risk(choice) > 0 {
		return false
	}
	letters := 0
	for i, word := range short {
		isStart := len(word) > 1 && strings.HasPrefix(long[i], word)
		isOtherNumber := isNumber(word) && word != long[i]
		if !isStart || isOtherNumber || negations[long[i]] {
			return false
		}
		letters += len(word)
	}
	return letters >= 5
}
