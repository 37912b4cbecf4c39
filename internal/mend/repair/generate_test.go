package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// shape is a schema together with a way to make values that fit it.
type shape struct {
	schema any
	sample func() any
}

// generator makes schemas and arguments. The same seed makes the same.
type generator struct {
	meant string // the JSON of text that is damaged beyond what a lexer can tell
	*rand.Rand
	old   bool // draft 7
	defs  map[string]any
	depth int
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 4))}
}

func draw[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// tool makes the schema of one tool.
func (g *generator) tool() shape {
	g.old, g.defs, g.depth = g.chance(15), map[string]any{}, 0
	s := g.object()
	root := s.schema.(map[string]any)
	if len(g.defs) > 0 {
		root[g.definitions()] = g.defs
	}
	if g.chance(5) {
		root["properties"].(map[string]any)["unchecked"] = map[string]any{"type": "string", "pattern": `^(?!no)\w+$`}
	}
	if g.old {
		root["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	return shape{root, s.sample}
}

func (g *generator) definitions() string {
	if g.old {
		return "definitions"
	}
	return "$defs"
}

// any makes a schema of any kind.
func (g *generator) any() shape {
	g.depth++
	defer func() { g.depth-- }()
	makers := []func() shape{g.text, g.text, g.choice, g.choice, g.integer, g.integer, g.number, g.boolean, g.constant, g.optionalNull, g.mixedChoice, g.anything}
	if g.depth < 4 {
		makers = append(makers, g.list, g.list, g.tuple, g.object, g.alternatives, g.exclusive, g.combined, g.reference, g.tree, g.negated)
	}
	s := draw(g, makers...)()
	if m, ok := s.schema.(map[string]any); ok && g.chance(15) && !(g.old && m["$ref"] != nil) {
		m["default"] = s.sample()
		if g.chance(10) {
			m["default"] = "of another type"
		}
	}
	return s
}

var sampleTexts = []string{"Oslo", "a", "hello world", "12345", "007", "true", "x,y", "[draft]", "{name}", "Größe 5", "None", "3.5", "it's", `say "hi"`, "two\nlines", "v1.2", "naïve", "null", "a<b>&c", "😀 \u2028", "tab\there"}

func (g *generator) text() shape {
	if g.chance(20) {
		return g.formatted()
	}
	if g.chance(20) {
		return g.patterned()
	}
	schema := map[string]any{"type": "string"}
	low, high := 0, 40
	if g.chance(20) {
		low = g.IntN(4)
		schema["minLength"] = low
	}
	if g.chance(20) {
		high = low + 3 + g.IntN(20)
		schema["maxLength"] = high
	}
	return shape{schema, func() any {
		text := draw(g, sampleTexts...)
		for len([]rune(text)) < low {
			text += "o"
		}
		return string([]rune(text)[:min(high, len([]rune(text)))])
	}}
}

func (g *generator) formatted() shape {
	examples := map[string][]string{
		"date": {"2024-05-01"}, "date-time": {"2024-05-01T10:00:00Z"}, "time": {"10:00:00Z"}, "email": {"a@example.org"},
		"uri": {"https://example.org/x"}, "uuid": {"123e4567-e89b-12d3-a456-426614174000"}, "ipv4": {"10.0.0.1"}, "ipv6": {"::1"},
		"hostname": {"example.org"}, "duration": {"P1D"}, "unheard-of": {"whatever"},
	}
	format := draw(g, slices.Sorted(maps.Keys(examples))...)
	return shape{map[string]any{"type": "string", "format": format}, func() any { return draw(g, examples[format]...) }}
}

func (g *generator) patterned() shape {
	type ruleCase struct {
		pattern string
		fits    []string
	}
	e := draw(g, ruleCase{`^[a-z]+$`, []string{"abc", "z"}}, ruleCase{`^\d{3}-\d{4}$`, []string{"555-1234"}}, ruleCase{`^#`, []string{"#tag", "#"}},
		ruleCase{`^[A-Z]{2}\d+$`, []string{"AB12", "ZZ9"}}, ruleCase{`.`, []string{"a", "12"}}, ruleCase{`^\u00e9?x$`, []string{"x"}})
	if strings.Contains(e.pattern, `\u`) {
		e.pattern = `^[x-z]$` // the second validator does not know \u
	}
	return shape{map[string]any{"type": "string", "pattern": e.pattern}, func() any { return draw(g, e.fits...) }}
}

// rejectedDefault is a default that no choice is equal to.
const rejectedDefault = "whatever fits"

func (g *generator) choice() shape {
	values := draw(g, []any{"celsius", "fahrenheit"}, []any{"in_progress", "done", "to-do"}, []any{"A", "a", "b"}, []any{"OPEN", "CLOSED", "all"},
		[]any{"1h", "1d", "1w"}, []any{"1", "2", "3"}, []any{"true", "false", "auto"}, []any{"none", "basic"}, []any{"only"})
	schema := map[string]any{"enum": values}
	if g.chance(70) {
		schema["type"] = "string"
	}
	if g.chance(60) {
		schema["default"] = rejectedDefault
	}
	return shape{schema, func() any { return draw(g, values...) }}
}

func (g *generator) mixedChoice() shape {
	values := draw(g, []any{1, 2, 4}, []any{true, "auto"}, []any{0, "zero", nil}, []any{1.5, 2.5}, []any{false}, []any{[]any{1, 2}, "none"})
	return shape{map[string]any{"enum": values}, func() any { return draw(g, values...) }}
}

func (g *generator) constant() shape {
	value := draw[any](g, "fixed", 7, true, "V1.0", []any{"a"}, map[string]any{"k": 1})
	schema := map[string]any{"const": value}
	return shape{schema, func() any { return value }}
}

func (g *generator) integer() shape {
	schema := map[string]any{"type": "integer"}
	low, high, step := -50, 1000, 1
	if g.chance(30) {
		low = g.IntN(10)
		schema[draw(g, "minimum", "exclusiveMinimum")] = low
	}
	if g.chance(30) {
		high = low + 20 + g.IntN(200)
		schema[draw(g, "maximum", "exclusiveMaximum")] = high
	}
	if g.chance(20) {
		step = draw(g, 2, 5, 10)
		schema["multipleOf"] = step
	}
	return shape{schema, func() any {
		n := low + 1 + g.IntN(max(1, high-low-step-1))
		return n + (step-n%step)%step
	}}
}

func (g *generator) number() shape {
	schema := map[string]any{"type": "number"}
	if g.chance(30) {
		schema["minimum"] = -2.5
	}
	if g.chance(30) {
		schema["exclusiveMaximum"] = 500
	}
	if g.chance(20) {
		schema["multipleOf"] = 0.25
	}
	return shape{schema, func() any { return draw[any](g, 0.5, 1, 2.25, 100, -1.75, 42, json.Number("3.0"), json.Number("1e2")) }}
}

func (g *generator) boolean() shape {
	return shape{map[string]any{"type": "boolean"}, func() any { return g.chance(50) }}
}

// anything has no type: every value passes.
func (g *generator) anything() shape {
	schema := draw[any](g, true, map[string]any{}, map[string]any{"description": "free"})
	return shape{schema, func() any {
		return draw[any](g, "free", json.Number("12345678901234567890"), true, nil, []any{"a"}, map[string]any{"b": 2})
	}}
}

// optionalNull also takes null, said in one of three ways.
func (g *generator) optionalNull() shape {
	s := draw(g, g.text, g.integer, g.boolean, g.choice)()
	schema := s.schema.(map[string]any)
	sample := func() any {
		if g.chance(30) {
			return nil
		}
		return s.sample()
	}
	if kind, ok := schema["type"]; ok && schema["enum"] == nil && g.chance(40) {
		schema["type"] = []any{kind, "null"}
		return shape{schema, sample}
	} else if ok && g.chance(50) {
		schema["nullable"] = true
		return shape{schema, sample}
	}
	return shape{map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}, sample}
}

func (g *generator) list() shape {
	item := draw(g, g.any, g.any, g.any, g.choice, g.integer)() // more of what a list in a text may have
	schema := map[string]any{"type": "array", "items": item.schema}
	low, high := 0, 3
	if g.chance(20) {
		low = 1 + g.IntN(2)
		schema["minItems"] = low
	}
	if g.chance(20) {
		high = low + 1 + g.IntN(2)
		schema["maxItems"] = high
	}
	if g.chance(15) && low < 2 { // there may not be two different items
		schema["uniqueItems"] = true
	}
	return shape{schema, func() any {
		list := make([]any, low+g.IntN(high-low+1))
		for i := range list {
			list[i] = item.sample()
		}
		return list
	}}
}

func (g *generator) tuple() shape {
	parts := []shape{g.any(), g.any()}
	schemas := []any{parts[0].schema, parts[1].schema}
	schema := map[string]any{"type": "array", "minItems": 2}
	rest := draw[any](g, false, map[string]any{"type": "integer"}, true)
	if g.old {
		schema["items"], schema["additionalItems"] = schemas, rest
	} else {
		schema["prefixItems"], schema["items"] = schemas, rest
	}
	return shape{schema, func() any {
		list := []any{parts[0].sample(), parts[1].sample()}
		if rest != false && g.chance(30) {
			list = append(list, g.IntN(9))
		}
		return list
	}}
}

var sampleKeys = []string{"city", "max_results", "userId", "start-date", "tags", "options", "unit", "filter", "is_active", "query", "page", "limit", "kind", "value", "type", "args", "Input"}

func (g *generator) object() shape {
	g.depth++
	defer func() { g.depth-- }()
	names := slices.Clone(sampleKeys)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+g.IntN(max(2, 6-g.depth))]
	properties, parts, required := map[string]any{}, map[string]shape{}, []any{}
	must := map[string]bool{}
	for _, name := range names {
		parts[name] = g.any()
		properties[name] = parts[name].schema
		if g.chance(40) {
			required, must[name] = append(required, name), true
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	extra := func(map[string]any) {}
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		schema["additionalProperties"] = false
	case 4:
		schema["additionalProperties"] = map[string]any{"type": "integer"}
		extra = func(o map[string]any) { o["other"] = g.IntN(9) }
	case 5:
		schema["patternProperties"] = map[string]any{"^x-": map[string]any{"type": "boolean"}}
		schema["additionalProperties"] = false
		extra = func(o map[string]any) { o["x-flag"] = g.chance(50) }
	case 6:
		schema["propertyNames"] = map[string]any{"maxLength": 12}
		extra = func(o map[string]any) { o["short"] = nil }
	}
	g.condition(schema, names, parts, must)
	if g.chance(6) {
		schema["maxProperties"] = len(names) + 1
	}
	if g.chance(6) {
		schema["minProperties"] = 1
	}
	return shape{schema, func() any {
		object := map[string]any{}
		for _, name := range names {
			if must[name] || g.chance(60) {
				object[name] = parts[name].sample()
			}
		}
		if g.chance(30) {
			extra(object)
		}
		return object
	}}
}

// condition adds a rule between the arguments of an object.
func (g *generator) condition(schema map[string]any, names []string, parts map[string]shape, must map[string]bool) {
	if len(names) < 2 {
		return
	}
	first, second := names[0], names[1]
	switch g.IntN(12) {
	case 0:
		if g.old {
			schema["dependencies"] = map[string]any{first: []any{second}}
		} else {
			schema["dependentRequired"] = map[string]any{first: []any{second}}
		}
		must[second] = must[second] || must[first] || g.chance(90)
	case 1:
		dependent := map[string]any{"required": []any{second}}
		if g.old {
			schema["dependencies"] = map[string]any{first: dependent}
		} else {
			schema["dependentSchemas"] = map[string]any{first: dependent}
		}
		must[second] = true
	case 2:
		schema["if"] = map[string]any{"properties": map[string]any{first: map[string]any{"const": parts[first].sample()}}, "required": []any{first}}
		schema["then"] = map[string]any{"required": []any{second}}
		schema["else"] = draw[any](g, true, map[string]any{"properties": map[string]any{second: map[string]any{"not": map[string]any{"const": "never"}}}})
		must[second] = true
	case 3:
		if !g.old && schema["additionalProperties"] == nil && schema["patternProperties"] == nil && schema["propertyNames"] == nil {
			properties := schema["properties"].(map[string]any)
			schema["allOf"] = []any{map[string]any{"properties": map[string]any{first: properties[first]}}}
			delete(properties, first)
			schema["unevaluatedProperties"] = false
		}
	case 4:
		schema["anyOf"] = []any{map[string]any{"required": []any{first}}, map[string]any{"required": []any{second}}}
		must[second] = true
	}
}

// alternatives fits any of several kinds of value.
func (g *generator) alternatives() shape {
	ways := []shape{g.any(), g.any()}
	return shape{map[string]any{"anyOf": []any{ways[0].schema, ways[1].schema}}, func() any { return draw(g, ways...).sample() }}
}

// exclusive fits exactly one of several kinds of value.
func (g *generator) exclusive() shape {
	ways := draw(g, []shape{g.text(), g.integer()}, []shape{g.boolean(), g.list()}, []shape{g.tagged("circle"), g.tagged("square")}, []shape{g.number(), g.object(), g.choice()})
	var schemas []any
	for _, way := range ways {
		schemas = append(schemas, way.schema)
	}
	return shape{map[string]any{"oneOf": schemas}, func() any { return draw(g, ways...).sample() }}
}

// tagged is an object that says its kind.
func (g *generator) tagged(tag string) shape {
	part := g.integer()
	schema := map[string]any{"type": "object", "properties": map[string]any{"kind": map[string]any{"const": tag}, "size": part.schema},
		"required": []any{"kind", "size"}, "additionalProperties": g.chance(50)}
	return shape{schema, func() any { return map[string]any{"kind": tag, "size": part.sample()} }}
}

func (g *generator) combined() shape {
	s := draw(g, g.integer, g.text, g.list)()
	more := draw[any](g, map[string]any{"not": map[string]any{"const": "never"}}, map[string]any{"maximum": 5000}, map[string]any{"maxLength": 60}, map[string]any{"description": "x"})
	return shape{map[string]any{"allOf": []any{s.schema, more}}, s.sample}
}

func (g *generator) negated() shape {
	s := draw(g, g.text, g.choice)()
	schema := s.schema.(map[string]any)
	schema["not"] = map[string]any{"enum": []any{"never", 0}}
	return shape{schema, s.sample}
}

func (g *generator) reference() shape {
	s := g.any()
	name := fmt.Sprint("def", len(g.defs))
	g.defs[name] = s.schema
	return shape{map[string]any{"$ref": "#/" + g.definitions() + "/" + name}, s.sample}
}

// tree is a schema that refers to itself.
func (g *generator) tree() shape {
	name := fmt.Sprint("tree", len(g.defs))
	ref := map[string]any{"$ref": "#/" + g.definitions() + "/" + name}
	g.defs[name] = map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"},
		"count": map[string]any{"type": "integer"}, "children": map[string]any{"type": "array", "items": ref}},
		"required": []any{"name"}, "additionalProperties": false}
	var sample func(levels int) any
	sample = func(levels int) any {
		node := map[string]any{"name": draw(g, sampleTexts...)}
		if g.chance(50) {
			node["count"] = g.IntN(9)
		}
		if levels > 0 {
			children := make([]any, g.IntN(3))
			for i := range children {
				children[i] = sample(levels - 1)
			}
			node["children"] = children
		}
		return node
	}
	return shape{ref, func() any { return sample(2) }}
}

