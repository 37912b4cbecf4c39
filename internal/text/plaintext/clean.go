package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxClean limits what Clean reads and returns. It is far above what is ever shown, so that secrets
// are still whole when they are redacted, and low enough to make a 10 MB line cheap.
const maxClean = 4096

// Clean makes untrusted text safe to show: one line of valid UTF-8 without control characters,
// terminal sequences (ANSI, OSC) or invisible and direction-changing characters, of at most 4096
// bytes.
func Clean(s string) string {
	cut := false
	if len(s) > 4*maxClean {
		s, cut = s[:4*maxClean], true
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c <= '~' && b.Len() < maxClean { // the common case
			b.WriteByte(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if n := Sequence(s[i:], r); n > 0 {
			i += n
			continue
		}
		i += size
		switch {
		case unicode.IsSpace(r) || unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
			r = ' ' // words stay separate, but one line stays one line
		case Unseen(r):
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxClean {
			cut = true
			break
		}
		b.WriteRune(r)
	}
	out := strings.TrimSpace(b.String())
	if cut {
		// The last word may be the first half of a secret, too short to be recognized.
		if i := strings.LastIndexByte(out, ' '); i > 0 {
			out = strings.TrimRight(out[:i], " ")
		}
	}
	return out
}

// Foreign is text that a file, a server or another process chose, as it was received. Only String makes
// it fit to be shown, and fmt and templates call it: what has this type cannot be printed as it is.
// To compare or to store it, convert it to a string.
type Foreign string

// String returns the text cleaned, as Clean does.
func (f Foreign) String() string { return Clean(string(f)) }

// Unseen reports whether r is invisible or changes how its neighbors are shown. IsPrint is false
// for controls, format characters (bidi, zero width, tags), private use and unassigned characters;
// it is true for variation selectors, which can smuggle bytes, and for a few blank letters.
func Unseen(r rune) bool {
	if !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) {
		return true
	}
	switch r {
	case '\u034F', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0':
		return true
	}
	return false
}

// Sequence returns the length of the terminal sequence at the start of s, or 0. The grammar is that
// of ECMA-48.
func Sequence(s string, r rune) int {
	const esc = 0x1b
	i := utf8.RuneLen(r)
	kind := byte(0)
	switch {
	case r == esc:
		if i >= len(s) {
			return i
		}
		kind = s[i]
		i++
	case r == 0x9b || r == 0x9d || r == 0x90 || r == 0x98 || r == 0x9e || r == 0x9f:
		kind = byte(r) - 0x40 // the one-character forms: U+009B is ESC [, U+009D is ESC ]
	default:
		return 0
	}
	switch kind {
	case '[':
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			i++
		}
		return i
	case ']', 'P', 'X', '^', '_':
		// A string sequence ends at BEL or ST. One that does not end soon is not treated as a
		// sequence: dropping the rest of the text would let a server hide its last output.
		const maxLen = 1024
		for j := i; j < len(s) && j-i < maxLen && s[j] != '\n'; j++ {
			if s[j] == 0x07 {
				return j + 1
			}
			if s[j] == esc && j+1 < len(s) && s[j+1] == '\\' {
				return j + 2
			}
			if strings.HasPrefix(s[j:], "\u009c") {
				return j + len("\u009c")
			}
		}
		return i
	}
	if kind >= 0x20 && kind <= 0x2f { // ESC, intermediates, one final character: "ESC ( B"
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			i++
		}
		return i
	}
	if kind < 0x30 || kind > 0x7e {
		return i - 1 // a lone ESC before something that is not part of it
	}
	return i
}
