package repair

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// preparation looks a schema over before it is compiled: its shape against
// the limits, the draft it is written in, and what has to be left out of it.
type preparation struct {
	patterns
	draft     *jsonschema.Draft
	nodes     int
	unchecked []string
}

// Where schemas stand inside of a schema. Where leaving an assertion out can
// only let more pass is told from where it could let less pass.
var (
	inside     = []string{"items", "additionalItems", "prefixItems", "additionalProperties", "allOf", "anyOf", "then", "else"}
	insideMaps = []string{"properties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	contrary   = []string{"not", "if", "oneOf", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)

func (p *preparation) prepare(doc any) error { return p.visit(doc, 0, refersInside(doc)) }

// refersInside reports whether a reference leads to anything but definitions:
// then every schema may stand where leaving out lets less pass.
func refersInside(doc any) bool {
	found := false
	walk(doc, nil, func(path []string, value any) {
		if len(path) == 0 || path[len(path)-1] != "$ref" {
			return
		}
		to, _ := value.(string)
		found = found || !strings.HasPrefix(to, "#/$defs/") && !strings.HasPrefix(to, "#/definitions/")
	})
	return found
}

func (p *preparation) visit(doc any, depth int, contraryTo bool) error {
	if list, ok := doc.([]any); ok {
		for _, item := range list {
			if err := p.visit(item, depth, contraryTo); err != nil {
				return err
			}
		}
		return nil
	}
	schema, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	if p.nodes++; p.nodes > maxNodes {
		return fmt.Errorf("the schema holds more than %d schemas", maxNodes)
	}
	if depth > maxDepth {
		return fmt.Errorf("the schema is nested deeper than %d", maxDepth)
	}
	allowNull(schema)
	p.noticeDraft(schema)
	if schema["format"] == "regex" {
		delete(schema, "format") // every server has its own kind of expressions
	}
	if err := p.checkPatterns(schema, contraryTo); err != nil {
		return err
	}
	for _, key := range inside {
		if err := p.visit(schema[key], depth+1, contraryTo); err != nil {
			return err
		}
	}
	for _, key := range insideMaps {
		group, _ := schema[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(group)) {
			// A definition may be used anywhere, also where less would pass.
			if err := p.visit(group[name], depth+1, contraryTo || key == "$defs" || key == "definitions"); err != nil {
				return err
			}
		}
	}
	for _, key := range append(contrary, "patternProperties") {
		value := schema[key]
		if key == "patternProperties" {
			group, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(group)) {
				if err := p.visit(group[name], depth+1, true); err != nil {
					return err
				}
			}
			continue
		}
		if err := p.visit(value, depth+1, true); err != nil {
			return err
		}
	}
	return nil
}

// allowNull says in JSON Schema what OpenAPI says with nullable.
func allowNull(schema map[string]any) {
	if schema["nullable"] != true && schema["x-nullable"] != true {
		return
	}
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "const"} {
		if schema["$defs"] != nil || schema["definitions"] != nil || schema["$id"] != nil {
			break // others refer to what is in it
		}
		if _, ok := schema[key]; ok {
			eitherOrNull(schema)
			return
		}
	}
	switch kind := schema["type"].(type) {
	case string:
		schema["type"] = []any{kind, "null"}
	case []any:
		if !slices.Contains(kind, any("null")) {
			schema["type"] = append(kind, "null")
		}
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, nil) {
		schema["enum"] = append(values, nil)
	}
}

// eitherOrNull puts what a schema says beside null.
func eitherOrNull(schema map[string]any) {
	inner := maps.Clone(schema)
	delete(inner, "nullable")
	delete(inner, "x-nullable")
	clear(schema)
	for _, key := range []string{"description", "title", "default", "examples"} {
		if value, ok := inner[key]; ok {
			schema[key] = value
		}
	}
	schema["anyOf"] = []any{inner, map[string]any{"type": "null"}}
}

