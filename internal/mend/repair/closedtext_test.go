package repair

import (
	"errors"
	"strings"
	"testing"
)

// Text that is not JSON is read only if nothing but its punctuation is wrong.
func TestClosedWorldReadsText(t *testing.T) {
	s := Compile([]byte(`{"type":"object","properties":{"width":{"type":"integer"},"height":{"type":"integer"},"title":{"type":"string"},"note":{"type":"string"},
		"area":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}},"box":{"type":"object","properties":{"width":{"type":"integer"}}},
		"mode":{"type":"string","default":"plain"}},"additionalProperties":false}`))
	for _, tt := range []struct {
		name, sent, proposed string
		tier                 Tier
	}{
		{"brackets after the end", `{'width': 3, 'height': 4}}]`, `{"width":3,"height":4}`, Told},
		{"values swapped", `{'width': 3, 'height': 4}}]`, `{"width":4,"height":3}`, outside},
		{"value lost", `{'width': 3, 'height': 4}}]`, `{"width":3}`, outside},
		{"value invented", `{'width': 3}}]`, `{"width":3,"height":4}`, outside},
		{"digit lost", `{'width': 34}}]`, `{"width":3}`, outside},
		{"sign lost", `{'width': -3}}]`, `{"width":3}`, outside},
		{"value in a different object", `{'box': {'width': 3}, 'height': 4}}]`, `{"width":3,"height":4}`, outside},
		{"second call", `{'width': 3}}], ['resize', {'width': 5}}]`, `{"width":3}`, Shown},
		{"text after the end", `{'width': 3}}] if it is red`, `{"width":3}`, Shown},
		{"key twice", `{'width': 3, 'width': 4}}]`, `{"width":3}`, outside},
		{"quote in a string", `{'title': 'It's late', 'width': 3}`, `{"title":"It's late","width":3}`, Told},
		{"quote dropped", `{'title': 'It's late', 'width': 3}`, `{"title":"Its late","width":3}`, outside},
		{"end of a string lost", `{'title': 'It's late', 'width': 3}`, `{"title":"It","width":3}`, outside},
		{"two fields as one string", `{'title': 'It's', 'note': 'late'}`, `{"title":"It's', 'note': 'late"}`, outside},
		{"two strings, one with a quote", `{'title': 'It's', 'note': 'late'}`, `{"title":"It's","note":"late"}`, Told},
		{"strings swapped", `{'title': 'It's', 'note': 'late'}`, `{"title":"late","note":"It's"}`, outside},
		{"array with one quote", `{"width": "3", "tags": "['a', 'b']}`, `{"width":3,"tags":["a","b"]}`, Told},
		{"array reordered", `{"width": "3", "tags": "['a', 'b']}`, `{"width":3,"tags":["b","a"]}`, outside},
		{"item lost", `{"width": "3", "tags": "['a', 'b']}`, `{"width":3,"tags":["a"]}`, outside},
		{"item split", `{"width": "3", "tags": "['a, c', 'b']}`, `{"width":3,"tags":["a","c","b"]}`, outside},
		{"arithmetic", `{"width": 3, "area": 2 * 3.5}`, `{"width":3,"area":7}`, Told},
		{"wrong arithmetic", `{"width": 3, "area": 2 * 3.5}`, `{"width":3,"area":8}`, outside},
		{"unknown in arithmetic", `{"width": 3, "area": 2 * depth}`, `{"width":3,"area":6}`, outside},
		{"word without quotes", `{"title": red, "width": 3 }}`, `{"title":"red","width":3}`, Told},
		{"words without quotes", `{"title": red, "note": very late}}`, `{"title":"red","note":"very late"}`, Shown},
		{"part of the words", `{"title": red, "note": very late}}`, `{"title":"red","note":"late"}`, outside},
		{"key spelling", `{'Width': 3, 'height': 4}}]`, `{"width":3,"height":4}`, Told},
		{"different key", `{'depth': 3, 'height': 4}}]`, `{"width":3,"height":4}`, outside},
		{"null left out", `{'width': 3, 'depth': None}}]`, `{"width":3}`, Told},
		{"one value for an array", `{'width': 3, 'tags': 'a'}}]`, `{"width":3,"tags":["a"]}`, Told},
		{"end missing after a value", `{'width': 3, 'tags': ['it's', 'b'`, `{"width":3,"tags":["it's","b"]}`, Shown},
		{"escaped letter", `{'title': 'caf\u00e9', 'note': 'it's'}`, `{"title":"café","note":"it's"}`, Told},
		{"different letter", `{'title': 'caf\u00e9', 'note': 'it's'}`, `{"title":"cafe","note":"it's"}`, outside},
		{"end missing in a number", `{'title': 'It's', 'width': 3`, `{"title":"It's","width":3}`, outside},
	} {
		if strings.HasSuffix(tt.sent, "]") { // the rules can read brackets after the end
			tt.sent, tt.proposed = `{'title': 'It's', `+tt.sent[1:], `{"title":"It's",`+tt.proposed[1:]
		}
		p, err := s.Propose([]byte(tt.sent), []byte(tt.proposed), ProposeOptions{})
		switch {
		case tt.tier == outside:
			if !errors.Is(err, ErrInvented) {
				t.Errorf("%s: %s, tier %d, %v", tt.name, p.Arguments, p.Tier, err)
			}
		case err != nil || p.Tier != tt.tier || len(p.Changes) == 0:
			t.Errorf("%s: tier %d, expected %d, %v, dropped %v, %v", tt.name, p.Tier, tt.tier, p.Changes, p.Dropped, err)
		}
	}
}

