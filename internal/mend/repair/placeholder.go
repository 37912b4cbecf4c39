package repair

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Masked is the arguments of a call with placeholders for its secrets.
type Masked struct {
	Arguments json.RawMessage // valid JSON

	schema *Schema
	prefix string // of the placeholders
	hidden []hidden
	known  *masker
}

// hidden is a secret and where it was sent.
type hidden struct {
	path  []string
	value any
}

// ErrPlaceholder means that a model did not return the placeholder of a secret as it received it.
var ErrPlaceholder = errors.New("the model changed a secret's placeholder")

// Mask replaces the secrets in the arguments of a call with placeholders such as <secret-1>. A value
// is a secret by its name, by its form, by the schema, or if hide changes it; hide may be nil.
func (s *Schema) Mask(arguments []byte, hide func(string) string) (*Masked, error) {
	s.Ready()
	if s.why != "" {
		return nil, errors.New(s.why)
	}
	doc, text, err := s.decodeSent(arguments)
	if err != nil {
		return nil, err
	}
	if text != "" {
		if !s.hidesNothing(text, hide) {
			return nil, errors.New("the arguments are not JSON and may contain a secret")
		}
		doc = document{value: text}
	}
	m := &Masked{schema: s, prefix: "<secret-", known: s.masker(doc.value)}
	if m.known.overLimit() {
		return nil, fmt.Errorf("the call has more than %d values", maxScalars)
	}
	for strings.Contains(string(arguments), m.prefix) {
		m.prefix = "<hidden-" + m.prefix[1:]
	}
	value := clone(doc.value)
	var keys []string
	walk(doc.value, nil, func(path []string, at any) {
		if object, ok := at.(map[string]any); ok {
			for key := range object {
				if looksSecret(key) || m.isSecretKey(path, key) || isHidden(key, hide) {
					keys = append(keys, key)
				}
			}
		}
		text, ok := scalarText(at)
		if !ok || text == "" || !m.secret(path, text, hide) {
			return
		}
		m.known.values[text] = true
		m.hidden = append(m.hidden, hidden{slices.Clone(path), at})
		value = replaced(value, path, m.placeholder(len(m.hidden)))
	})
	if len(keys) > 0 {
		return nil, errors.New("a key in the arguments is a secret")
	}
	m.Arguments = encode(value, doc.rank)
	return m, nil
}

func (m *Masked) secret(path []string, text string, hide func(string) string) bool {
	if m.known.secret(path, text) || isHidden(text, hide) {
		return true
	}
	doc, _ := opened(text)
	inner := m.schema.masker(doc.value).values
	maps.Copy(m.known.values, inner) // the server may quote them
	return len(inner) > 0
}

// isHidden reports whether hide, if any, changes a text.
func isHidden(text string, hide func(string) string) bool { return hide != nil && hide(text) != text }

// isSecretKey reports whether a key in an object of secrets may itself be one: it is not a name.
func (m *Masked) isSecretKey(path []string, key string) bool {
	named := slices.ContainsFunc(path, func(name string) bool { return secretName(bounded(name, 200), key) })
	return named && len(key) >= 6 && strings.ContainsAny(key, "0123456789") && len(m.schema.nodesAt(append(slices.Clone(path), key))) == 0
}

func (m *Masked) placeholder(n int) string { return m.prefix + strconv.Itoa(n) + ">" }

// Text masks the secrets of the call in other text.
func (m *Masked) Text(text string) string { return m.known.in(text) }

// HasSecrets reports whether the arguments contain placeholders.
func (m *Masked) HasSecrets() bool { return len(m.hidden) > 0 }

// Restore puts the secrets back into arguments that a model returned. A placeholder must be the whole
// value of a field, be used once, and stay under its name.
func (m *Masked) Restore(arguments []byte) ([]byte, error) {
	doc, err := decodeOnce(string(arguments))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	if !strings.Contains(string(arguments), m.stem()) && !strings.Contains(string(arguments), `\u`) {
		return encode(doc.value, doc.rank), nil
	}
	value, used := clone(doc.value), map[int]bool{}
	walk(doc.value, nil, func(path []string, at any) {
		if object, ok := at.(map[string]any); ok {
			for key := range object {
				if strings.Contains(key, m.stem()) {
					err = fmt.Errorf("%w (it is a key)", ErrPlaceholder)
				}
			}
		}
		text, ok := at.(string)
		if !ok || !strings.Contains(text, m.stem()) {
			return
		}
		n := m.number(text)
		switch {
		case n == 0:
			err = fmt.Errorf("%w (%s contains an unknown placeholder)", ErrPlaceholder, field(path))
		case used[n]:
			err = fmt.Errorf("%w (it is used twice)", ErrPlaceholder)
		case !m.belongs(m.hidden[n-1].path, path):
			err = fmt.Errorf("%w (it was moved to %s)", ErrPlaceholder, field(path))
		default:
			used[n] = true
			value = replaced(value, path, m.hidden[n-1].value)
		}
	})
	if err != nil {
		return nil, err
	}
	return encode(value, doc.rank), nil
}

// stem is what every placeholder contains, and nothing else in the call.
func (m *Masked) stem() string { return m.prefix[1:] }

// number returns the number of a placeholder, or 0.
func (m *Masked) number(text string) int {
	for i := range m.hidden {
		if text == m.placeholder(i+1) {
			return i + 1
		}
	}
	return 0
}

// belongs reports whether a secret may be at a place: under the same name, or under one that the
// rules would take for it.
func (m *Masked) belongs(from, to []string) bool {
	a, b := last(from), last(to)
	return foldKey(a) == foldKey(b) || alike(a, b) && !hasOpposite(a, b) && !leaks(a, b, maskText)
}
