package repair

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

const fuzzedSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"price":{"type":"number"},"unit":{"enum":["celsius","fahrenheit"]},
	"active":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"date":{"type":"string","format":"date"},"page":{"type":"integer","default":1},
	"place":{"type":"object","properties":{"name":{"type":"string"},"zip":{"type":"string","pattern":"^[0-9]{4}$"}}}},"required":["page"]}`

// FuzzClosedWorld checks that nothing passes the gate to be sent that is not in the text of the sent
// arguments or of the schema. Unlike the gate it knows nothing of places, forms and counts: it only
// searches the text.
func FuzzClosedWorld(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"city":"Oslo","days":"5","page":1}`, `{"city":"Oslo","days":5,"page":1}`},
		{`{"citty":"Oslo","unit":"Celcius"}`, `{"city":"Oslo","unit":"celsius","page":1}`},
		{`{"tags":"a, b","active":"yes","page":"2"}`, `{"tags":["a","b"],"active":true,"page":2}`},
		{`{"date":"March 1, 2024","page":"3"}`, `{"date":"2024-03-01","page":3}`},
		{`{"place":"{\"name\":\"x\",\"zip\":1234}","page":"3"}`, `{"place":{"name":"x","zip":"1234"},"page":3}`},
		{`{"price":"2 * pi","page":[4]}`, `{"price":6.2832,"page":4}`},
		{`{"days":"7 days","page":7}`, `{"days":7,"page":7,"city":"evil"}`},
		{`{'city': 'L'Aquila', 'days': 5, 'page': 2}`, `{"city":"L'Aquila","days":5,"page":2}`},
		{`{"tags": "['a', 'b']}`, `{"tags":["a","b"],"page":1}`}, {`{"place":"x 1234","page":"3"}`, `{"place":{"name":"x","zip":"1234"},"page":3}`},
		{`{"city":"Rome","days":"a few","page":1}`, `{"city":"Rome","days":4,"page":1}`}, {`{"city":"Rome","page":1}`, `{"city":"Falcon","page":1}`},
		{`{"city":"Rome","days":"a few","page":1}`, `{"city":"Oslo","days":4,"page":1,"tags":["x"]}`}, {`{"page":1,"date":"soon"}`, `{"page":1,"date":"2026-01-01"}`},
		{`["x"]`, `{"page":1}`}, {`{"args":{"page":"0x10"}}`, `{"page":16}`},
	} {
		f.Add(seed[0], seed[1])
	}
	s := Compile([]byte(fuzzedSchema))
	f.Fuzz(func(t *testing.T, sent, proposed string) {
		if len(sent)+len(proposed) > 4<<10 {
			return
		}
		fuzzOwn(t, s, sent, proposed)
		p, err := s.Propose([]byte(sent), []byte(proposed), ProposeOptions{})
		if err != nil || p.Tier > Told {
			return
		}
		if p.Opened || len(p.Dropped) > 0 {
			t.Fatalf("sent %s although it drops %v or opens the gate", p.Arguments, p.Dropped)
		}
		var value any
		decoder := json.NewDecoder(strings.NewReader(string(p.Arguments)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if why := foreign(value, unescapedText(sent)); why != "" {
			t.Fatalf("%s is in neither %s nor the schema: %s", why, sent, p.Arguments)
		}
	})
}

// fuzzOwn checks a proposal that a read-only tool would get with a value of the model's own: all valid
// arguments are as they were sent, except one that the server rejected, and the goal is not in it.
func fuzzOwn(t *testing.T, s *Schema, sent, proposed string) {
	p, err := s.Propose([]byte(sent), []byte(proposed), ProposeOptions{Said: "city is invalid", Goal: "the Falcon merger"})
	if err != nil || !p.Opened || p.Doubt != "" {
		return
	}
	if lower := strings.ToLower(string(p.Arguments)); strings.Contains(lower, "falcon") && !strings.Contains(strings.ToLower(unescapedText(sent)), "falcon") {
		t.Fatalf("the goal is in %s", p.Arguments)
	}
	before, err := decode(sent)
	object, ok := before.value.(map[string]any)
	if err != nil || !ok {
		return
	}
	after, err := decode(string(p.Arguments))
	if err != nil {
		t.Fatal(err)
	}
	s.session(func() {
		matches := len(s.violations(s.root, object)) == 0
		for key, value := range object {
			if !fitsAny(s.nodesAt([]string{key}), value) || key == "city" && matches || isEmpty(value) {
				continue
			}
			if got, there := present(after.value, []string{key}); !there || !same(got, value) {
				t.Fatalf("%s of %s became %s", key, sent, p.Arguments)
			}
		}
	})
}

// foreign returns a scalar of a value that is not in a text, or nothing.
func foreign(value any, text string) string {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if why := foreign(item, text); why != "" {
				return why
			}
		}
	case []any:
		for _, item := range v {
			if why := foreign(item, text); why != "" {
				return why
			}
		}
	case string:
		if !strings.Contains(bare(text), bare(v)) && !strings.Contains(bare(fuzzedSchema), bare(v)) && !anyDigits.MatchString(v) {
			return v
		}
	case json.Number:
		if !spells(text, v) && v != "1" {
			return v.String()
		}
	case bool:
		if lower := strings.ToLower(text); !strings.ContainsAny(lower, "tfyno") {
			return "a boolean"
		}
	}
	return ""
}

var (
	anyNumber  = regexp.MustCompile(`-?\d[\d,]*(?:\.\d*)?(?:[eE][+-]?\d+)?`)
	anyDigits  = regexp.MustCompile(`^\d{4}-\d\d-\d\d`) // a date in a different notation
	expression = regexp.MustCompile(`[*/^+()]|pi|π`)
)

// spells reports whether a number is in a text, in digits or as a word.
func spells(text string, n json.Number) bool {
	want, ok := new(big.Rat).SetString(n.String())
	if !ok || expression.MatchString(text) {
		return ok // the result of a calculation
	}
	for _, found := range anyNumber.FindAllString(text, -1) {
		for _, form := range []string{found, strings.ReplaceAll(found, ",", ""), strings.TrimRight(found, ",.")} {
			if got, ok := new(big.Rat).SetString(form); ok && got.Cmp(want) == 0 {
				return true
			}
		}
	}
	for i, word := range numberWords {
		if big.NewRat(int64(i), 1).Cmp(want) == 0 && strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}

// bare keeps the letters and digits of a text.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

var anyEscape = regexp.MustCompile(`\\+(?:u([0-9a-fA-F]{4})|[nrtbf])`)

// unescapedText removes the escapes of JSON, also of JSON in a string.
func unescapedText(text string) string {
	return anyEscape.ReplaceAllStringFunc(text, func(found string) string {
		var r string
		if json.Unmarshal([]byte(`"`+found[strings.LastIndexByte(found, '\\'):]+`"`), &r) != nil {
			return found
		}
		return r
	})
}
