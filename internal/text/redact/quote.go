package redact

import "github.com/gauze-mcp/gauze/internal/text/plaintext"

// The longest pieces of untrusted text that are shown, in bytes: a line, not a page. A detail may
// have to contain a whole PATH.
const (
	maxQuote   = 240
	MaxPassage = 1000 // what happened, why, and what to do about it
)

// Quote makes untrusted text safe to show: cleaned, secrets redacted by pattern, capped. The order
// matters: escape sequences could hide a secret from Text, and a cap could cut one until Text no
// longer recognizes it.
func Quote(s string) string { return Secrets{}.Quote(s) }

// Quote is like the function Quote but also hides the values of s.
func (s Secrets) Quote(text string) string {
	return plaintext.Cap(s.Hide(text), maxQuote)
}

// Foreign is a plaintext.Foreign that may contain secrets, such as a command line, a URL or what the user
// typed.
type Foreign string

// String returns the text as Quote does.
func (f Foreign) String() string { return Quote(string(f)) }

// Passage is Quote for a few sentences.
func Passage(text string) string { return Secrets{}.Passage(text) }

// Passage is like the function Passage but also hides the values of s.
func (s Secrets) Passage(text string) string { return plaintext.Cap(s.Hide(text), MaxPassage) }

// Hide returns text without control characters and secrets, uncut. Known values are removed first:
// a pattern that hides half of one would leave the other half.
func (s Secrets) Hide(text string) string { return Text(s.Redact(plaintext.Clean(text))) }

// Recent returns the end of a long list, to limit the work on it. A private key that spans lines
// must be seen from its beginning; the longest in use have fewer lines than this.
func Recent(lines []string) []string {
	const maxLines = 256
	return lines[max(0, len(lines)-maxLines):]
}
