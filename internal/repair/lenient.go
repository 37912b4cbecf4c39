package repair

import (
	"regexp"
	"strings"
	"sync"
)

// Aspect is a part of a schema that a server may enforce or ignore.
type Aspect int

const (
	Keys    Aspect = 1 << iota // which keys are required and allowed
	Values                     // which values are allowed
	Formats                    // in which format a string is: an annotation, which few validators check
)

// allows reports whether changes may be made although the server may accept the arguments as they
// are: each change is harmless, or concerns what the server is known to enforce.
func (o Options) allows(changes []Change) bool {
	for _, c := range changes {
		if o.Lenient&c.aspect() != 0 && !c.harmless() {
			return false
		}
	}
	return true
}

// aspect returns the part of the schema that a change satisfies.
func (c Change) aspect() Aspect {
	switch c.Rule {
	case RuleKey, RuleRenamed, RuleDefault, RuleWrapped, RuleNoArguments:
		return Keys
	case RuleEmpty: // an unknown key, or a value that does not fit
		return Keys | Values
	}
	return Values
}

// harmless reports whether a server that does not check its arguments reads both forms the same
// way. It may not: a null clears a field that is kept if absent, org-tools may be a different
// repository than org/tools, and 3 may be milliseconds where "3 days" is read as it is.
func (c Change) harmless() bool {
	switch c.Rule {
	case RuleNull, RulePhrase:
		return false
	case RuleChoice:
		before, after := unquoted(c.Before), unquoted(c.After)
		return strings.EqualFold(strings.TrimSpace(before), after)
	}
	return c.Tier <= Silent
}

// unquoted returns the text of a JSON string, or any other JSON as it is.
func unquoted(raw []byte) string {
	if doc, err := decode(string(raw)); err == nil {
		if text, ok := doc.value.(string); ok {
			return text
		}
	}
	return string(raw)
}

// Enforced returns the aspects of its schema that a server enforces, judging by its rejection of
// one call. Validation libraries are recognized by their phrases, and enforce everything but formats;
// the words of a tool prove only what they say.
func Enforced(said string) (aspects Aspect) {
	said = said[:min(len(said), maxServerText)]
	for aspect, phrases := range enforcing() {
		if phrases.MatchString(said) {
			aspects |= aspect
		}
	}
	return aspects
}

var enforcing = sync.OnceValue(func() map[Aspect]*regexp.Regexp {
	any := func(phrases ...string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + strings.Join(phrases, "|")) }
	return map[Aspect]*regexp.Regexp{
		// JSON Schema and zod validate all keys and values
		Keys | Values: any(`\bvalidating "arguments"`, `\binput validation error\b`, `"code":\s*"invalid_(?:type|union|value)"`,
			`\binvalid input: expected\b`, `\bexpected [a-z]+, received [a-z]+\b`),
		Keys: any(`\bfield required\b`, `\bmissing\b.{0,40}\b(?:arguments?|parameters?|fields?|propert(?:y|ies))\b`, `\bunexpected keyword argument\b`,
			`\brequired property\b`, `\badditional properties\b`, `\bextra inputs are not permitted\b`, `\bunrecognized keys?\b|"unrecognized_keys"`,
			`\b(?:missing|unknown) (?:field|parameter|argument)\b`),
		Values: any(`\binput should be\b`, `\bis not of types? '`, `\bis not one of \[`, `\bcannot unmarshal \w+ into\b`, `\binvalid type: `,
			`\binvalid enum value\b`, `\bmust be (?:of type |an? )?(?:string|number|integer|boolean|object|array)\b`),
		Formats: any(`"code":\s*"invalid_(?:string|format)"`, `\binvalid (?:iso )?(?:date|datetime|time|duration|email|e-mail|ur[il]|uuid|ipv?[46]?)\b`,
			`\bmust match format\b`, `\bis not an? '(?:date|date-time|time|duration|email|ur[il]|uuid|ipv[46]|hostname)'`,
			`\binput should be a valid (?:date|datetime|time|duration|email|url|uuid)\b`),
	}
})

// RejectsTool reports whether a server's text says that it has no such tool.
func RejectsTool(said string) bool {
	return len(said) <= maxToolRejection && toolRejections().MatchString(said)
}

// maxToolRejection is the length of the longest rejection of a tool name. Longer text is the output
// of a tool.
const maxToolRejection = 500

var toolRejections = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:unknown|no such|invalid|unrecogni[sz]ed|undefined|unsupported|unexpected) tool\b` +
		`|\btool\b.{0,150}\b(?:not found|not exist|not (?:available|known|registered|supported|recogni[sz]ed)|unknown)\b|\bno tool\b`)
})
