package redact

import "strings"

// hideRandom hides what no rule matches but looks like a key: a long random run of letters and
// digits.
func hideRandom(s string) string {
	const minRunLen = 32
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && keyByte(s[end]) {
			end++
		}
		if end-i >= minRunLen && random(s[i:end]) {
			b.WriteString(s[done:i])
			b.WriteString(mark)
			done = end
		}
		i = end + 1
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func keyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/_=-", c) >= 0
}

// random reports whether s is a key and not a path or a name: a long run of hexadecimal digits, or
// one that mixes digits, capitals and small letters.
func random(s string) bool {
	for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("/_-=", r) }) {
		if len(piece) < 20 {
			continue
		}
		var digit, upper, lower, beyondHex bool
		for _, c := range piece {
			switch {
			case c >= '0' && c <= '9':
				digit = true
			case c >= 'A' && c <= 'Z':
				upper = true
				beyondHex = beyondHex || c > 'F'
			case c >= 'a' && c <= 'z':
				lower = true
				beyondHex = beyondHex || c > 'f'
			}
		}
		isHash := !beyondHex && len(piece) >= 32
		if digit && (upper && lower || isHash) {
			return true
		}
	}
	return false
}

// opaque reports whether s is a key and not a name: one word that mixes letters and digits as names
// do not.
func opaque(s string) bool {
	const minKeyLen = 12
	if len(s) < minKeyLen || strings.ContainsAny(s, " \t\n.:@\\") || isPath(s) {
		return false
	}
	for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return !strings.ContainsRune(small+capitals+decimals, r) }) {
		if keyPiece(piece) {
			return true
		}
	}
	return false
}

const (
	decimals = "0123456789"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	small    = "abcdefghijklmnopqrstuvwxyz"
)

// keyPiece reports whether a piece between dashes is not part of a name. "weather-service-2024",
// "api-v2", "k8s" and "xterm-256color" are names.
func keyPiece(piece string) bool {
	inner := strings.Trim(piece, decimals)
	numDigits := 0
	for _, c := range piece {
		if c >= '0' && c <= '9' {
			numDigits++
		}
	}
	switch {
	case numDigits == 0 || inner == "" && numDigits <= 8: // a word or a date
		return false
	case strings.ContainsAny(inner, decimals) && len(piece) >= 6:
		return true
	case len(piece) < 8:
		return false
	}
	return numDigits > 4 || strings.ContainsAny(piece[1:], capitals) && strings.ContainsAny(piece, small)
}
