package redact

import (
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

var (
	keyBegin = regex.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)
	keyEnd   = regex.New(`-----END [A-Z0-9 ]*PRIVATE KEY`)
	bareLine = regex.New(`^[|>\s]*[A-Za-z0-9+/=]{8,}$`)
)

// PrivateKeys hides private keys that span lines, also if only the first or the last part of one is
// present. Text sees one line at a time, and the middle of a key has no recognizable shape.
func PrivateKeys(lines []string) []string {
	var out []string
	inside := false
	for _, l := range lines {
		l = plaintext.Clean(l)
		switch {
		case keyBegin.MatchString(l) && !keyEnd.MatchString(l):
			inside = true
			out = append(out, keyBegin.Split(l, 2)[0]+mark)
		case keyEnd.MatchString(l) && !keyBegin.MatchString(l):
			if !inside { // everything before it belongs to the key, as far as it looks like one
				for len(out) > 0 && bareLine.MatchString(out[len(out)-1]) {
					out = out[:len(out)-1]
				}
				out = append(out, mark)
			}
			inside = false
		case inside:
		default:
			out = append(out, l)
		}
	}
	return out
}
