package repair

import (
	"slices"
	"strings"
	"testing"
)

// ruleCase is one call and what must become of it. want is empty if the call
// must be refused.
type ruleCase struct {
	name       string
	properties string // the properties of the tool, "!" before those that are required
	sent       string
	want       string
	rule       string // the one change; empty: do not look
	tier       Tier   // the least that repairs it; Off: Told
}

// closedTool writes a schema with these properties; a leading ! on a key makes it
// required. Keys that are not declared are refused.
func closedTool(properties string) string {
	var required []string
	for _, part := range strings.Split(properties, `"!`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		required = append(required, `"`+name+`"`)
	}
	return `{"type":"object","additionalProperties":false,"required":[` + strings.Join(required, ",") + `],"properties":{` +
		strings.ReplaceAll(properties, `"!`, `"`) + `}}`
}

func (e ruleCase) run(t *testing.T) {
	t.Helper()
	t.Run(e.name, func(t *testing.T) {
		schema := Compile([]byte(closedTool(e.properties)))
		if why := schema.Ready().why; why != "" {
			t.Fatalf("%s: %s", closedTool(e.properties), why)
		}
		least := max(e.tier, Silent)
		if e.tier == Off {
			least = Told
		}
		for _, tier := range []Tier{Off, Silent, Told} {
			out := schema.Arguments([]byte(e.sent), Options{Tool: toolName, Tier: tier})
			switch {
			case e.want == e.sent:
				if out.Verdict != Valid || string(out.Arguments) != e.sent {
					t.Errorf("tier %d: %s became %s (%s)", tier, e.sent, out.Arguments, out.Verdict)
				}
			case e.want == "" || tier < least:
				if out.Verdict != Refused {
					t.Errorf("tier %d: %s was not refused but %s: %s %s", tier, e.sent, out.Verdict, out.Arguments, receiptsOf(out))
				}
			case out.Verdict != Repaired || string(out.Arguments) != e.want:
				t.Errorf("tier %d: %s became %s (%s), not %s", tier, e.sent, out.Arguments, out.Verdict, e.want)
			case e.rule != "" && !slices.ContainsFunc(out.Changes, func(c Change) bool { return c.Rule == e.rule && c.Tier == least }):
				t.Errorf("tier %d: %s: no change %q of tier %d in %s", tier, e.sent, e.rule, least, receiptsOf(out))
			}
		}
	})
}

const (
	anInteger = `"!n":{"type":"integer"}`
	aNumber   = `"!n":{"type":"number"}`
	aText     = `"!n":{"type":"string"}`
	aFlag     = `"!n":{"type":"boolean"}`
	aList     = `"!n":{"type":"array","items":{"type":"string"}}`
	anObject  = `"!n":{"type":"object","properties":{"a":{"type":"integer"}}}`
	aUnit     = `"!n":{"type":"string","enum":["celsius","fahrenheit","in_progress"]}`
	optionals = `"n":{"type":"integer"},"s":{"type":"string","minLength":1},"l":{"type":"array"}`
)

