package repair

import "fmt"

// unknownKeys notices keys the tool does not declare, next to a declared one
// that is absent and spelled almost so: most schemas allow unknown keys, and
// the server then works without the value.
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

// mostSuspects bounds what is looked at: who sends more unknown keys means to.
const mostSuspects = 20

func (s *Schema) suspects(object map[string]any) (notes []string) {
	looked := 0
	for _, key := range orderedKeys(object, nil) {
		if s.declared[key] != nil || len(key) > longestChoice {
			continue
		}
		if looked++; looked > mostSuspects {
			break
		}
		if near := s.nearestAbsent(object, key); near != "" {
			notes = append(notes, fmt.Sprintf("the tool has no argument %s; it has %s, which was not sent", field([]string{key}), field([]string{near})))
		}
	}
	return notes
}

// nearestAbsent is the declared key that was meant, if one looks like it.
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
