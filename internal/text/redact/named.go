package redact

import (
	"slices"
	"strings"
)

// hideNamed hides values whose name suggests a secret: name=value, name: value, "name":"value",
// ?name=value&, and --name value.
func hideNamed(s string) string { return hideHits(s, namedHits(s)) }

// namedHits finds what hideNamed hides, without the quotes around it. It reads the text once from
// the left, so it is fast on any text.
func namedHits(s string) (found []hit) {
	for i := 0; i < len(s); {
		name, gap := "", 0
		if n := separator(s[i:]); n > 0 {
			name, gap = nameBefore(s, i), n
		} else if s[i] == '-' && (i == 0 || s[i-1] == ' ') {
			name, gap = flagAt(s[i:])
		}
		if name == "" || !suggestsSecret(name) { // before searching for a value, which may extend to the end of the text
			i += max(1, gap)
			continue
		}
		from := i + gap
		for from < len(s) && s[from] == ' ' {
			from++
		}
		v := valueAt(s[from:])
		isText := prose(name, s[i:from], v) || verb(s[:i], s[from:]) || s[i] == '-' && aboutFlag(v)
		if v == "" || harmless(name, v) || isText {
			i += gap
			continue
		}
		i = from + len(v)
		open, end := quotes(v)
		found = append(found, hit{from + open, i - end, true})
	}
	return found
}

// separator returns the length of the separator between a name and its value.
func separator(s string) int {
	switch {
	case strings.HasPrefix(s, "://"):
		return 0
	case strings.HasPrefix(s, ":=") || strings.HasPrefix(s, "=>"):
		return 2
	case s[0] == '=' || s[0] == ':':
		return 1
	case len(s) >= 3 && strings.EqualFold(s[:3], "%3d"):
		return 3
	}
	return 0
}

// nameBefore returns the word that ends before i, ignoring spaces and a closing quote.
func nameBefore(s string, i int) string {
	end := i
	for end > 0 && s[end-1] == ' ' {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
		if end > 0 && s[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && nameByte(s[start-1]) {
		start--
	}
	return s[start:end]
}

// flagAt returns the name of the command-line flag at the start of s and its length, if a value
// follows after a space.
func flagAt(s string) (name string, length int) {
	end := 0
	for end < len(s) && nameByte(s[end]) {
		end++
	}
	name = strings.TrimLeft(s[:end], "-")
	value, ok := strings.CutPrefix(s[end:], " ")
	if name == "" || !ok || value == "" || strings.ContainsRune("- ", rune(value[0])) {
		return "", 0
	}
	return name, end
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// valueAt returns the value at the start of s, with its quotes. A quote that is never closed
// extends to the end.
func valueAt(s string) string {
	rest := strings.TrimPrefix(s, `\`)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		open := len(s) - len(rest) + 1
		if end := strings.IndexByte(s[open:], rest[0]); end >= 0 {
			return s[:open+end+1]
		}
		return s
	}
	if end := strings.IndexAny(s, " \t\r\n\"',;&)}]"); end >= 0 {
		return s[:end]
	}
	return s
}

var (
	// Words that suggest a secret anywhere in a name without separators.
	secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "credential", "connectionstring", "databaseurl", "cookie"}
	// Words that do so only as the last part of a name, unlike monkey, author and compass.
	secretParts = []string{"key", "auth", "pass", "pwd", "pw", "sig", "signature", "jwt", "pat", "pin", "otp", "dsn", "sid", "bearer", "cred", "creds"}
	joiner      = strings.NewReplacer("-", "", "_", "", ".", "")
	// File extensions: "token.js:12" is a position and not a secret.
	sources = []string{"js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py", "go", "rs", "rb", "php", "java", "kt", "cs", "c", "h", "cpp", "json", "toml", "yaml", "yml"}
)

// NamesSecret reports whether a value under this name must not be shown.
func NamesSecret(name, value string) bool { return suggestsSecret(name) && !harmless(name, value) }

func suggestsSecret(name string) bool {
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && slices.Contains(sources, name[dot+1:]) {
		return false
	}
	joined := joiner.Replace(strings.ToLower(name))
	if slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(joined, w) }) {
		return true
	}
	last := strings.TrimRight(name, "0123456789_.-")
	last = last[strings.LastIndexAny(last, "-_.")+1:]
	if slices.Contains(secretParts, strings.ToLower(last)) {
		return true
	}
	for i := len(last) - 1; i > 0; i-- { // fooKey: the part that begins with the last capital letter
		if last[i] >= 'A' && last[i] <= 'Z' {
			return last[i-1] >= 'a' && last[i-1] <= 'z' && slices.Contains(secretParts, strings.ToLower(last[i:]))
		}
	}
	return false
}

// harmless reports whether a value is in the place of a secret but is not one. Hiding it would hide
// the diagnosis ("API_KEY: undefined", "token: required").
func harmless(name, v string) bool {
	v = strings.ToLower(strings.Trim(v, `\"'.`))
	switch v {
	case "", "undefined", "null", "nil", "none", "missing", "invalid", "required", "expired", "unset", "empty", "true", "false",
		"is", "not", "must", "was", "are", "expected", "unexpected", "unknown", "string", "str", "error", "cannot", "no", "[redacted", "***":
		return true
	}
	if len(v) > 2 && v[0] == '<' && strings.Trim(v[1:], "abcdefghijklmnopqrstuvwxyz-_") == ">" { // <your-key> in a usage message
		return true
	}
	name = strings.ToLower(name)
	switch {
	case strings.HasSuffix(name, "pwd") && strings.HasPrefix(v, "/"): // PWD is the working directory of every shell
		return true
	case strings.HasSuffix(name, "tokens") && strings.Trim(v, "0123456789") == "": // max_tokens: 4096
		return true
	}
	return false
}

// prose reports whether a message is about a key of a map: `Unrecognized key: "timeout"`.
func prose(name, between, v string) bool {
	if !strings.EqualFold(name, "key") || !strings.HasSuffix(between, " ") {
		return false
	}
	v = strings.Trim(v, `\"'`)
	return len(v) <= 20 && !strings.ContainsAny(v, "0123456789+/=-")
}

// aboutFlag reports whether the word after a flag is about the flag and not its value, as in "use the
// --access-token flag or ...".
func aboutFlag(v string) bool {
	switch strings.TrimRight(v, ".:!?") {
	case "flag", "option", "argument", "parameter", "switch", "or", "and", "is", "was", "must", "to", "with", "in", "on", "when", "if", "for", "from", "via", "as", "instead":
		return true
	}
	return false
}

// verb reports whether "pass" is the verb in "Call that would pass: {...}".
func verb(before, after string) bool {
	after = strings.TrimPrefix(after, "the same with ")
	return strings.HasSuffix(before, "that would pass") && (strings.HasPrefix(after, `{"`) || strings.HasPrefix(after, "{}"))
}

// quotes returns the lengths of the quotes around a value. They are kept, so that JSON stays
// recognizable.
func quotes(v string) (open, end int) {
	for _, q := range []string{`\"`, `\'`, `"`, `'`} {
		if strings.HasPrefix(v, q) {
			if len(v) >= 2*len(q) && strings.HasSuffix(v, q) {
				return len(q), len(q)
			}
			return len(q), 0
		}
	}
	return 0, 0
}