func TestNumbersInText(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "an integer", properties: anInteger, sent: `{"n":"5"}`, want: `{"n":5}`, rule: RuleNumberText, tier: Silent},
		{name: "an integer in another notation", properties: `"!n":{"type":"integer"}`, sent: `{"n":"1e3"}`, want: `{"n":1000}`, rule: RuleNumberText, tier: Silent},
		{name: "more digits than every reader keeps", properties: `"!n":{"type":"number"}`, sent: `{"n":"9007199254740993"}`},
		{name: "a number where numbers are taken in a list", properties: `"!n":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}`, sent: `{"n":5}`},
		{name: "a negative one", properties: anInteger, sent: `{"n":"-5"}`, want: `{"n":-5}`, rule: RuleNumberText, tier: Silent},
		{name: "spaces around it", properties: anInteger, sent: `{"n":" 5 "}`, want: `{"n":5}`, tier: Silent},
		{name: "a fraction", properties: aNumber, sent: `{"n":"2.5"}`, want: `{"n":2.5}`, rule: RuleNumberText, tier: Silent},
		{name: "digits are kept", properties: aNumber, sent: `{"n":"0.10"}`, want: `{"n":0.10}`, tier: Silent},
		{name: "a fraction is not an integer", properties: anInteger, sent: `{"n":"2.5"}`},
		{name: "rounding", properties: anInteger, sent: `{"n":2.5}`},
		{name: "leading zeros", properties: anInteger, sent: `{"n":"007"}`},
		{name: "leading zeros of a number", properties: aNumber, sent: `{"n":"00.5"}`},
		{name: "2^53 + 1", properties: anInteger, sent: `{"n":"9007199254740993"}`},
		{name: "thousands", properties: anInteger, sent: `{"n":"1,000"}`},
		{name: "a unit", properties: anInteger, sent: `{"n":"5 km"}`},
		{name: "percent", properties: aNumber, sent: `{"n":"50%"}`},
		{name: "hexadecimal", properties: anInteger, sent: `{"n":"0x10"}`},
		{name: "a plus", properties: anInteger, sent: `{"n":"+5"}`},
		{name: "NaN", properties: aNumber, sent: `{"n":"NaN"}`},
		{name: "infinity", properties: aNumber, sent: `{"n":"Infinity"}`},
		{name: "empty", properties: anInteger, sent: `{"n":""}`},
		{name: "null is not 0", properties: anInteger, sent: `{"n":null}`},
		{name: "true is not 1", properties: anInteger, sent: `{"n":true}`},
		{name: "out of range", properties: `"!n":{"type":"integer","maximum":3}`, sent: `{"n":"5"}`},
		{name: "an integral float is an integer already", properties: anInteger, sent: `{"n":5.0}`, want: `{"n":5.0}`},
		{name: "text where text is allowed too", properties: `"!n":{"type":["string","integer"]}`, sent: `{"n":"5"}`, want: `{"n":"5"}`},
		{name: "text where a branch allows it", properties: `"!n":{"anyOf":[{"type":"integer"},{"type":"string"}]}`, sent: `{"n":"5"}`, want: `{"n":"5"}`},
		{name: "in a list", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":["1",2,"3"]}`, want: `{"n":[1,2,3]}`, rule: RuleNumberText, tier: Silent},
		{name: "a choice", properties: `"!n":{"enum":[1,2]}`, sent: `{"n":"2"}`, want: `{"n":2}`, rule: RuleChoice, tier: Silent},
		{name: "nullable", properties: `"!n":{"type":"integer","nullable":true}`, sent: `{"n":"5"}`, want: `{"n":5}`, rule: RuleNumberText, tier: Silent},
	} {
		e.run(t)
	}
}

func TestBooleansInText(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "true", properties: aFlag, sent: `{"n":"true"}`, want: `{"n":true}`, rule: RuleBooleanText, tier: Silent},
		{name: "Python", properties: aFlag, sent: `{"n":"False"}`, want: `{"n":false}`, rule: RuleBooleanText, tier: Silent},
		{name: "capitals", properties: aFlag, sent: `{"n":"TRUE"}`, want: `{"n":true}`, tier: Silent},
		{name: "yes", properties: aFlag, sent: `{"n":"yes"}`},
		{name: "on", properties: aFlag, sent: `{"n":"on"}`},
		{name: "truthiness of a number", properties: aFlag, sent: `{"n":1}`},
		{name: "truthiness of a digit", properties: aFlag, sent: `{"n":"1"}`},
		{name: "truthiness of a text", properties: aFlag, sent: `{"n":"x"}`},
		{name: "truthiness of an empty list", properties: aFlag, sent: `{"n":[]}`},
		{name: "null is not false", properties: aFlag, sent: `{"n":null}`},
		{name: "text where text is allowed", properties: `"!n":{"type":["string","boolean"]}`, sent: `{"n":"true"}`, want: `{"n":"true"}`},
	} {
		e.run(t)
	}
}

