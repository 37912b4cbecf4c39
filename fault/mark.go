package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// The marks of gauze's own text for clients, models and users. A server can write them as well, so
// code that passes a server's output on rewrites them first: see internal/wrap/proxy/disown.go and
// internal/wrap/upstream/disown.go.
const (
	namespace = "io.github.gauze-mcp"

	MetaKey    = namespace + "/fault"     // in the _meta of a result: a fault
	ReportKey  = namespace + "/arguments" // in the _meta of a result: why a call was rejected (type, summary, issues, schema, suggestions, validExample)
	ReceiptKey = namespace + "/repair"    // in the _meta of a result: how the arguments were adjusted
	GoalKey    = namespace + "/goal"      // in the _meta of a call: what the caller wants, for the model that corrects the call

	Source = "gauze" // data.source of a JSON-RPC error. The error code alone marks nothing

	DisownedSource = Source + ".upstream" // data.source of an error of a gauze behind this one

	LogMark   = "gauze:" // begins a line on stderr
	ModelMark = "[gauze" // begins a text for a model

	// Disowned precedes a server's text that begins with a mark.
	Disowned = "server: "
)

// DisownedKey returns the name under which a server's _meta key is passed on if the key is in
// gauze's namespace: io.github.gauze-mcp/fault becomes io.github.gauze-mcp.upstream/fault.
// Different keys stay different.
func DisownedKey(key string) (renamed string, marked bool) {
	n := len(namespace)
	if len(key) < n || !strings.EqualFold(key[:n], namespace) || len(key) > n && key[n] != '/' && key[n] != '.' {
		return key, false
	}
	return key[:n] + ".upstream" + key[n:], true
}

// maxNested limits how many gauzes that wrap one another are recognized.
const maxNested = 8

// IsDisownedFault reports whether a key of _meta is the fault of a gauze behind this one: MetaKey as
// DisownedKey renames it, once by each gauze that passed it on.
func IsDisownedFault(key string) bool {
	renamed := MetaKey
	for range maxNested {
		if renamed, _ = DisownedKey(renamed); renamed == key {
			return true
		}
	}
	return false
}

// FindMark returns where mark begins in text as a reader sees it: at the start of the text, after a
// line separator, or after a control character or terminal sequence, which may have moved the
// cursor to the start of a line. Case and invisible characters are ignored. A negative at means
// that there is none; then the text from open on may still become a mark if more text follows.
func FindMark(text, mark string) (at, open int) {
	at, open = 0, -1
	matched := 0  // bytes of mark
	fresh := true // a mark may begin here
	again := -1   // where a mark may begin if the current match fails
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		n := plaintext.Sequence(text[i:], r)
		switch {
		case endsLine(r) || r != '\t' && (n > 0 || unicode.IsControl(r)):
			from := i
			i += max(n, size)
			if matched > 0 && !endsLine(r) {
				again = i
				continue
			}
			fresh, matched, again, at = true, 0, -1, i
			if n > 0 && i == len(text) {
				at = from // the sequence may not be complete
			}
			continue
		case fresh && (r == ' ' || r == '\t'), r >= utf8.RuneSelf && plaintext.Unseen(r):
		case (fresh || matched > 0) && lower(r) == rune(mark[matched]):
			if matched == 0 {
				at = i
			}
			if fresh, matched = false, matched+1; matched == len(mark) {
				return at, -1
			}
		case again >= 0:
			i, at = again, again
			fresh, matched, again = true, 0, -1
			continue
		default:
			fresh, matched = false, 0
		}
		i += size
	}
	if fresh || matched > 0 {
		return -1, at
	}
	return -1, -1
}

func endsLine(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
