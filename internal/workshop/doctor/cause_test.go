package doctor

import (
	"slices"
	"strings"
	"testing"
)

func nothing(string) bool { return false }

// A cause is one complete literal: what it is called, how it is recognised, what is said about it.
func TestEveryCauseIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(knowledge().causes, unexplained) {
		if c.name == "" || seen[c.name] || c.category == "" {
			t.Errorf("%s: no name, no category, or there twice: add a category line, or rename it", placeOfLine(c.name, 0, nothing))
		}
		seen[c.name] = true
		if c.explain == "" || c.fix == "" {
			t.Errorf("%s: no explanation or no fix: add an explain line and a fix line that are not indented", placeOfLine(c.name, 0, nothing))
		}
		for i, a := range c.instead {
			if a.when == nil || a.fix == "" {
				place := placeOfLine(c.name, i+1, func(line string) bool { return strings.HasPrefix(line, "instead ") })
				t.Errorf("%s: this instead has no fix: add an indented fix line (explain and command are optional)", place)
			}
		}
		isUnexplained := slices.ContainsFunc(unexplained, func(u cause) bool { return u.name == c.name })
		if (len(c.clues) > 0) == isUnexplained {
			t.Errorf("%s: %d clues: a cause needs a clue, seen or fact line, and one in unexplained.go needs none", placeOfLine(c.name, 0, nothing), len(c.clues))
		}
		if causeNamed(c.name).name != c.name {
			t.Errorf("%s is not found by its name", c.name)
		}
	}
}
