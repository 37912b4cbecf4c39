package repair

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// meantChoices returns the choices that a value may stand for, the likeliest first: those that share
// its words, or are spelled almost the same. A choice that only resembles the value is not meant.
func meantChoices(received any, choices []any) []any {
	if isObject(received) || isList(received) || received == nil {
		return nil
	}
	type kin struct {
		choice   any
		shared   int
		distance int
	}
	var list []kin
	words := meaning(received)
	for _, choice := range choices {
		k := kin{choice, sharedWords(words, meaning(choice)), unlike(received, choice)}
		if k.shared > 0 || bothNumbers(received, choice) || isNear(received, choice) {
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(a, b kin) int { return cmp.Or(b.shared-a.shared, a.distance-b.distance) })
	meant := make([]any, len(list))
	for i, k := range list {
		meant[i] = k.choice
	}
	return meant
}

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

// safeChoices returns all choices, those that grant or destroy something last: copying an example
// must not ask for more than the caller did.
func (d *demand) safeChoices() []any {
	list := slices.Clone(d.choices)
	slices.SortStableFunc(list, func(a, b any) int { return risk(a) - risk(b) })
	return list
}

func risk(choice any) int {
	for _, word := range segments(bounded(plain(choice), 120)) {
		if powers[word] || isAction(word) && !harmlessActions[word] {
			return 1
		}
	}
	if choice == true {
		return 1
	}
	return 0
}

var (
	powers          = wordSet(`admin administrator owner root super superuser superadmin sudo master full everyone public unrestricted any production prod critical urgent highest`)
	harmlessActions = wordSet(`get list read find search fetch show view query count describe check validate verify test preview draft simulate mock dry what if no not non never`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
