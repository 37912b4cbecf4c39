package login

import (
	"strings"
	"unicode"
)

// headerChallenge is one challenge of a WWW-Authenticate header (RFC 9110, 11.6.1). Its scheme and the names of
// its parameters are in lower case.
type headerChallenge struct {
	scheme string
	params map[string]string
}

// parseChallenges returns the challenges on a line of the header, or none if one of them is malformed.
func parseChallenges(line string) (all []headerChallenge) {
	if strings.HasPrefix(line, `"`) {
		return nil
	}
	for _, text := range splitChallenges(line) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		scheme, rest, _ := strings.Cut(text, " ")
		params, ok := parseParams(rest)
		if !ok {
			return nil
		}
		all = append(all, headerChallenge{strings.ToLower(scheme), params})
	}
	return all
}

// splitChallenges splits a line at the commas that are neither in quotes nor in front of a parameter.
func splitChallenges(line string) (all []string) {
	quoted, from := false, 0
	for i, c := range []byte(line) {
		switch {
		case c == '"' && line[i-1] != '\\': // the first byte is not a quote
			quoted = !quoted
		case c == ',' && !quoted && !beginsWithParam(line[i+1:]):
			all = append(all, line[from:i])
			from = i + 1
		}
	}
	return append(all, line[from:])
}

func beginsWithParam(text string) bool {
	name, _, found := strings.Cut(strings.TrimSpace(text), "=")
	return found && name != "" && !strings.ContainsFunc(name, unicode.IsSpace)
}

// parseParams returns the parameters of a challenge. The last of several with the same name counts.
func parseParams(text string) (params map[string]string, ok bool) {
	params = map[string]string{}
	for text != "" {
		name, rest, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, false
		}
		value, rest, ok := cutValue(strings.TrimSpace(rest))
		if !ok || value == "" {
			return nil, false
		}
		params[strings.ToLower(strings.TrimSpace(name))] = value
		if text, ok = strings.CutPrefix(rest, ","); !ok && rest != "" {
			return nil, false
		}
		text = strings.TrimSpace(text)
	}
	return params, true
}

// cutValue returns the value that a text begins with, a quoted string or a token, and what follows it.
func cutValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text+",", ',')
		return strings.TrimSpace(text[:end]), strings.TrimSpace(text[end:]), true
	}
	var unquoted strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return unquoted.String(), strings.TrimSpace(text[i+1:]), true
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		unquoted.WriteByte(text[i])
	}
	return "", "", false
}
