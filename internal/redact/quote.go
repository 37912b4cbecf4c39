package redact

import "github.com/gauze-mcp/gauze/internal/plaintext"

// The longest pieces of foreign text that any voice shows, in bytes: a line, not a page. A detail of ours may have to
// name a whole PATH.
const (
	maxQuote   = 240
	MaxPassage = 1000 // what was seen, why, and what to do about it
)

// Quote makes foreign text fit to be shown: cleaned, secrets redacted by pattern, capped. The order matters: escape
// sequences could hide a secret from Redact, and a cap could cut one until Redact no longer knows it.
func Quote(s string) string { return Secrets{}.Quote(s) }

// Quote is the package's Quote that also knows these values.
func (s Secrets) Quote(text string) string {
	return plaintext.Cap(s.Hide(text), maxQuote)
}

// Passage is Quote for a few sentences.
func Passage(text string) string { return plaintext.Cap(Secrets{}.Hide(text), MaxPassage) }

// Hide returns text without control characters and secrets, uncut. Known values are removed first: a pattern that hides
// half of one would leave the other half.
func (s Secrets) Hide(text string) string { return Text(s.Redact(plaintext.Clean(text))) }

// recent bounds the work on a long list. A private key that spans lines has to be seen from its beginning; the longest
// in use have fewer lines than this.
func Recent(lines []string) []string {
	const far = 256
	return lines[max(0, len(lines)-far):]
}