func TestNumbersToText(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "only text is taken", properties: aText, sent: `{"n":12345}`, want: `{"n":"12345"}`, rule: RuleNumberToText, tier: Silent},
		{name: "spelled as it was", properties: aText, sent: `{"n":1.50}`, want: `{"n":"1.50"}`, tier: Silent},
		{name: "beyond 2^53", properties: aText, sent: `{"n":12345678901234567890}`, want: `{"n":"12345678901234567890"}`, tier: Silent},
		{name: "a number is taken too", properties: `"!n":{"type":["string","number"]}`, sent: `{"n":5}`, want: `{"n":5}`},
		{name: "a choice", properties: `"!n":{"enum":["1","2"]}`, sent: `{"n":2}`, want: `{"n":"2"}`, rule: RuleNumberToText, tier: Silent},
		{name: "no choice", properties: `"!n":{"enum":["1","2"]}`, sent: `{"n":3}`},
		{name: "a pattern it does not fit", properties: `"!n":{"type":"string","pattern":"^[a-z]+$"}`, sent: `{"n":3}`},
	} {
		e.run(t)
	}
}

func TestContainersInText(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "a list", properties: aList, sent: `{"n":"[\"a\",\"b\"]"}`, want: `{"n":["a","b"]}`, rule: RuleJSONText, tier: Silent},
		{name: "an object", properties: anObject, sent: `{"n":"{\"a\":1}"}`, want: `{"n":{"a":1}}`, rule: RuleJSONText, tier: Silent},
		{name: "a list of Python", properties: aList, sent: `{"n":"['a', 'b']"}`, want: `{"n":["a","b"]}`, rule: RulePythonText},
		{name: "an object of Python", properties: anObject, sent: `{"n":"{'a': 1}"}`, want: `{"n":{"a":1}}`, rule: RulePythonText},
		{name: "text that is wanted as text", properties: aText, sent: `{"n":"{'key': 5}"}`, want: `{"n":"{'key': 5}"}`},
		{name: "a list where an object is expected", properties: anObject, sent: `{"n":"[1]"}`},
		{name: "truncated", properties: aList, sent: `{"n":"[\"a\",\"b"}`},
		{name: "prose", properties: aList, sent: `{"n":"a, b and c"}`},
		{name: "comma split", properties: aList, sent: `{"n":"a,b"}`},
		{name: "lines", properties: aList, sent: `{"n":"a\nb"}`},
		{name: "broken JSON is not wrapped", properties: aList, sent: `{"n":"[\"a\" \"b\"]"}`},
		{name: "base64", properties: anObject, sent: `{"n":"eyJhIjoxfQ=="}`},
		{name: "base64 is not decoded into a list", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":"WzEsMl0="}`},
		{name: "a key twice", properties: anObject, sent: `{"n":"{\"a\":1,\"a\":2}"}`},
		{name: "JSON text is not wrapped in a list of text", properties: aList, sent: `{"n":"{\"a\":1}"}`},
	} {
		e.run(t)
	}
}

