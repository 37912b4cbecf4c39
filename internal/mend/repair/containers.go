package repair

import (
	"fmt"
	"strings"
)

// checkContainers checks what scalars do not show: keys that the schema does not declare, and empty
// objects and arrays.
func (g *closedGate) checkContainers() error {
	var err error
	walk(g.proposed, nil, func(path []string, value any) {
		object, _ := value.(map[string]any)
		for key := range object {
			if inner := below(path, key); !g.mayHaveKey(inner) {
				err = fmt.Errorf("%w: the key %s", ErrInvented, field(inner))
			}
		}
		if !isContainer(value) || !isEmpty(value) || len(path) == 0 || err != nil {
			return
		}
		at, sent := present(g.sent, path)
		if inner, ok := openedValue(at); ok {
			at = inner
		}
		wasHollow := sent && isHollow(at)
		if !wasHollow && !g.isDefault(path, value) {
			err = fmt.Errorf("%w: %s is empty", ErrInvented, field(path))
		}
	})
	return err
}

// mayHaveKey reports whether a key was sent, is declared, or may be the model's own.
func (g *closedGate) mayHaveKey(path []string) bool {
	parent, key := parentOf(path)
	if _, sent := present(g.sent, path); sent || g.schema.properties(parent)[key] != nil {
		return true
	}
	isKey := plainKey(key) && !reservedKeys[key] && !secretName(key, maskText)
	if !isKey || g.text != "" || !g.isRejected(parent) {
		return false
	}
	g.adopt(path, key, false)
	return true
}

// reservedKeys change objects instead of being stored in them, in some languages.
var reservedKeys = map[string]bool{"__proto__": true, "constructor": true, "prototype": true}

func plainKey(key string) bool { return len(key) <= 200 && !strings.ContainsFunc(key, unseen) }

// isHollow reports whether a value contains no scalar that says something.
func isHollow(value any) bool {
	hollow := true
	walk(value, nil, func(_ []string, value any) {
		hollow = hollow && (isContainer(value) || saysNothing(value))
	})
	return hollow
}
