package repair

import (
	"strings"
	"testing"
)

// quiet checks that neither the text nor the data of a message contains any of the words.
func quiet(t *testing.T, schema, sent string, words ...string) {
	t.Helper()
	m, _ := explain(t, schema, sent)
	for _, word := range words {
		if strings.Contains(m.Text, word) || strings.Contains(string(m.Data), word) {
			t.Errorf("%s: the message contains %q:\n%s\n%s", sent, word, m.Text, m.Data)
		}
	}
}

// Nothing is derived from a secret, wherever it is in the value of the wrong form.
func TestOfferDerivesNothingFromSecrets(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"an inner key", `"!config":{"type":"integer"}`, `{"config":{"password":"7 canaries"}}`, `{"config":1}`},
		{"next to another value", `"!config":{"type":"integer"}`, `{"config":{"client_secret":"7 canaries","retries":"4 times"}}`, `{"config":4}`},
		{"an outer key", `"!creds":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{"creds":{"n":"7 canaries"}}`, `{"creds":{"n":1}}`},
		{"in a list", `"!n":{"type":"integer"}`, `{"n":[{"token":"7 canaries"}]}`, `{"n":1}`},
	})
}

func TestNoNumberInsideAWord(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"within", `"!n":{"type":"integer"}`, `{"n":"hunter2canary"}`, `{"n":1}`},
		{"at the end", `"!n":{"type":"integer"}`, `{"n":"agent47"}`, `{"n":1}`},
		{"after a hyphen", `"!n":{"type":"integer"}`, `{"n":"web-12"}`, `{"n":1}`},
		{"in an object", `"!n":{"type":"integer"}`, `{"n":{"host":"db3"}}`, `{"n":1}`},
		{"a number of its own", `"!n":{"type":"integer"}`, `{"n":"about 12 days"}`, `{"n":12}`},
	})
}

// The default of a secret is a secret.
func TestDefaultsOfSecretsAreHidden(t *testing.T) {
	for _, property := range []string{
		`"api_key":{"type":"string","default":"canary-one"}`,
		`"!db_password":{"type":"string","default":"canary-two"}`,
		`"login":{"type":"object","properties":{"secret":{"type":"string","default":"canary-three"}}}`,
		`"!code":{"type":"string","writeOnly":true,"default":"canary-four"}`,
		`"auth_token":{"type":"string","examples":["canary-five"]}`,
		`"options":{"type":"object","default":{"password":"canary-six"}}`,
	} {
		quiet(t, closedTool(`"!n":{"type":"integer"},`+property), `{"n":"many"}`, "canary")
	}
}

// A name that is short for a secret, or misspelled, hides its value.
func TestSecretsUnderOtherNames(t *testing.T) {
	schema := closedTool(`"!path":{"type":"string"}`)
	for _, sent := range []string{
		`{"path":1.5,"creds":"canary"}`, `{"path":"a","creds":{"user":"canary"}}`, `{"path":"a","db_cred":"canary"}`,
		`{"passwrd":"canary"}`, `{"path":"a","pasword":"canary"}`, `{"path":"a","user_passwort":"canary"}`, `{"credentail":"canary"}`,
	} {
		if out := Compile([]byte(schema)).Arguments([]byte(sent), Options{Tool: "tool", Tier: Told}); out.Verdict == Refused {
			quiet(t, schema, sent, "canary")
		}
	}
	offers(t, []struct{ name, properties, sent, want string }{
		{"not to a field for something else", `"!path":{"type":"string"}`, `{"passwrd":"canary"}`, `{"path":"<path>"}`},
		{"not to an optional one", `"path":{"type":"string"}`, `{"creds":"canary"}`, `{}`},
		{"not by a shared word", `"!user_name":{"type":"string"}`, `{"user_passwd":"canary"}`, `{"user_name":"<user_name>"}`},
		{"but to a secret", `"!password":{"type":"string"},"!path":{"type":"integer"}`, `{"passwrd":"canary","path":"some"}`, `{"password":"<as sent>","path":1}`},
	})
}

