package repair

import (
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// formatNotes returns a note about every string that is not in its format. It does not quote the
// string.
func formatNotes(list []violation) (notes []string) {
	for _, v := range list {
		if k, ok := v.kind.(*kind.Format); ok && len(notes) < maxIssues {
			notes = append(notes, field(v.path)+" is not in the format "+k.Want)
		}
		for _, branch := range v.branches {
			notes = append(notes, formatNotes(branch)...)
		}
	}
	slices.Sort(notes)
	notes = slices.Compact(notes)
	return notes[:min(len(notes), maxIssues)]
}

// unknownKeys returns notes about undeclared keys that are similar to a missing declared key. Most
// schemas allow unknown keys, and the server then ignores the value.
func (s *Schema) unknownKeys(value any) (notes []string) {
	object, ok := value.(map[string]any)
	if !ok || len(s.declared) == 0 {
		return nil
	}
	for key := range object {
		if s.declared[key] == nil {
			return s.suspects(object)
		}
	}
	return nil
}

// maxUnknownKeys limits the unknown keys that are compared. A call with more of them sends them on
// purpose.
const maxUnknownKeys = 20

func (s *Schema) suspects(object map[string]any) (notes []string) {
	looked := 0
	for _, key := range orderedKeys(object, nil) {
		if s.declared[key] != nil || len(key) > maxChoiceLen {
			continue
		}
		if looked++; looked > maxUnknownKeys {
			break
		}
		if near := s.nearestAbsent(object, key); near != "" {
			notes = append(notes, fmt.Sprintf("the tool has no argument %s; it has %s, which was not sent", field([]string{key}), field([]string{near})))
		}
	}
	return notes
}

// nearestAbsent returns the declared key that was meant by an undeclared one, if any.
func (s *Schema) nearestAbsent(object map[string]any, key string) string {
	best, found := 3, ""
	key = fold(key)
	for name, folded := range s.folded {
		if _, there := object[name]; there || abs(len(folded)-len(key)) >= best+1 {
			continue
		}
		d := distance(key, folded)
		if d < len(folded)/2 && (d < best || d == best && found != "" && name < found) {
			best, found = d, name
		}
	}
	return found
}

func abs(n int) int { return max(n, -n) }
