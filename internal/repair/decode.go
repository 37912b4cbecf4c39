package repair

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a document. Larger ones are passed on unverified.
const (
	maxDepth  = 100     // nested containers
	maxValues = 100_000 // values in one document
	maxDigits = 400     // characters of a number; arithmetic on longer ones is too slow
	maxPower  = 400     // exponent of a number, for the same reason
)

// limitError reports that a document exceeds a limit. The document may still be valid.
type limitError string

func (t limitError) Error() string { return string(t) }

// document is decoded JSON, as the validator expects it: map[string]any, []any, string,
// json.Number, bool and nil.
type document struct {
	value any
	rank  map[string]int // position of each key in the text
	loose []string       // deviations from JSON, without duplicates
	twice string         // a key that occurs twice in one object
}

// decode reads strict JSON.
func decode(text string) (document, error) { return read(text, false) }

// decodeLoosely also reads what models write instead of JSON: a fenced block, Python literals,
// comments, trailing commas, keys without quotes. It never guesses the rest of an incomplete value.
func decodeLoosely(text string) (document, error) { return read(unfenced(text), true) }

// decodeDamaged also reads text that lost a quote before one of the keys, that closes with the wrong
// bracket, or that continues after its end.
func decodeDamaged(text string, keys []string) (document, error) {
	r := reader{text: unfenced(text), loosely: true, damaged: true, keys: keys}
	return r.read()
}

func read(text string, loose bool) (document, error) {
	r := reader{text: text, loosely: loose}
	return r.read()
}

func (r *reader) read() (document, error) {
	r.rank = map[string]int{}
	value, err := r.value()
	if err == nil {
		err = r.end(value)
	}
	r.document.value = value
	return r.document, err
}

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
			end := start + strings.IndexAny(r.text[start:]+",", ",}\n")
			value = strings.Trim(r.text[start:end], " \t\r\"'")
			r.pos = end
		}
		if r.pos < len(r.text) && value != "" {
			found[key] = value
		}
	}
}

// maxSalvaged limits the text that is searched for values, in bytes.
const maxSalvaged = 32 << 10

// maxSalvagedKey limits the length of a key that is searched for.
const maxSalvagedKey = 200

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

// unfenced returns the text inside a Markdown fence.
func unfenced(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return text
	}
	if first, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(first, "{}[]\"'") {
		inner = rest // skip the language
	}
	return strings.TrimSpace(inner)
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

type reader struct {
	document
	text    string
	pos     int
	depth   int
	values  int
	loosely bool
	damaged bool     // read damaged text
	keys    []string // keys that damaged text may have
}

func (r *reader) fail(what string) error {
	return fmt.Errorf("%s at character %d", what, r.pos+1)
}

// took records a deviation from JSON and reports whether it is allowed.
func (r *reader) took(what string) bool {
	if !r.loosely {
		return false
	}
	for _, known := range r.loose {
		if known == what {
			return true
		}
	}
	r.loose = append(r.loose, what)
	return true
}

func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		case '/', '#':
			if !r.loosely || !r.comment() {
				return
			}
		default:
			return
		}
	}
}

func (r *reader) comment() bool {
	rest := r.text[r.pos:]
	end := 0
	switch {
	case strings.HasPrefix(rest, "//"), rest[0] == '#':
		if end = strings.IndexByte(rest, '\n'); end < 0 {
			end = len(rest)
		}
	case strings.HasPrefix(rest, "/*"):
		if end = strings.Index(rest, "*/") + 2; end < 2 {
			return false
		}
	default:
		return false
	}
	r.pos += end
	return r.took("comments")
}

// afterJSON is the error for text that continues after the JSON.
const afterJSON = "text after the JSON"

func (r *reader) end(value any) error {
	start := r.pos
	r.space()
	if strings.ContainsFunc(r.text[start:r.pos], unicode.IsLetter) { // a comment
		r.pos = start
		return r.fail(afterJSON)
	}
	if r.pos < len(r.text) && !(r.damaged && r.isJunk(value) && r.took(textAfterEnd)) {
		return r.fail(afterJSON)
	}
	return nil
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
		if err != nil || !isObject(other) || !same(value, other) || len(again.loose) > 0 {
			return false
		}
		rest = rest[again.pos:]
	}
	return false
}

// anotherCall matches a list of calls as Python code.
var anotherCall = regexp.MustCompile(`^\[[A-Za-z_][\w.]*\(`)

// maxRepeats limits how many times arguments may be repeated.
const maxRepeats = 10

