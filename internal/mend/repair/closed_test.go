package repair

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// Proposals that the gate rejects, and those with a value of the model's own.
const (
	outside Tier = -1
	own     Tier = -2
)

// checkTier checks what the gate says about a proposal.
func checkTier(t *testing.T, name string, want Tier, p Proposal, err error) {
	t.Helper()
	switch {
	case want == outside:
		if !errors.Is(err, ErrInvented) {
			t.Errorf("%s: %s, tier %d, %v", name, p.Arguments, p.Tier, err)
		}
	case want == own:
		if err != nil || !p.Opened || p.Tier != Shown || len(Own(p.Changes)) == 0 {
			t.Errorf("%s: tier %d, opened %v, %v, %v", name, p.Tier, p.Opened, p.Changes, err)
		}
	case err != nil || p.Tier != want:
		t.Errorf("%s: tier %d, expected %d, dropped %v, %v", name, p.Tier, want, p.Dropped, err)
	}
}

func TestClosedWorld(t *testing.T) {
	const trip = `{"type":"object","properties":{"city":{"type":"string"},"country":{"type":"string"},"days":{"type":"integer","description":"Length of the stay"},
		"date":{"type":"string","format":"date"},"code":{"type":"string","pattern":"^[A-Z]{3}$"},"unit":{"enum":["celsius","fahrenheit"]},"level":{"enum":["low","high","admin"]},
		"tags":{"type":"array","items":{"type":"string"}},"counts":{"type":"array","items":{"type":"integer"}},"active":{"type":"boolean"},"price":{"type":"number"},
		"place":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"mode":{"const":"fast"},"page":{"type":"integer","default":1},
		"source":{"type":"string"},"destination":{"type":"string"},"range":{"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"}}},
		"labels":{"type":"object","additionalProperties":{"type":"string"}}},"additionalProperties":false`
	for _, tt := range []struct {
		name, required, sent, proposed string
		tier                           Tier
	}{
		// Changes of type keep the value.
		{"string to number", "", `{"days":"5"}`, `{"days":5}`, Silent},
		{"different number", "", `{"days":"5"}`, `{"days":6}`, outside},
		{"leading zero", "", `{"days":"05"}`, `{"days":5}`, own},
		{"number to string", "", `{"city":5}`, `{"city":"5"}`, Silent},
		{"digits added", "", `{"city":5}`, `{"city":"05"}`, outside},
		{"precision lost", "", `{"days":"9007199254740993"}`, `{"days":9007199254740992}`, outside},
		{"word to number", "", `{"days":"five"}`, `{"days":5}`, Told},
		{"unit that the field names", "", `{"days":"5 days"}`, `{"days":5}`, Told},
		{"different unit", "", `{"days":"5 weeks"}`, `{"days":5}`, Shown},
		{"converted unit", "", `{"days":"5 weeks"}`, `{"days":35}`, own},
		{"arithmetic", "", `{"price":"500 / 8"}`, `{"price":62.5}`, Told},
		{"wrong arithmetic", "", `{"price":"500 / 8"}`, `{"price":62}`, outside},
		{"rounded", "", `{"days":5.6}`, `{"days":6}`, own},
		{"thousands", "", `{"price":"1,234,567"}`, `{"price":1234567}`, Told},
		{"thousands or decimals", "", `{"price":"1,234"}`, `{"price":1234}`, Shown},
		{"yes", "", `{"active":"yes"}`, `{"active":true}`, Told},
		{"yes to false", "", `{"active":"yes"}`, `{"active":false}`, outside},
		{"truthiness", "", `{"active":1}`, `{"active":true}`, outside},
		{"JSON text", "", `{"tags":"[\"a\",\"b\"]"}`, `{"tags":["a","b"]}`, Silent},
		{"JSON text with less", "", `{"tags":"[\"a\",\"b\"]"}`, `{"tags":["a"]}`, Shown},
		// Choices.
		{"option spelling", "", `{"unit":"Celsius"}`, `{"unit":"celsius"}`, Silent},
		{"misspelled choice", "", `{"unit":"celcius"}`, `{"unit":"celsius"}`, Told},
		{"different choice", "", `{"unit":"Celsius"}`, `{"unit":"fahrenheit"}`, outside},
		{"judged choice", "", `{"unit":"kelvin"}`, `{"unit":"celsius"}`, Shown},
		{"privileged choice", "", `{"level":"medium"}`, `{"level":"admin"}`, outside},
		{"missing choice", `"unit"`, `{}`, `{"unit":"celsius"}`, Shown},
		{"missing privileged choice", `"level"`, `{}`, `{"level":"admin"}`, outside},
		{"missing constant", `"mode"`, `{}`, `{"mode":"fast"}`, Told},
		{"missing default", `"page"`, `{}`, `{"page":1}`, Told},
		{"missing value", `"city"`, `{}`, `{"city":"Oslo"}`, own},
		{"missing number", `"days"`, `{"city":"Oslo"}`, `{"city":"Oslo","days":7}`, own},
		// Forms of a string.
		{"day in a different notation", "", `{"date":"March 1, 2024"}`, `{"date":"2024-03-01"}`, Told},
		{"day shifted", "", `{"date":"March 1, 2024"}`, `{"date":"2024-03-02"}`, outside},
		{"ambiguous day", "", `{"date":"03/01/2024"}`, `{"date":"2024-03-01"}`, own},
		{"case that a pattern demands", "", `{"code":"usd"}`, `{"code":"USD"}`, Told},
		{"different code", "", `{"code":"usd"}`, `{"code":"EUR"}`, outside},
		{"case of a valid string", "", `{"city":"oslo","days":"5"}`, `{"city":"Oslo","days":5}`, outside},
		{"valid string trimmed", "", `{"city":" Oslo","days":"5"}`, `{"city":"Oslo","days":5}`, outside},
		// Arrays.
		{"comma-separated string", "", `{"tags":"a, b"}`, `{"tags":["a","b"]}`, Told},
		{"comma-separated numbers", "", `{"counts":"1, 2"}`, `{"counts":[1,2]}`, Told},
		{"comma-separated, reordered", "", `{"tags":"a, b"}`, `{"tags":["b","a"]}`, outside},
		{"one value to an array", "", `{"tags":"a"}`, `{"tags":["a"]}`, Told},
		{"one-element array to its element", "", `{"city":["Oslo"]}`, `{"city":"Oslo"}`, Told},
		{"first of many", "", `{"city":["Oslo","Bergen"]}`, `{"city":"Oslo"}`, Shown},
		{"joined", "", `{"city":["Oslo","Bergen"]}`, `{"city":"Oslo, Bergen"}`, outside},
		{"reordered", "", `{"tags":["a","b"],"days":"5"}`, `{"tags":["b","a"],"days":5}`, outside},
		{"duplicated", "", `{"tags":["a","b"],"days":"5"}`, `{"tags":["a","b","b"],"days":5}`, outside},
		{"truncated", "", `{"tags":["a","b"],"days":"5"}`, `{"tags":["a"],"days":5}`, Shown},
		{"null item removed", "", `{"tags":["a",null,"b"]}`, `{"tags":["a","b"]}`, Silent},
		// Places.
		{"key spelling", "", `{"City":"Oslo"}`, `{"city":"Oslo"}`, Silent},
		{"misspelled key", "", `{"citty":"Oslo"}`, `{"city":"Oslo"}`, Told},
		{"only missing key", `"city"`, `{"town":"Oslo"}`, `{"city":"Oslo"}`, Told},
		{"judged keys", `"city","country"`, `{"a":"Oslo","b":"Norway"}`, `{"city":"Oslo","country":"Norway"}`, Shown},
		{"opposite key", `"destination"`, `{"src":"x","source":"y"}`, `{"destination":"x","source":"y"}`, outside},
		{"valid values swapped", "", `{"source":"x","destination":"y","days":"5"}`, `{"source":"y","destination":"x","days":5}`, outside},
		{"valid value moved", `"city"`, `{"country":"Oslo"}`, `{"city":"Oslo"}`, outside},
		{"value used twice", `"city","country"`, `{"city":"Oslo"}`, `{"city":"Oslo","country":"Oslo"}`, own},
		{"wrapped arguments", `"city"`, `{"arguments":{"city":"Oslo","days":"5"}}`, `{"city":"Oslo","days":5}`, Told},
		{"scalar to the only key of an object", "", `{"place":"Oslo"}`, `{"place":{"name":"Oslo"}}`, Told},
		{"scalar to one of two keys", "", `{"range":5}`, `{"range":{"min":5}}`, outside},
		{"value out of an object", "", `{"days":{"value":5}}`, `{"days":5}`, Told},
		{"operator lost", "", `{"days":{"gt":5}}`, `{"days":5}`, outside},
		{"negation lost", "", `{"city":{"not":"Oslo"}}`, `{"city":"Oslo"}`, outside},
		{"extra key dropped", "", `{"city":"Oslo","color":"red"}`, `{"city":"Oslo"}`, Shown},
		{"empty extra key dropped", "", `{"city":"Oslo","color":""}`, `{"city":"Oslo"}`, Silent},
		{"key of a map invented", "", `{"labels":{"a":"x"},"days":"5"}`, `{"labels":{"a":"x","b":"x"},"days":5}`, outside},
		{"key of a map renamed", "", `{"labels":{"a":"x"},"days":"5"}`, `{"labels":{"b":"x"},"days":5}`, outside},
		{"empty object invented", "", `{"days":"5"}`, `{"days":5,"labels":{}}`, Silent}, // left out again
		{"null for a value", "", `{"days":"many"}`, `{}`, Shown},
	} {
		s := Compile([]byte(trip + `,"required":[` + tt.required + `]}`))
		p, err := s.Propose([]byte(tt.sent), []byte(tt.proposed), ProposeOptions{})
		checkTier(t, tt.name, tt.tier, p, err)
	}
}

