package repair

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// offers checks the call that the message about a refused call offers.
func offers(t *testing.T, cases []struct{ name, properties, sent, want string }) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, data := explain(t, closedTool(c.properties), c.sent)
			if got := string(data.ValidExample); got != c.want {
				t.Errorf("%s: offers %s, not %s\n%s", c.sent, got, c.want, m.Text)
			}
		})
	}
}

// The offered call keeps what was sent wherever a declared place is open.
func TestOfferKeepsWhatWasSent(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"the only missing key", `"!query":{"type":"string"}`, `{"q":"boats"}`, `{"query":"boats"}`},
		{"the only missing number", `"!query":{"type":"string"},"!count":{"type":"integer"}`, `{"query":"boats","n":4}`, `{"query":"boats","count":4}`},
		{"a shared word", `"!repo_owner":{"type":"string"},"!issue":{"type":"integer"}`, `{"owner_login":"ann","issue_ref":7}`, `{"repo_owner":"ann","issue":7}`},
		{"a shared word of an optional key", `"!city":{"type":"string"},"language_code":{"type":"string"}`, `{"city":"Oslo","lang_language":"no"}`, `{"city":"Oslo","language_code":"no"}`},
		{"the only place that is left", `"!city":{"type":"string"},"timeframe":{"type":"integer"}`, `{"city":"Oslo","duration":3}`, `{"city":"Oslo","timeframe":3}`},
		{"but not a switch", `"!city":{"type":"string"},"force":{"type":"boolean"}`, `{"city":"Oslo","verbose":true}`, `{"city":"Oslo"}`},
		{"two places are left", `"!city":{"type":"string"},"days":{"type":"integer"},"limit":{"type":"integer"}`, `{"city":"Oslo","n":3}`, `{"city":"Oslo"}`},
		{"and a list", `"!port":{"type":"string"}`, `{"ports":["Oslo","Bergen"]}`, `{"port":"Oslo"}`},
		{"not the opposite", `"!end_date":{"type":"string"}`, `{"start_date":"monday"}`, `{"end_date":"<end_date>"}`},
		{"not a value of another type", `"!count":{"type":"integer"}`, `{"verbose":true}`, `{"count":1}`},
		{"inside an unknown wrapper", `"!dish":{"type":"string"},"diet":{"type":"string"}`, `{"meal":{"dish":["Soup","Stew"],"diet":"any","extra":1}}`, `{"dish":"Soup","diet":"any"}`},
		{"in a list", `"!rows":{"type":"array","items":{"type":"object","properties":{"label":{"type":"string"}},"required":["label"],"additionalProperties":false}}`,
			`{"rows":[{"caption":"a"},{"caption":"b"}]}`, `{"rows":[{"label":"a"},{"label":"b"}]}`},
	})
}

func TestOfferOpensContainers(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"the first of a list", `"!city":{"type":"string"},"!days":{"type":"integer"}`, `{"city":["Oslo","Lima"],"days":[3,5]}`, `{"city":"Oslo","days":3}`},
		{"the first that fits", `"!n":{"type":"integer"}`, `{"n":["a","b",3]}`, `{"n":3}`},
		{"the first choice", `"!size":{"enum":["small","large"]}`, `{"size":["large","small"]}`, `{"size":"large"}`},
		{"the first list of lists", `"!n":{"type":"array","items":{"type":"integer"}}`, `{"n":[[1,2],[3,4]]}`, `{"n":[1,2]}`},
		{"type and value", `"!n":{"type":"integer"}`, `{"n":{"type":"count","value":5}}`, `{"n":5}`},
		{"a value under its own name", `"!title":{"type":"string"}`, `{"title":{"title":"Emma","year":1815}}`, `{"title":"Emma"}`},
		{"a value for the field next to it", `"!place":{"type":"string"},"days":{"type":"integer"}`, `{"place":{"city":"Oslo","days":3}}`, `{"place":"Oslo","days":3}`},
		{"commas in free text", `"!tags":{"type":"array","items":{"type":"string"}}`, `{"tags":"red, blue"}`, `{"tags":["red","blue"]}`},
		{"the first of comma-separated choices", `"!size":{"enum":["small","large"]}`, `{"size":"large, small"}`, `{"size":"large"}`},
		{"commas between numbers", `"!n":{"type":"array","items":{"type":"integer"}}`, `{"n":"12,500"}`, `{"n":[12,500]}`},
	})
}

