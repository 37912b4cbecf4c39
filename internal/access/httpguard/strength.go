package httpguard

import (
	"math"
	"strings"
)

// minTokenBits is the estimated strength a token must have. The estimate is
// low: it accepts about 20 random characters.
const minTokenBits = 64

// Guessable reports whether a token is too weak to protect anything.
func Guessable(token string) bool { return tokenBits(token) < minTokenBits }

// tokenBits estimates the strength of a token: the entropy of its characters,
// without those that continue a sequence (aaa, 123) or repeat what came before.
func tokenBits(token string) float64 {
	count := map[byte]int{}
	n := 0
	for i := range len(token) {
		if i >= 2 && (continues(token[i-2:i+1]) || strings.Contains(token[:i], token[i-2:i+1])) {
			continue
		}
		count[token[i]]++
		n++
	}
	bits := 0.0
	for _, times := range count {
		bits += float64(times) * math.Log2(float64(n)/float64(times))
	}
	return bits
}

// continues reports whether three characters are a sequence, such as aaa, abc
// or 321.
func continues(three string) bool {
	step := int(three[2]) - int(three[1])
	return step >= -1 && step <= 1 && step == int(three[1])-int(three[0])
}
