package plaintext

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
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
		d := Distance(typed, c)
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
	sorting.Stable(found, func(a, b near) int { return a.distance - b.distance })
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