// What can be found in text that is not JSON is kept.
func TestOfferFromUnreadableText(t *testing.T) {
	const trip = `"!from":{"type":"string"},"!km":{"type":"number"},"mode":{"enum":["car","train"]}`
	offers(t, []struct{ name, properties, sent, want string }{
		{"an expression", trip, `{"from": "Oslo", "km": 2 * 15, "mode": "car"}`, `{"from":"Oslo","km":30,"mode":"car"}`},
		{"a word without quotes", trip, `{"from": Oslo, "km": 3}`, `{"from":"Oslo","km":3}`},
		{"a choice without quotes", trip, `{'from': 'Oslo', 'km': 3, 'mode': train}`, `{"from":"Oslo","km":3,"mode":"train"}`},
		{"cut off in a string", trip, `{"km": 3, "from": "Os`, `{"km":3,"from":"<from>"}`},
		{"cut off in a number", trip, `{"from": "Oslo", "km": 3`, `{"from":"Oslo","km":1}`},
		{"a second call", trip, `{"from": "Oslo", "km": 3} {"from": "Lima", "km": 4}`, `{"from":"Oslo","km":3}`},
		{"prose", trip, `Sure!`, `{"from":"<from>","km":1}`},
	})
}

// An optional value that is rejected is left out, not replaced with one that nobody sent.
func TestOfferLeavesOutRejectedOptionals(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"a number", `"!city":{"type":"string"},"year":{"type":"integer"}`, `{"city":"Oslo","year":"some day"}`, `{"city":"Oslo"}`},
		{"a choice", `"!city":{"type":"string"},"state":{"enum":["open","closed"]}`, `{"city":"Oslo","state":"patent"}`, `{"city":"Oslo"}`},
		{"an item", `"!diets":{"type":"array","items":{"enum":["vegan","kosher"]}}`, `{"diets":["vegan","healthy"]}`, `{"diets":["vegan"]}`},
		{"a choice of another field", `"!city":{"type":"string"},"genre":{"enum":["war","love"]},"format":{"enum":["imax","regular"]}`, `{"city":"Oslo","genre":"regular"}`, `{"city":"Oslo","format":"regular"}`},
		{"but a rounded number stays", `"!city":{"type":"string"},"days":{"type":"integer"}`, `{"city":"Oslo","days":2.6}`, `{"city":"Oslo","days":3}`},
		{"and a near choice", `"!city":{"type":"string"},"state":{"enum":["open","closed"]}`, `{"city":"Oslo","state":"opened"}`, `{"city":"Oslo","state":"open"}`},
		{"a required one stays", `"!year":{"type":"integer"}`, `{"year":"some day"}`, `{"year":1}`},
	})
}

func TestOfferFromTheDescription(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"a number", `"!deck":{"type":"integer","description":"Cards in the deck. Default is 52."}`, `{}`, `{"deck":52}`},
		{"a quoted word", `"!unit":{"type":"string","description":"The unit (defaults to 'metric')"}`, `{}`, `{"unit":"metric"}`},
		{"a choice", `"!sort":{"enum":["name","date"],"description":"Order. Default: \"date\""}`, `{}`, `{"sort":"date"}`},
		{"a boolean", `"!deep":{"type":"boolean","description":"default true"}`, `{}`, `{"deep":true}`},
		{"one that does not fit", `"!n":{"type":"integer","description":"Default is 'any'."}`, `{}`, `{"n":1}`},
		{"words are no value", `"!unit":{"type":"string","description":"Default is the one of the country."}`, `{}`, `{"unit":"<unit>"}`},
	})
}

func TestOfferedNumbers(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"the middle of a range", `"!n":{"type":"integer","minimum":1,"maximum":9}`, `{}`, `{"n":5}`},
		{"the middle, a whole number", `"!n":{"type":"number","exclusiveMinimum":-273.15,"maximum":1000}`, `{"n":"hot"}`, `{"n":363}`},
		{"the middle of a narrow range", `"!n":{"type":"number","minimum":0,"maximum":1}`, `{"n":"much"}`, `{"n":0.5}`},
		{"not the edge", `"!n":{"type":"integer","minimum":0,"maximum":100}`, `{"n":900}`, `{"n":50}`},
		{"a multiple", `"!n":{"type":"integer","minimum":0,"maximum":100,"multipleOf":15}`, `{}`, `{"n":45}`},
		{"one bound", `"!n":{"type":"integer","minimum":3}`, `{"n":0}`, `{"n":3}`},
		{"arithmetic", `"!n":{"type":"number"}`, `{"n":"2 * pi"}`, `{"n":6.2832}`},
		{"a fraction", `"!n":{"type":"number"}`, `{"n":"(1 + 2) / 4"}`, `{"n":0.75}`},
		{"a power", `"!n":{"type":"integer"}`, `{"n":"2**10 - 1"}`, `{"n":1023}`},
		{"a call is not arithmetic", `"!n":{"type":"integer"}`, `{"n":"f(3) * 2"}`, `{"n":1}`},
	})
}

