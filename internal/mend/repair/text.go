package repair

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// errReading means that arguments are not what text says.
var errReading = errors.New("the arguments that were sent are not JSON, " +
	"and the model's arguments differ from them in more than punctuation")

// readText reads sent text that is not JSON along the proposal.
func (g *closedGate) readText() error {
	if g.text == "" {
		return nil
	}
	value, unsure, err := readText(g.text, g.proposed)
	if err != nil {
		err = g.readParts()
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrInvented, err)
		}
		return err
	}
	g.sent = value
	g.raise(Told)
	if unsure {
		g.raise(Shown)
	}
	return nil
}

// readText reads text that is not JSON as a value of the shape that a model proposed. The text has to
// have the same keys and values in the same nesting: only quotes may be wrong, and brackets at the
// end. It keeps the meaning because nothing but punctuation is passed over, everything is used once,
// and every value follows its own key. unsure means that the end may be missing, or that it is not
// certain where a string without quotes ends.
func readText(text string, like any) (value any, unsure bool, err error) {
	r := textReader{text: unfenced(unescapedLetters(text))}
	value, ok := r.value(like)
	if !ok || strings.Trim(r.text[r.at:], "}])\"'`,; \t\r\n") != "" {
		return nil, false, errReading
	}
	return value, r.unsure, nil
}

// unescapedLetters replaces escapes such as \u00e9 that are not ASCII.
func unescapedLetters(text string) string {
	return escapedLetter.ReplaceAllStringFunc(text, func(escape string) string {
		code, err := strconv.ParseUint(escape[2:], 16, 16)
		if r := rune(code); err == nil && r >= 0x80 && unicode.IsLetter(r) {
			return string(r)
		}
		return escape
	})
}

var escapedLetter = regex.New(`\\u[0-9a-fA-F]{4}`)

// textReader reads text along a proposed value.
type textReader struct {
	text   string
	at     int
	unsure bool
	inCall bool // a parenthesis ends a value, as in f(a=5)
}

func (r *textReader) value(like any) (any, bool) {
	r.blank()
	from := *r
	switch like := like.(type) {
	case map[string]any:
		return r.container('{', '}', func() (any, bool) { return r.object(like) })
	case []any:
		if value, ok := r.container('[', ']', func() (any, bool) { return r.list(like) }); ok || len(like) != 1 || isList(like[0]) {
			return value, ok
		}
		*r = from
		return r.value(like[0]) // one value instead of an array of it
	case string:
		if quote := r.quote(); quote != 0 {
			return r.quoted(quote, like)
		}
	}
	token, ok := r.bare()
	if text, isText := like.(string); isText && strings.ContainsAny(text, " (") {
		r.unsure = true
	}
	return token, ok
}

// container reads an object or an array. It may be in quotes, of which one may be missing.
func (r *textReader) container(open, end byte, inside func() (any, bool)) (any, bool) {
	r.quote()
	r.blank()
	if !r.accept(open) {
		return nil, false
	}
	value, ok := inside()
	if !ok {
		return nil, false
	}
	if r.blank(); !r.accept(end) {
		if r.at < len(r.text) {
			return nil, false
		}
		r.unsure = true
	}
	r.quote()
	return value, true
}

func (r *textReader) object(like map[string]any) (any, bool) {
	object, left := map[string]any{}, maps.Clone(like)
	for r.more('}') {
		name, ok := r.key()
		if _, twice := object[name]; !ok || twice {
			return nil, false
		}
		var value any
		if key := meantKey(left, name); key != "" {
			value, ok = r.value(left[key])
			delete(left, key)
		} else { // nothing is lost with a key that the proposal lacks if there is nothing in it
			value, ok = r.bare()
			ok = ok && value == nil
		}
		if !ok || !r.separated('}') {
			return nil, false
		}
		object[name] = value
	}
	return object, true // the gate decides about keys that are not in the text
}

// meantKey returns the key of an object that a name is, or is a different spelling of.
func meantKey(object map[string]any, name string) (found string) {
	if _, ok := object[name]; ok {
		return name
	}
	for key := range object {
		if foldKey(key) == foldKey(name) {
			if found != "" {
				return ""
			}
			found = key
		}
	}
	return found
}

func (r *textReader) list(like []any) (any, bool) {
	list := []any{}
	for r.more(']') {
		if len(list) == len(like) {
			return nil, false
		}
		value, ok := r.value(like[len(list)])
		if !ok || !r.separated(']') {
			return nil, false
		}
		list = append(list, value)
	}
	return list, len(list) == len(like)
}

