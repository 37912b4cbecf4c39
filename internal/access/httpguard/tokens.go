package httpguard

import (
	"crypto/sha256"
	"crypto/subtle"

	"golang.org/x/time/rate"
)

// Principal identifies who sent a request: the hash of its token, zero if tokens are not required.
type Principal [sha256.Size]byte

// Tokens are the tokens of which a request must have one.
type Tokens struct {
	All     []Principal
	Guesses *rate.Limiter // Guesses limits requests without a valid token.
}

// NewTokens returns Tokens that accept these.
func NewTokens(tokens []string) Tokens {
	t := Tokens{Guesses: NewGuesses()}
	for _, token := range tokens {
		t.All = append(t.All, sha256.Sum256([]byte(token)))
	}
	return t
}

// Find returns the principal of a token, and whether the token is accepted. All tokens are compared,
// each in constant time.
func (t *Tokens) Find(token string) (Principal, bool) {
	hash := Principal(sha256.Sum256([]byte(token)))
	known := 0
	for _, one := range t.All {
		known |= subtle.ConstantTimeCompare(one[:], hash[:])
	}
	return hash, known == 1
}

// Failed authentications are limited to a burst, and then per second: enough for a client that is
// misconfigured, and too few to guess a token.
const (
	guessBurst       = 100
	guessesPerSecond = 10
)

// NewGuesses returns the limit of failed authentications.
func NewGuesses() *rate.Limiter { return rate.NewLimiter(guessesPerSecond, guessBurst) }
