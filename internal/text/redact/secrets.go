package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// Secrets are values that no output may show. They are hidden as they are and in the encodings in
// which programs repeat them: base64, URL, hexadecimal, JSON, HTML. The zero value contains none.
//
// Secrets print as nothing, so that a Fault in a log line cannot leak them.
type Secrets struct {
	forms []form
	all   *strings.Replacer // for all forms, if they are many
}

// form is one encoding of a value.
type form struct {
	text    string
	certain bool // known to be secret, and not only suspected
}

// minSecretLen is the minimum length of a secret: hiding every "1" or "true" would make text
// unreadable.
const minSecretLen = 6

// KnownSecrets returns Secrets of values that are known to be secret by their name or place.
func KnownSecrets(values ...string) Secrets {
	return secretsOf(values, func(string) bool { return true })
}

// SuspectedSecrets returns Secrets of values that may be secret, such as every variable of a
// server. They are hidden in text from elsewhere; only those that look like a key count as certain.
func SuspectedSecrets(values ...string) Secrets {
	return secretsOf(values, opaque)
}

func secretsOf(values []string, certain func(string) bool) Secrets {
	var s Secrets
	for _, value := range values {
		for _, v := range parts(value) {
			if len(v) < minSecretLen {
				continue
			}
			for _, text := range formsOf(v) {
				s.forms = append(s.forms, form{text, certain(v)})
			}
		}
	}
	return s.sorted()
}

// parts returns a value, each of its lines, what follows its scheme ("Bearer", "Basic"), and the
// password of basic authentication.
func parts(value string) []string {
	all := []string{value}
	for line := range strings.Lines(value) { // a diff shows one at a time
		line = strings.TrimSpace(line)
		all = append(all, line)
		if scheme, rest, ok := strings.Cut(line, " "); ok {
			all = append(all, rest)
			if login, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
				_, password, _ := strings.Cut(string(login), ":")
				all = append(all, password)
			}
		}
	}
	return all
}

// formsOf returns a value as it is and as programs repeat it.
func formsOf(v string) []string {
	hexed, query, path := hex.EncodeToString([]byte(v)), url.QueryEscape(v), url.PathEscape(v)
	all := append(base64Forms(v), v, strings.ToUpper(v), strings.ToLower(v), hexed, strings.ToUpper(hexed),
		query, path, lowerEscapes(query), lowerEscapes(path), strings.ReplaceAll(query, "+", "%20"), html.EscapeString(v))
	for _, quoted := range [][]byte{jsonOf(v), htmlSafe(v)} {
		once := string(quoted[1 : len(quoted)-1])
		twice := jsonOf(once) // JSON in JSON
		all = append(all, once, string(twice[1:len(twice)-1]))
	}
	return all
}

func htmlSafe(v string) []byte {
	text, _ := json.Marshal(v) // cannot fail for a string
	return text
}

// lowerEscapes returns s with %2F written as %2f.
func lowerEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
}

// JoinSecrets returns the union of several Secrets.
func JoinSecrets(several ...Secrets) Secrets {
	var s Secrets
	for _, one := range several {
		s.forms = append(s.forms, one.forms...)
	}
	return s.sorted()
}

// sorted sorts the longest first: a shorter form inside a longer one would leave the rest of it.
func (s Secrets) sorted() Secrets {
	sorting.Stable(s.forms, func(a, b form) int {
		certainFirst := 0
		if a.certain != b.certain {
			certainFirst = 1
			if a.certain {
				certainFirst = -1
			}
		}
		return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text), certainFirst)
	})
	s.forms = slices.CompactFunc(s.forms, func(a, b form) bool { return a.text == b.text })
	const many = 100
	if len(s.forms) > many { // one pass for all of them
		var pairs []string
		for _, f := range s.forms {
			pairs = append(pairs, f.text, mark)
		}
		s.all = strings.NewReplacer(pairs...)
	}
	return s
}

// Certain returns the values that are known to be secret. Only they are hidden in gauze's own text,
// which may need a suspected value.
func (s Secrets) Certain() Secrets {
	var only Secrets
	for _, f := range s.forms {
		if f.certain {
			only.forms = append(only.forms, f)
		}
	}
	return only.sorted()
}

// In reports whether text contains one of the values.
func (s Secrets) In(text string) bool {
	return slices.ContainsFunc(s.forms, func(f form) bool { return strings.Contains(text, f.text) })
}

// EnvironSecrets returns the values of those variables in environ ("NAME=value") whose names
// suggest a secret or that look like a key.
func EnvironSecrets(environ []string) Secrets {
	var known, suspected []string
	for _, kv := range environ {
		name, v, ok := strings.Cut(kv, "=")
		switch {
		case !ok || harmless(name, v):
			continue
		case partSuggestsSecret(name):
			known = append(known, v)
		case opaque(v):
			suspected = append(suspected, v)
		}
		known = append(known, InnerSecrets(v)...)
	}
	return JoinSecrets(KnownSecrets(known...), SuspectedSecrets(suspected...))
}

// InnerSecrets returns the secrets inside a value: the password of an address, of a connection
// string, of a piece of JSON. A server that fails may repeat them alone.
func InnerSecrets(value string) (all []string) {
	for _, h := range append(addressHits(value), namedHits(value)...) {
		if h.certain {
			all = append(all, decoded(value[h.from:h.to])...)
		}
	}
	return all
}

// partSuggestsSecret reports whether any part of a variable's name suggests a secret: AUTH_HEADER,
// KEY_2_PROD.
func partSuggestsSecret(name string) bool {
	if name == "PWD" || name == "OLDPWD" {
		return false
	}
	for part := range strings.SplitSeq(name, "_") {
		if part != "" && suggestsSecret(part) {
			return true
		}
	}
	return suggestsSecret(name)
}

// base64Forms returns how a value appears inside base64 at any offset. Base64 encodes three bytes
// at a time, so a value has three forms, and the characters at the edges are shared with its
// neighbors.
func base64Forms(v string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(v)))
		for shift := range 3 {
			text := enc.EncodeToString(append(make([]byte, shift), v...))
			from := (shift*8 + 5) / 6      // characters with bits of what comes before
			to := (shift + len(v)) * 8 / 6 // characters with bits of the value only
			if inner := text[from:to]; len(inner) >= minSecretLen {
				forms = append(forms, inner)
			}
		}
	}
	return forms
}

// Redact returns text with the values hidden.
func (s Secrets) Redact(text string) string {
	if s.all != nil {
		return s.all.Replace(text)
	}
	for _, f := range s.forms {
		text = strings.ReplaceAll(text, f.text, mark)
	}
	return text
}

// minPartLen is the minimum length of the beginning of a value that RedactPart hides: shorter ones are
// in every text.
const minPartLen = 4

// RedactPart is Redact for text whose end is missing, because it was cut or has not arrived. It also
// hides the beginning of a value at the end of text.
func (s Secrets) RedactPart(text string) string {
	text = s.Redact(text)
	longest := 0
	for _, f := range s.forms {
		for n := min(len(f.text)-1, len(text)); n >= max(minPartLen, longest+1); n-- {
			if strings.HasSuffix(text, f.text[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return text
	}
	return text[:len(text)-longest] + mark
}

// String returns "", so that secrets are never printed. So do GoString and MarshalJSON, in their
// way.
func (s Secrets) String() string               { return "" }
func (s Secrets) GoString() string             { return "redact.Secrets{}" }
func (s Secrets) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// jsonOf returns the JSON of a value.
func jsonOf(v any) []byte {
	text, err := plaintext.EncodeJSON(v, "")
	if err != nil {
		return nil
	}
	return text
}
