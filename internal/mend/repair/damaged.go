package repair

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// decodeDamaged also reads text that lost a quote before one of the keys, that closes with the wrong
// bracket, or that continues after its end.
func decodeDamaged(text string, keys []string) (document, error) {
	r := reader{text: unfenced(text), loosely: true, damaged: true, keys: keys}
	return r.read()
}

// Deviations that not every tool allows: more than the brackets may be missing, and a different
// bracket or quote may be the wrong one.
const (
	missingBrackets = "a missing bracket at the end"
	wrongBracket    = "a wrong bracket"
	lostQuote       = "a missing quote"
	textAfterEnd    = "text after the end"
)

// uncertain reports whether a document has a deviation that not every tool allows.
func (d document) uncertain() bool {
	return slices.ContainsFunc(d.loose, func(what string) bool {
		return what == missingBrackets || what == wrongBracket || what == lostQuote || what == textAfterEnd
	})
}

// isJunk reports whether the text after the end says nothing about the arguments: it closes what
// surrounds them, repeats them, or begins another call. Words may take the arguments back, and a value
// may be an argument behind a bracket that came too early.
func (r *reader) isJunk(value any) bool {
	rest := r.text[r.pos:]
	for range maxRepeats {
		rest = strings.TrimLeft(rest, " \t\r\n}]),;`\"'")
		if rest == "" || anotherCall.MatchString(rest) {
			return !r.uncertain()
		}
		again := reader{text: rest, loosely: true, document: document{rank: map[string]int{}}}
		other, err := again.value()
		asStrict := err == nil && len(again.loose) == 0
		if !asStrict || !isObject(other) || !same(value, other) {
			return false
		}
		rest = rest[again.pos:]
	}
	return false
}

// anotherCall matches a list of calls as Python code.
var anotherCall = regex.New(`^\[[A-Za-z_][\w.]*\(`)

// maxRepeats limits how many times arguments may be repeated.
const maxRepeats = 10

// mayGoOn reports whether the bracket here is wrong: a comma and a key follow it.
func (r *reader) mayGoOn() bool {
	if !r.damaged || r.uncertain() {
		return false
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(r.text[r.pos+1:], " \t\r\n"), ",")
	rest = strings.TrimLeft(rest, " \t\r\n")
	return ok && slices.ContainsFunc(r.keys, func(key string) bool { return startsKey(rest, `"`+key+`"`) || startsKey(rest, "'"+key+"'") })
}

// startsKey reports whether text starts with a key and a colon.
func startsKey(text, key string) bool {
	rest, ok := strings.CutPrefix(text, key)
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

// lostQuote returns the end of a string whose closing quote is missing, if the quote at i opens the
// next key: "x, "key": 1.
func (r *reader) lostQuote(start, i int) (end int, ok bool) {
	if !r.damaged || r.uncertain() {
		return 0, false
	}
	before, comma := strings.CutSuffix(strings.TrimRight(r.text[start:i], " \t"), ",")
	quote := r.text[i : i+1]
	opensKey := slices.ContainsFunc(r.keys, func(key string) bool { return startsKey(r.text[i+1:], key+quote) })
	return start + len(before), comma && opensKey && r.took(lostQuote)
}

// Limits of a search for values.
const (
	maxSalvaged    = 32 << 10 // bytes of the text
	maxSalvagedKey = 200      // bytes of a key
)

// salvage returns the values that can be found in text that is not JSON, by the keys they follow. A
// value that is not JSON itself becomes a string. What may be cut off at the end is left out. The
// keys are sorted.
func salvage(text string, keys []string) document {
	r := reader{text: unfenced(text), loosely: true}
	r.text = r.text[:min(len(r.text), maxSalvaged)]
	r.rank = map[string]int{}
	found := map[string]any{}
	for {
		key, start := r.nextKey(keys)
		if key == "" {
			r.document.value = found
			return r.document
		}
		keys = slices.DeleteFunc(slices.Clone(keys), func(name string) bool { return name == key })
		if _, known := r.rank[key]; !known {
			r.rank[key] = len(r.rank)
		}
		r.pos = start
		value, err := r.value()
		if r.space(); err != nil || strings.IndexByte(",}])", r.peek()) < 0 {
			r.pos = start + strings.IndexAny(r.text[start:]+",", ",}\n")
			value = strings.Trim(r.text[start:r.pos], " \t\r\"'")
		}
		if r.pos < len(r.text) && value != "" {
			found[key] = value
		}
	}
}

// nextKey returns the next of the keys and where its value starts.
func (r *reader) nextKey(keys []string) (key string, start int) {
	for i := r.pos; i < len(r.text); i++ {
		quote := r.text[i]
		if quote != '"' && quote != '\'' {
			continue
		}
		length := strings.IndexByte(r.text[i+1:min(len(r.text), i+maxSalvagedKey)], quote)
		if length < 0 {
			continue
		}
		name := r.text[i+1 : i+1+length]
		if _, found := slices.BinarySearch(keys, name); found && startsKey(r.text[i+1:], name+string(quote)) {
			return name, i + 2 + length + strings.IndexByte(r.text[i+2+length:], ':') + 1
		}
	}
	return "", 0
}