// spot is the place of a value in the arguments.
type spot struct {
	value  any
	put    func(any)
	object map[string]any // nil for an element of a list
	key    string
}

// spots lists every place in a value, in an order that is always the same.
func spots(value any) (list []spot) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, spot{v[key], func(to any) { v[key] = to }, v, key})
			list = append(list, spots(v[key])...)
		}
	case []any:
		for i := range v {
			list = append(list, spot{v[i], func(to any) { v[i] = to }, nil, ""})
			list = append(list, spots(v[i])...)
		}
	}
	return list
}

// damaged makes the JSON, or what passes for it, that a model may send
// instead of the arguments. Tool is the name of the tool.
func (g *generator) damaged(arguments any, tool string) []byte {
	g.meant = ""
	for range g.IntN(4) {
		if list := spots(arguments); len(list) > 0 {
			g.damage(draw(g, list...))
		}
	}
	if g.chance(75) {
		return asJSON(arguments)
	}
	return g.wrapped(arguments, tool)
}

// damage spoils one value in one of the ways models do.
func (g *generator) damage(p spot) {
	if p.object != nil && g.chance(40) {
		g.damageKey(p)
		return
	}
	if g.chance(10) {
		p.put(draw[any](g, "wrong", 3.7, true, nil, []any{}, map[string]any{}, []any{1, "b"}, "", "N/A", json.Number("9007199254740993"), "1,000", "50%", "yes", "05"))
		return
	}
	switch v := p.value.(type) {
	case json.Number:
		p.put(draw[any](g, v.String(), " "+v.String(), v.String()+".0", json.Number("9"+strings.TrimLeft(v.String(), "-")), "0"+v.String(), []any{v}, map[string]any{"type": "number", "value": v}, v.String()+" items", inWords(v, p.key), inWords(v, p.key)))
	case bool:
		p.put(draw[any](g, fmt.Sprint(v), strings.ToUpper(fmt.Sprint(v)), "True", 1, "yes", []any{v}))
	case string:
		p.put(draw[any](g, strings.ToUpper(v), strings.ReplaceAll(v, "_", " "), " "+v, v+"!", []any{v}, map[string]any{"type": "string", "value": v},
			map[string]any{"value": v}, map[string]any{"type": v}, v[:len(v)/2], v+", "+v, rejectedDefault, rejectedDefault, rejectedDefault, rejectedDefault, asNumber(v), asNumber(v), "\""+v+"\"", "null", ""))
	case nil:
		p.put(draw[any](g, "null", "None", "undefined", "", 0, false))
	case []any:
		items := any(v)
		if len(v) == 1 {
			items = v[0]
		}
		joined := strings.Trim(strings.ReplaceAll(string(asJSON(v)), `"`, ""), "[]")
		p.put(draw[any](g, items, items, joined, joined, joined, any(string(asJSON(v))), any(asPython(v)), append(v, v...), any([]any{}), any(fmt.Sprint(v...)), any(map[string]any{"type": "list", "items": v}), any(string(asJSON(v))[1:]), any([]any{v})))
	case map[string]any:
		text := string(asJSON(v))
		p.put(draw[any](g, any(text), any(asPython(v)), any([]any{v}), any(text[:len(text)-1]), any(text[:len(text)/2]), any(map[string]any{"value": v})))
	}
}

