package repair

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// simple is the part of a schema that most tools consist of: types, declared properties, arrays,
// string choices. Arguments that match it need no decoding and no validator, which is the case for
// nearly every call. The validator decides about all others.
type simple struct {
	types    kinds
	choices  []string // of a string; nil if any
	items    *simple  // of an array
	members  []member // of an object; no other member is accepted
	required uint64   // a bit for each required member
}

type member struct {
	name string
	*simple
}

// kinds is a set of JSON types.
type kinds uint8

const (
	kindString kinds = 1 << iota
	kindNumber
	kindInteger
	kindBoolean
	kindNull
	kindList
	kindObject
)

var kindNames = map[string]kinds{"string": kindString, "number": kindNumber | kindInteger, "integer": kindInteger,
	"boolean": kindBoolean, "null": kindNull, "array": kindList, "object": kindObject}

// maxPlainMembers is the number of bits in a set of members.
const maxPlainMembers = 64

// maxPlainDepth limits the nesting of schemas.
const maxPlainDepth = 16

// plainFields are the fields of a compiled schema that simple supports or that require nothing.
var plainFields = []string{"DraftVersion", "Location", "Types", "Enum", "Required", "Properties", "AdditionalProperties", "Items",
	"Items2020", "Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated", "Extensions"}

// plainOf returns nil if the schema requires anything else. The only extension is our own, which
// counts steps.
func plainOf(s *jsonschema.Schema, depth int) *simple {
	if s == nil || s.Types == nil || depth > maxPlainDepth {
		return nil
	}
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		if f := fields.Type().Field(i); f.IsExported() && !fields.Field(i).IsZero() && !slices.Contains(plainFields, f.Name) {
			return nil
		}
	}
	p := &simple{}
	for _, name := range s.Types.ToStrings() {
		p.types |= kindNames[name]
	}
	if s.Enum != nil {
		if p.types != kindString {
			return nil
		}
		for _, value := range s.Enum.Values {
			text, ok := value.(string)
			if !ok {
				return nil
			}
			p.choices = append(p.choices, text)
		}
	}
	if p.types&kindList != 0 {
		item, _ := s.Items.(*jsonschema.Schema)
		if s.Items2020 != nil {
			item = s.Items2020
		}
		if p.items = plainOf(item, depth+1); p.items == nil {
			p.types &^= kindList
		}
	}
	if p.types&kindObject != 0 && !p.declare(s, depth) {
		p.types &^= kindObject
	}
	return p
}

// declare adds the properties of an object. A property that is not supported is omitted, so that
// the validator decides about calls that have it.
func (p *simple) declare(s *jsonschema.Schema, depth int) bool {
	if len(s.Properties) > maxPlainMembers {
		return false
	}
	for name, property := range s.Properties {
		if inner := plainOf(property, depth+1); inner != nil {
			p.members = append(p.members, member{name, inner})
		}
	}
	for _, name := range s.Required {
		i := slices.IndexFunc(p.members, func(m member) bool { return m.name == name })
		if i < 0 {
			return false
		}
		p.required |= 1 << i
	}
	return true
}

// fits reports whether raw is JSON that certainly matches the schema. isJSON says that raw is known to
// be JSON in valid UTF-8.
func (p *simple) fits(raw []byte, isJSON bool) bool {
	if p == nil || !isJSON && !utf8.Valid(raw) {
		return false
	}
	rest, ok := p.value(space(raw), isJSON)
	return ok && len(space(rest)) == 0
}

// value accepts one value and returns the rest of the text.
func (p *simple) value(b []byte, isJSON bool) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	switch c := b[0]; {
	case c == '"' && p.types&kindString != 0:
		text, escaped, rest, ok := quotedText(b, isJSON)
		return rest, ok && (p.choices == nil || !escaped && slices.Contains(p.choices, string(text)))
	case c == '{' && p.types&kindObject != 0:
		return p.object(b[1:], isJSON)
	case c == '[' && p.types&kindList != 0:
		return p.list(b[1:], isJSON)
	case c == 't' && p.types&kindBoolean != 0:
		return skipWord(b, "true")
	case c == 'f' && p.types&kindBoolean != 0:
		return skipWord(b, "false")
	case c == 'n' && p.types&kindNull != 0:
		return skipWord(b, "null")
	case p.types&kindInteger != 0:
		return integer(b)
	}
	return nil, false
}

func (p *simple) object(b []byte, isJSON bool) (rest []byte, ok bool) {
	seen, more := uint64(0), false
	if b = space(b); len(b) > 0 && b[0] == '}' {
		return b[1:], p.required == 0
	}
	for {
		name, escaped, after, ok := quotedText(b, isJSON)
		if !ok || escaped {
			return nil, false
		}
		i := slices.IndexFunc(p.members, func(m member) bool { return m.name == string(name) })
		if after = space(after); i < 0 || seen&(1<<i) != 0 || !bytes.HasPrefix(after, colon) {
			return nil, false
		}
		seen |= 1 << i
		if b, ok = p.members[i].value(space(after[1:]), isJSON); !ok {
			return nil, false
		}
		if b, more, ok = next(b, '}'); !more {
			return b, ok && seen&p.required == p.required
		}
	}
}

var colon = []byte(":")

func (p *simple) list(b []byte, isJSON bool) (rest []byte, ok bool) {
	more := false
	if b = space(b); len(b) > 0 && b[0] == ']' {
		return b[1:], true
	}
	for {
		if b, ok = p.items.value(b, isJSON); !ok {
			return nil, false
		}
		if b, more, ok = next(b, ']'); !more {
			return b, ok
		}
	}
}

// next reads what follows a member or an item: a comma if there are more, or the end.
func next(b []byte, end byte) (rest []byte, more, ok bool) {
	if b = space(b); len(b) == 0 || b[0] != ',' && b[0] != end {
		return nil, false, false
	}
	if b[0] == end {
		return b[1:], false, true
	}
	return space(b[1:]), true, true
}

// quotedText reads a string that every server decodes to the same text. It returns the text as it is
// written, and whether that has escapes.
func quotedText(b []byte, isJSON bool) (text []byte, escaped bool, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, false, nil, false
	}
	quote := 0
	for i := 1; ; escaped = true {
		if quote < i { // it was escaped
			n := bytes.IndexByte(b[i:], '"')
			if n < 0 {
				return nil, false, nil, false
			}
			quote = i + n
		}
		n := bytes.IndexByte(b[i:quote], '\\')
		if n < 0 {
			break
		}
		size := escapeLen(b[i+n:])
		if size == 0 {
			return nil, false, nil, false
		}
		i += n + size
	}
	text = b[1:quote]
	return text, escaped, b[quote+1:], isJSON || !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' })
}

// escapeLen returns the length of the escape at the start of b, or 0 if it is invalid or half of a
// surrogate pair may be missing.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if code, ok := hex(string(b[:min(len(b), 6)]), 2, 4); ok && !utf16.IsSurrogate(code) {
			return 6
		}
	}
	return 0
}

// integer reads an integer that every language can represent.
func integer(b []byte) (rest []byte, ok bool) {
	i := 0
	if b[0] == '-' {
		i = 1
	}
	first := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	digits := i - first
	isExact := digits > 0 && digits <= 15 && (b[first] != '0' || digits == 1)
	goesOn := i < len(b) && strings.IndexByte(".eE", b[i]) >= 0
	if !isExact || goesOn {
		return nil, false
	}
	return b[i:], true
}

func skipWord(b []byte, text string) (rest []byte, ok bool) {
	if len(b) < len(text) || string(b[:len(text)]) != text {
		return nil, false
	}
	return b[len(text):], true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func space(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}
