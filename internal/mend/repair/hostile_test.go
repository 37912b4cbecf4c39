package repair

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// hostile is input made to do harm.
type hostile struct {
	name   string
	schema string
	sent   string
	want   []Verdict // any of these; none: any verdict at all
}

// judged runs one call and fails if it hangs, panics, or is not to be judged so.
func (h hostile) judged(t *testing.T) Outcome {
	t.Helper()
	done := make(chan Outcome, 1)
	go func() {
		schema := Compile([]byte(h.schema))
		out := schema.Arguments([]byte(h.sent), Options{Tool: toolName, Tier: Told})
		if out.Verdict == Refused {
			schema.Explain(toolName, out, 1)
		}
		schema.Arguments([]byte(h.sent), Options{Tool: toolName, Tier: Told})
		schema.Complaint(toolName, []byte(h.sent), "invalid arguments", 1)
		done <- out
	}()
	select {
	case out := <-done:
		if out.Verdict == Unverified && out.Reason == "" {
			t.Errorf("unverified without a reason")
		}
		if out.Verdict == Unverified && string(out.Arguments) != h.sent {
			t.Errorf("unverified and changed")
		}
		for _, want := range h.want {
			if out.Verdict == want {
				return out
			}
		}
		if len(h.want) > 0 {
			t.Errorf("%s (%s), not %s", out.Verdict, out.Reason, h.want)
		}
		return out
	case <-time.After(patience.Limit()):
		t.Fatalf("no verdict after %s", patience.Limit())
	}
	return Outcome{}
}

func judgeAll(t *testing.T, list []hostile) {
	t.Helper()
	for _, h := range list {
		t.Run(h.name, func(t *testing.T) { h.judged(t) })
	}
}

var (
	unverified = []Verdict{Unverified}
	refused    = []Verdict{Refused}
	valid      = []Verdict{Valid}
)

