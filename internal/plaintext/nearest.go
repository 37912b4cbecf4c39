package plaintext

import (
	"slices"
	"strings"
)

// Nearest returns up to three choices that a misspelled word may stand for, the nearest first.
func Nearest(word string, choices []string) []string {
	// Users do not type longer words. Without a limit, a hostile input would take quadratic time.
	const maxLen = 64
	if word == "" || len(word) > maxLen {
		return nil
	}
	typed := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "_", "-")
	type near struct {
		word     string
		distance int
	}
	var found []near
	for _, c := range choices {
		d := distance(typed, c)
		switch {
		case len(typed) >= 3 && strings.Contains(c, typed):
			d = min(d, 1) // "timeout" means call-timeout or start-timeout, however many letters are missing
		case sharesWord(typed, c):
			d = min(d, 4)
		}
		if d <= max(2, len(typed)/3) {
			found = append(found, near{c, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var out []string
	for _, n := range found[:min(3, len(found))] {
		out = append(out, n.word)
	}
	return out
}

func sharesWord(a, b string) bool {
	for w := range strings.SplitSeq(a, "-") {
		if len(w) >= 4 && slices.Contains(strings.Split(b, "-"), w) {
			return true
		}
	}
	return false
}

// distance returns the Levenshtein distance of a and b: the number of letters to insert, delete or
// replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
