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
		{"second call", `{'width': 3}}], ['resize', {'width': 5}}]`, `{"width":3}`, outside},
		{"text after the end", `{'width': 3}}] if it is red`, `{"width":3}`, outside},
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
		{"spelling of a key", `{'Width': 3, 'height': 4}}]`, `{"width":3,"height":4}`, Told},
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