func TestHostileReferences(t *testing.T) {
	judgeAll(t, []hostile{
		{"a schema that is itself", `{"$ref":"#"}`, `{}`, unverified},
		{"all of itself", `{"allOf":[{"$ref":"#"}]}`, `{}`, unverified},
		{"any of itself", `{"anyOf":[{"$ref":"#"},{"type":"object"}]}`, `{}`, nil},
		{"not itself", `{"not":{"$ref":"#"}}`, `{}`, nil},
		{"if itself", `{"if":{"$ref":"#"},"then":{"type":"object"}}`, `{}`, nil},
		{"two that are each other", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":1}`, unverified},
		{"two behind all of", `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, `{"x":1}`, unverified},
		{"a dynamic one", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `{}`, unverified},
		{"a recursive one", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"$recursiveRef":"#"}`, `{}`, unverified},
		{"nowhere", `{"$ref":"#/$defs/none"}`, `{}`, unverified},
		{"not a reference", `{"$ref":5}`, `{}`, unverified},
		{"its own keyword", `{"properties":{"x":{"$ref":"#/properties/x/anyOf/0"}}}`, `{"x":1}`, unverified},
		{"itself as an item, which ends", `{"type":["array","integer"],"items":{"$ref":"#"}}`, `[[[[1]]]]`, valid},
		{"itself as a property, which ends", `{"type":"object","properties":{"x":{"$ref":"#"}}}`, `{"x":{"x":{"x":5}}}`, refused},
		{"an id that is elsewhere", `{"$id":"http://127.0.0.1:1/x","$ref":"other"}`, `{}`, unverified},
	})
}

// A file that is there and a server that counts: neither may be asked.
func TestNothingIsEverLoaded(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer server.Close()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "other.json"))
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"file://" + file, "file:///" + strings.TrimPrefix(file, "/"), file, server.URL + "/x.json", server.URL + "/x.json#/a", "ftp://localhost/x", "other.json", "//" + strings.TrimPrefix(server.URL, "http://")} {
		for _, keyword := range []string{"$ref", "$schema", "$dynamicRef", "$recursiveRef"} {
			for _, schema := range []string{`{%q:%q}`, `{"properties":{"x":{%q:%q}}}`, `{"$defs":{"x":{%q:%q}},"properties":{"x":{"$ref":"#/$defs/x"}}}`} {
				h := hostile{schema: fmt.Sprintf(schema, keyword, where), sent: `{"x":5}`}
				if out := h.judged(t); out.Verdict == Refused {
					t.Errorf("%s was refused: it was loaded", h.schema)
				} else if keyword == "$ref" && out.Verdict != Unverified {
					t.Errorf("%s: %s", h.schema, out.Verdict)
				}
			}
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// doubling is a schema of a few hundred bytes that is held against a value
// 2^depth times.
func doubling(keyword, bottom string, depth int) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range depth {
		fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":%s},"$ref":"#/$defs/d0"}`, depth, bottom)
	return b.String()
}

func TestHostileDoubling(t *testing.T) {
	wide := `{"x":` + strings.Repeat(`[`, 60) + `1` + strings.Repeat(`]`, 60) + `}`
	items := `{"$defs":{"a":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/a"}},{"type":"array","items":{"$ref":"#/$defs/a"}},{"type":"string"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`
	judgeAll(t, []hostile{
		{"all of that passes", doubling("allOf", "true", 26), `{}`, unverified},
		{"all of that fails", doubling("allOf", `{"type":"string"}`, 26), `{"a":1}`, unverified},
		{"any of that passes", doubling("anyOf", "true", 26), `{}`, nil},
		{"any of that fails", doubling("anyOf", `{"type":"string"}`, 26), `{"a":1}`, unverified},
		{"one of that fails", doubling("oneOf", `{"type":"string"}`, 26), `{"a":1}`, unverified},
		{"any of that could be mended", doubling("anyOf", `{"properties":{"n":{"type":"integer"}}}`, 12), `{"n":"5"}`, nil},
		{"many wrong values in a few branches", doubling("anyOf", `{"additionalProperties":{"type":"integer"}}`, 8), manyKeys(sample.Size(300), `"5"`), nil},
		{"items of items", items, wide, unverified},
		{"a short one is judged", doubling("allOf", `{"type":"object"}`, 5), `{}`, valid},
	})
}

func manyKeys(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%s`, i, value)
	}
	return "{" + b.String()[1:] + "}"
}

func TestHostilePatterns(t *testing.T) {
	pattern := func(p string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"x":{"type":"string","pattern":%q}}}`, p)
	}
	long := func(n int) string { return `{"x":"` + strings.Repeat("a", n) + `!"}` }
	judgeAll(t, []hostile{
		{"look-ahead", pattern(`^(?=.*a).*$`), `{"x":"a"}`, unverified},
		{"look-behind", pattern(`(?<=a)b`), `{"x":"ab"}`, unverified},
		{"back-reference", pattern(`(a)\1`), `{"x":"aa"}`, unverified},
		{"look-ahead beside a wrong type", pattern(`^(?=.*a).*$`), `{"x":{"a":1}}`, refused},
		{"look-ahead under not", `{"not":{"properties":{"x":{"pattern":"(?!a)"}}}}`, `{"x":"b"}`, unverified},
		{"look-ahead in oneOf", `{"oneOf":[{"properties":{"x":{"pattern":"(?!a)"}}},{"required":["y"]}]}`, `{"x":"b"}`, unverified},
		{"look-ahead in if", `{"if":{"properties":{"x":{"pattern":"(?!a)"}}},"then":{"required":["y"]}}`, `{"x":"b"}`, unverified},
		{"look-ahead in a definition under not", `{"$defs":{"p":{"pattern":"(?!a)"}},"properties":{"x":{"not":{"$ref":"#/$defs/p"}}}}`, `{"x":"b"}`, unverified},
		{"look-ahead in a property under not by pointer", `{"properties":{"p":{"pattern":"(?!a)"},"x":{"not":{"$ref":"#/properties/p"}}}}`, `{"x":"b"}`, unverified},
		{"look-ahead in names", `{"propertyNames":{"pattern":"(?!a)"}}`, `{"x":"b"}`, unverified},
		{"look-ahead in patternProperties", `{"patternProperties":{"^(?!a)":{"type":"string"}},"additionalProperties":false}`, `{"x":5}`, unverified},
		{"back-reference in patternProperties", `{"patternProperties":{"(.)\\1":false}}`, `{"aa":5}`, unverified},
		{"look-ahead in a schema outside any keyword", `{"foo":{"pattern":"(?!a)"},"properties":{"x":{"$ref":"#/foo"}}}`, `{"x":"a"}`, unverified},
		{"2 KB", pattern(strings.Repeat("a?", 1024)), `{"x":"a"}`, unverified},
		{"a repeat of repeats", pattern(`((a{1,100}){1,100}){1,100}`), `{"x":"a"}`, unverified},
		{"nested quantifiers on 60 KB", pattern(`(a+)+$`), long(60_000), refused},
		{"nested quantifiers on 70 KB", pattern(`(a+)+$`), long(70_000), unverified},
		{"alternatives on 60 KB", pattern(`^(a|a|a)*$`), long(60_000), refused},
		{"a thousand repeats on 60 KB", pattern(`(a{500}b?){2}$`), long(60_000), nil},
		{"many long names", `{"propertyNames":{"pattern":"^(x?){200}$"}}`, `{"` + strings.Repeat("a", 60_000) + `":1,"` + strings.Repeat("b", 60_000) + `":1}`, nil},
		{"names of 1 MB", `{"patternProperties":{"^x":{"type":"string"}}}`, `{"` + strings.Repeat("a", 1<<20) + `":1}`, unverified},
		{"not a text", `{"properties":{"x":{"pattern":5}}}`, `{"x":"a"}`, unverified},
		{"broken", pattern(`([`), `{"x":"a"}`, unverified},
		{"an empty one", pattern(``), `{"x":"a"}`, valid},
	})
}

