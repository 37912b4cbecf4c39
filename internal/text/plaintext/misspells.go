package plaintext

import "strings"

// Misspells reports whether a word is likely a misspelling of a name: one or two letters differ,
// without regard to case and to what is between letters.
func Misspells(word, name string) bool {
	const minLen, maxLen = 6, 100 // of a short word everything is near; a long one would take quadratic time
	a, b := letters(word), letters(name)
	if word == name || len(a) < minLen || max(len(a), len(b)) > maxLen {
		return false
	}
	return Distance(a, b) <= min(2, len(a)/minLen)
}

// letters returns the letters and digits of a word in lower case.
func letters(word string) string {
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			if r < '0' || r > '9' {
				return -1
			}
		}
		return r
	}, strings.ToLower(word))
}
