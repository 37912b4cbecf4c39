package redact

import (
	"strings"
	"testing"
)

func TestTheBeginningOfASecretIsHidden(t *testing.T) {
	secrets := KnownSecrets("correct-horse-battery-staple", "abcabcabc")
	for text, want := range map[string]string{
		"":                            "",
		"tok correct-ho":              "tok " + mark,
		"tok corr":                    "tok " + mark,
		"tok CORRECT-HORSE":           "tok " + mark,
		"tok cor":                     "tok cor",
		"tok correct-ho and more":     "tok correct-ho and more",
		"tok abcabcabc":               "tok " + mark, // whole, and its end is also a beginning
		"tok abcabcabcabc":            "tok " + mark + "abc",
		"correct-horse-battery-stapl": mark,
	} {
		if got := secrets.RedactPart(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	many := make([]string, 200)
	for i := range many {
		many[i] = strings.Repeat(string(rune('a'+i%26)), 8+i)
	}
	if got := KnownSecrets(append(many, "correct-horse")...).RedactPart("tok correct-h"); got != "tok "+mark {
		t.Errorf("of many: %q", got)
	}
}
