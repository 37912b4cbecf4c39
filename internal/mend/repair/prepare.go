package repair

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// preparer inspects a schema before it is compiled: whether it is within the limits, its draft, and
// what has to be dropped.
type preparer struct {
	patterns
	draft     *jsonschema.Draft
	nodes     int
	unchecked []string
}

// Keywords that contain schemas: a single one, a list, or a map. Dropping an assertion in a negated
// position may reject values that are valid; elsewhere it can only accept more. A definition may be
// used in any position.
var (
	schemaMaps      = []string{"properties", "$defs", "definitions", "dependentSchemas", "dependencies", "patternProperties"}
	negatedKeywords = []string{"$defs", "definitions", "patternProperties", "not", "if", "oneOf", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	schemaKeywords = append([]string{"items", "additionalItems", "prefixItems", "additionalProperties", "allOf", "anyOf", "then", "else",
		"properties", "dependentSchemas", "dependencies"}, negatedKeywords...)
)

// refersInside reports whether a reference points to anything but definitions. Then every schema
// may be in a negated position.
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

func (p *preparer) visit(doc any, depth int, negated bool) error {
	if list, ok := doc.([]any); ok {
		for _, item := range list {
			if err := p.visit(item, depth, negated); err != nil {
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
		return fmt.Errorf("the schema contains more than %d subschemas", maxNodes)
	}
	if depth > maxDepth {
		return fmt.Errorf("the schema is nested more than %d levels deep", maxDepth)
	}
	allowNull(schema)
	p.noticeDraft(schema)
	if schema["format"] == "regex" {
		delete(schema, "format") // regular expressions differ between servers
	}
	if err := p.checkPatterns(schema, negated); err != nil {
		return err
	}
	for _, key := range schemaKeywords {
		inner := schema[key]
		if group, ok := inner.(map[string]any); ok && slices.Contains(schemaMaps, key) {
			list := make([]any, 0, len(group))
			for _, name := range slices.Sorted(maps.Keys(group)) {
				list = append(list, group[name])
			}
			inner = list
		}
		if err := p.visit(inner, depth+1, negated || slices.Contains(negatedKeywords, key)); err != nil {
			return err
		}
	}
	return nil
}

// allowNull translates OpenAPI's nullable to JSON Schema.
func allowNull(schema map[string]any) {
	if schema["nullable"] != true && schema["x-nullable"] != true {
		return
	}
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "const"} {
		if schema["$defs"] != nil || schema["definitions"] != nil || schema["$id"] != nil {
			break // other schemas refer to its contents
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

// eitherOrNull makes a schema accept null as well.
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

// noticeDraft recognizes older drafts by keywords that the newest does not have.
func (p *preparer) noticeDraft(schema map[string]any) {
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

// checkPatterns drops patterns that cannot be compiled, if that can only accept more values. If
// not, it returns an error.
func (p *preparer) checkPatterns(schema map[string]any, negated bool) error {
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
	if negated || p.patterns.size > maxPatterns {
		return fmt.Errorf("the schema has a pattern that cannot be checked: %s", bounded(pattern, 60))
	}
	delete(schema, "pattern")
	p.unchecked = append(p.unchecked, "the pattern "+bounded(pattern, 60)+" cannot be checked safely")
	return nil
}

// pattern is a regular expression whose running time is proportional to the string and to its own
// size, so the string is limited.
type pattern struct {
	*regexp.Regexp
	source  string
	limit   int
	classes bool // contains \w, \d, \s or \b, which some engines apply to ASCII and others to Unicode
}

func (p pattern) String() string { return p.source }

func (p pattern) MatchString(text string) bool {
	if len(text) > p.limit {
		panic(overBudget(fmt.Sprintf("a string of more than %d bytes would need to be matched against a pattern", p.limit)))
	}
	if p.Regexp.MatchString(text) {
		return true
	}
	if p.classes && !isASCII(text) {
		panic(overBudget("servers differ in what \\w, \\d and \\s match in such a string"))
	}
	return false
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// patterns are the compiled patterns of one schema, with a limit on their total size.
type patterns struct {
	compiled map[string]pattern
	size     int // instructions
}

func (p *patterns) compile(source string) (jsonschema.Regexp, error) {
	if known, ok := p.compiled[source]; ok {
		return known, nil
	}
	if len(source) > maxPattern || engineSpecific.MatchString(source) {
		return nil, errors.New("the pattern is too long, or engines interpret it differently")
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
		return nil, errors.New("the schema's patterns are too large")
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
	classEscape    = regex.New(`\\[wWdDsSbB]`)
	engineSpecific = regex.New(`\[\[:|\\[QEzZAC]|\{,`)
)

var unicodeEscape = regex.New(`\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}|\\\\`)

// fromECMA translates JavaScript's Unicode escapes.
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
