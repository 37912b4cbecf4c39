package repair

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestSpell(t *testing.T) {
	for _, pattern := range []string{
		`^[a-z]{3}$`, `^\d{4}-\d{2}-\d{2}$`, `^(?:foo|bar)+$`, `^\+?[1-9]\d{1,14}$`, `^[^a-z]+$`, `^(?i)abc$`, `.`, `^$`, `^[\w.-]+@[\w.-]+$`,
		`^#[0-9a-f]{6}$`, `a{2,}`, `^(a|b)(c|d)?$`, `^\s+$`, `^\p{L}+$`, `^v\d+(\.\d+)*$`, `^arn:aws:[a-z]+:.*$`, `^/(?:[^/]+/)*$`,
	} {
		matched := false
		for _, text := range spellings(pattern, span{0, -1}) {
			matched = matched || regexp.MustCompile(pattern).MatchString(text)
		}
		if !matched {
			t.Errorf("%s: no text of %q", pattern, spellings(pattern, span{0, -1}))
		}
	}
	for _, pattern := range []string{`(a{100}){100}`, `[^\x00-\x{10FFFF}]`} {
		if text, ok := spell(pattern, 0); ok && len(text) > 2*maxSpelled {
			t.Errorf("%s: %d bytes", pattern, len(text))
		}
	}
}

// Numbers are hit exactly, whatever the bounds.
func TestSampleNumbers(t *testing.T) {
	for _, schema := range []string{
		`{"type":"integer","minimum":18,"maximum":120}`, `{"type":"number","exclusiveMinimum":-273.15,"maximum":1000}`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.001}`, `{"type":"integer","multipleOf":7,"minimum":100}`,
		`{"type":"integer","maximum":-100}`, `{"type":"number","multipleOf":0.25,"exclusiveMinimum":3}`, `{"type":"integer","minimum":0.5}`,
		`{"type":"integer","multipleOf":2.5}`, `{"allOf":[{"multipleOf":6},{"multipleOf":4},{"minimum":1}],"type":"integer"}`,
		`{"type":"number","minimum":1e10}`, `{"type":"integer","exclusiveMaximum":0}`, `{"type":"number","maximum":0.1,"minimum":0.1}`,
	} {
		for _, call := range []string{`{}`, `{"x":"none at all"}`, `{"x":-1000.123}`, `{"x":99999}`} {
			out := Compile([]byte(one(schema))).Arguments([]byte(call), Options{})
			if out.Verdict == Refused {
				if _, data := explain(t, one(schema), call); data.ValidExample == nil {
					t.Errorf("%s %s: no example", schema, call)
				}
			}
		}
	}
}

// A schema can ask for more than anybody can build; the search ends.
func TestExampleSearchEnds(t *testing.T) {
	forks := `{"type":"integer"}`
	for range 8 {
		forks = `{"anyOf":[` + forks + `,{"type":"object","properties":{"a":` + forks + `},"required":["a"]}]}`
	}
	var wide []string
	for i := range 200 {
		wide = append(wide, fmt.Sprintf(`{"type":"object","properties":{"k":{"const":%d},"v":{"type":"array","minItems":20,"uniqueItems":true,"items":{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^[a-z]{3}$"}}}}},"required":["k","v"]}`, i))
	}
	for name, c := range map[string][2]string{
		"a tree without an end":       {`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","required":["a","b","c"],"properties":{"a":{"$ref":"#/$defs/t"},"b":{"$ref":"#/$defs/t"},"c":{"$ref":"#/$defs/t"}}}}}`, `{}`},
		"a list without an end":       {`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":9,"items":{"$ref":"#/$defs/t"}}}}}}`, `{}`},
		"forks in forks":              {one(forks), `{"x":"a"}`},
		"many forms":                  {one(`{"oneOf":[` + strings.Join(wide, ",") + `]}`), `{"x":{"k":"a"}}`},
		"two that exclude each other": {`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"not":{"required":["a","b"]}}`, `{"a":1,"b":2}`},
		"one that asks for the other": {`{"properties":{"a":{"enum":[1,2]}},"required":["a"],"if":{"properties":{"a":{"const":1}}},"then":{"properties":{"a":{"const":2}}},"else":{"properties":{"a":{"const":1}}}}`, `{"a":3}`},
	} {
		start := time.Now()
		m := Compile([]byte(c[0])).Explain("tool", refuse(t, c[0], c[1]), 1)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: %s", name, took)
		}
		checkBounds(t, m)
		checkExample(t, c[0], readReport(t, m))
	}
}

func TestDerived(t *testing.T) {
	for _, c := range []struct{ schema, call, example string }{
		{`{"type":"number"}`, `{"x":"1,250.5 USD"}`, `{"x":1250.5}`},
		{`{"type":"number"}`, `{"x":"50%"}`, `{"x":50}`},
		{`{"type":"integer"}`, `{"x":2.6}`, `{"x":3}`},
		{`{"type":"integer"}`, `{"x":-2.6}`, `{"x":-3}`},
		{`{"type":"boolean"}`, `{"x":"off"}`, `{"x":false}`},
		{`{"type":"string","format":"date"}`, `{"x":"2024/02/03"}`, `{"x":"2024-02-03"}`},
		{`{"type":"string","pattern":"^[a-z_]+$"}`, `{"x":"Big Apple"}`, `{"x":"big_apple"}`},
		{`{"enum":[10,20,30]}`, `{"x":19}`, `{"x":20}`},
	} {
		if _, data := explain(t, one(c.schema), c.call); string(data.ValidExample) != c.example {
			t.Errorf("%s %s: %s, not %s", c.schema, c.call, data.ValidExample, c.example)
		}
	}
}