func (r *reader) value() (any, error) {
	if r.values++; r.values > maxValues {
		return nil, limitError(fmt.Sprintf("the arguments contain more than %d values", maxValues))
	}
	r.space()
	switch c := r.peek(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array(']')
	case c == '(' && r.took("a Python tuple"):
		return r.array(')')
	case c == '"', c == '\'' && r.took("single quotes"):
		return r.string(c)
	case c == '-' || c >= '0' && c <= '9' || c == '.' && r.loosely:
		return r.number()
	case c == 0 && r.pos >= len(r.text):
		return nil, r.fail("the JSON is incomplete")
	default:
		return r.word()
	}
}

var words = map[string]any{"true": true, "false": false, "null": nil}
var pythonWords = map[string]any{"True": true, "False": false, "None": nil}

func (r *reader) word() (any, error) {
	word := r.name()
	if value, ok := words[word]; ok {
		return value, nil
	}
	if value, ok := pythonWords[word]; ok && r.took("Python's "+word) {
		return value, nil
	}
	r.pos -= len(word)
	return nil, r.fail("a value is missing or not quoted")
}

// name reads letters, digits and underscores.
func (r *reader) name() string {
	start := r.pos
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		if c != '_' && c != '$' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
		r.pos++
	}
	return r.text[start:r.pos]
}

func (r *reader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return limitError(fmt.Sprintf("the arguments are nested more than %d levels deep", maxDepth))
	}
	r.pos++
	return nil
}

func (r *reader) object() (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	object := map[string]any{}
	for first := true; ; first = false {
		r.space()
		if r.peek() == '}' && (first || r.took("a trailing comma")) {
			r.pos++
			return object, nil
		}
		key, err := r.key()
		if err != nil {
			return nil, err
		}
		r.space()
		if r.peek() != ':' {
			return nil, r.fail("a colon is missing")
		}
		r.pos++
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			r.twice = key
		}
		object[key] = value
		if more, err := r.more('}'); err != nil || !more {
			return object, err
		}
	}
}

func (r *reader) array(closing byte) (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	array := []any{}
	for first := true; ; first = false {
		r.space()
		if r.peek() == closing && (first || r.took("a trailing comma")) {
			r.pos++
			return array, nil
		}
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		array = append(array, value)
		if more, err := r.more(closing); err != nil || !more {
			if closing == ')' && len(array) == 1 && err == nil {
				return nil, r.fail("an expression in parentheses")
			}
			return array, err
		}
	}
}

// more reads what follows an element: a comma or the closing bracket.
func (r *reader) more(closing byte) (bool, error) {
	r.space()
	switch c := r.peek(); {
	case c == ',':
		r.pos++
		return true, nil
	case c == closing:
		r.pos++
		return false, nil
	case r.damaged && (c == '}' || c == ']') && r.goesOn() && !r.uncertain() && r.took(wrongBracket):
		r.pos++
		return false, nil
	case c == '"' && r.loosely && r.pos > 0 && r.text[r.pos-1] != '"':
		// An extra quote: {"a":1"}
		rest := strings.TrimLeft(r.text[r.pos+1:], " \t\r\n")
		if rest != "" && (rest[0] == ',' || rest[0] == closing) && r.took("a stray quote") {
			r.pos++
			return r.more(closing)
		}
	case r.pos >= len(r.text):
		// Only brackets may be missing, after a complete string, array or object. A number, a
		// word or an open string could continue.
		if last := strings.TrimRight(r.text, " \t\r\n"); strings.IndexByte("\"'}])", last[len(last)-1]) >= 0 && r.took(missingBrackets) {
			return false, nil
		}
		return false, r.fail("the JSON is incomplete")
	}
	return false, r.fail("a comma or " + string(closing) + " is missing")
}

// goesOn reports whether a comma and a key follow the bracket here.
func (r *reader) goesOn() bool {
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
	before, comma := strings.CutSuffix(strings.TrimRight(r.text[start:i], " \t"), ",")
	if !r.damaged || !comma || r.uncertain() {
		return 0, false
	}
	quote := r.text[i : i+1]
	if !slices.ContainsFunc(r.keys, func(key string) bool { return startsKey(r.text[i+1:], key+quote) }) {
		return 0, false
	}
	return start + len(before), r.took(lostQuote)
}

