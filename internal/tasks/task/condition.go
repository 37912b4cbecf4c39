package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// condition is one line of when:
//
//	${a.json.ok}             the value is not false, null, 0 or empty
//	${a.json.n} == 3         equal; also !=. The right side is a JSON value, a word or a reference;
//	                         with ${a.text}, both sides are compared as text
//	exists ${a.json.next}    there is a value
//	not CONDITION
type condition struct {
	not    bool
	exists bool
	left   *reference
	op     string // ==, != or empty
	right  any    // a value, or a *reference
}

const conditionForm = "use ${id.json.path}, ${id.json.path} == VALUE, ${id.json.path} != VALUE or exists ${id.json.path}; to negate one of these, put \"not\" in front of it"

// comparison matches a comparison with a value.
var comparison = regex.New(`(?s)^[=!]=.`)

var startsWithReference = regex.New(`^\$\{[^}]*\}`)

// parseCondition parses one condition.
func parseCondition(text string, in scope) (*condition, error) {
	c := &condition{}
	rest := strings.TrimSpace(text)
	for {
		if after, ok := strings.CutPrefix(rest, "not "); ok && !c.exists {
			c.not, rest = !c.not, strings.TrimSpace(after)
			continue
		}
		after, ok := strings.CutPrefix(rest, "exists ")
		if !ok || c.exists {
			break
		}
		c.exists, rest = true, strings.TrimSpace(after)
	}
	found := startsWithReference.FindString(rest)
	if found == "" {
		return nil, fmt.Errorf("invalid condition %s: %s", redact.Quote(text), conditionForm)
	}
	var err error
	if c.left, err = parseReference(found, in); err != nil {
		return nil, err
	}
	rest = strings.TrimSpace(rest[len(found):])
	switch {
	case rest == "":
		return c, nil
	case c.exists || !comparison.MatchString(rest):
		return nil, fmt.Errorf("invalid condition %s: %s", redact.Quote(text), conditionForm)
	}
	c.op, rest = rest[:2], strings.TrimSpace(rest[2:])
	if startsWithReference.FindString(rest) == rest {
		c.right, err = parseReference(rest, in)
		return c, err
	}
	if c.right, err = decode([]byte(rest)); err == nil {
		return c, nil
	}
	if !regexp.MustCompile(`^[\pL\pN_./:@ -]+$`).MatchString(rest) {
		return nil, fmt.Errorf("invalid value %s in a condition: use a JSON value such as \"some text\", or a single reference", redact.Quote(rest))
	}
	c.right = rest
	return c, nil
}

// holds evaluates a condition.
func (c *condition) holds(v values) (bool, error) {
	left, err := v.of(c.left)
	if c.exists {
		if err != nil && !errors.Is(err, errMissing) {
			return false, err
		}
		return (err == nil) != c.not, nil
	}
	if err != nil {
		return false, err
	}
	if c.op == "" {
		return truthy(left) != c.not, nil
	}
	right, isText := c.right, c.left.part == "text"
	if ref, ok := right.(*reference); ok {
		if right, err = v.of(ref); err != nil {
			return false, err
		}
		isText = isText || ref.part == "text"
	}
	if isText { // the text 200 is the number 200
		left, right = inline(left), inline(right)
	}
	return (equal(left, right) == (c.op == "==")) != c.not, nil
}

// truthy reports whether a value counts as true on its own.
func truthy(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != ""
	case json.Number:
		f, err := value.Float64()
		return err != nil || f != 0
	case []any:
		return len(value) > 0
	case map[string]any:
		return len(value) > 0
	}
	return true
}

// equal compares two JSON values. Numbers are equal if they have the same value.
func equal(a, b any) bool {
	x, ok := a.(json.Number)
	y, both := b.(json.Number)
	if ok && both {
		p, errP := x.Float64()
		q, errQ := y.Float64()
		return x == y || errP == nil && errQ == nil && p == q
	}
	return reflect.DeepEqual(a, b)
}

// loop is the for of a step: NAME in ${reference}, or NAME in a list such as ["a", "b"].
type loop struct {
	name string
	ref  *reference
	list []any
}

var loopForm = regex.New(`^\s*([A-Za-z_][A-Za-z0-9_-]*)\s+in\s+(\S.*)$`)

// parseLoop parses a for.
func parseLoop(text string, in scope) (*loop, error) {
	words := loopForm.FindStringSubmatch(text)
	if words == nil {
		return nil, fmt.Errorf("invalid loop (for) %s: use NAME in ${id.json.path}, or NAME in [\"a\", \"b\"]", redact.Quote(text))
	}
	l := &loop{name: words[1]}
	from := strings.TrimSpace(words[2])
	if startsWithReference.FindString(from) == from {
		ref, err := parseReference(from, in)
		if err != nil {
			return nil, err
		}
		if ref.part == "text" {
			return nil, fmt.Errorf("cannot loop over %s, because text is not a list: use ${%s.json} or ${%s.json.path}", redact.Quote(from), ref.id, ref.id)
		}
		l.ref = ref
		return l, nil
	}
	value, err := decode([]byte(from))
	list, ok := value.([]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("cannot loop over %s: it must be a reference such as ${id.json.items}, or a JSON list such as [\"a\", \"b\"]", redact.Quote(from))
	}
	l.list = list
	return l, nil
}

// items returns what the loop runs over.
func (l *loop) items(v values) ([]any, error) {
	if l.ref == nil {
		return l.list, nil
	}
	value, err := v.of(l.ref)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("cannot loop over %s: it is %s, not a list", l.ref.source, typeName(value))
	}
	return list, nil
}

// typeName describes a JSON value.
func typeName(value any) string {
	if _, ok := value.(map[string]any); ok {
		return "an object"
	}
	if value == nil {
		return "null"
	}
	return (&document.Node{Scalar: value}).Says()
}