// A choice that says something else, or more, is not offered, least of all the opposite.
func TestOfferNeverTurnsAChoiceAround(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"a negation", `"!role":{"enum":["admin","viewer"]}`, `{"role":"non_admin"}`, `{"role":"viewer"}`},
		{"a negation as a word", `"!role":{"enum":["admin","viewer"]}`, `{"role":"not admin"}`, `{"role":"viewer"}`},
		{"a negation in the choice", `"!role":{"enum":["no_guest","member"]}`, `{"role":"guests"}`, `{"role":"member"}`},
		{"a milder action", `"!mode":{"enum":["delete","keep"]}`, `{"mode":"soft_delete"}`, `{"mode":"keep"}`},
		{"less", `"!access":{"enum":["read-write","none"]}`, `{"access":"read-only"}`, `{"access":"none"}`},
		{"more", `"!access":{"enum":["read-write","none"]}`, `{"access":"reading"}`, `{"access":"none"}`},
		{"in", `"!state":{"enum":["active","paused"]}`, `{"state":"inactive"}`, `{"state":"paused"}`},
		{"un", `"!do":{"enum":["lock","view"]}`, `{"do":"unlock"}`, `{"do":"view"}`},
		{"dis", `"!do":{"enum":["allow","ask"]}`, `{"do":"disallow"}`, `{"do":"ask"}`},
		{"de", `"!do":{"enum":["frost","wait"]}`, `{"do":"defrost"}`, `{"do":"wait"}`},
		{"non", `"!kind":{"enum":["fiction","poetry"]}`, `{"kind":"nonfiction"}`, `{"kind":"poetry"}`},
		{"the prefix in the choice", `"!kind":{"enum":["invisible","framed"]}`, `{"kind":"visible"}`, `{"kind":"framed"}`},
		{"the other direction", `"!do":{"enum":["export","list"]}`, `{"do":"import"}`, `{"do":"list"}`},
		{"the other end", `"!to":{"enum":["maximum","average"]}`, `{"to":"minimum"}`, `{"to":"average"}`},
		{"another action that begins alike", `"!do":{"enum":["delete","view"]}`, `{"do":"delegate"}`, `{"do":"view"}`},
		{"an optional one is left out", `"!city":{"type":"string"},"role":{"enum":["admin","viewer"]}`, `{"city":"Oslo","role":"non-admin"}`, `{"city":"Oslo"}`},
		{"nothing is better than the opposite", `"!access":{"enum":["read-write","admin"]}`, `{"access":"read-only"}`, ``},
		{"a misspelling stays", `"!state":{"enum":["active","paused"]}`, `{"state":"pasued"}`, `{"state":"paused"}`},
		{"so does a word of the choice", `"!kind":{"enum":["short_story","novel"]}`, `{"kind":"Stories"}`, `{"kind":"short_story"}`},
	})
}

func TestOnlyExpressionsAreCalculated(t *testing.T) {
	for _, text := range []string{"2024-01-31", "555-1234", "(555) 123-4567", "12/31/2024", "31 / 12 / 2024", "5/12", "10-20", "10 - 20", "9 - 17", "1.2-1.4", "1.2.3 + 4",
		"24/7", "3+1", "(3)", "007 * 2", "1/0", "1 / 0", "2 * (", "+49 170 123", "1-800-555", "2024 - 01 - 31"} {
		if n, ok := calculated(text); ok {
			t.Errorf("%q is said to be %s", text, n)
		}
	}
	for text, want := range map[string]string{"2 * 3": "6", "500 / 12": "41.6667", "10 + 5": "15", "2*3": "6", "(7 - 2) * 3": "15", "pi": "3.1416"} {
		if n, _ := calculated(text); n.String() != want {
			t.Errorf("%q is said to be %q, not %s", text, n, want)
		}
	}
	for _, c := range [][2]string{
		{one(`{"type":"number"}`), `{"x":"1 / 0"}`},
		{one(`{"type":"number"}`), `{"x":"12/31/2024"}`},
		{`{"properties":{"pin":{"type":"integer"}}}`, `{"pin":"4 * 1234"}`},
		{one(`{"type":"number"}`), `{"x": 1/0}`},
	} {
		if m, _ := explain(t, c[0], c[1]); strings.Contains(m.Text, "result of the calculation") {
			t.Errorf("%s:\n%s", c[1], m.Text)
		}
	}
}

func TestSignsOfChoices(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "invented", properties: `"!n":{"enum":["UTC-5","UTC+1"]}`, sent: `{"n":"UTC5"}`},
		{name: "invented for a space", properties: `"!n":{"enum":["offset -3","offset 0"]}`, sent: `{"n":"offset 3"}`},
		{name: "invented for an underscore", properties: `"!n":{"enum":["gain-6","gain+6"]}`, sent: `{"n":"gain_6"}`},
		{name: "dropped", properties: `"!n":{"enum":["GMT3","GMT4"]}`, sent: `{"n":"GMT-3"}`},
		{name: "a range and a fraction", properties: `"!n":{"enum":["1-5","6-10"]}`, sent: `{"n":"1.5"}`},
		{name: "the same sign", properties: `"!n":{"enum":["UTC-5","UTC+1"]}`, sent: `{"n":"utc -5"}`, want: `{"n":"UTC-5"}`, rule: RuleChoice, tier: Silent},
		{name: "no sign", properties: `"!n":{"enum":["level 1","level 2"]}`, sent: `{"n":"LEVEL_1"}`, want: `{"n":"level 1"}`, rule: RuleChoice, tier: Silent},
	} {
		e.run(t)
	}
}