func TestNothing(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "null of an optional", properties: optionals, sent: `{"n":null,"l":[1]}`, want: `{"l":[1]}`, rule: RuleNull, tier: Silent},
		{name: "null of an unknown key", properties: optionals, sent: `{"x":null}`, want: `{}`, rule: RuleEmpty},
		{name: "null in a map", properties: `"m":{"type":"object","additionalProperties":{"type":"string"}}`, sent: `{"m":{"env":null,"a":"b"}}`},
		{name: "a filter that would find everything", properties: `"f":{"type":"object","properties":{"user":{"type":"string"}}}`, sent: `{"f":{"user":null}}`},
		{name: "an identity in another form", properties: `"f":{"anyOf":[{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false},{"type":"object","properties":{"all":{"type":"boolean"}},"additionalProperties":false}]}`, sent: `{"f":{"id":null}}`},
		{name: "null of a nullable reference", properties: `"!n":{"allOf":[{"type":"string"}],"nullable":true}`, sent: `{"n":null}`, want: `{"n":null}`},
		{name: "an empty optional", properties: optionals, sent: `{"n":""}`, want: `{}`, rule: RuleEmpty},
		{name: "an empty unknown key", properties: optionals, sent: `{"x":""}`, want: `{}`, rule: RuleEmpty},
		{name: "none", properties: optionals, sent: `{"n":"None"}`, want: `{}`, rule: RuleNullWord},
		{name: "N/A", properties: optionals, sent: `{"l":"N/A"}`, want: `{}`, rule: RuleNullWord},
		{name: "none where null is taken", properties: `"!n":{"type":["integer","null"]}`, sent: `{"n":"null"}`, want: `{"n":null}`, rule: RuleNullWord},
		{name: "none is a text", properties: `"n":{"type":"string"}`, sent: `{"n":"None"}`, want: `{"n":"None"}`},
		{name: "none is a choice", properties: `"n":{"enum":["none","all"]}`, sent: `{"n":"None"}`, want: `{"n":"none"}`, rule: RuleChoice, tier: Silent},
		{name: "empty is a text", properties: `"n":{"type":"string"}`, sent: `{"n":""}`, want: `{"n":""}`},
		{name: "null that is taken", properties: `"n":{"type":["string","null"]}`, sent: `{"n":null}`, want: `{"n":null}`},
		{name: "null that is nullable", properties: `"n":{"type":"string","nullable":true}`, sent: `{"n":null}`, want: `{"n":null}`},
		{name: "a required null is not a string", properties: aText, sent: `{"n":null}`},
		{name: "a required null is not an array", properties: aList, sent: `{"n":null}`},
		{name: "a required null is not an object", properties: anObject, sent: `{"n":null}`},
		{name: "a required empty text", properties: `"!n":{"type":"string","minLength":1}`, sent: `{"n":""}`},
		{name: "null inside of a list", properties: aList, sent: `{"n":["a",null]}`},
		{name: "0 is not nothing", properties: optionals, sent: `{"l":0}`, want: `{"l":[0]}`, rule: RuleToList},
		{name: "false is not nothing", properties: `"n":{"type":"integer"}`, sent: `{"n":false}`},
		{name: "an unknown key with a value", properties: optionals, sent: `{"x":5}`},
		{name: "an unknown key with false", properties: optionals, sent: `{"x":false}`},
		{name: "an unknown key with 0", properties: optionals, sent: `{"x":0}`},
	} {
		e.run(t)
	}
}

