package repair

import "testing"

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
		`{"text":"a\n"}`:                        false, // has an escape
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
		if got := schema.plain.fits([]byte(sent)); got != want {
			t.Errorf("%s: %v, want %v", sent, got, want)
		}
	}
	for _, other := range []string{`{"type":"object","minProperties":1}`, `{"type":"object","oneOf":[{"required":["a"]}]}`, `{"type":"object","propertyNames":{"maxLength":1}}`,
		`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, `{"type":"object","unevaluatedProperties":false}`, `{}`, `true`} {
		if Compile([]byte(other)).Ready().plain.fits([]byte(`{}`)) {
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
