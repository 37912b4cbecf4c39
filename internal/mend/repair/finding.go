package repair

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// Groups of findings with the same kind of fix.
const (
	groupMissing = "missing"
	groupType    = "type"
	groupFormat  = "format"
	groupRange   = "range"
	groupEnum    = "enum"
	groupPattern = "pattern"
	groupExtra   = "extra"
)

// sentence is how one kind of finding is worded.
type sentence struct{ group, problem, fix string }

//go:embed sentences.txt
var sentencesText string

var sentences = sync.OnceValue(func() map[string]sentence {
	table := map[string]sentence{}
	for line := range strings.Lines(sentencesText) {
		if cells := strings.Split(line, " | "); len(cells) == 4 {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			table[cells[0]] = sentence{cells[1], cells[2], cells[3]}
		}
	}
	return table
})

// Fixes that are worded by what is known about the field.
const (
	useChoice = "use one of the allowed values"
	addIt     = "add it"
)

// finding is what is wrong with a field. There is one finding for each field.
type finding struct {
	path     []string
	nodes    []*jsonschema.Schema // schemas that are violated
	problems []string
	groups   []string
	fixes    []string
	expected string // replaces the description of the schemas
	need     string // required, optional or empty
	missing  bool
}

// tell adds a sentence of the table to the finding. values are pairs of a name in braces and a value.
func (f *finding) tell(what string, values ...string) {
	add := func(list *[]string, text string) {
		if text = strings.NewReplacer(values...).Replace(text); !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	s, known := sentences()[what]
	if !known {
		s = sentences()["other"]
	}
	add(&f.groups, s.group)
	add(&f.problems, s.problem)
	add(&f.fixes, s.fix)
}

func (f *finding) is(group string) bool { return slices.Contains(f.groups, group) }

// finder turns violations, and what a server says, into findings.
type finder struct {
	schema   *Schema
	sent     any
	known    *masker
	found    []*finding
	more     int             // number of findings that are not listed
	affected map[string]bool // arguments with findings
}

// maxFindings limits the findings that are put into words.
const maxFindings = 3 * maxIssues

// find returns the findings, in the order of the violations.
func (s *Schema) find(sent any, violations []violation, known *masker) *finder {
	d := &finder{schema: s, sent: sent, known: known, affected: map[string]bool{}}
	for _, v := range violations {
		d.visit(v)
	}
	return d
}

// full reports whether the limit of findings is reached, and counts the finding if so.
func (d *finder) full(path []string) bool {
	if len(path) > 0 {
		d.affected[path[0]] = true
	}
	if len(d.found) < maxFindings {
		return false
	}
	d.more++
	return true
}

// note adds a sentence to the finding for the field of a violation.
func (d *finder) note(v violation, what string, values ...string) *finding {
	i := slices.IndexFunc(d.found, func(f *finding) bool { return slices.Equal(f.path, v.path) })
	if i < 0 {
		i = len(d.found)
		f := &finding{path: slices.Clone(v.path)}
		if parent := len(f.path) - 1; parent >= 0 {
			d.affected[f.path[0]] = true
			if isObject(lookup(d.sent, f.path[:parent])) {
				f.need = d.schema.need(f.path[:parent], f.path[parent])
			}
		}
		d.found = append(d.found, f)
	}
	f := d.found[i]
	f.tell(what, values...)
	if v.node != nil {
		f.nodes = append(f.nodes, v.node)
	}
	return f
}

func (d *finder) visit(v violation) {
	if keys, with := missingKeys(v); keys != nil {
		d.lacks(v, keys, with)
		return
	}
	if k, ok := v.kind.(*kind.AdditionalProperties); ok {
		d.extra(v.path, k.Properties)
		return
	}
	if d.full(v.path) {
		return
	}
	switch k := v.kind.(type) {
	case *kind.FalseSchema:
		d.refused(v)
	case *kind.PropertyNames:
		f := d.note(violation{path: below(v.path, k.Property)}, "propertyNames")
		names := gather(v.node)
		f.expected, f.need = "a key in this form: "+names.words(k.Property), ""
	case *kind.AnyOf, *kind.OneOf:
		d.fork(v)
	case *kind.Not:
		d.forbidden(v)
	default:
		what := strings.Join(v.kind.KeywordPath(), " ")
		if k, ok := k.(*kind.Type); ok && k.Got == "array" && !slices.Contains(k.Want, "object") {
			what = "type, array"
		}
		d.note(v, what, d.values(v)...)
	}
}

// values returns the values of a violation for its sentence.
func (d *finder) values(v violation) []string {
	need, sent := gather(append([]*jsonschema.Schema{v.node}, d.schema.certain(v.path)...)...), lookup(d.sent, v.path)
	switch k := v.kind.(type) {
	case *kind.Type:
		one, result := strings.Join(reordered(k.Want), " or "), ""
		if d.calculates(v, sent) {
			result = ", the result of the calculation"
		}
		return []string{"{got}", article(k.Got), "{want}", article(one), "{one}", one,
			"{limits}", spellRange(need.boundWords()), "{result}", result}
	case *kind.Const:
		return []string{"{want}", literal(k.Want)}
	case *kind.Format:
		return []string{"{want}", k.Want}
	case *kind.MultipleOf:
		return []string{"{step}", ratText(k.Want)}
	case *kind.AdditionalItems:
		return []string{"{extra}", plural(k.Count, "item"), "{last}", strings.TrimPrefix(plural(k.Count, "item"), "1 ")}
	case *kind.UniqueItems:
		i, j := k.Duplicates[0], k.Duplicates[1]
		return []string{"{first}", strconv.Itoa(min(i, j)), "{second}", strconv.Itoa(max(i, j))}
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return contained(v)
	}
	count, noun, allowed := 0, "character", need.length
	switch sent := sent.(type) {
	case string:
		count = utf8.RuneCountInString(sent)
	case []any:
		count, noun, allowed = len(sent), "item", need.items
	case map[string]any:
		count, noun, allowed = len(sent), "key", need.properties
	}
	return []string{"{limits}", spellRange(need.boundWords()), "{count}", plural(count, noun),
		"{range}", strings.Replace(allowed.words(noun), "..", " to ", 1),
		"{more}", strconv.Itoa(allowed.least - count), "{over}", strconv.Itoa(count - allowed.most)}
}

// contained returns the values of a violation about items that an array must contain.
func contained(v violation) []string {
	inner, got, want := gather(v.node.Contains), 0, 0
	switch k := v.kind.(type) {
	case *kind.MinContains:
		got, want = len(k.Got), k.Want
	case *kind.MaxContains:
		got, want = len(k.Got), k.Want
	}
	return []string{"{item}", inner.words(nil), "{got}", strconv.Itoa(got), "{want}", strconv.Itoa(want),
		"{lacking}", strconv.Itoa(want - got), "{excess}", strconv.Itoa(got - want)}
}

// calculates reports whether a calculation, such as 2 * pi, was sent for a number. One that is hidden
// is not calculated.
func (d *finder) calculates(v violation, sent any) bool {
	text, ok := sent.(string)
	if need := gather(v.node); !ok || !need.onlyNumbers() || d.known.secret(v.path, text) {
		return false
	}
	_, ok = calculated(text)
	return ok
}

// lacks describes missing keys.
func (d *finder) lacks(v violation, keys []string, with string) {
	object, _ := lookup(d.sent, v.path).(map[string]any)
	for _, key := range keys {
		missing := violation{path: below(v.path, key)}
		if d.full(missing.path) {
			continue
		}
		what, from := "missing", d.schema.object(v.path, object).misspelled(key)
		if from != "" {
			what = "missing, renamed"
		}
		f := d.note(missing, what, "{from}", field([]string{from}), "{key}", field([]string{key}))
		f.nodes = append(f.nodes, d.schema.property(v, key)...)
		f.missing, f.need = true, "required"
		if with != "" {
			f.need = "required together with " + field([]string{with})
		}
	}
}

// extra describes keys of an object that are not allowed.
func (d *finder) extra(path, keys []string) {
	members, _ := lookup(d.sent, path).(map[string]any)
	object, names := d.schema.object(path, members), slices.Sorted(maps.Keys(d.schema.properties(path)))
	for _, key := range keys {
		at := violation{path: below(path, key)}
		if d.full(at.path) {
			continue
		}
		what, meant := "extra", object.meantBy(key)
		switch mayMove := func(name string) bool { return !leaks(key, name, members[key]) }; {
		case meant != "":
			what = "extra, meant"
		case !slices.ContainsFunc(names, mayMove):
			what = "extra, no place"
		case len(names) == 1:
			what = "extra, one key"
		}
		f := d.note(at, what, "{meant}", field([]string{meant}))
		f.expected, f.need = keyWords(key, names), ""
	}
}

// keyWords says which keys there are instead of one that is not allowed.
func keyWords(key string, names []string) string {
	near := NearestNames(key, names, maxNearChoices)
	for i, name := range near {
		near[i] = field([]string{name})
	}
	switch more := len(names) - len(near); {
	case len(names) == 0:
		return "no key with this name"
	case len(names) == 1:
		return "the key " + near[0]
	case more > 0:
		near[len(near)-1] += fmt.Sprintf(" and %d more", more)
	}
	return "one of the keys " + strings.Join(near, ", ")
}

// refused describes a key or an item that no schema allows.
func (d *finder) refused(v violation) {
	last := len(v.path) - 1
	switch {
	case last < 0:
		d.note(v, "no arguments")
	case isObject(lookup(d.sent, v.path[:last])):
		d.extra(v.path[:last], v.path[last:])
	default:
		d.note(v, "extra item").expected = "no items here"
	}
}

// forbidden describes a value that matches a forbidden schema.
func (d *finder) forbidden(v violation) {
	inner := gather(v.node.Not)
	if keys := visible(strings.Join(inner.required(), ", ")); keys != "" && isObject(lookup(d.sent, v.path)) {
		d.note(v, "not, keys", "{keys}", keys).expected = "not all of " + keys
		return
	}
	d.note(v, "not").expected = "anything but " + inner.words(nil)
}

// fork describes a value that matches no branch: what the closest branch requires or, if none is
// close, all of them.
func (d *finder) fork(v violation) {
	at := lookup(d.sent, v.path)
	if k, ok := v.kind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		d.ambiguous(v, k.Subschemas)
		return
	}
	if sets := onlyMissing(v); sets != nil {
		f := d.note(v, "missing set")
		f.expected, f.nodes = "one of: "+strings.Join(sets, ", or "), nil
		return
	}
	if d.discriminator(v) {
		return
	}
	if i, ok := closest(v, at); ok && len(v.branches[i]) > 0 {
		for _, inner := range v.branches[i] {
			d.visit(inner)
		}
		return
	}
	forms, what := gather(v.node), "anyOf"
	if isChoice := func(branch *jsonschema.Schema) bool { d := gather(branch); return d.chosen }; all(forms.branches(), isChoice) {
		what = "anyOf, choices"
	}
	f := d.note(v, what)
	if text := forms.formWords(at, 0); text != "" && !forms.chosen {
		f.expected = bounded(text, maxPhrase)
	}
}

