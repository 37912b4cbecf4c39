package repair

import (
	"slices"
	"strings"
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
	return !slices.ContainsFunc(changes, func(c Change) bool { return o.Lenient&c.aspect() != 0 && !c.harmless() })
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
	for name, aspect := range map[string]Aspect{"all": Keys | Values, "keys": Keys, "values": Values, "formats": Formats} {
		if phrases.Of("enforces " + name).MatchString(said) {
			aspects |= aspect
		}
	}
	return aspects
}

// RejectsTool reports whether a server's text says that it has no such tool.
func RejectsTool(said string) bool {
	return len(said) <= maxToolRejection && phrases.Of("unknown tool").MatchString(said)
}

// maxToolRejection is the length of the longest rejection of a tool name. Longer text is the output
// of a tool.
const maxToolRejection = 500
