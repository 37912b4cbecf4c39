// Package names makes the names by which one address shows the tools and prompts of many servers.
//
// A name is a function of a server's key and its own name for the thing, and of nothing else: it does
// not depend on which other servers there are, in which order they start, or whether they are well. So
// permissions and calls that a client remembers stay valid. Names are looked up in a table, never
// taken apart.
package names

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

const (
	// MaxLen is the maximum length of an advertised name: with mcp__gauze__ before it, it is within
	// the 64 characters that clients accept.
	MaxLen = 50
	// MaxKeyLen is the maximum length of a server's key.
	MaxKeyLen = 24

	separator = "__"
	hashLen   = 6
)

var key = regex.New(`^[a-z0-9][a-z0-9-]{0,23}$`)

// ValidKey reports whether a server may have this key.
func ValidKey(s string) bool { return key.MatchString(s) }

// Advertised returns the name by which clients see a tool or prompt of the server with this key:
// KEY__name, at most MaxLen characters of A-Z, a-z, 0-9, _ and -. Another character becomes _. A name
// that was changed or cut ends with a hash, which is the same on every machine.
func Advertised(key, name string) string {
	whole := key + separator + name
	plain := strings.Map(func(r rune) rune {
		if allowed(r) {
			return r
		}
		return '_'
	}, whole)
	if plain == whole && len(plain) <= MaxLen {
		return plain
	}
	return plain[:min(len(plain), MaxLen-hashLen-1)] + "_" + hash(key+"\x00"+name)
}

func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

var base = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base.EncodeToString(sum[:])[:hashLen]
}

// Key proposes the key for a server that a client knows by this name: in lower case, without words
// that say only that it is a server. Two names may have the same key.
func Key(name string) string {
	short := strings.Trim(strings.Map(keyRune, strings.ToLower(name)), "-")
	for strings.Contains(short, "--") {
		short = strings.ReplaceAll(short, "--", "-")
	}
	short = withoutServer(short)
	switch {
	case short == "": // nothing of the name is left
		return "server-" + hash(name)
	case len(short) > MaxKeyLen:
		return strings.TrimRight(short[:MaxKeyLen-hashLen-1], "-") + "-" + hash(name)
	}
	return short
}

func keyRune(r rune) rune {
	if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
		return r
	}
	return '-'
}

// withoutServer returns a key without the words mcp and server at its ends, unless nothing else is in it.
func withoutServer(key string) string {
	words := strings.Split(key, "-")
	says := func(word string) bool { return word == "mcp" || word == "server" }
	for len(words) > 1 && says(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	for len(words) > 1 && says(words[0]) {
		words = words[1:]
	}
	return strings.Join(words, "-")
}