func TestSpellingOfChoices(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "case", properties: aUnit, sent: `{"n":"Celsius"}`, want: `{"n":"celsius"}`, rule: RuleChoice, tier: Silent},
		{name: "separators", properties: aUnit, sent: `{"n":"In Progress"}`, want: `{"n":"in_progress"}`, rule: RuleChoice, tier: Silent},
		{name: "const", properties: `"!n":{"const":"Rev1.0"}`, sent: `{"n":"rev1.0"}`, want: `{"n":"Rev1.0"}`, rule: RuleChoice, tier: Silent},
		{name: "two letters", properties: `"!n":{"enum":["en","de"]}`, sent: `{"n":"EN"}`, want: `{"n":"en"}`, rule: RuleChoice, tier: Silent},
		{name: "a minute is not a month", properties: `"!n":{"enum":["1h","1d","1M"]}`, sent: `{"n":"1m"}`},
		{name: "one letter", properties: `"!n":{"enum":["Y","M","D"]}`, sent: `{"n":"m"}`},
		{name: "bits are not bytes", properties: `"!n":{"enum":["KB","MB"]}`, sent: `{"n":"Mb"}`},
		{name: "the order of a sort", properties: `"!n":{"enum":["name","created"]}`, sent: `{"n":"-name"}`},
		{name: "the other order of a sort", properties: `"!n":{"enum":["name","-created"]}`, sent: `{"n":"created"}`},
		{name: "a path", properties: `"!n":{"enum":["/a","b"]}`, sent: `{"n":"a"}`},
		{name: "a boolean", properties: `"!n":{"enum":[true,"auto"]}`, sent: `{"n":"True"}`, want: `{"n":true}`, rule: RuleChoice, tier: Silent},
		{name: "a misspelling", properties: aUnit, sent: `{"n":"celcius"}`},
		{name: "a beginning", properties: aUnit, sent: `{"n":"c"}`},
		{name: "a plural", properties: `"!n":{"enum":["day","week"]}`, sent: `{"n":"days"}`},
		{name: "two choices that fold the same", properties: `"!n":{"enum":["ABC","abc","b"]}`, sent: `{"n":"Abc"}`},
		{name: "two choices that differ in separators", properties: `"!n":{"enum":["to-do","to_do"]}`, sent: `{"n":"TO DO"}`},
		{name: "exact beside its twin", properties: `"!n":{"enum":["A","a"]}`, sent: `{"n":"a"}`, want: `{"n":"a"}`},
		{name: "signs are not separators", properties: `"!n":{"enum":["c++","c#"]}`, sent: `{"n":"C"}`},
		{name: "a text that only has separators", properties: `"!n":{"enum":["-","x"]}`, sent: `{"n":"_"}`},
		{name: "another sign", properties: `"!n":{"enum":["-1","0"]}`, sent: `{"n":"1"}`},
		{name: "another fraction", properties: `"!n":{"enum":["1/2","1/3"]}`, sent: `{"n":"12"}`},
		{name: "another version", properties: `"!n":{"enum":["v1.1","v2.0"]}`, sent: `{"n":"V11"}`},
		{name: "another range", properties: `"!n":{"enum":["1-10","11-20"]}`, sent: `{"n":"110"}`},
		{name: "another separator", properties: `"!n":{"enum":["2024-05","2024-06"]}`, sent: `{"n":"2024/05"}`, want: `{"n":"2024-05"}`, rule: RuleChoice},
		{name: "versions", properties: `"!n":{"enum":["1.10","11.0"]}`, sent: `{"n":"110"}`},
	} {
		e.run(t)
	}
}

func TestSpellingOfKeys(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "case", properties: `"!userId":{"type":"integer"}`, sent: `{"userid":1}`, want: `{"userId":1}`, rule: RuleKey, tier: Silent},
		{name: "snake", properties: `"!userId":{"type":"integer"}`, sent: `{"user_id":1}`, want: `{"userId":1}`, rule: RuleKey, tier: Silent},
		{name: "an optional", properties: `"max_results":{"type":"integer"}`, sent: `{"maxResults":1}`, want: `{"max_results":1}`, rule: RuleKey, tier: Silent},
		{name: "order is kept", properties: `"userId":{"type":"integer"},"a":{"type":"integer"}`, sent: `{"user_id":1,"a":2}`, want: `{"userId":1,"a":2}`, rule: RuleKey, tier: Silent},
		{name: "declared keys stay", properties: `"!table_name":{"type":"string"},"tableName":{"type":"string"}`, sent: `{"tableName":"x"}`},
		{name: "already there", properties: `"!userId":{"type":"integer"}`, sent: `{"userId":1,"user_id":2}`},
		{name: "two of them", properties: `"!userId":{"type":"integer"}`, sent: `{"USERID":1,"user_id":2}`},
		{name: "two declared fold the same", properties: `"user_id":{"type":"integer"},"userId":{"type":"integer"}`, sent: `{"USERID":1}`},
		{name: "a misspelling", properties: `"!query":{"type":"string"}`, sent: `{"qeury":"x"}`},
		{name: "the only missing one", properties: `"!query":{"type":"string"}`, sent: `{"q":"x"}`},
	} {
		e.run(t)
	}
}