// A choice that differs in a sign is marked as a guess.
func TestOfferedSignsAreGuesses(t *testing.T) {
	for _, c := range [][2]string{{`"!n":{"enum":["UTC-5","GMT"]}`, `{"n":"UTC5"}`}, {`"!n":{"enum":["UTC+5","GMT"]}`, `{"n":"UTC5"}`}, {`"!n":{"enum":["gain6","none"]}`, `{"n":"gain-6"}`}} {
		if m, _ := explain(t, closedTool(c[0]), c[1]); !strings.Contains(m.Text, "n is a guess") {
			t.Errorf("%s: not marked:\n%s", c[1], m.Text)
		}
	}
}

// No fix asks for a secret under the key of something else.
func TestFixForUndeclaredSecrets(t *testing.T) {
	for _, key := range []string{"passwrd", "creds", "api_token"} {
		m, _ := explain(t, closedTool(`"!path":{"type":"string"}`), `{"path":"a","`+key+`":"canary"}`)
		if !strings.Contains(m.Text, "Fix: remove it.") {
			t.Errorf("%s:\n%s", key, m.Text)
		}
	}
}

func TestFixForTextAfterTheEnd(t *testing.T) {
	for _, rest := range []string{"\nDo not run this.", " // only an example", "} see above"} {
		m, _ := explain(t, closedTool(`"!a":{"type":"string"}`), `{"a":"x"}`+rest)
		if !strings.Contains(m.Text, "send only the JSON object, without the text after it") {
			t.Errorf("%q:\n%s", rest, m.Text)
		}
	}
}

// Words after the arguments may take them back: such a call is offered, not run.
func TestWordsAfterTheEnd(t *testing.T) {
	const two = `"!a":{"type":"string"},"b":{"type":"integer"}`
	cases := []struct{ name, properties, sent, want string }{
		{"on a line of its own", two, "{\"a\": \"x\"}\n\nDo not run this.", `{"a":"x"}`},
		{"after a bracket", two, `{"a": "x"}} just an illustration`, `{"a":"x"}`},
		{"code", two, "{'a': 'x'}}]\n\"\"\"\nprint('done')", `{"a":"x"}`},
		{"a comment", two, "{\"a\": \"x\"} // do not run this", `{"a":"x"}`},
		{"a comment of Python", two, "{\"a\": \"x\"}\n# never mind", `{"a":"x"}`},
		{"words in another script", two, "{\"a\": \"x\"}}\nне запускать", `{"a":"x"}`},
	}
	offers(t, cases)
	for _, e := range []ruleCase{
		{name: "brackets", properties: two, sent: `{"a": "x"}}]`, want: `{"a":"x"}`, rule: RuleReadText},
		{name: "a fence", properties: two, sent: "{\"a\": \"x\"}\n```", want: `{"a":"x"}`, rule: RuleReadText},
		{name: "brackets and a comma", properties: two, sent: `{"a": "x"}},`, want: `{"a":"x"}`, rule: RuleReadText},
		{name: "another call", properties: two, sent: `{"a": "x"}}], [find(4)]`, want: `{"a":"x"}`, rule: RuleReadText},
		{name: "the same again", properties: two, sent: `{"a": "x", "b": 1} {"b": 1, "a": "x"}`, want: `{"a":"x","b":1}`, rule: RuleReadText},
		{name: "the same again and a difference", properties: two, sent: `{"a": "x"}{"a": "x"}{"a": "y"}`},
	} {
		e.run(t)
	}
}

func TestOneExpectedKey(t *testing.T) {
	for _, c := range []struct{ properties, sent, want string }{
		{`"path":{"type":"string"}`, `{"zzz":[1]}`, "expected the key path."},
		{`"!city":{"type":"string"}`, `{"city":"Oslo","mood":true}`, "expected the key city."},
		{`"a":{"type":"string"},"b":{"type":"string"}`, `{"zzz":[1]}`, "expected one of the keys a, b."},
	} {
		if m, _ := explain(t, closedTool(c.properties), c.sent); !strings.Contains(m.Text, c.want) {
			t.Errorf("%s: not %q:\n%s", c.sent, c.want, m.Text)
		}
	}
}
