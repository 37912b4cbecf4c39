package repair

import (
	"fmt"
	"slices"
	"strings"
)

// checkContainers checks what scalars do not show: keys that the schema does not declare, and empty
// objects and arrays.
func (g *closedGate) checkContainers() error {
	var err error
	walk(g.proposed, nil, func(path []string, value any) {
		at, sent := present(g.sent, path)
		switch v := value.(type) {
		case map[string]any:
			declared := g.schema.properties(path)
			for key := range v {
				inner := append(slices.Clone(path), key)
				if _, sent := present(g.sent, inner); sent || declared[key] != nil {
					continue
				}
				if reservedKeys[key] || g.text != "" || !g.isRejected(path) || !plainKey(key) || secretName(key, maskText) {
					err = fmt.Errorf("%w: the key %s", ErrInvented, field(inner))
					return
				}
				g.adopt(inner, key, false)
			}
			if len(v) > 0 || len(path) == 0 {
				return
			}
		case []any:
			if len(v) > 0 {
				return
			}
		default:
			return
		}
		if text, ok := at.(string); ok {
			if doc, ok := opened(text); ok {
				at = doc.value
			}
		}
		if !(sent && isHollow(at)) && !g.isDefault(path, value) && err == nil {
			err = fmt.Errorf("%w: %s is empty", ErrInvented, field(path))
		}
	})
	return err
}

// reservedKeys change objects instead of being stored in them, in some languages.
var reservedKeys = map[string]bool{"__proto__": true, "constructor": true, "prototype": true}

func plainKey(key string) bool { return len(key) <= 200 && !strings.ContainsFunc(key, unseen) }

// isHollow reports whether a value contains no scalar that says something.
func isHollow(value any) bool {
	hollow := true
	walk(value, nil, func(_ []string, value any) {
		text, isString := value.(string)
		container := isObject(value) || isList(value)
		hollow = hollow && (container || value == nil || isString && (strings.TrimSpace(text) == "" || isNothing(text)))
	})
	return hollow
}