func (r *reader) key() (key string, err error) {
	switch c := r.peek(); {
	case c == '"', c == '\'' && r.took("single quotes"):
		key, err = r.string(c)
		if err != nil {
			return "", err
		}
	default:
		if key = r.name(); key == "" || !r.took("keys without quotes") {
			return "", r.fail("a key in quotes is missing")
		}
		if r.peek() == '"' {
			r.pos++ // only the opening quote is missing
		}
	}
	if _, known := r.rank[key]; !known {
		r.rank[key] = len(r.rank)
	}
	return key, nil
}

// string reads a quoted string. Without escapes it is a substring of the source.
func (r *reader) string(quote byte) (string, error) {
	r.pos++
	start := r.pos
	for i := start; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == quote:
			r.pos = i + 1
			if end, ok := r.lostQuote(start, i); ok {
				r.pos, i = end, end
			}
			return r.text[start:i], r.utf8(r.text[start:i])
		case c == '\\' || c < ' ':
			return r.escaped(quote, start, i)
		}
	}
	r.pos = len(r.text)
	return "", r.fail("a string is not closed")
}

func (r *reader) utf8(text string) error {
	if !utf8.ValidString(text) {
		return r.fail("a string is not valid UTF-8")
	}
	return nil
}

// escaped continues string at its first escape, at i.
func (r *reader) escaped(quote byte, start, i int) (string, error) {
	var b strings.Builder
	b.WriteString(r.text[start:i])
	for i < len(r.text) {
		c := r.text[i]
		switch {
		case c == quote:
			r.pos = i + 1
			return b.String(), r.utf8(b.String())
		case c < ' ':
			if r.pos = i; !r.took("control characters in strings") {
				return "", r.fail("a control character in a string")
			}
			b.WriteByte(c)
			i++
		case c != '\\':
			b.WriteByte(c)
			i++
		default:
			r.pos = i
			char, size := r.escape(r.text[i:])
			if size < 0 {
				return "", limitError("the arguments contain half of a surrogate pair, which servers decode differently")
			}
			if size == 0 {
				return "", r.fail("an invalid escape")
			}
			b.WriteRune(char)
			i += size
		}
	}
	r.pos = len(r.text)
	return "", r.fail("a string is not closed")
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape at the start of text. size is 0 if there is none and -1 if it is half of
// a surrogate pair.
func (r *reader) escape(text string) (char rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	if char, ok := escapes[text[1]]; ok {
		return char, 2
	}
	switch {
	case text[1] == 'u':
		char, ok := hex(text, 2, 4)
		if !ok {
			return 0, 0
		}
		if utf16.IsSurrogate(char) {
			low, ok := hex(text, 8, 4)
			if char = utf16.DecodeRune(char, low); !ok || text[6:8] != `\u` || char == utf8.RuneError {
				return 0, -1 // half of a surrogate pair
			}
			return char, 12
		}
		return char, 6
	case text[1] == '\'' && r.took("Python's escapes"):
		return '\'', 2
	case text[1] == 'x' && r.took("Python's escapes"):
		if char, ok := hex(text, 2, 2); ok {
			return char, 4
		}
	}
	return 0, 0
}

func hex(text string, from, digits int) (rune, bool) {
	if len(text) < from+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(text[from:from+digits], 16, 32)
	return rune(n), err == nil
}

func (r *reader) number() (any, error) {
	start := r.pos
	for r.pos < len(r.text) && strings.IndexByte("+-.0123456789eE", r.text[r.pos]) >= 0 {
		r.pos++
	}
	text := r.text[start:r.pos]
	if !isNumber(text) {
		if r.loosely && isNumber("0"+text) && text[0] == '.' && r.took("Python's numbers") {
			return json.Number("0" + text), nil
		}
		if r.loosely && strings.HasSuffix(text, ".") && isNumber(text+"0") && r.took("Python's numbers") {
			return json.Number(text + "0"), nil
		}
		r.pos = start
		return nil, r.fail("an invalid number")
	}
	if hugeNumber(text) {
		return nil, limitError("the arguments contain a number of more than " + strconv.Itoa(maxDigits) + " digits")
	}
	return json.Number(text), nil
}

// isNumber reports whether text is a number in the syntax of JSON.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole := digits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	text = text[whole:]
	if rest, ok := strings.CutPrefix(text, "."); ok {
		fraction := digits(rest)
		if fraction == 0 {
			return false
		}
		text = rest[fraction:]
	}
	if text != "" && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		return text != "" && digits(text) == len(text)
	}
	return text == ""
}

func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// hugeNumber reports whether arithmetic on a number would take too long.
func hugeNumber(text string) bool {
	if len(text) > maxDigits {
		return true
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		power, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		return err != nil || power > maxPower || power < -maxPower
	}
	return false
}
