package repair

import (
	"strings"
)

// misfitNotes returns notes about arguments of which several do not match the schema, or only by their
// format: a server that accepts them does not check, so the caller would not notice. About one argument,
// and about keys that are not declared, the server may know more than its schema says. The notes do not
// quote the arguments.
func (s *Schema) misfitNotes(out *Outcome) (notes []string) {
	defer func() {
		if recover() != nil { // no schema may prevent a call
			notes = nil
		}
	}()
	d := s.find(out.sent, out.violations, s.masker(out.sent))
	wrong := map[string]bool{}
	for _, f := range d.found {
		if len(f.path) > 0 && !f.is(groupExtra) {
			wrong[f.path[0]] = true
		}
		if len(notes) < maxIssues {
			notes = append(notes, f.note())
		}
	}
	if len(wrong) < 2 && !out.onlyFormats() {
		return nil
	}
	if more := len(d.found) + d.more - len(notes); more > 0 {
		notes = append(notes, plural(more, "more issue"))
	}
	return notes
}

// note says on one line what is wrong with a field.
func (f *finding) note() string {
	if f.is(groupExtra) {
		return field(f.path) + " is not declared"
	}
	problem, isSentence := strings.CutPrefix(strings.Join(f.problems, ", "), "it ")
	return field(f.path) + word(isSentence, " ", ": ") + problem
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
			notes = append(notes, "the tool has no argument "+field([]string{key})+" (did you mean "+field([]string{near})+"?)")
		}
	}
	return notes
}

// nearestAbsent returns the declared key that was meant by an undeclared one, if any.
func (s *Schema) nearestAbsent(object map[string]any, key string) string {
	best, found := 3, ""
	key = fold(key)
	for name, folded := range s.folded {
		if _, there := object[name]; there || max(len(folded)-len(key), len(key)-len(folded)) > best {
			continue
		}
		d := distance(key, folded)
		nearer := d < best || d == best && found != "" && name < found
		if nearer && d < len(folded)/2 {
			best, found = d, name
		}
	}
	return found
}
