package repair

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// A hostile error can ask the model for anything that the model has read. These checks keep a value of
// the model's own from taking it to the server: the goal, and what decides where a call leads.

// origin compares values of the model's own with the call and with what else the model has read.
type origin struct {
	sent    any
	options ProposeOptions
	words   map[string]int // of the call
	digits  int            // see reveals
	signs   int            // see reveals
}

// callWords counts the words and numbers of the call.
func (o *origin) callWords() map[string]int {
	if o.words == nil {
		o.words = map[string]int{}
		walk(o.sent, nil, func(path []string, value any) {
			text, _ := scalarText(value)
			for _, word := range segments(last(path) + " " + text) {
				o.words[word]++
			}
		})
	}
	return o.words
}

func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range segments(text) {
		words[word] = true
	}
	return words
}

// Limits of what is the model's own in a call whose goal the model has read: of its numbers and dates, and
// of what is between words.
const (
	maxNewDigits = 8
	maxNewSigns  = 8
)

// newSigns counts the characters of text other than letters and digits, as far as the call has fewer of them.
func (o *origin) newSigns(text string) (n int) {
	rest := map[rune]int{}
	walk(o.sent, nil, func(_ []string, value any) {
		sent, _ := scalarText(value)
		for _, r := range sent {
			rest[r]++
		}
	})
	for _, r := range text {
		if rest[r]--; rest[r] < 0 && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// reveals reports whether text may carry the caller's goal, or a part of the tool's description, to the
// server. A goal can be encoded, so next to one nothing is new but a date or a few short numbers that
// are not in it, and a few signs. chosen means that the text is one of the schema's choices.
func (o *origin) reveals(text string, chosen bool) bool {
	call, goal, about, said := o.callWords(), wordsOf(o.options.Goal), wordsOf(o.options.About), wordsOf(o.options.Said)
	used, isDate := map[string]int{}, len(dates(text)) > 0
	isDescription := func(word string) bool { return about[word] && !said[word] && len(word) > 3 }
	for _, word := range segments(text) {
		used[word]++
		switch {
		case call[word] >= used[word], call[word] > 0 && len(goal) == 0:
		case goal[word], !chosen && isDescription(word):
			return true
		case len(goal) == 0:
		case !isDate && strings.ContainsFunc(word, unicode.IsLetter):
			return true
		default:
			o.digits += len(word)
		}
	}
	if len(goal) > 0 {
		o.signs += o.newSigns(text)
	}
	return o.digits > maxNewDigits || o.signs > maxNewSigns
}

var (
	// address matches the parts of a string that name a host: in a URL, after //, in an e-mail address.
	address = regex.New(`(?i)(?:([a-z][a-z0-9+.-]*):)?(?://|\\\\)([^/\\\s?#]*)|@([\w.-]+)`)
	// hostForm matches a string that is a host, with or without a path.
	hostForm = regex.New(`(?i)^((?:[a-z0-9-]+\.)+)([a-z]{2,}|\d+)(?::\d+)?(?:[/?#]|$)`)
	// localForm matches the start of a string that is this machine or an IPv6 address.
	localForm = regex.New(`(?i)^(?:localhost\b|\[[0-9a-f:.]+\]|[0-9a-f:.]*::)`)
	rooted    = regex.New(`^(?:[/\\~]|[A-Za-z]:[\\/])`)
)

// leadsElsewhere reports whether text leads to a host, a folder or a file that the call does not name:
// a URL at a different host, a path out of its folder, an absolute path to a different file.
func (o *origin) leadsElsewhere(text string) bool {
	const maxEncodings = 3
	for range maxEncodings {
		if o.leads(strings.TrimSpace(text)) {
			return true
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			return false
		}
		text = decoded
	}
	return true
}

func (o *origin) leads(text string) bool {
	for _, found := range address.FindAllStringSubmatch(text, -1) {
		scheme, host := strings.ToLower(found[1]), found[2]+found[3]
		host = host[strings.LastIndexByte(host, '@')+1:]
		isUsual := slices.Contains([]string{"", "http", "https"}, scheme) || o.callWords()[scheme] > 0
		if !isUsual || !o.names(host) {
			return true
		}
	}
	if found := hostForm.FindStringSubmatch(text); found != nil && !o.names(found[1]+found[2]) {
		return true
	}
	if host := localForm.FindString(text); host != "" && !o.names(host) && !o.names(strings.Trim(host, "[]")) {
		return true
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' })
	for _, part := range parts {
		if part == ".." && !o.names("..") {
			return true
		}
	}
	if !rooted.MatchString(text) || address.MatchString(text) {
		return false
	}
	return len(parts) == 0 || !o.names(parts[len(parts)-1])
}

// names reports whether the call contains a name as it is: a host, or a part of a path.
func (o *origin) names(name string) (found bool) {
	walk(o.sent, nil, func(_ []string, value any) {
		text, _ := scalarText(value)
		for _, token := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\?#@\"'<>()[]{},;|= \t\n", r) }) {
			found = found || strings.EqualFold(strings.Trim(token, ":"), name)
		}
	})
	return found
}