// The fix for a choice lists them all and recommends none; the example does not ask for a power that
// the caller did not ask for.
func TestOfferedChoices(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"a shared word", `"!span":{"enum":["six_months","year","five_years"]}`, `{"span":"last 5 years"}`, `{"span":"five_years"}`},
		{"another form of a word", `"!genre":{"enum":["war","drama"]}`, `{"genre":"Dramatic Story"}`, `{"genre":"drama"}`},
		{"no power", `"!role":{"enum":["admin","owner","viewer"]}`, `{"role":"boss"}`, `{"role":"viewer"}`},
		{"no deletion", `"!scope":{"enum":["delete","write","read"]}`, `{}`, `{"scope":"read"}`},
		{"nothing else to choose", `"!role":{"enum":["admin"]}`, `{"role":"boss"}`, `{"role":"admin"}`},
		{"the default", `"!role":{"enum":["guest","member"],"default":"member"}`, `{"role":"boss"}`, `{"role":"member"}`},
	})
	m, data := explain(t, closedTool(`"!role":{"enum":["admin","viewer"]}`), `{"role":"administer"}`)
	if fix := data.Issues[0].Fix; strings.Contains(fix, "admin") != strings.Contains(fix, "viewer") || !strings.Contains(m.Text, `one of "admin", "viewer"`) {
		t.Errorf("the fix %q recommends a choice:\n%s", fix, m.Text)
	}
}

// A value that is offered under a different key is not presented as certain.
func TestOfferedGuessesAreMarked(t *testing.T) {
	m, _ := explain(t, closedTool(`"!query":{"type":"string"}`), `{"q":"boats"}`)
	if !strings.Contains(m.Text, "query is a guess") {
		t.Errorf("not marked:\n%s", m.Text)
	}
	if fixes := []string{"rename q to query", "rename it to query"}; !slices.ContainsFunc(fixes, func(fix string) bool { return strings.Contains(m.Text, fix) }) {
		t.Errorf("the fix does not agree with the example:\n%s", m.Text)
	}
}

// Secrets are not offered in pieces.
func TestOfferHidesSecrets(t *testing.T) {
	const secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e"
	for _, sent := range []string{`{"api_key":["` + secret + `","x"]}`, `{"api_key":{"value":"` + secret + `","note":"x"}}`, `{"zz":"` + secret + `"}`} {
		m, _ := explain(t, closedTool(`"!api_key":{"type":"string"}`), sent)
		if strings.Contains(m.Text, secret) || strings.Contains(string(m.Data), secret) {
			t.Errorf("%s: the message contains the secret:\n%s", sent, m.Text)
		}
	}
}

// The search for what was sent ends, however much was sent.
func TestOfferOfHugeCalls(t *testing.T) {
	var properties, values []string
	for i := range 300 {
		properties = append(properties, fmt.Sprintf(`"key_%d":{"type":"integer"}`, i))
		values = append(values, fmt.Sprintf(`"other_%d":"x"`, i))
	}
	schema := closedTool(`"!first":{"type":"string"},` + strings.Join(properties, ","))
	for _, sent := range []string{
		`{` + strings.Join(values, ",") + `}`,
		`{"first": oops, ` + strings.Repeat(`"key_299": "x" `, 20_000),
		`{"first": "x"}}` + strings.Repeat(`, 'key`, 50_000),
		`{"first":["` + strings.Repeat(`a,`, 10_000) + `","b"]}`,
	} {
		m := Compile([]byte(schema)).Explain("tool", refuse(t, schema, sent), 1)
		checkBounds(t, m)
	}
}

// What is told to a tool that reads is offered to one that writes, where only silent changes are made.
func TestOfferForWritesIsWhatReadsGet(t *testing.T) {
	for _, c := range []struct{ schema, call, example string }{
		{`{"type":"array","items":{"type":"string"}}`, `{"x":"['pasta', 'cheese']"}`, `{"x":["pasta","cheese"]}`},
		{`{"type":"array","items":{"type":"integer"}}`, `{"x":"1, 2"}`, `{"x":[1,2]}`},
		{`{"type":"string"}`, `{"x":{"type":"string","value":"a"}}`, `{"x":"a"}`},
		{`{"type":"integer"}`, `[{"x":5}]`, `{"x":5}`},
	} {
		s := Compile([]byte(one(c.schema)))
		out := s.Arguments([]byte(c.call), Options{Tier: Silent})
		if data := readReport(t, s.Explain("tool", out, 1)); out.Verdict != Refused || string(data.ValidExample) != c.example {
			t.Errorf("%s %s: %s, %s, not %s", c.schema, c.call, out.Verdict, data.ValidExample, c.example)
		}
	}
}