// A valid answer about text that cannot be read as a whole is offered, never sent, and what is not in
// the text is named. Nothing that the text says may be missing or different in it.
func TestTextThatCannotBeReadIsOffered(t *testing.T) {
	s := Compile([]byte(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"city":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
		"level":{"enum":["low","admin"]},"force":{"type":"boolean"},"token":{"type":"string"},"mode":{"type":"string"}},"required":["a","b"],"additionalProperties":false}`))
	const refused = "refused"
	for name, tt := range map[string]struct{ sent, proposed, own string }{
		"second call":                     {`{'a': 3, 'b': 4}}], ['pythagoras', {'a': 5, 'b': 12`, `{"a":3,"b":4}`, ""},
		"the second of two calls":         {`{'a': 3, 'b': 4}}], ['pythagoras', {'a': 5, 'b': 12}]`, `{"a":5,"b":12}`, ""},
		"values of two calls":             {`{'a': 3, 'b': 4}}], ['pythagoras', {'a': 5, 'b': 12}]`, `{"a":3,"b":5}`, refused},
		"one value of each of two calls":  {`{'a': 3, 'b': 4}}], ['pythagoras', {'a': 5, 'b': 12}]`, `{"a":3,"b":12}`, refused},
		"schema before the call":          {"{'properties': {'a': {'type': 'integer'}, 'b': {'type': 'integer'}, 'mode': {'type': 'string'}}}]\n```\n\n```python\n[sum(a=3, b=4)", `{"a":3,"b":4}`, ""},
		"explanation":                     {`{'a': 3, 'b': 4}] The sum is of two numbers.`, `{"a":3,"b":4}`, ""},
		"missing value":                   {`{'a': 3}}], ['next', {'c': 7`, `{"a":3,"b":9}`, "b: 9"},
		"missing value in readable text":  {`{'city': 'It's', 'a': 3}`, `{"a":3,"b":9,"city":"It's"}`, "b: 9"},
		"missing value that is in a text": {`{'a': 3}}] and b should be 9 then`, `{"a":3,"b":9}`, ""},
		"word for a value":                {`{'a': 3, 'b': 'a few'}}], ['next'`, `{"a":3,"b":4}`, "b: 4"},
		"number that contradicts":         {`{'a': 3, 'b': '4 * 5'}}], ['next'`, `{"a":3,"b":21}`, refused},
		"different value":                 {`{'a': 3, 'b': 4}}], ['next'`, `{"a":3,"b":5}`, refused},
		"part of a value":                 {`{'a': 34, 'b': 4}}], ['next'`, `{"a":3,"b":4}`, refused},
		"two values in one object":        {`{'a': 3, 'b': 4, 'a': 5}}], ['next'`, `{"a":3,"b":4}`, refused},
		"value that may be cut off":       {`{'a': 3}], {'b': 4`, `{"a":3,"b":4}`, refused},
		"valid value lost":                {`{'a': 3, 'b': 4, 'city': 'Oslo'}}], ['next'`, `{"a":3,"b":4}`, refused},
		"valid array lost":                {`{'a': 3, 'b': 4, 'tags': ['x']}}], ['next'`, `{"a":3,"b":4}`, refused},
		"null left out":                   {`{'a': 3, 'b': 4, 'city': None}}], ['next'`, `{"a":3,"b":4}`, ""},
		"array":                           {`{'a': 3, 'b': 4, 'tags': ['x', 'y']}}], ['next'`, `{"a":3,"b":4,"tags":["x","y"]}`, ""},
		"array in a different order":      {`{'a': 3, 'b': 4, 'tags': ['x', 'y']}}], ['next'`, `{"a":3,"b":4,"tags":["y","x"]}`, refused},
		"field that nothing asked for":    {`{'a': 3, 'b': 4}}], ['next'`, `{"a":3,"b":4,"mode":"fast"}`, refused},
		"choice with a risk":              {`{'a': 3, 'b': 4}}], ['next'`, `{"a":3,"b":4,"level":"admin"}`, refused},
		"switch":                          {`{'a': 3, 'b': 4}}], ['next'`, `{"a":3,"b":4,"force":true}`, refused},
		"secret":                          {`{'a': 3, 'b': 4}}], ['next'`, `{"a":3,"b":4,"token":"made-up-token"}`, refused},
		"undeclared key":                  {`{'a': 3, 'b': 4}}], ['next'`, `{"a":3,"b":4,"c":7}`, refused},
		"characters that are not seen":    {`{'a': 3, 'b': 4, 'city': 'Oslo'}}], ['next'`, `{"a":3,"b":4,"city":"Oslo\u200b"}`, refused},
	} {
		p, err := s.Propose([]byte(tt.sent), []byte(tt.proposed), ProposeOptions{})
		switch {
		case tt.own == refused:
			if err == nil {
				t.Errorf("%s: offered %s", name, p.Shown)
			}
		case err != nil || p.Tier != Shown || p.Doubt == "" || OwnValues(p.Changes) != tt.own || p.Opened != (tt.own != "") || string(p.Shown) != tt.proposed:
			t.Errorf("%s: tier %d, doubt %q, own %q, %s, %v", name, p.Tier, p.Doubt, OwnValues(p.Changes), p.Shown, err)
		}
	}
}

// What may not be even shown elsewhere is not shown about text either, where the field is required.
func TestTextDoesNotOpenWhatIsForbidden(t *testing.T) {
	for property, value := range map[string]string{`{"enum":["low","admin"]}`: `"admin"`, `{"type":"boolean"}`: `true`,
		`{"type":"string","writeOnly":true}`: `"hunter2"`, `{"type":"string"}`: `"x\u200b\u200d"`} {
		s := Compile([]byte(`{"type":"object","properties":{"a":{"type":"integer"},"x":` + property + `},"required":["a","x"]}`))
		for _, sent := range []string{`{'a': 3}}], ['next'`, `{'a': 3}}] as admin, with hunter2 it is true`} {
			if p, err := s.Propose([]byte(sent), []byte(`{"a":3,"x":`+value+`}`), ProposeOptions{}); !errors.Is(err, ErrInvented) {
				t.Errorf("%s: %s, %v", value, p.Shown, err)
			}
		}
	}
}

// Text has no places by which a secret could be masked: nothing is asked where one may be in it.
func TestTextWithSecretsIsNotMasked(t *testing.T) {
	const broken = `, 'title': 'It's late'}}]`
	plain := Compile([]byte(`{"type":"object","properties":{"title":{"type":"string"}}}`))
	for _, text := range []string{`{'password': 'hunter2-Xy'`, `{'api_key': 'a'`, `{'pasword': 'a'`, `{'p\u0061ssword': 'a'`, `{'x': 'mine'`, `{'x': 'ghp_0123456789abcdefghij0123456789abcdef'`} {
		hide := func(text string) string { return strings.ReplaceAll(text, "mine", "*") }
		if m, err := plain.Mask([]byte(text+broken), hide); err == nil {
			t.Errorf("%s is asked about: %s", text, m.Arguments)
		}
	}
	declared := Compile([]byte(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}`))
	if m, err := declared.Mask([]byte(`{'pin': '1234'`+broken), nil); err == nil {
		t.Errorf("asked about %s", m.Arguments)
	}
	m, err := plain.Mask([]byte(`{'width': 3`+broken), nil)
	if err != nil || string(m.Arguments) != `"{'width': 3, 'title': 'It's late'}}]"` {
		t.Errorf("%v", err)
	}
}
