package repair

import (
	"fmt"
	"slices"
	"strings"

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

// misfitNotes returns notes about arguments of which several do not match the schema: a server that
// accepts them does not check, so the caller would not notice. About one argument, and about keys that
// are not declared, the server may know more than its schema says. The notes do not quote the arguments.
func (s *Schema) misfitNotes(out *Outcome) (notes []string) {
	defer func() {
		if recover() != nil { // no schema may prevent a call
			notes = nil
		}
	}()
	found := s.findIssues(out.sent, out.violations, s.masker(out.sent))
	wrong := map[string]bool{}
	for _, f := range found.found {
		if len(f.path) > 0 && !slices.Contains(f.groups, groupExtra) {
			wrong[f.path[0]] = true
		}
	}
	if len(wrong) < 2 {
		return nil
	}
	for _, f := range found.found[:min(len(found.found), maxIssues)] {
		notes = append(notes, f.note())
	}
	if more := len(found.found) + found.more - len(notes); more > 0 {
		notes = append(notes, plural(more, "more issue"))
	}
	return notes
}

// note says on one line what is wrong with a field.
func (f *finding) note() string {
	if slices.Contains(f.groups, groupExtra) {
		return field(f.path) + " is not declared"
	}
	about := make([]string, len(f.problems))
	for i, problem := range f.problems {
		if rest, ok := strings.CutPrefix(problem, "it "); ok {
			about[i] = field(f.path) + " " + rest
		} else {
			about[i] = field(f.path) + ": " + problem
		}
	}
	return strings.Join(about, ", ")
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
