package repair

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDecodeKeepsWhatWasWritten(t *testing.T) {
	doc, err := decode(` {"b":[1.50,-0,1e5,"\u00e9\ud83d\ude00\n\/"],"a":{"b":null,"c":true},"":false} `)
	if err != nil {
		t.Fatal(err)
	}
	want := reread(map[string]any{"b": []any{1, 0, 2, "é😀\n/"}, "a": map[string]any{"b": nil, "c": true}, "": false}).(map[string]any)
	list := doc.value.(map[string]any)["b"].([]any)
	for i, number := range []string{"1.50", "-0", "1e5"} {
		if got := string(encode(list[i], nil)); got != number {
			t.Errorf("%s became %s", number, got)
		}
		list[i] = want["b"].([]any)[i]
	}
	if !reflect.DeepEqual(doc.value, any(want)) {
		t.Errorf("%#v", doc.value)
	}
	if keys := orderedRank(doc.rank); !slices.Equal(keys, []string{"b", "a", "c", ""}) {
		t.Errorf("order of keys %q", keys)
	}
}

func TestStrictDecodeTakesOnlyJSON(t *testing.T) {
	for _, text := range []string{``, ` `, `{`, `}`, `[1,]`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `{"a" 1}`, `{"a":1 "b":2}`, `[1 2]`, `(1,2)`, `True`, `None`, `nul`, `01`, `1.`, `.5`, `+1`, `1e`, `--1`,
		`"a`, `"\x41"`, `"\'"`, "\"\n\"", `// c` + "\n{}", `{} {}`, `{}x`, "```{}```", `NaN`, `Infinity`, `'a'`, `"\u12"`, `"\ud800"`} {
		if doc, err := decode(text); err == nil {
			t.Errorf("%q was read as %v", text, doc.value)
		}
	}
}

func TestLooseDecode(t *testing.T) {
	for text, want := range map[string]string{
		"```json\n{\"a\":1}\n```":   `{"a":1}`,
		"```\n[1]\n```":             `[1]`,
		"```{\"a\":1}```":           `{"a":1}`,
		"\ufeff{\"a\":1}":           `{"a":1}`,
		`{'a': 'it\'s', "b": None}`: `{"a":"it's","b":null}`,
		`{'a': True, 'b': False}`:   `{"a":true,"b":false}`,
		`{a: 1, b_c: 2, d-e: 3}`:    `{"a":1,"b_c":2,"d-e":3}`,
		`[1, 2,]`:                   `[1,2]`,
		`{"a": (1, 2)}`:             `{"a":[1,2]}`,
		`(1,)`:                      `[1]`,
		"{\"a\":1 // one\n}":        `{"a":1}`,
		"{\"a\":1 # one\n}":         `{"a":1}`,
		`{"a":/* one */1}`:          `{"a":1}`,
		`{"a":.5,"b":5.}`:           `{"a":0.5,"b":5.0}`,
		`{'a': '\x41'}`:             `{"a":"A"}`,
		"{\"a\":\"two\nlines\"}":    `{"a":"two\nlines"}`,
		`{"a":"http://x#y"}`:        `{"a":"http://x#y"}`,
		`{"a":["x"`:                 `{"a":["x"]}`,
	} {
		doc, err := decodeLoosely(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := string(encode(doc.value, doc.rank)); got != want {
			t.Errorf("%q was read as %s, not %s", text, got, want)
		} else if _, strict := decode(text); strict != nil && len(doc.loose) == 0 && !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "\ufeff") {
			t.Errorf("%q is no JSON, and nothing says so", text)
		}
	}
}

// What could mean two things, or more than is there, is not read.
func TestLooseDecodeDoesNotGuess(t *testing.T) {
	for _, text := range []string{`{"a":"cut`, `{"a":12`, `{"a":tru`, `{"a`, `{"a":`, `{"a":1,`, `[1,2`, `{"a":1 "b":2}`, `{"a":b}`, `{"a":yes}`, `a, b`, `{"a":1}{"b":2}`, `{"a":1} and more`, `Sure: {"a":1}`,
		`(1)`, `(1+2)`, `{"a":1+2}`, `{"a":f(x)}`, `{"a":01}`, `{"a":0x10}`, `{"a":1_000}`, `{"a":"b"c"}`, `{"a":'b'c'}`, `{"a":undefined}`, `{"a":NaN}`, `{,}`, `[,]`, `[1,,2]`, `{"a":"\q"}`, `{"a":...}`, "", "```", "``````"} {
		if doc, err := decodeLoosely(text); err == nil && doc.twice == "" {
			t.Errorf("%q was read as %s", text, encode(doc.value, doc.rank))
		}
	}
}

func TestLimitsOfDecoding(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n-1), ",") + "]" }
	for name, c := range map[string]struct {
		fits, not string
	}{
		"depth":    {deep(maxDepth), deep(maxDepth + 1)},
		"values":   {many(maxValues), many(maxValues + 1)},
		"digits":   {strings.Repeat("1", maxDigits), strings.Repeat("1", maxDigits+1)},
		"exponent": {"1e400", "1e401"},
		"tiny":     {"1e-400", "1e-401"},
	} {
		if _, err := decode(c.fits); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := decode(c.not); err == nil {
			t.Errorf("%s: no limit", name)
		} else if _, ok := err.(limitError); !ok {
			t.Errorf("%s: %v is said to be the caller's fault", name, err)
		}
	}
}

func TestKeysThatAppearTwice(t *testing.T) {
	for text, want := range map[string]string{`{"a":1,"a":2}`: "a", `{"x":{"b":1,"b":1}}`: "b", `[{"a":1},{"a":2}]`: "", `{"a":{"a":1}}`: "", `{"a":1,"\u0061":2}`: "a"} {
		if doc, err := decode(text); err != nil || doc.twice != want {
			t.Errorf("%s: %q is there twice, not %q (%v)", text, doc.twice, want, err)
		}
	}
}
