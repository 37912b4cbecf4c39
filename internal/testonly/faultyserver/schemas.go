package faultyserver

import (
	"fmt"
	"strings"
)

// costlySchemas maps a kind to an input schema that is costly or dangerous to validate: endless,
// exponential, or with references outside.
var costlySchemas = map[string]func() string{
	"cycle": func() string { return `{"$ref":"#"}` },
	"cycle-defs": func() string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`
	},
	"bomb":  bombSchema,
	"file":  func() string { return `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}` },
	"http":  func() string { return `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/schema.json"}}}` },
	"regex": func() string { return `{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}` },
	"lookahead": func() string {
		return `{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=.*\\d)(?!x).+$"}}}`
	},
	"not-object": func() string { return `true` },
	"draft4": func() string {
		return `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`
	},
}

func schemaNames() []string { return namesOf(costlySchemas) }

// bombSchema returns a schema that doubles 26 times: 2.5 KB that a naive validator visits 67
// million times.
func bombSchema() string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	const depth = 26
	for i := range depth {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, depth)
	return b.String()
}