func TestPlaceholdersSurviveTheRoundTrip(t *testing.T) {
	s := Compile([]byte(`{"type":"object","properties":{"password":{"type":"string"},"token":{"type":"string"},"note":{"type":"string"},"n":{"type":"integer"}}}`))
	const sent = `{"password":"hunter2-Xy","token":"<secret-9>","note":"hi","n":"5"}`
	m, err := s.Mask([]byte(sent), func(text string) string { return strings.ReplaceAll(text, "hi", "*") })
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2-Xy", "<secret-9>", `"hi"`} {
		if strings.Contains(string(m.Arguments), secret) {
			t.Errorf("%s is in %s", secret, m.Arguments)
		}
	}
	back, err := m.Restore(m.Arguments)
	if err != nil || string(back) != sent {
		t.Errorf("restored %s, %v", back, err)
	}
	var fields map[string]any
	if err := json.Unmarshal(m.Arguments, &fields); err != nil {
		t.Fatal(err)
	}
	placeholder := fields["password"].(string)
	for _, forged := range []string{`{"note":"` + placeholder + `"}`, `{"password":"` + placeholder + `","passwords":"` + placeholder + `"}`, `{"password":"` + placeholder + ` "}`,
		`{"password":"` + strings.Replace(placeholder, ">", "7>", 1) + `"}`, `{"` + placeholder + `":1}`, `{"password":"\u003c` + placeholder[1:len(placeholder)-1] + `"}`} {
		if back, err := m.Restore([]byte(forged)); !errors.Is(err, ErrPlaceholder) {
			t.Errorf("%s became %s, %v", forged, back, err)
		}
	}
}