func TestHostileNumbers(t *testing.T) {
	number := func(keyword, value string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"x":{"type":"number",%q:%s}}}`, keyword, value)
	}
	huge := "1e999999999"
	list := []hostile{
		{"in arguments", number("minimum", "1"), `{"x":` + huge + `}`, unverified},
		{"a tiny one in arguments", number("multipleOf", "0.1"), `{"x":1e-999999999}`, unverified},
		{"with 10,000 digits", number("minimum", "1"), `{"x":` + strings.Repeat("9", 10_000) + `}`, unverified},
		{"an exponent beyond integers", number("minimum", "1"), `{"x":1e99999999999999999999}`, unverified},
		{"in text", number("minimum", "1"), `{"x":"` + huge + `"}`, refused},
		{"in text for an integer", `{"properties":{"x":{"type":"integer"}}}`, `{"x":"1e400"}`, refused},
		{"in JSON text", `{"properties":{"x":{"type":"array","items":{"type":"integer"}}}}`, `{"x":"[` + huge + `]"}`, refused},
		{"multiple of 0", number("multipleOf", "0"), `{"x":5}`, unverified},
		{"multiple of less than 0", number("multipleOf", "-1"), `{"x":5}`, unverified},
		{"of 300 digits, to text", `{"properties":{"x":{"type":"string"}}}`, `{"x":` + strings.Repeat("9", 300) + `}`, []Verdict{Repaired}},
		{"integral and large", `{"properties":{"x":{"type":"integer"}}}`, `{"x":1e300}`, nil},
		{"minus zero", `{"properties":{"x":{"type":"integer","minimum":0}}}`, `{"x":-0}`, valid},
	}
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "multipleOf", "const", "minLength", "maxItems", "default"} {
		list = append(list, hostile{keyword + " in a schema", number(keyword, huge), `{"x":"5"}`, nil},
			hostile{keyword + ", tiny, in a schema", number(keyword, "1e-999999999"), `{"x":"5"}`, nil})
	}
	list = append(list, hostile{"enum in a schema", number("enum", "[1,"+huge+"]"), `{"x":5}`, nil})
	judgeAll(t, list)
}

func TestHostileSizes(t *testing.T) {
	large, many := sample.Size(16<<20), sample.Size(50_000)
	tree := `{"type":"object","properties":{"x":{"type":"string"},"n":{"type":"integer"},"u":{"type":"array","uniqueItems":true},"l":{"type":"array","items":{"type":"integer"}}}}`
	numbers := func(n int, one string) string {
		return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
	}
	distinct := func(n int) string {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		data, _ := json.Marshal(list)
		return string(data)
	}
	maps := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"a":%d}`, i)
		}
		return b.String()[1:]
	}
	var wide strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&wide, `,"v%d"`, i)
	}
	deepSchema := strings.Repeat(`{"properties":{"x":`, 300) + `{}` + strings.Repeat(`}}`, 300)
	judgeAll(t, []hostile{
		{"a large text", tree, `{"x":"` + strings.Repeat("a", large) + `"}`, valid},
		{"a large text for a number", tree, `{"n":"` + strings.Repeat("1", large) + `"}`, refused},
		{"a large text that looks like a list", tree, `{"l":"[` + strings.Repeat("[", large) + `"}`, refused},
		{"a large text of escapes", tree, `{"x":"` + strings.Repeat(`\u0041`, large/6) + `"}`, valid},
		{"a text of 1 MB of backslashes in JSON text", tree, `{"l":"[\"` + strings.Repeat(`\\\\`, 1<<18) + `\"]"}`, nil},
		{"a large choice", `{"properties":{"x":{"enum":["a","b"]}}}`, `{"x":"` + strings.Repeat("a", large) + `"}`, refused},
		{"a large key", tree, `{"` + strings.Repeat("a", large) + `":1}`, valid},
		{"a large date", `{"properties":{"x":{"type":"string","format":"date"}}}`, `{"x":"` + strings.Repeat("1", large) + `"}`, refused},
		{"200 levels", tree, strings.Repeat(`{"x":`, 200) + `1` + strings.Repeat(`}`, 200), unverified},
		{"a million levels", tree, strings.Repeat(`[`, 1_000_000), unverified},
		{"200 levels in text", tree, `{"l":"` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `"}`, refused},
		{"text in text in text", tree, quotedTimes(`[1]`, 12), nil},
		{"a million values", tree, `{"l":[` + numbers(1_000_000, "1") + `]}`, []Verdict{Valid}}, // plainly, in one pass
		{"a million values that do not plainly fit", tree, `{"l":[` + numbers(1_000_000, "1.0") + `]}`, unverified},
		{"many wrong values", tree, `{"l":[` + numbers(many, `"a"`) + `]}`, nil},
		{"many values to mend", tree, `{"l":[` + numbers(many, `"1"`) + `]}`, nil},
		{"1,000 values to mend", tree, `{"l":[` + numbers(1_000, `"1"`) + `]}`, nil},
		{"many unique items", tree, `{"u":` + distinct(many) + `}`, nil},
		{"many unique objects", tree, `{"u":[` + maps(sample.Size(20_000)) + `]}`, nil},
		{"many equal items", tree, `{"u":[` + numbers(many, "1") + `]}`, nil},
		{"many keys", tree, manyKeys(many, "1"), nil},
		{"many keys that are not allowed", `{"properties":{"a":{}},"additionalProperties":false}`, manyKeys(many, "1"), nil},
		{"many null keys that are not allowed", `{"properties":{"a":{}},"additionalProperties":false}`, manyKeys(many, "null"), nil},
		{"a schema of 10 MB", `{"description":"` + strings.Repeat("a", 10<<20) + `"}`, `{}`, unverified},
		{"a schema of 20,000 properties", `{"properties":` + manyKeys(20_000, `{}`) + `}`, `{}`, unverified},
		{"a schema 300 deep", deepSchema, `{"x":{"x":5}}`, unverified},
		{"a choice of 20,000", `{"properties":{"x":{"enum":[` + wide.String()[1:] + `]}}}`, `{"x":"V19999"}`, nil},
		{"a choice of 20,000, none of them", `{"properties":{"x":{"enum":[` + wide.String()[1:] + `]}}}`, `{"x":"zebra"}`, nil},
		{"all of 4,000", `{"allOf":[` + numbers(4_000, `{"type":"object"}`) + `]}`, `{}`, valid},
		{"any of 2,000 that fail", `{"properties":{"x":{"anyOf":[` + numbers(2_000, `{"type":"integer"}`) + `]}}}`, `{"x":"5"}`, nil},
		{"any of 2,000 on many values", `{"properties":{"x":{"type":"array","items":{"anyOf":[` + numbers(2_000, `{"type":"integer"}`) + `]}}}}`, `{"x":[` + numbers(sample.Size(200), `"5"`) + `]}`, nil},
	})
}