// noticeDraft recognises older drafts by what the newest does not have.
func (p *preparation) noticeDraft(schema map[string]any) {
	_, tuple := schema["items"].([]any)
	_, dependencies := schema["dependencies"]
	_, boolMin := schema["exclusiveMinimum"].(bool)
	_, boolMax := schema["exclusiveMaximum"].(bool)
	switch {
	case boolMin || boolMax:
		p.draft = jsonschema.Draft4
	case (tuple || dependencies) && p.draft == jsonschema.Draft2020:
		p.draft = jsonschema.Draft7
	}
}

// checkPatterns takes out what our engine cannot read, where that can only
// let more pass, and gives up on the schema where it cannot.
func (p *preparation) checkPatterns(schema map[string]any, contraryTo bool) error {
	group, _ := schema["patternProperties"].(map[string]any)
	for pattern := range group {
		if _, err := p.patterns.compile(pattern); err != nil {
			return fmt.Errorf("the schema has a pattern that cannot be checked: %s", bounded(pattern, 60))
		}
	}
	pattern, ok := schema["pattern"].(string)
	if !ok {
		return nil
	}
	if _, err := p.patterns.compile(pattern); err == nil {
		return nil
	}
	if contraryTo || p.patterns.size > maxPatterns {
		return fmt.Errorf("the schema has a pattern that cannot be checked: %s", bounded(pattern, 60))
	}
	delete(schema, "pattern")
	p.unchecked = append(p.unchecked, "the pattern "+bounded(pattern, 60)+" is not one that can be checked safely")
	return nil
}

// pattern is a regular expression that takes time in proportion to the text
// and to its own size, and so takes only texts up to a limit.
type pattern struct {
	*regexp.Regexp
	source  string
	limit   int
	classes bool // has \w, \d, \s or \b: ASCII to some, Unicode to others
}

func (p pattern) String() string { return p.source }

func (p pattern) MatchString(text string) bool {
	if len(text) > p.limit {
		panic(spent(fmt.Sprintf("a text of more than %d bytes would have to be matched against a pattern", p.limit)))
	}
	if p.Regexp.MatchString(text) {
		return true
	}
	if p.classes && !isASCII(text) {
		panic(spent("what \\w, \\d and \\s take of such text differs from server to server"))
	}
	return false
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// patterns are those of one schema, each compiled once, up to a size in all.
type patterns struct {
	compiled map[string]pattern
	size     int // instructions
}

func (p *patterns) compile(source string) (jsonschema.Regexp, error) {
	if known, ok := p.compiled[source]; ok {
		return known, nil
	}
	if len(source) > maxPattern || otherwise.MatchString(source) {
		return nil, errors.New("a pattern that is too long, or that engines read in different ways")
	}
	spelled := fromECMA(source)
	tree, err := syntax.Parse(spelled, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if p.size += len(program.Inst); p.size > maxPatterns {
		return nil, errors.New("the patterns of the schema are too large")
	}
	made, err := regexp.Compile(spelled)
	if err != nil {
		return nil, err
	}
	if p.compiled == nil {
		p.compiled = map[string]pattern{}
	}
	p.compiled[source] = pattern{made, source, min(maxSubject, maxMatching/len(program.Inst)), classEscape.MatchString(source)}
	return p.compiled[source], nil
}

var (
	classEscape = regexp.MustCompile(`\\[wWdDsSbB]`)
	otherwise   = regexp.MustCompile(`\[\[:|\\[QEzZAC]|\{,`)
)

var unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}|\\\\`)

// fromECMA spells what JavaScript writes differently.
func fromECMA(source string) string {
	if !strings.Contains(source, `\u`) {
		return source
	}
	return unicodeEscape.ReplaceAllStringFunc(source, func(match string) string {
		if match == `\\` {
			return match
		}
		return `\x{` + strings.Trim(match[2:], "{}") + `}`
	})
}