// all reports whether each of some elements passes.
func all[E any](list []E, passes func(E) bool) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(one E) bool { return !passes(one) })
}

// ambiguous describes a value that matches several branches of which only one is allowed.
func (d *finder) ambiguous(v violation, both []int) {
	var forms []string
	for _, i := range both {
		if i < len(v.node.OneOf) {
			inner := gather(v.node.OneOf[i])
			forms = append(forms, inner.words(nil))
		}
	}
	d.note(v, "oneOf, several").expected = bounded("only one of: "+strings.Join(forms, ", or "), maxPhrase)
}

// onlyMissing returns the sets of keys that the branches require, if they require nothing else.
func onlyMissing(v violation) (sets []string) {
	nodes := branchesOf(v)
	for i, branch := range v.branches {
		if i < len(nodes) {
			if d := gather(nodes[i]); len(d.declared()) > 0 {
				return nil // the branches are different forms, and one is the closest
			}
		}
		if len(branch) != 1 || !slices.Equal(branch[0].path, v.path) {
			return nil
		}
		k, ok := branch[0].kind.(*kind.Required)
		if !ok {
			return nil
		}
		sets = append(sets, visible(strings.Join(k.Missing, " and ")))
	}
	return sets
}

// discriminator recognizes branches that are distinguished by one field, if that field has none of
// their values, and describes only that.
func (d *finder) discriminator(v violation) bool {
	var path []string
	var choices []any
	for _, branch := range v.branches {
		i := slices.IndexFunc(branch, func(inner violation) bool {
			isSame := path == nil || slices.Equal(path, inner.path)
			return len(fixed(inner)) > 0 && isSame && len(inner.path) == len(v.path)+1
		})
		if i < 0 {
			return false
		}
		path, choices = branch[i].path, append(choices, fixed(branch[i])...)
	}
	if len(v.branches) < 2 {
		return false
	}
	f := d.note(violation{path: path}, "enum")
	f.expected, f.need = choiceWords(choices, lookup(d.sent, path)), "required"
	return true
}

// fixed returns the values that a violated schema allows, if it lists them.
func fixed(v violation) []any {
	switch k := v.kind.(type) {
	case *kind.Const:
		return []any{k.Want}
	case *kind.Enum:
		return k.Want
	}
	return nil
}

func article(noun string) string {
	switch {
	case noun == "null":
		return noun
	case noun != "" && strings.ContainsRune("aeio", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}
