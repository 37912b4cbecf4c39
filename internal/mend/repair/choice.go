package repair

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// meantChoices returns the choices that a value may stand for, the likeliest first. A choice that
// only resembles the value is not meant.
func meantChoices(received any, choices []any) []any {
	if isContainer(received) || received == nil {
		return nil
	}
	meant := chosen(choices, func(choice any) bool { return bothNumbers(received, choice) || isMeant(received, choice) })
	slices.SortStableFunc(meant, func(a, b any) int { return unlike(received, a) - unlike(received, b) })
	return meant
}

// isMeant reports whether a choice is a value misspelled, or has all its words and adds none that
// negate it or ask for more.
func isMeant(received, choice any) bool {
	if turnsAround(received, choice) {
		return false
	}
	if isNear(received, choice) && (risk(choice) == 0 || unlike(received, choice) <= 2) {
		return true
	}
	words, added := meaning(received), meaning(choice)
	words = slices.DeleteFunc(words, func(word string) bool { return fillers[word] })
	for _, word := range words {
		i := slices.IndexFunc(added, func(other string) bool { return sameMeaning(word, other) })
		if i < 0 {
			return false
		}
		added = slices.Delete(added, i, i+1)
	}
	return len(words) > 0 && !slices.ContainsFunc(added, func(word string) bool { return negations[word] || isRisky(word) })
}

// sameMeaning reports whether two words have the same stem. Those that grant or destroy something
// must be longer or shorter forms of each other: delegate is not delete.
func sameMeaning(a, b string) bool {
	if isRisky(a) || isRisky(b) {
		return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) && len(b) > 2
	}
	return sameStem(a, b)
}

// turnsAround reports whether a choice says the opposite of a value that it resembles: inactive and
// active, import and export, minimum and maximum, read-only and read-write.
func turnsAround(received, choice any) bool {
	text, other := bounded(plain(received), 120), bounded(plain(choice), 120)
	a, b := fold(text), fold(other)
	if a == "" || b == "" || a == b {
		return false
	}
	if isNegated(a, b) || isNegated(b, a) || hasOppositePart(a, b) {
		return true
	}
	if isNear(received, choice) && (a[0] != b[0] || hasOpposite(text, other)) {
		return true
	}
	x, y := meaning(received), meaning(choice)
	return slices.ContainsFunc(x, isNegation) != slices.ContainsFunc(y, isNegation) && sharedWords(x, y) > 0
}

// sameSigns reports whether a value and a choice have the same signs before digits.
func sameSigns(received, choice any) bool {
	signs := func(value any) string {
		return strings.Join(signForm.FindAllString(bounded(plain(value), 120), -1), "")
	}
	return signs(received) == signs(choice)
}

var signForm = regex.New(`[+-]\d`)

// isNegated reports whether a word is another with a prefix that negates it.
func isNegated(a, b string) bool {
	prefix, ok := strings.CutSuffix(a, b)
	return ok && negatingPrefixes[prefix]
}

// hasOppositePart reports whether two words differ in one part that turns the meaning around: optin
// and optout, maxsize and minsize, upload and download.
func hasOppositePart(a, b string) bool {
	for part := range contrary {
		before, after, found := strings.Cut(a, part)
		rest, begins := strings.CutPrefix(b, before)
		other, ends := strings.CutSuffix(rest, after)
		if found && begins && ends && other != part && contrary[other] {
			return true
		}
	}
	return false
}

// sameNumbers reports whether two strings have the same numbers in the same order, as digits or as
// words.
func sameNumbers(a, b string) bool {
	numbers := func(text string) (list []string) {
		for _, word := range numberOrWord.FindAllString(strings.ToLower(bounded(text, 120)), -1) {
			if i := slices.Index(numberWords, word); i >= 0 {
				word = strconv.Itoa(i)
			}
			if digit, _ := utf8.DecodeRuneInString(word); unicode.IsDigit(digit) {
				list = append(list, word)
			}
		}
		return list
	}
	return slices.Equal(numbers(a), numbers(b))
}

var numberOrWord = regex.New(`\p{Nd}+|\pL+`)

func bothNumbers(a, b any) bool {
	_, x := a.(json.Number)
	_, y := b.(json.Number)
	return x && y
}

// meaning returns the words of a scalar, in the singular and with small numbers spelled out.
func meaning(value any) []string {
	words := segments(bounded(plain(value), 120))
	for i, word := range words {
		if n, err := strconv.Atoi(word); err == nil && n >= 0 && n < len(numberWords) {
			word = numberWords[n]
		}
		words[i] = singular(word)
	}
	return words
}

// sharedWords counts the words of a choice that a value has. A word may be longer in one of them, as
// drama and dramatic.
func sharedWords(received, choice []string) (n int) {
	for _, word := range choice {
		if slices.ContainsFunc(received, func(other string) bool { return sameStem(word, other) }) {
			n++
		}
	}
	return n
}

func sameStem(a, b string) bool {
	if len(a) < 3 || len(b) < 3 {
		return a == b
	}
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	return common >= 3 && 2*common >= min(len(a), len(b))+1
}

// safeChoices returns the choices that do not say the opposite of a value, those that share words
// with it first, and those that grant or destroy something last: copying an example must not ask for
// more than the caller did. If the caller asked for the opposite of a choice, those are left out.
func (d *demand) safeChoices(received any) []any {
	list := slices.Clone(d.choices)
	if len(list) > 1 && received != nil && !isContainer(received) {
		list = slices.DeleteFunc(list, func(choice any) bool { return turnsAround(received, choice) })
	}
	if len(list) < len(d.choices) {
		return slices.DeleteFunc(list, func(choice any) bool { return risk(choice) > 0 })
	}
	words := meaning(received)
	slices.SortStableFunc(list, func(a, b any) int {
		return cmp.Or(risk(a)-risk(b), sharedWords(words, meaning(b))-sharedWords(words, meaning(a)))
	})
	return list
}

// isRisky reports whether a word grants or destroys something.
func isRisky(word string) bool { return powers[word] || isAction(word) && !harmlessActions[word] }

func risk(choice any) int {
	if choice == true || slices.ContainsFunc(segments(bounded(plain(choice), 120)), isRisky) {
		return 1
	}
	return 0
}

var (
	negations        = wordSet(`not no non never without except exclude excluded excluding only anti un dis skip ignore omit unless`)
	negatingPrefixes = wordSet(`un in im il ir dis non de anti mis a no not`)
	powers           = wordSet(`admin administrator owner root super superuser superadmin sudo master full everyone public unrestricted any
		production prod critical urgent highest`)
	harmlessActions = wordSet(`get list read find search fetch show view query count describe check validate verify test preview draft
		simulate mock dry what if no not non never`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