// quotedTimes is JSON in text in text, so often.
func quotedTimes(text string, times int) string {
	for range times {
		data, _ := json.Marshal(text)
		text = string(data)
	}
	return text
}

func TestHostileBytes(t *testing.T) {
	open := `{"type":"object","properties":{"x":{"type":"string"}}}`
	judgeAll(t, []hostile{
		{"not UTF-8", open, "{\"x\":\"a\xff\"}", []Verdict{Refused, Unverified}},
		{"a key that is not UTF-8", open, "{\"x\xff\":\"a\"}", []Verdict{Refused, Unverified}},
		{"half a surrogate pair", open, `{"x":"\ud800"}`, []Verdict{Refused, Unverified}},
		{"the other half", open, `{"x":"\udc00a"}`, []Verdict{Refused, Unverified}},
		{"two first halves", open, `{"x":"\ud800\ud800"}`, []Verdict{Refused, Unverified}},
		{"a surrogate at the end", open, `{"x":"\ud800`, []Verdict{Refused, Unverified}},
		{"a pair", open, `{"x":"\ud83d\ude00"}`, valid},
		{"the replacement character itself", open, `{"x":"\ufffd"}`, valid},
		{"a key twice", open, `{"x":"a","x":"b"}`, unverified},
		{"a key twice, spelled differently", open, `{"x":"a","\u0078":"b"}`, unverified},
		{"a key twice further in", open, `{"y":[{"a":1,"a":1}]}`, unverified},
		{"NUL in a text", open, "{\"x\":\"a\x00b\"}", nil},
		{"NUL, escaped", open, `{"x":"a\u0000b"}`, valid},
		{"NUL around it", open, "\x00{}", refused},
		{"NUL after it", open, "{}\x00", refused},
		{"a byte order mark", open, "\ufeff{}", nil},
		{"UTF-16", open, "{\x00\"\x00x\x00\"\x00", refused},
		{"only a quote", open, `"`, refused},
		{"only a bracket", open, `{`, refused},
		{"only a backslash", open, `\`, refused},
		{"only fences", open, "``````", nil},
		{"one fence", open, "```", nil},
		{"an open comment", open, "{}/*", refused},
		{"a path with odd parts", `{"properties":{"":{"properties":{"a.b":{"type":"integer"},"\u0000":{"type":"integer"}}}}}`, `{"":{"a.b":"x","\u0000":"1"}}`, refused},
		{"keys of the language", `{"properties":{"__proto__":{"type":"integer"},"constructor":{"type":"integer"}}}`, `{"__proto__":"1","constructor":"2"}`, []Verdict{Repaired}},
	})
}

func TestHostileSchemas(t *testing.T) {
	for _, schema := range []string{`[]`, `5`, `"x"`, `null`, `{`, ``, ` `, "\xff", `{"type":"dict"}`, `{"type":5}`, `{"type":[]}`, `{"type":["string","string"]}`, `{"type":null}`,
		`{"properties":[]}`, `{"properties":5}`, `{"properties":{"x":5}}`, `{"properties":{"x":null}}`, `{"required":"x"}`, `{"required":[1]}`, `{"required":null}`, `{"enum":{}}`, `{"enum":[]}`,
		`{"items":5}`, `{"items":[5]}`, `{"anyOf":{}}`, `{"anyOf":[]}`, `{"anyOf":[5]}`, `{"allOf":null}`, `{"$defs":[]}`, `{"$defs":{"a":5}}`, `{"minimum":"5"}`, `{"minLength":-1}`, `{"minLength":1.5}`,
		`{"format":5}`, `{"$schema":5}`, `{"$schema":"nonsense"}`, `{"$id":5}`, `{"$id":"::::"}`, `{"$anchor":"a b"}`, `{"nullable":"yes","type":"string"}`, `{"additionalProperties":5}`,
		`{"patternProperties":[]}`, `{"propertyNames":5}`, `{"propertyNames":{"pattern":"^(a|b)$"}}`, `{"dependentRequired":{"a":5}}`, `{"dependencies":{"a":5}}`, `{"const":null}`, `{"if":5}`, `{"not":{}}`,
		`{"type":"object","type":"string"}`, `{"unevaluatedProperties":5}`, `{"contains":5}`, `{"maxProperties":0}`, `{"default":{"$ref":"#"}}`, `{"$vocabulary":5}`, `{"$comment":5}`, `{"examples":5}`,
		`{"exclusiveMinimum":true}`, `{"exclusiveMinimum":true,"minimum":5}`, `{"id":"#a","type":"object"}`, `{"definitions":{"a":{"$id":"#a"}},"$ref":"#a"}`, `{"contentSchema":{"$ref":"#"}}`,
		`{"$id":"gauze:tool"}`, `{"$id":"gauze:meter","$ref":"gauze:tool"}`, `{"$ref":"gauze:tool"}`, `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"$schema":"gauze:tool"}`} {
		for _, sent := range []string{`{}`, `{"x":1,"a":2}`, `{"x":"1","a":null}`, `[1]`, `null`, `"{}"`} {
			t.Run(schema+" "+sent, func(t *testing.T) { hostile{schema: schema, sent: sent}.judged(t) })
		}
	}
	judgeAll(t, []hostile{
		{"true takes all", `true`, `{"x":1}`, valid},
		{"false takes nothing", `false`, `{"x":1}`, []Verdict{Refused, Unverified}},
		{"empty takes all", `{}`, `{"x":1}`, valid},
		{"no bytes take all", ``, `{"x":1}`, valid},
		{"a type there is not", `{"type":"dict"}`, `{}`, unverified},
		{"a type there is not, further in", `{"properties":{"x":{"type":"dict"}}}`, `{"x":1}`, unverified},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"x":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`, `{"x":1}`, refused},
		{"draft 6", `{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"x":{"const":1}}}`, `{"x":2}`, refused},
		{"draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"x":{"items":[{"type":"integer"}],"additionalItems":false}}}`, `{"x":[1,2]}`, refused},
	})
}

// The same schema, checked with good and bad calls at the same time.
func TestConcurrentCallsOfOneTool(t *testing.T) {
	g := newGenerator(99)
	made := g.tool()
	raw := asJSON(made.schema)
	var calls [][]byte
	var want []Outcome
	for range 40 {
		calls = append(calls, g.damaged(reread(made.sample()), toolName))
		want = append(want, (&Schema{raw: raw}).Arguments(calls[len(calls)-1], Options{Tool: toolName, Tier: Told}))
	}
	schema := &Schema{raw: raw}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range calls {
				i = (i + worker*5) % len(calls)
				out := schema.Arguments(calls[i], Options{Tool: toolName, Tier: Told})
				if out.Verdict != want[i].Verdict || string(out.Arguments) != string(want[i].Arguments) {
					t.Errorf("%s: %s %s beside others, %s %s alone", calls[i], out.Verdict, out.Arguments, want[i].Verdict, want[i].Arguments)
				}
				schema.Explain(toolName, out, 1)
				Compile(raw).Ready()
			}
		})
	}
	all.Wait()
}
