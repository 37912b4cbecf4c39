package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// FuzzDecode: what we read as JSON is JSON, and the same; what is JSON we
// read, but for our limits.
func FuzzDecode(f *testing.F) {
	for _, text := range sample.Corpus(f, `{"a":[1,-2.5e3,"x\u00e9\n",true,false,null],"b":{}}`, `"\ud83d\ude00"`, `"\ud800"`, `{'a': None}`, "```json\n[1]\n```", `[1,]`, `{"a":1,"a":2}`, `{a:(1,2)} // x`, `{"a":"x"`,
		`1e999999999`, "\ufeff{}", "\"\xff\"", `{"a":1"}`, `.5`, `'\x41'`, `[[[[`, ``) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := decode(text)
		valid := json.Valid([]byte(text))
		if err == nil && !valid {
			t.Fatalf("%q is no JSON and was read as %v", text, doc.value)
		}
		if _, limit := errors.AsType[limitError](err); valid && err != nil && !limit && !replacedByOthers(text) {
			t.Fatalf("%q is JSON: %v", text, err)
		}
		loose, looseErr := decodeLoosely(text)
		if err != nil {
			return
		}
		if want := readExactly([]byte(text)); !reflect.DeepEqual(doc.value, want) {
			t.Fatalf("%q was read as %#v, not %#v", text, doc.value, want)
		}
		if looseErr != nil || !reflect.DeepEqual(loose.value, doc.value) || len(loose.loose) > 0 {
			t.Fatalf("%q was read as %#v (%v) if read loosely", text, loose.value, looseErr)
		}
		if again, err := decode(string(encode(doc.value, doc.rank))); err != nil || !reflect.DeepEqual(again.value, doc.value) {
			t.Fatalf("%q is written as %s", text, encode(doc.value, doc.rank))
		}
	})
}

// replacedByOthers reports whether a text holds what encoding/json replaces:
// bytes that are not UTF-8, half a surrogate pair. We do not read them.
func replacedByOthers(text string) bool {
	data := asJSON(readExactly([]byte(text)))
	return bytes.Contains(data, []byte(`\ufffd`)) || bytes.Contains(data, []byte("\ufffd"))
}

var seedSchemas = []string{`{}`, `true`, `{"type":"object","properties":{"n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}},"u":{"enum":["a_b","c"]}},"required":["n"],"additionalProperties":false}`,
	`{"$ref":"#"}`, `{"$defs":{"t":{"properties":{"c":{"type":"array","items":{"$ref":"#/$defs/t"}}}}},"$ref":"#/$defs/t"}`, `{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`,
	`{"oneOf":[{"const":1},{"const":"x"}],"not":{"pattern":"^(?!a)"}}`, `{"patternProperties":{"^x":{"minimum":1e400}},"propertyNames":{"pattern":"a+"}}`, `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"maxProperties":1}}`,
	`{"items":[{"type":"integer"}],"additionalItems":false}`, `{"type":"string","nullable":true,"enum":["a"]}`, `{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`,
	`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"required":["c"]}}}`, `{"prefixItems":[{"format":"date"}],"items":{"multipleOf":0.1},"uniqueItems":true,"contains":{"const":1}}`,
	`{"properties":{"a":{"type":"integer","default":3}},"required":["a"]}`, `{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true,"minimum":3}`}

// FuzzCompile: no schema does harm.
func FuzzCompile(f *testing.F) {
	for _, schema := range sample.Corpus(f, seedSchemas...) {
		f.Add([]byte(schema))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		schema := (&Schema{raw: bytes.Clone(raw)}).Ready()
		if (schema.root == nil) != (schema.why != "") {
			t.Fatalf("%q: a root %t, and %q", raw, schema.root != nil, schema.why)
		}
		for _, sent := range []string{`{}`, `{"a":"1","n":null,"l":"x"}`} {
			if out := schema.Arguments([]byte(sent), Options{Tier: Told}); out.Verdict == Unverified && out.Reason == "" {
				t.Fatalf("%q: unverified without a reason", raw)
			}
		}
	})
}

// FuzzRepair: whatever comes, what goes out as repaired is valid.
func FuzzRepair(f *testing.F) {
	calls := []string{`{"n":"5","l":"['a']","u":"A B","x":null}`, `{"arguments":{"n":1}}`, `{"a":{"type":"integer","value":3},"c":{"c":1}}`, `"[1]"`, `{'a': None,}`, ``, `{"n":[1],"l":"a"`}
	for _, schema := range seedSchemas {
		for _, sent := range calls {
			f.Add([]byte(schema), []byte(sent))
		}
	}
	schemas := sample.Corpus(f, seedSchemas...)
	for i, sent := range sample.Corpus(f, calls...) {
		f.Add([]byte(schemas[i]), []byte(sent))
		f.Add([]byte(seedSchemas[i%len(seedSchemas)]), []byte(sent))
	}
	f.Fuzz(func(t *testing.T, raw, sent []byte) {
		schema := &Schema{raw: bytes.Clone(raw)}
		out := schema.Arguments(sent, Options{Tool: toolName, Tier: Told})
		switch out.Verdict {
		case Valid, Unverified:
			if !bytes.Equal(out.Arguments, sent) || len(out.Changes) > 0 {
				t.Fatalf("%s and changed to %q", out.Verdict, out.Arguments)
			}
		case Repaired:
			again := schema.Arguments(out.Arguments, Options{Tool: toolName, Tier: Told})
			if len(out.Changes) == 0 || again.Verdict != Valid && again.Verdict != Unverified || again.Verdict == Unverified && schema.notChecked() == "" {
				t.Fatalf("repaired to %q by %s, which is %s (%s)", out.Arguments, receiptsOf(out), again.Verdict, again.Reason)
			}
			for _, change := range out.Changes {
				if change.Before != nil && !json.Valid(change.Before) || change.After != nil && !json.Valid(change.After) {
					t.Fatalf("a receipt that is no JSON: %+v", change)
				}
			}
		case Refused:
			message := schema.Explain(toolName, out, 1)
			if message.Text != "" && !json.Valid(message.Data) {
				t.Fatalf("a message that is no JSON: %s", message.Data)
			}
		}
	})
}
