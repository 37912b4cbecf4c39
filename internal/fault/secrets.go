package fault

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// Secrets are values known to be secret, usually from the server's environment. They are hidden in plain and in the
// encodings in which programs repeat them: base64, URL and hexadecimal. The zero value knows none.
//
// A Secrets prints as nothing, so that a Fault in a log line cannot give them away.
type Secrets struct {
	forms []string
	all   *strings.Replacer // of all forms, where they are many
}

// shortest is the length below which a value is no secret: hiding every "1" or "true" would hide the text.
const shortest = 6

// KnownSecrets makes Secrets of values.
func KnownSecrets(values ...string) Secrets {
	var s Secrets
	for _, v := range values {
		if len(v) < shortest {
			continue
		}
		s.forms = append(s.forms, v, url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))))
		s.forms = append(s.forms, base64Forms(v)...)
	}
	return s.sorted()
}

// JoinSecrets makes one of several.
func JoinSecrets(several ...Secrets) Secrets {
	var s Secrets
	for _, one := range several {
		s.forms = append(s.forms, one.forms...)
	}
	return s.sorted()
}

// sorted puts the longest first: a shorter form inside a longer one would leave the rest of it standing.
func (s Secrets) sorted() Secrets {
	slices.SortFunc(s.forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.forms = slices.Compact(s.forms)
	const many = 100
	if len(s.forms) > many { // one pass for all of them
		var pairs []string
		for _, form := range s.forms {
			pairs = append(pairs, form, mark)
		}
		s.all = strings.NewReplacer(pairs...)
	}
	return s
}

// EnvironSecrets are the values of those variables in environ ("NAME=value") whose names promise a secret.
func EnvironSecrets(environ []string) Secrets {
	var values []string
	for _, kv := range environ {
		name, v, ok := strings.Cut(kv, "=")
		if ok && envName(name) && !harmless(name, v) {
			values = append(values, v)
		}
	}
	return KnownSecrets(values...)
}

func envName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "APIKEY", "DSN", "CONNECTION_STRING", "DATABASE_URL", "COOKIE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for part := range strings.SplitSeq(name, "_") {
		switch part {
		case "KEY", "PASS", "PWD", "AUTH", "PAT", "JWT", "PIN", "OTP", "SID":
			return name != "PWD" && name != "OLDPWD"
		}
	}
	return false
}

// base64Forms are what a value looks like inside base64, wherever it begins: base64 cuts bytes into threes, so one value
// has three faces, and the characters at the edges are shared with its neighbours.
func base64Forms(v string) []string {
	var forms []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(v)))
		for shift := range 3 {
			text := enc.EncodeToString(append(make([]byte, shift), v...))
			from := (shift*8 + 5) / 6      // characters that hold bits of what comes before
			to := (shift + len(v)) * 8 / 6 // characters that hold bits of the value only
			if inner := text[from:to]; len(inner) >= shortest {
				forms = append(forms, inner)
			}
		}
	}
	return forms
}

// Redact hides the known values.
func (s Secrets) Redact(text string) string {
	if s.all != nil {
		return s.all.Replace(text)
	}
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, mark)
	}
	return text
}

// String is empty on purpose, as are GoString and the JSON.
func (s Secrets) String() string               { return "" }
func (s Secrets) GoString() string             { return "fault.Secrets{}" }
func (s Secrets) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
