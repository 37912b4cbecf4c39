package repair

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// fold makes names equal that differ only in case and in the separators between words. A separator
// at the beginning or end of a string can be a sign, a sort order or a path; one between digits
// belongs to a number, as does a sign after an operator.
func fold(text string) string { return folded(text, false) }

// folded is fold. If exact is true, what separates a digit from what is before it is kept: it may be
// a sign, a range or a decimal point.
func folded(text string, exact bool) string {
	var b strings.Builder
	last, separators := rune(0), ""
	for _, r := range strings.ToLower(strings.TrimSpace(text)) {
		if isSeparator(r) {
			separators += string(r)
			continue
		}
		switch {
		case separators == "":
		case last == 0:
			b.WriteString(separators)
		case exact && unicode.IsDigit(r):
			b.WriteString(beforeDigit(last, separators))
		case unicode.IsDigit(r) && (unicode.IsDigit(last) || !unicode.IsLetter(last) && strings.HasSuffix(separators, "-")):
			b.WriteByte('-')
		}
		b.WriteRune(r)
		last, separators = r, ""
	}
	b.WriteString(separators)
	return b.String()
}

// beforeDigit returns what remains of the separators between a character and a digit: a decimal point
// or a hyphen between digits, and otherwise a sign.
func beforeDigit(last rune, separators string) string {
	switch {
	case unicode.IsDigit(last) && separators == ".":
		return "."
	case unicode.IsDigit(last), strings.Contains(separators, "-"):
		return "-"
	}
	return ""
}

func isSeparator(r rune) bool { return strings.ContainsRune(" _-./\t", r) }

// foldKey is fold for names, where leading and trailing separators mean nothing.
func foldKey(name string) string {
	return fold(strings.TrimFunc(name, func(r rune) bool { return isSeparator(r) && r != '-' && r != '/' }))
}

// sameChoice reports whether a string has the words of one of the choices, in a different case or with
// different separators between them. Points and slashes are parts of words.
func sameChoice(text, choice string, choices []any) bool {
	text = strings.TrimSpace(text)
	if text == "" || !clearCase(text, choice) || !sameSpelling(text, choice, choices) {
		return false
	}
	same := func(a, b string) bool {
		return slices.EqualFunc(gapForm.Split(a, -1), gapForm.Split(b, -1), sameWord)
	}
	spaced := func(camel string) string { return camelForm.ReplaceAllString(camel, "$1 $2") }
	return same(text, choice) || same(spaced(text), spaced(choice))
}

// sameSpelling reports whether only case and separators distinguish a string from one of the choices.
// A hyphen before a digit is a sign, unless hyphens separate all words, as in us-east-1, and no choice
// has a plus.
func sameSpelling(text, choice string, choices []any) bool {
	if folded(text, true) == folded(choice, true) {
		return true
	}
	hyphenated := hyphenatedForm.MatchString(text) || hyphenatedForm.MatchString(choice)
	return hyphenated && fold(text) == fold(choice) && !slices.ContainsFunc(choices, hasPlus)
}

func hasPlus(choice any) bool {
	text, ok := choice.(string)
	return ok && plusForm.MatchString(text)
}

// sameWord reports whether two words differ only in case, and none of them is a unit.
func sameWord(a, b string) bool {
	sameCase := func(a, b string) bool { return a == b || !isUnit(a) && !isUnit(b) }
	return strings.EqualFold(a, b) && slices.EqualFunc(lettersForm.FindAllString(a, -1), lettersForm.FindAllString(b, -1), sameCase)
}

// isUnit reports whether the case of a word may be a part of its meaning, as in m, Mb, mHz and MBps.
func isUnit(word string) bool {
	return utf8.RuneCountInString(word) <= 5 && unitForm.MatchString(word)
}

var (
	gapForm        = regex.New(`[ _\t]*-[ _\t]*|[ _\t]+`)
	camelForm      = regex.New(`(\p{Ll})(\p{Lu})`)
	lettersForm    = regex.New(`\pL+`)
	unitForm       = regex.New(`^[mM]$|^\p{Lu}b$|\p{Ll}.*\p{Lu}|\p{Lu}{2}\p{Ll}`)
	hyphenatedForm = regex.New(`^\pL+(-\pL+)+(-[\pL\p{Nd}]+)+$`)
	plusForm       = regex.New(`\+\p{Nd}`)
)

// punctuatedChoice reports whether a string is a choice with different punctuation, or with
// separators in different places. Nothing that grants or destroys something is meant by that, and a
// question mark or parentheses are a doubt.
func punctuatedChoice(text, choice string) bool {
	return resembles(text, choice) && risk(text) == 0 && risk(choice) == 0 && !strings.ContainsAny(text, "?()")
}

// resembles reports whether only case, separators and punctuation distinguish a string from a choice.
func resembles(text, choice string) bool {
	folded := foldChoice(text)
	return folded != "" && folded == foldChoice(choice) && clearCase(text, choice)
}

// clearCase reports whether the case of a choice says nothing or is that of a string. That of one or
// two letters can be significant, as in m for minute and M for month.
func clearCase(text, choice string) bool {
	letters, others := 0, 0
	for _, r := range choice {
		switch {
		case unicode.IsLetter(r):
			letters++
		case !isSeparator(r):
			others++
		}
	}
	if letters > 2 || letters == 0 {
		return true
	}
	oneCase := func(s string) bool { return strings.ToLower(s) == s || strings.ToUpper(s) == s }
	return strings.TrimSpace(text) == choice || letters == 2 && others == 0 && oneCase(strings.TrimSpace(text)) && oneCase(choice)
}

// foldChoice is fold without punctuation. It keeps signs.
func foldChoice(text string) string {
	runes := []rune(strings.TrimSpace(text))
	plain := slices.Clone(runes)
	for i := range runes {
		if isPunctuation(runes, i) {
			plain[i] = ' '
		}
	}
	return folded(string(plain), true)
}

// isPunctuation reports whether the character at i is punctuation. An exclamation mark before
// something negates it, a quote after a digit is a unit, and a mark between digits belongs to a
// number, a time or a ratio.
func isPunctuation(text []rune, i int) bool {
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return ' '
		}
		return text[i]
	}
	before, after := at(i-1), at(i+1)
	switch text[i] {
	case '!':
		return i > 0 && !unicode.IsLetter(after) && !unicode.IsDigit(after) && !unicode.IsSymbol(after)
	case '\'', '"':
		return !unicode.IsDigit(before) || text[0] == text[i] && i == len(text)-1
	case ',', ':':
		return !unicode.IsDigit(before) || !unicode.IsDigit(after)
	}
	return strings.ContainsRune(";`?()", text[i])
}

// inOneCase reports whether all choices are written in the same case, so that case distinguishes
// none of them.
func inOneCase(choices []any) bool {
	upper, lower := true, true
	for _, choice := range choices {
		text, ok := choice.(string)
		upper = upper && ok && strings.ToUpper(text) == text
		lower = lower && ok && strings.ToLower(text) == text
	}
	return upper || lower
}

// sameShortChoice reports whether a string is a choice of one or two letters in the other case. It
// excludes letters whose case distinguishes units, minute and month, bit and byte, and flags.
func sameShortChoice(text, choice string) bool {
	text = strings.TrimSpace(text)
	letters := strings.IndexFunc(choice, unicode.IsLetter) >= 0
	return letters && strings.EqualFold(text, choice) && !strings.ContainsAny(strings.ToLower(choice), "mb") && choice[0] != '-'
}
