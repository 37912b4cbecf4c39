package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// step is what a client sends in one write. The next step is sent when its requests are answered.
type step struct {
	text string
	ids  []string
}

// writer makes the steps of a script.
type writer struct {
	random *rand.Rand
	// integers is set for a server that accepts integer ids only, plain for one that does not keep
	// every form of an id.
	integers, plain bool
	last            int
	pending         step
	steps           []step
	calls           int
	bare            map[string]bool // ids of calls without arguments
}

// id returns the next id: numbers and strings, also odd ones.
func (w *writer) id() string {
	w.last++
	if w.integers {
		return fmt.Sprint(w.last)
	}
	kinds := 6
	if w.plain {
		kinds = 2
	}
	switch w.random.IntN(kinds) {
	case 0:
		return fmt.Sprintf(`"g1-%d"`, w.last) // as gauze might number its own
	case 1:
		return fmt.Sprint(w.last)
	case 2:
		return fmt.Sprintf(`"%d é\u00e9\"\\"`, w.last)
	case 3:
		return fmt.Sprint(9007199254740993 + w.last)
	}
	return fmt.Sprintf(`"call-%d"`, w.last)
}

func (w *writer) request(method, params string) {
	w.calls++
	id := w.id()
	if params != "" {
		params = `,"params":` + params
	}
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, id, method, params)
	if w.random.IntN(8) == 0 {
		line = fmt.Sprintf(`{ "method" : %q%s , "id":%s,  "jsonrpc":"2.0" }`, method, params, id)
	}
	w.pending.text += line + "\n"
	w.pending.ids = append(w.pending.ids, id)
}

func (w *writer) call(tool, arguments string) {
	params := fmt.Sprintf(`{"name":%s`, quote(tool))
	if arguments != "" {
		params += `,"arguments":` + arguments
	}
	if w.random.IntN(4) == 0 {
		params += fmt.Sprintf(`,"_meta":{"progressToken":%s,"x.example/own":[1.0]}`, []string{`"p"`, "7"}[w.random.IntN(2)])
	}
	w.request("tools/call", params+"}")
	if arguments == "" || arguments == "null" {
		if w.bare == nil {
			w.bare = map[string]bool{}
		}
		w.bare[w.pending.ids[len(w.pending.ids)-1]] = true
	}
}

func (w *writer) notify(method, params string) {
	w.pending.text += fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params)
}

// flush ends a step: what was written since the last one is sent in one write.
func (w *writer) flush() {
	if w.pending.text != "" {
		w.steps = append(w.steps, w.pending)
	}
	w.pending = step{}
}

func (w *writer) initialize(version string) {
	w.request("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"elicitation":{},"sampling":{},"roots":{"listChanged":true}},"clientInfo":{"name":"differential","version":"1"}}`, version))
	w.flush()
	w.notify("notifications/initialized", "{}")
}

func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// property is as much of a schema as the script needs to make arguments for it.
type property struct {
	name     string
	kind     string
	enum     []json.RawMessage
	minimum  *float64
	required bool
	items    *property
}

// propertiesOf reads the properties of a tool's input schema, sorted by name.
func propertiesOf(schema json.RawMessage) (all []property) {
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	json.Unmarshal(schema, &s)
	for name, raw := range s.Properties {
		p := readProperty(raw)
		p.name, p.required = name, slices.Contains(s.Required, name)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b property) int { return strings.Compare(a.name, b.name) })
	return all
}

func readProperty(raw json.RawMessage) (p property) {
	var one struct {
		Type    json.RawMessage
		Enum    []json.RawMessage
		Minimum *float64
		Items   json.RawMessage
		AnyOf   []json.RawMessage
	}
	json.Unmarshal(raw, &one)
	if one.Type == nil && len(one.AnyOf) > 0 {
		return readProperty(one.AnyOf[0])
	}
	json.Unmarshal(one.Type, &p.kind)
	p.enum, p.minimum = one.Enum, one.Minimum
	if one.Items != nil {
		items := readProperty(one.Items)
		p.items = &items
	}
	return p
}

// value makes a value that fits the property.
func (p property) value(text string) string {
	if len(p.enum) > 0 {
		return string(p.enum[0])
	}
	switch p.kind {
	case "integer", "number":
		if p.minimum != nil {
			return fmt.Sprint(*p.minimum)
		}
		return "1"
	case "boolean":
		return "true"
	case "array":
		if p.items != nil {
			return "[" + p.items.value(text) + "]"
		}
		return "[]"
	case "object":
		return "{}"
	case "null":
		return "null"
	}
	return quote(text)
}

// wrongValue makes a value that does not fit, in the ways models get it wrong.
func (p property) wrongValue(r *rand.Rand) string {
	if len(p.enum) > 0 {
		return []string{`"none of these"`, "null", "17"}[r.IntN(3)]
	}
	switch p.kind {
	case "integer", "number":
		return []string{`"1"`, "1.0", "-99999", `"abc"`, "1.5", "null", "1e400"}[r.IntN(7)]
	case "boolean":
		return []string{`"true"`, "1", `"maybe"`, "null"}[r.IntN(4)]
	case "array":
		return []string{`"[\"a\"]"`, `"a"`, "{}", "null", "7"}[r.IntN(5)]
	case "object":
		return []string{`"{}"`, "[]", "null", `"x"`}[r.IntN(4)]
	}
	return []string{"1", "true", "null", `["a"]`, `{"a":1}`, `""`}[r.IntN(6)]
}

// argumentKinds are the ways arguments are made.
const argumentKinds = 12

// arguments makes arguments of one kind for a schema; text is used where a string fits.
func arguments(r *rand.Rand, schema json.RawMessage, kind int, text string) string {
	all := propertiesOf(schema)
	var members []string
	wrong := -1
	if len(all) > 0 {
		wrong = r.IntN(len(all))
	}
	for i, p := range all {
		value := p.value(text)
		switch {
		case kind == 3 && p.required && i == wrong, kind == 4 && !p.required, kind == 5 && p.required:
			continue
		case (kind == 6 || kind == 7) && i == wrong:
			value = p.wrongValue(r)
		case kind == 8:
			value = p.wrongValue(r)
		case kind == 9 && !p.required:
			value = "null"
		}
		name := p.name
		if kind == 10 && i == wrong {
			name = strings.ToUpper(name)
		}
		members = append(members, quote(name)+":"+value)
	}
	switch kind {
	case 1:
		members = append(members, `"extra key":{"a":[1, 2.50,"\u00e9"]}`)
	case 2:
		return "" // no arguments at all
	case 11:
		return []string{"{}", "null", `"{}"`, "[]"}[r.IntN(4)]
	}
	return "{" + strings.Join(members, []string{",", " , "}[r.IntN(2)]) + "}"
}

// texts are what strings are filled with.
var texts = []string{"plain", "", "Grüße, 世界 👋 \u202e", "line\nbreak\ttab\u0001", `{"looks":"like JSON"}`, "a\\b\"c</script>"}
