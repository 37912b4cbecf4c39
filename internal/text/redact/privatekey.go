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
func PrivateKeys(lines []string) (out []string) {
	shown, hidden := KeyLines(lines)
	for i, line := range shown {
		if !hidden[i] {
			out = append(out, line)
		}
	}
	return out
}

// KeyLines is PrivateKeys for lines that keep their places: hidden are those that PrivateKeys leaves out.
func KeyLines(lines []string) (shown []string, hidden []bool) {
	shown, hidden = make([]string, len(lines)), make([]bool, len(lines))
	inside := false
	for i, l := range lines {
		l = plaintext.Clean(l)
		shown[i] = l
		switch {
		case keyBegin.MatchString(l) && !keyEnd.MatchString(l):
			inside = true
			shown[i] = keyBegin.Split(l, 2)[0] + mark
		case keyEnd.MatchString(l) && !keyBegin.MatchString(l):
			// If it does not begin here, everything before it belongs to the key, as far as it looks like one.
			for k := i - 1; !inside && k >= 0 && !hidden[k] && bareLine.MatchString(shown[k]); k-- {
				hidden[k] = true
			}
			shown[i], hidden[i] = mark, inside
			inside = false
		case inside:
			hidden[i] = true
		}
	}
	return shown, hidden
}
