package repair

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func TestPlain(t *testing.T) {
	schema := Compile([]byte(`{"type":"object","properties":{
		"text":{"type":"string"},"n":{"type":"integer"},"ratio":{"type":"number"},"on":{"type":["boolean","null"]},
		"mode":{"type":"string","enum":["fast","slow"]},"tags":{"type":"array","items":{"type":"string"}},
		"at":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},"limited":{"type":"integer","maximum":3}},
		"required":["text"],"additionalProperties":false}`)).Ready()
	for sent, want := range map[string]bool{
		`{"text":"a"}`: true,
		` { "text" : "é" , "n" : -12 , "ratio":3,"on":null,"mode":"slow","tags":["a", "b"],"at":{"x":0} } `: true,
		`{"text":"a","tags":[]}`:                true,
		`{}`:                                    false, // the required member is missing
		`{"text":1}`:                            false,
		`{"text":"a","n":"1"}`:                  false,
		`{"text":"a","n":1.0}`:                  false, // an integer, which the validator decides
		`{"text":"a","n":01}`:                   false,
		`{"text":"a","n":-}`:                    false,
		`{"text":"a","ratio":1.5}`:              false,
		`{"text":"a","mode":"Fast"}`:            false,
		`{"text":"a","at":{}}`:                  false,
		`{"text":"a","limited":2}`:              false, // not a plain property
		`{"text":"a","other":1}`:                false,
		`{"text":"a","text":"b"}`:               false,
		`{"text":"a\n\"b\"\u00e9\/\\"}`:         true,
		`{"text":"a\u000A","tags":["\t"]}`:      true,
		`{"t\u0065xt":"a"}`:                     false,
		`{"text":"a","mode":"f\u0061st"}`:       false,
		`{"text":"\ud83d\ude00"}`:               false, // the validator decides whether the pair is complete
		`{"text":"\ud83d"}`:                     false,
		`{"text":"\x"}`:                         false,
		`{"text":"\u00g0"}`:                     false,
		`{"text":"\u12"}`:                       false,
		`{"text":"\"}`:                          false,
		`{"text":"\\\"}`:                        false,
		"{\"text\":\"a\x00\"}":                  false,
		"{\"text\":\"\xff\"}":                   false,
		`{"text":"a",}`:                         false,
		`{"text":"a"} x`:                        false,
		`{"text":"a"`:                           false,
		`{"text" "a"}`:                          false,
		`{"text":"a","tags":["a",]}`:            false,
		`{"text":"a","on":nul}`:                 false,
		`{"text":"a","on":truefalse}`:           false,
		`["text"]`:                              false,
		``:                                      false,
		`{"text":"a","n":12345678901234567890}`: false,
	} {
		if got := schema.plain.fits([]byte(sent), false); got != want {
			t.Errorf("%s: %v, want %v", sent, got, want)
		}
		isJSON := json.Valid([]byte(sent)) && utf8.ValidString(sent)
		if got := schema.plain.fits([]byte(sent), isJSON); got != want {
			t.Errorf("%s, known to be JSON: %v, want %v", sent, got, want)
		}
	}
	for _, other := range []string{`{"type":"object","minProperties":1}`, `{"type":"object","oneOf":[{"required":["a"]}]}`, `{"type":"object","propertyNames":{"maxLength":1}}`,
		`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, `{"type":"object","unevaluatedProperties":false}`, `{}`, `true`} {
		if Compile([]byte(other)).Ready().plain.fits([]byte(`{}`), false) {
			t.Errorf("%s is more than plain", other)
		}
	}
}

func BenchmarkPlainCall(b *testing.B) {
	schema := Compile([]byte(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`)).Ready()
	sent := []byte(`{"path":"/home/me/notes/2026.md","limit":100}`)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			schema.Arguments(sent, Options{Tier: Silent})
		}
	})
	b.Run("validator", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			schema.checked(sent, Options{Tier: Silent})
		}
	})
}

// What the fast path accepts, the validator accepts as it is; and it is the same whether or not the
// arguments are known to be JSON.
func FuzzPlain(f *testing.F) {
	schema := Compile([]byte(`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},
		"mode":{"type":"string","enum":["fast","slow"]}},"required":["text"]}`)).Ready()
	for _, sent := range sample.Corpus(f, `{"text":"a\n\"b\"\u00e9\/\\","n":1,"mode":"fast"}`, `{"text":"\ud83d\ude00","tags":["a","\u000a"]}`, "{\"text\":\"a\tb\x00\xff\"}", `{ "tags" : [] , "text":"é请😀" }`) {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		fits := schema.plain.fits([]byte(sent), false)
		if isJSON := json.Valid([]byte(sent)) && utf8.ValidString(sent); fits && !isJSON || isJSON && schema.plain.fits([]byte(sent), true) != fits {
			t.Fatalf("%q fits: %v, is JSON: %v", sent, fits, isJSON)
		}
		if out := schema.checked([]byte(sent), Options{Tier: Told}); fits && (out.Verdict != Valid || out.Reason != "" || len(out.Notes) > 0) {
			t.Fatalf("%q fits, but the validator says %v %s %q", sent, out.Verdict, out.Reason, out.Notes)
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	schema := Compile([]byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)).Ready()
	for name, piece := range map[string]string{"ascii": "abcdefgh ", "escapes": `line \"one\"\n\tline two of it\n`, "chinese": "请求恰好有一个响应"} {
		for _, size := range []int{100, 10_000, 1_000_000} {
			sent := []byte(`{"text":"` + strings.Repeat(piece, size/len(piece)) + `"}`)
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(sent)))
				b.ReportAllocs()
				var gate Gate
				for b.Loop() {
					gate.Admit(Call{Tool: "echo", Arguments: sent, IsJSON: true}, Only{Schema: schema})
				}
			})
		}
	}
}