func TestListsOfOne(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "a text to a list", properties: aList, sent: `{"n":"a"}`, want: `{"n":["a"]}`, rule: RuleToList},
		{name: "an object to a list", properties: `"!n":{"type":"array","items":{"type":"object"}}`, sent: `{"n":{"a":1}}`, want: `{"n":[{"a":1}]}`, rule: RuleToList},
		{name: "a list to its element", properties: aText, sent: `{"n":["a"]}`, want: `{"n":"a"}`, rule: RuleOneElement},
		{name: "first of many", properties: aText, sent: `{"n":["a","b"]}`},
		{name: "none of none", properties: aText, sent: `{"n":[]}`},
		{name: "joined into text", properties: aText, sent: `{"n":["a","b","c"]}`},
		{name: "a list of numbers into text", properties: aText, sent: `{"n":[1,2]}`},
		{name: "an object into text", properties: aText, sent: `{"n":{"a":1}}`},
		{name: "an empty object into text", properties: aText, sent: `{"n":{}}`},
		{name: "a boolean into text", properties: aText, sent: `{"n":true}`},
		{name: "a list wants more", properties: `"!n":{"type":"array","minItems":2}`, sent: `{"n":"a"}`},
		{name: "the element does not fit", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":"a"}`},
		{name: "null into a list", properties: `"!n":{"type":"array"}`, sent: `{"n":null}`},
		{name: "empty into a list", properties: aList, sent: `{"n":""}`},
		{name: "a range", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":"1-3"}`},
	} {
		e.run(t)
	}
}

func TestTypedValues(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "type and value", properties: anInteger, sent: `{"n":{"type":"integer","value":5}}`, want: `{"n":5}`, rule: RuleTyped},
		{name: "value alone", properties: aText, sent: `{"n":{"value":"x"}}`, want: `{"n":"x"}`, rule: RuleTyped},
		{name: "another type", properties: aText, sent: `{"n":{"type":"secret","value":"x"}}`},
		{name: "more than that", properties: aText, sent: `{"n":{"type":"string","value":"x","unit":"m"}}`},
		{name: "it does not fit", properties: anInteger, sent: `{"n":{"type":"string","value":"x"}}`},
		{name: "an object is expected", properties: `"!n":{"type":"object"}`, sent: `{"n":{"type":"string","value":"x"}}`, want: `{"n":{"type":"string","value":"x"}}`},
	} {
		e.run(t)
	}
}

func TestDefaults(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "of a required field", properties: `"!n":{"type":"integer","default":10}`, sent: `{}`, want: `{"n":10}`, rule: RuleDefault},
		{name: "what the caller said under another name", properties: `"!mode":{"type":"string","default":"overwrite"}`, sent: `{"mod":"append"}`},
		{name: "that breaks its own type", properties: `"!n":{"type":"integer","default":"ten"}`, sent: `{}`},
		{name: "null", properties: `"!n":{"type":["integer","null"],"default":null}`, sent: `{}`},
		{name: "none", properties: anInteger, sent: `{}`},
		{name: "of an optional", properties: `"n":{"type":"integer","default":10}`, sent: `{}`, want: `{}`},
		{name: "instead of a wrong value", properties: `"!n":{"type":"integer","default":10}`, sent: `{"n":"tenfold"}`},
	} {
		e.run(t)
	}
}