// more reports whether a container goes on.
func (r *textReader) more(end byte) bool {
	r.blank()
	return r.at < len(r.text) && r.text[r.at] != end
}

// separated reads the comma after a value, unless the container or the text ends there.
func (r *textReader) separated(end byte) bool {
	r.blank()
	return r.accept(',') || r.at == len(r.text) || r.text[r.at] == end
}

// key reads a key with its colon.
func (r *textReader) key() (name string, ok bool) {
	found := keyForm.FindStringSubmatch(r.text[r.at:])
	if found == nil {
		return "", false
	}
	r.at += len(found[0])
	return found[1] + found[2] + found[3], true
}

var keyForm = regex.New(`^(?:"([^"'\x60\\,:={}\[\]]+)"|'([^"'\x60\\,:={}\[\]]+)'|([\pL_][\pL\pN_.-]*))\s*[:=]`)

// quoted reads a string of which the opening quote was read. It may contain the quote, as in
// 'It's late', unless that looks like the end of a string or the beginning of the next.
func (r *textReader) quoted(quote byte, want string) (any, bool) {
	escaped, inJSON := strings.ReplaceAll(want, string(quote), `\`+string(quote)), strings.Trim(string(encode(want, nil)), `"`)
	for _, spelled := range []string{want, escaped, inJSON} {
		after, ok := strings.CutPrefix(r.text[r.at:], spelled)
		if !ok || !strings.HasPrefix(after, string(quote)) || looksJoined(want, quote) {
			continue
		}
		if rest := strings.TrimLeft(after[1:], " \t\r\n"); rest == "" || strings.IndexByte(",}])", rest[0]) >= 0 {
			r.at = len(r.text) - len(after) + 1
			return want, true
		}
	}
	return nil, false
}

// looksJoined reports whether a string contains a quote next to punctuation of JSON.
func looksJoined(text string, quote byte) bool {
	if quote == '"' {
		return joinedDouble.MatchString(text)
	}
	return joinedSingle.MatchString(text)
}

var (
	joinedDouble = regex.New(`"\s*[,:}\])]|[,:{\[(]\s*"|\\`)
	joinedSingle = regex.New("['`]\\s*[,:}\\])]|[,:{\\[(]\\s*['`]|\\\\")
)

// endsOfBare is the punctuation that ends a value without quotes.
const endsOfBare = ",}]{[:=\"'`\r\n"

// bare reads a value up to the next punctuation. One that the text ends with may be cut off.
func (r *textReader) bare() (any, bool) {
	quote := r.quote()
	ends := endsOfBare
	if r.inCall {
		ends += ")"
	}
	n := strings.IndexAny(r.text[r.at:], ends)
	if n < 0 {
		return nil, false
	}
	token := strings.TrimSpace(r.text[r.at : r.at+n])
	r.at += n
	isWhole := token != "" && strings.Count(token, "(") == strings.Count(token, ")")
	if !isWhole || quote != 0 && !r.accept(quote) {
		return nil, false
	}
	if quote != 0 {
		return token, true
	}
	switch strings.ToLower(token) {
	case "true", "false":
		return strings.EqualFold(token, "true"), true
	case "null", "none":
		return nil, true
	}
	if n, ok := number(token); ok && json.Valid([]byte(token)) {
		return n, true
	}
	return token, true
}

// quote reads an opening or closing quote.
func (r *textReader) quote() byte {
	if r.at < len(r.text) && strings.IndexByte("\"'`", r.text[r.at]) >= 0 {
		r.at++
		return r.text[r.at-1]
	}
	return 0
}

func (r *textReader) accept(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *textReader) blank() {
	r.at = len(r.text) - len(strings.TrimLeft(r.text[r.at:], " \t\r\n"))
}

// hidesNothing reports whether text that is not JSON certainly contains no secret. It has no places
// by which a secret could be found, so that a name that suggests one is enough.
func (s *Schema) hidesNothing(text string, hide func(string) string) bool {
	text = unescapedLetters(text)
	declares := strings.Contains(string(s.raw), `"writeOnly"`) || strings.Contains(string(s.raw), `"password"`)
	isSecret := looksSecret(text) || isHidden(text, hide)
	if declares || isSecret || strings.Contains(text, `\u`) {
		return false
	}
	known := s.masker()
	for _, name := range nameForm.FindAllString(text, maxScalars) {
		if known.hides([]string{name}, "Xy7-unknown-Qz") {
			return false
		}
	}
	return len(nameForm.FindAllString(text, maxScalars+1)) <= maxScalars
}

var nameForm = regex.New(`[\pL\pN_][\pL\pN_.-]*`)