// inWords says a small number in words, with the last word of its key as the unit.
func inWords(n json.Number, key string) string {
	text, words := n.String(), segments(key)
	if i, err := n.Int64(); err == nil && 0 <= i && i < 1000 {
		text = spelled(int(i))
	}
	if len(words) > 0 {
		text += " " + words[len(words)-1]
	}
	return text
}

func asNumber(text string) any {
	if isNumber(text) {
		return json.Number(text)
	}
	return text + text
}

func (g *generator) damageKey(p spot) {
	switch g.IntN(7) {
	case 6:
		value := p.value
		delete(p.object, p.key)
		p.object["my_"+p.key] = value
	case 0:
		delete(p.object, p.key)
	case 1:
		p.put(draw[any](g, nil, nil, nil, "", "None", "n/a"))
	case 2:
		p.object[draw(g, "extra", "note", "Verbose")] = draw[any](g, nil, "", 5, "text", []any{}, map[string]any{})
	case 3:
		value := p.value
		delete(p.object, p.key)
		p.object[draw(g, strings.ToUpper(p.key), strings.ReplaceAll(p.key, "_", "-"), camelKey(p.key), snakeKey(p.key))] = value
	case 4:
		value := p.value
		delete(p.object, p.key)
		p.object[p.key+"s"] = value
	case 5:
		p.object[strings.ToUpper(p.key)] = p.value // beside the right one
	}
}