func TestWrappers(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "arguments", properties: anInteger, sent: `{"arguments":{"n":1}}`, want: `{"n":1}`, rule: RuleWrapped, tier: Silent},
		{name: "the tool's name", properties: anInteger, sent: `{"` + toolName + `":{"n":1}}`, want: `{"n":1}`, rule: RuleWrapped, tier: Silent},
		{name: "as text", properties: anInteger, sent: `{"input":"{\"n\":1}"}`, want: `{"n":1}`, rule: RuleWrapped, tier: Silent},
		{name: "and a text inside", properties: anInteger, sent: `{"params":{"n":"1"}}`, want: `{"n":1}`, tier: Silent},
		{name: "a declared one", properties: `"!args":{"type":"object"},"!n":{"type":"integer"}`, sent: `{"args":{"n":1}}`},
		{name: "not the only key", properties: anInteger, sent: `{"arguments":{"n":1},"x":2}`},
		{name: "another name", properties: anInteger, sent: `{"data":{"n":1}}`, want: `{"n":1}`, rule: RuleWrapped},
		{name: "a name that means something", properties: anInteger, sent: `{"exclude":{"n":1}}`},
		{name: "another name, other keys", properties: `"n":{"type":"integer"}`, sent: `{"data":{"m":1}}`},
		{name: "in a list", properties: anInteger, sent: `[{"n":1}]`, want: `{"n":1}`, rule: RuleOneElement},
		{name: "in a list of two", properties: anInteger, sent: `[{"n":1},{"n":2}]`},
		{name: "encoded twice", properties: anInteger, sent: `"{\"n\":1}"`, want: `{"n":1}`, rule: RuleEncodedTwice, tier: Silent},
		{name: "a string that is not an object", properties: anInteger, sent: `"1"`},
		{name: "a number", properties: anInteger, sent: `1`},
	} {
		e.run(t)
	}
}

func TestTextThatIsNoJSON(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "a fence", properties: anInteger, sent: "```json\n{\"n\":1}\n```", want: `{"n":1}`, rule: RuleReadText, tier: Silent},
		{name: "Python", properties: aFlag, sent: `{'n': True}`, want: `{"n":true}`, rule: RuleReadText, tier: Silent},
		{name: "a trailing comma", properties: anInteger, sent: `{"n":1,}`, want: `{"n":1}`, rule: RuleReadText, tier: Silent},
		{name: "a comment", properties: anInteger, sent: "{\"n\":1 // one\n}", want: `{"n":1}`, rule: RuleReadText, tier: Silent},
		{name: "a missing bracket", properties: aText, sent: `{"n":"x"`, want: `{"n":"x"}`, rule: RuleReadText},
		{name: "a truncated text", properties: aText, sent: `{"n":"x`},
		{name: "a truncated number", properties: anInteger, sent: `{"n":12`},
		{name: "a truncated key", properties: `"n":{"type":"integer"}`, sent: `{"n`},
		{name: "a truncated word", properties: aFlag, sent: `{"n":tru`},
		{name: "prose", properties: `"n":{"type":"integer"}`, sent: `Sure, here you go`},
		{name: "unreadable is not {}", properties: `"n":{"type":"integer"}`, sent: `{"n":}`},
		{name: "two documents", properties: anInteger, sent: `{"n":1}{"n":2}`},
	} {
		e.run(t)
	}
}

func TestNoArguments(t *testing.T) {
	for _, sent := range [][]byte{nil, {}, []byte("  ")} {
		out := Compile([]byte(closedTool(`"n":{"type":"integer"}`))).Arguments(sent, Options{Tier: Silent})
		if out.Verdict != Repaired || string(out.Arguments) != "{}" || out.Changes[0].Rule != RuleNoArguments {
			t.Errorf("%q where nothing is required: %s %s", sent, out.Verdict, out.Arguments)
		}
		if out := Compile([]byte(closedTool(anInteger))).Arguments(sent, Options{Tier: Told}); out.Verdict != Refused {
			t.Errorf("%q where something is required: %s %s", sent, out.Verdict, out.Arguments)
		}
	}
}

// Reports of software that changed what it should have left alone, each in a
// fixture of our own.
func TestOverCoercionsThatHappenedElsewhere(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "a page named 1 became the number 1", properties: `"!page_title":{"type":"string"}`, sent: `{"page_title":"1"}`, want: `{"page_title":"1"}`},
		{name: "null became a text", properties: `"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}`, sent: `{"a":null,"b":null,"c":"kept"}`,
			want: `{"c":"kept"}`, rule: RuleNull, tier: Silent},
		{name: "a declared key was rewritten to another style", properties: `"!row_count":{"type":"integer"},"!file_name":{"type":"string"}`,
			sent: `{"row_count":3,"file_name":"x"}`, want: `{"row_count":3,"file_name":"x"}`},
		{name: "a declared key stays while another is mended", properties: `"!row_count":{"type":"integer"},"!file_name":{"type":"string"}`,
			sent: `{"row_count":"3","file_name":"x"}`, want: `{"row_count":3,"file_name":"x"}`, tier: Silent},
		{name: "an unknown key was dropped", properties: `"since":{"type":"string"},"until":{"type":"string"}`, sent: `{"after":"2024-01-01"}`},
		{name: "digits in a text parameter became a number", properties: `"!zip":{"type":"string"}`, sent: `{"zip":"02134"}`, want: `{"zip":"02134"}`},
		{name: "text that spells an object became one", properties: `"!body":{"type":"string"}`, sent: `{"body":"{'retries': 3}"}`, want: `{"body":"{'retries': 3}"}`},
		{name: "JSON in a text parameter became an object", properties: `"!body":{"type":"string"}`, sent: `{"body":"{\"retries\":3}"}`, want: `{"body":"{\"retries\":3}"}`},
		{name: "a boolean became the account True", properties: `"!account":{"type":"string"}`, sent: `{"account":true}`},
		{name: "a boolean became one of the accounts", properties: `"!account":{"enum":["true","admin"]}`, sent: `{"account":true}`},
	} {
		e.run(t)
	}
}

// A value that fits is not touched because another does not.
func TestOnlyWhatIsWrongIsTouched(t *testing.T) {
	ruleCase{name: "sampleTexts beside a wrong number", properties: `"!n":{"type":"integer"},"a":{"type":"string"},"b":{},"c":{"type":["string","integer"]}`,
		sent: `{"a":"5","n":"6","b":"[1]","c":"7"}`, want: `{"a":"5","n":6,"b":"[1]","c":"7"}`, rule: RuleNumberText, tier: Silent}.run(t)
	ruleCase{name: "numbers are not respelled", properties: `"!n":{"type":"integer"},"a":{"type":"number"}`,
		sent: `{"a":1.00e2,"n":"6"}`, want: `{"a":1.00e2,"n":6}`, tier: Silent}.run(t)
	ruleCase{name: "branches that want different things", properties: `"!n":{"anyOf":[{"type":"integer"},{"type":"boolean"},{"type":"array","items":{"type":"string"}}]}`,
		sent: `{"n":{"a":1}}`}.run(t)
}

func TestAllOrNothing(t *testing.T) {
	out := Compile([]byte(closedTool(`"!a":{"type":"integer"},"!b":{"type":"integer"}`))).Arguments([]byte(`{"a":"1","b":"too"}`), Options{Tier: Told})
	if out.Verdict != Refused || out.Arguments != nil && string(out.Arguments) != `{"a":"1","b":"too"}` {
		t.Errorf("half a repair went out: %s %s", out.Verdict, out.Arguments)
	}
}

func TestUnknownKeysAreNoticed(t *testing.T) {
	schema := Compile([]byte(`{"type":"object","properties":{"max_results":{"type":"integer"},"query":{"type":"string"}}}`))
	for sent, want := range map[string]int{`{"query":"x","maxResult":5}`: 1, `{"query":"x"}`: 0, `{"query":"x","max_results":5,"maxresults":5}`: 0, `{"query":"x","zebra":1}`: 0} {
		out := schema.Arguments([]byte(sent), Options{Tier: Told})
		if out.Verdict != Valid || len(out.Notes) != want {
			t.Errorf("%s: %s, notes %q, want %d", sent, out.Verdict, out.Notes, want)
		}
	}
}