func camelKey(key string) string {
	first, rest, ok := strings.Cut(strings.ReplaceAll(key, "-", "_"), "_")
	if !ok {
		return strings.ToUpper(key[:1]) + key[1:]
	}
	return first + strings.ToUpper(rest[:1]) + rest[1:]
}

func snakeKey(key string) string { return strings.Join(segments(key), "_") }

// wrapped spoils arguments as a whole.
func (g *generator) wrapped(arguments any, tool string) []byte {
	text := string(asJSON(arguments))
	switch g.IntN(19) {
	case 16:
		return asJSON(map[string]any{"name": tool, "arguments": arguments})
	case 17:
		g.meant = text
		return []byte(text + draw(g, "}]", "}\n\ndone", "\n\nThis is the call."))
	case 18:
		g.meant = text
		return []byte(strings.Replace(text, `","`, `,"`, 1))
	case 0:
		return asJSON(map[string]any{draw(g, "arguments", "args", "params", "input", "parameters", tool, "whatever"): arguments})
	case 1:
		return asJSON(map[string]any{"arguments": text})
	case 2:
		return asJSON(text)
	case 3:
		return asJSON([]any{arguments})
	case 4:
		return []byte("```json\n" + text + "\n```")
	case 5:
		return []byte(asPython(arguments))
	case 6:
		return []byte(strings.TrimSuffix(text, "}") + ", }")
	case 7:
		return []byte("// the call\n" + text + " # done")
	case 8:
		return []byte(text[:g.IntN(len(text)+1)])
	case 9:
		return []byte(strings.TrimSuffix(text, "}"))
	case 10:
		return nil
	case 11:
		return []byte(draw(g, "null", "[]", `""`, "{}", "5", " "))
	case 12:
		return asJSON(asPython(arguments))
	case 13:
		return []byte("Sure! " + text)
	case 14:
		return []byte(strings.Replace(text, "{", `{"twice":1,"twice":2,`, 1))
	default:
		return []byte(" " + strings.ReplaceAll(text, `":`, `" : `) + "\n")
	}
}

// asJSON is a value as JSON; the generator makes nothing JSON does not have.
func asJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

// reread is a value as a reader of JSON sees it, and a copy.
func reread(value any) any { return readExactly(asJSON(value)) }

// readExactly reads JSON with its numbers as they are written.
func readExactly(data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return value
}

// asPython is a value as Python prints it.
func asPython(value any) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, asPython(key)+": "+asPython(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, asPython(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(v) + "'"
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	}
	return fmt.Sprint(value)
}
