package repair

import "testing"

// A key is renamed if exactly one required key is missing, exactly one key is unknown, the value
// fits, and the names or the schema leave no other reading.
func TestRenamedKeys(t *testing.T) {
	const aBook = `"!title":{"type":"string"},"!shelf_number":{"type":"integer"}`
	for _, e := range []ruleCase{
		{name: "a longer name", properties: `"!path":{"type":"string"}`, sent: `{"file_path":"a.txt"}`, want: `{"path":"a.txt"}`, rule: RuleRenamed},
		{name: "a shorter name", properties: aBook, sent: `{"title":"Emma","shelf":4}`, want: `{"title":"Emma","shelf_number":4}`, rule: RuleRenamed},
		{name: "a plural", properties: `"!tag":{"type":"string"}`, sent: `{"tags":"x"}`, want: `{"tag":"x"}`, rule: RuleRenamed},
		{name: "a filler word", properties: `"!numOfSeats":{"type":"integer"}`, sent: `{"numSeats":3}`, want: `{"numOfSeats":3}`, rule: RuleRenamed},
		{name: "a name for the arguments as a prefix", properties: `"!city_name":{"type":"string"}`, sent: `{"params_name":"Oslo"}`, want: `{"city_name":"Oslo"}`, rule: RuleRenamed},
		{name: "a choice that only this key has", properties: `"!unit":{"enum":["celsius","kelvin"]},"city":{"type":"string"}`, sent: `{"city":"Oslo","scale":"kelvin"}`,
			want: `{"city":"Oslo","unit":"kelvin"}`, rule: RuleRenamed},
		{name: "an object of this shape", properties: `"!area":{"type":"object","properties":{"w":{"type":"integer"},"h":{"type":"integer"}},"required":["w","h"],"additionalProperties":false}`,
			sent: `{"rect":{"w":1,"h":2}}`, want: `{"area":{"w":1,"h":2}}`, rule: RuleRenamed},
		{name: "markup in the key", properties: `"!rooms":{"type":"array","items":{"type":"integer"}},"kind":{"type":"string"}`, sent: `{"rooms\" kind=\"x":[1,2]}`,
			want: `{"rooms":[1,2]}`, rule: RuleRenamed},
		{name: "nested", properties: `"!user":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`,
			sent: `{"user":{"user_name":"Ann"}}`, want: `{"user":{"name":"Ann"}}`, rule: RuleRenamed},
		{name: "in a list", properties: `"!rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}}`,
			sent: `{"rows":[{"row_id":1},{"row_id":2}]}`, want: `{"rows":[{"id":1},{"id":2}]}`, rule: RuleRenamed},

		{name: "no shared word", properties: `"!query":{"type":"string"}`, sent: `{"q":"x"}`},
		{name: "a boolean says nothing", properties: `"!confirm":{"type":"boolean"}`, sent: `{"verbose":true}`},
		{name: "a number says nothing", properties: `"!page":{"type":"integer"}`, sent: `{"limit":10}`},
		{name: "another kind of id", properties: `"!project_id":{"type":"string"}`, sent: `{"user_id":"u1"}`},
		{name: "the other end", properties: `"!end_date":{"type":"string"}`, sent: `{"start_date":"monday"}`},
		{name: "the opposite", properties: `"!paths":{"type":"array"}`, sent: `{"exclude_paths":["a"]}`},
		{name: "the result of something", properties: `"!path":{"type":"string"}`, sent: `{"output_path":"a"}`},
		{name: "two are missing", properties: `"!file":{"type":"string"},"!file_kind":{"type":"string"}`, sent: `{"the_file":"x"}`},
		{name: "two are unknown", properties: `"!path":{"type":"string"}`, sent: `{"file_path":"x","other":"y"}`},
		{name: "it does not fit", properties: `"!row":{"type":"integer"}`, sent: `{"row_name":"x"}`},
		{name: "another thing of the same owner", properties: `"!user_password":{"type":"string"}`, sent: `{"user":"ann"}`},
		{name: "a part of it", properties: `"!email":{"type":"string"}`, sent: `{"email_body":"hi"}`},
		{name: "an optional one", properties: `"path":{"type":"string"}`, sent: `{"file_path":"x"}`},
		{name: "a name that two keys end with", properties: `"!owner_name":{"type":"string"},"repo_name":{"type":"string"}`, sent: `{"name":"gauze"}`},
		{name: "what kind of thing it is", properties: `"!task_type":{"type":"string"}`, sent: `{"task":"buy milk"}`},
		{name: "one of them and how many", properties: `"!number_of_pages":{"type":"integer"}`, sent: `{"page":2}`},
		{name: "how many", properties: `"!number_of_seats":{"type":"integer"}`, sent: `{"seats":2}`, want: `{"number_of_seats":2}`, rule: RuleRenamed},
		{name: "another thing with the same choices", properties: `"!quote_currency":{"enum":["USD","EUR"]}`, sent: `{"base_currency":"USD"}`},
		{name: "a choice that says yes", properties: `"!confirm":{"enum":["yes","no"]}`, sent: `{"verbose":"yes"}`},
		{name: "a word before a boolean", properties: `"!details":{"type":"boolean"}`, sent: `{"hide_details":true}`},
		{name: "a word before the declared boolean", properties: `"!bypass_cache":{"type":"boolean"}`, sent: `{"cache":true}`},
		{name: "a word that says nothing before a boolean", properties: `"!active":{"type":"boolean"}`, sent: `{"is_active":true}`, want: `{"active":true}`, rule: RuleRenamed},
		{name: "what should be done with them", properties: `"!ids":{"type":"array","items":{"type":"integer"}}`, sent: `{"delete_ids":[1]}`},
		{name: "the other side", properties: `"!path":{"type":"string"}`, sent: `{"remote_path":"/x"}`},
		{name: "another place of the same shape", properties: `"!dropoff":{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"]}`,
			sent: `{"pickup":{"lat":1,"lon":2}}`},
	} {
		e.run(t)
	}
}

// A default that the schema rejects is left out; a model that sends it has read it there.
func TestRejectedDefaults(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "of a number", properties: `"floor":{"type":"integer","default":"any"},"!city":{"type":"string"}`, sent: `{"city":"Oslo","floor":"any"}`, want: `{"city":"Oslo"}`, rule: RuleRejectedDefault},
		{name: "of a choice", properties: `"state":{"enum":["open","closed"],"default":"everything"}`, sent: `{"state":"everything"}`, want: `{}`, rule: RuleRejectedDefault},
		{name: "nested", properties: `"!filter":{"type":"object","properties":{"size":{"type":"number","default":"auto"},"id":{"type":"integer"}}}`,
			sent: `{"filter":{"id":1,"size":"auto"}}`, want: `{"filter":{"id":1}}`, rule: RuleRejectedDefault},
		{name: "a boolean in text is one", properties: `"deep":{"type":"boolean","default":"false"}`, sent: `{"deep":"false"}`, want: `{"deep":false}`, rule: RuleBooleanText, tier: Silent},
		{name: "a value other than the default", properties: `"floor":{"type":"integer","default":"any"}`, sent: `{"floor":"top"}`},
		{name: "of a required field", properties: `"!floor":{"type":"integer","default":"any"}`, sent: `{"floor":"any"}`},
		{name: "the only condition of a filter", properties: `"!filter":{"type":"object","properties":{"size":{"type":"number","default":"auto"}}}`, sent: `{"filter":{"size":"auto"}}`},
	} {
		e.run(t)
	}
}

func TestCommaSeparatedText(t *testing.T) {
	const (
		numbers = `"!n":{"type":"array","items":{"type":"number"}}`
		wishes  = `"!n":{"type":"array","items":{"enum":["quiet","sea view","balcony"]}}`
	)
	for _, e := range []ruleCase{
		{name: "numbers", properties: numbers, sent: `{"n":"59.91, -10.75"}`, want: `{"n":[59.91,-10.75]}`, rule: RuleSplit},
		{name: "integers", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":"1,2,3"}`, want: `{"n":[1,2,3]}`, rule: RuleSplit},
		{name: "choices", properties: wishes, sent: `{"n":"quiet,balcony"}`, want: `{"n":["quiet","balcony"]}`, rule: RuleSplit},
		{name: "choices in another spelling", properties: wishes, sent: `{"n":"Sea View, Quiet"}`, want: `{"n":["sea view","quiet"]}`, rule: RuleSplit},
		{name: "in a list", properties: `"!n":{"type":"array","items":{"type":"object","properties":{"at":{"type":"array","items":{"type":"number"}}}}}`,
			sent: `{"n":[{"at":"1, 2"}]}`, want: `{"n":[{"at":[1,2]}]}`, rule: RuleSplit},
		{name: "free text", properties: aList, sent: `{"n":"Hello, world"}`},
		{name: "one of them is no choice", properties: wishes, sent: `{"n":"quiet, parking"}`},
		{name: "one number with thousands", properties: numbers, sent: `{"n":"12,500"}`},
		{name: "a choice with a comma", properties: `"!n":{"type":"array","items":{"enum":["a, b","a","b"]}}`, sent: `{"n":"a, b"}`},
		{name: "nothing between the commas", properties: numbers, sent: `{"n":"1,,2"}`},
		{name: "a decimal comma", properties: numbers, sent: `{"n":"0,75"}`},
		{name: "a decimal comma and thousands", properties: numbers, sent: `{"n":"1.234,56"}`},
		{name: "integers have no decimal comma", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":"3,5"}`, want: `{"n":[3,5]}`, rule: RuleSplit},
		{name: "numbers with thousands", properties: numbers, sent: `{"n":"1,234, 5,678"}`},
	} {
		e.run(t)
	}
}

func TestSchemaShapedValues(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "another language's type", properties: aNumber, sent: `{"n":{"type":"float","value":2.5}}`, want: `{"n":2.5}`, rule: RuleTyped},
		{name: "a short type", properties: aText, sent: `{"n":{"type":"str","value":"x"}}`, want: `{"n":"x"}`, rule: RuleTyped},
		{name: "in a list", properties: aList, sent: `{"n":[{"type":"text","value":"a"},{"value":"b"}]}`, want: `{"n":["a","b"]}`, rule: RuleTyped},
		{name: "items of a list", properties: aList, sent: `{"n":{"type":"list","items":["a","b"]}}`, want: `{"n":["a","b"]}`, rule: RuleTyped},
		{name: "chosen choices", properties: `"!n":{"type":"array","items":{"enum":["a","b","c"]}}`, sent: `{"n":[{"type":"string","enum":["a","c"]}]}`, want: `{"n":["a","c"]}`, rule: RuleTyped},
		{name: "the value in place of the type", properties: aList, sent: `{"n":[{"type":"C4"},{"type":"E4"}]}`, want: `{"n":["C4","E4"]}`, rule: RuleTyped},
		{name: "under its own name", properties: `"!title":{"type":"string"}`, sent: `{"title":{"title":"Emma"}}`, want: `{"title":"Emma"}`, rule: RuleTyped},
		{name: "only a type", properties: aText, sent: `{"n":{"type":"string"}}`},
		{name: "a type that means something", properties: aText, sent: `{"n":{"type":"secret","value":"x"}}`},
		{name: "an operator", properties: aText, sent: `{"n":{"not":"x"}}`},
		{name: "more than one value", properties: `"!title":{"type":"string"}`, sent: `{"title":{"title":"Emma","year":1815}}`},
		{name: "a default is not a value", properties: anInteger, sent: `{"n":{"type":"integer","default":5}}`},
	} {
		e.run(t)
	}
}

func TestWrappersOfAnyName(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "all required and only declared keys", properties: `"!a":{"type":"integer"},"b":{"type":"integer"}`, sent: `{"type":{"a":1,"b":2}}`, want: `{"a":1,"b":2}`, rule: RuleWrapped},
		{name: "a word of the domain", properties: `"!city":{"type":"string"}`, sent: `{"weather":{"city":"Oslo"}}`, want: `{"city":"Oslo"}`, rule: RuleWrapped},
		{name: "and a number in text", properties: anInteger, sent: `{"object":{"n":"1"}}`, want: `{"n":1}`, rule: RuleWrapped},
		{name: "a required key is missing", properties: `"!a":{"type":"integer"},"!b":{"type":"integer","default":1}`, sent: `{"thing":{"a":1}}`},
		{name: "an undeclared key", properties: anInteger, sent: `{"thing":{"n":1,"m":2}}`},
		{name: "a name that negates", properties: anInteger, sent: `{"without":{"n":1}}`},
		{name: "a condition", properties: anInteger, sent: `{"unless":{"n":1}}`},
		{name: "not the arguments themselves", properties: anInteger, sent: `{"defaults":{"n":1}}`},
		{name: "empty", properties: `"n":{"type":"integer"}`, sent: `{"thing":{"m":1}}`},
		{name: "the whole call", properties: anInteger, sent: `{"name":"` + toolName + `","arguments":{"n":1}}`, want: `{"n":1}`, rule: RuleWrapped, tier: Silent},
		{name: "the whole call with parameters", properties: anInteger, sent: `{"tool":"` + toolName + `","parameters":{"n":1}}`, want: `{"n":1}`, rule: RuleWrapped, tier: Silent},
		{name: "the whole call with text", properties: anInteger, sent: `{"function":"` + toolName + `","arguments":"{\"n\":1}"}`, want: `{"n":1}`, rule: RuleWrapped, tier: Silent},
		{name: "the call of another tool", properties: anInteger, sent: `{"name":"other_tool","arguments":{"n":1}}`},
		{name: "more than a call", properties: anInteger, sent: `{"name":"` + toolName + `","arguments":{"n":1},"m":2}`},
		{name: "a name that is an argument", properties: `"name":{"type":"string"},"n":{"type":"integer"}`, sent: `{"name":"` + toolName + `","arguments":{"n":1}}`},
		{name: "the name is also among the arguments", properties: `"name":{"type":"string"}`, sent: `{"name":"` + toolName + `","arguments":{"name":"x"}}`, want: `{"name":"x"}`, rule: RuleWrapped, tier: Silent},
	} {
		e.run(t)
	}
}

func TestPunctuationOfChoices(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "an exclamation mark", properties: aUnit, sent: `{"n":"Celsius!"}`, want: `{"n":"celsius"}`, rule: RuleChoice},
		{name: "a comma", properties: `"!n":{"enum":["Oslo Norway","Lima Peru"]}`, sent: `{"n":"Oslo, Norway"}`, want: `{"n":"Oslo Norway"}`, rule: RuleChoice},
		{name: "quotes", properties: aUnit, sent: `{"n":"'celsius'"}`, want: `{"n":"celsius"}`, rule: RuleChoice},
		{name: "an apostrophe", properties: `"!n":{"enum":["childrens books","maps"]}`, sent: `{"n":"Children's Books"}`, want: `{"n":"childrens books"}`, rule: RuleChoice},
		{name: "one letter in the only case", properties: `"!n":{"enum":["C","F"]}`, sent: `{"n":"f"}`, want: `{"n":"F"}`, rule: RuleChoice},
		{name: "a letter and digits", properties: `"!n":{"enum":["A4","A5"]}`, sent: `{"n":"a4"}`, want: `{"n":"A4"}`, rule: RuleChoice},
		{name: "3D", properties: `"!n":{"enum":["3d","imax"]}`, sent: `{"n":"3D"}`, want: `{"n":"3d"}`, rule: RuleChoice},
		{name: "a letter whose case matters", properties: `"!n":{"enum":["M","Y"]}`, sent: `{"n":"m"}`},
		{name: "both cases occur", properties: `"!n":{"enum":["x","Y"]}`, sent: `{"n":"X"}`},
		{name: "a sign is no punctuation", properties: `"!n":{"enum":["A","A+"]}`, sent: `{"n":"A-"}`},
		{name: "an operator", properties: `"!n":{"enum":["or","and"]}`, sent: `{"n":"!or"}`},
		{name: "a negated operator", properties: `"!n":{"enum":["status=open","status=closed"]}`, sent: `{"n":"status!=open"}`},
		{name: "a negated part", properties: `"!n":{"enum":["tag:open","tag:closed"]}`, sent: `{"n":"tag:!open"}`},
		{name: "feet and inches", properties: `"!n":{"enum":["12\"","6\""]}`, sent: `{"n":"12'"}`},
		{name: "a ratio and a fraction", properties: `"!n":{"enum":["1:2","1:4"]}`, sent: `{"n":"1.2"}`},
		{name: "a sign after a comparison", properties: `"!n":{"enum":["> -5","> 0"]}`, sent: `{"n":"> 5"}`},
		{name: "a flag", properties: `"!n":{"enum":["-D","-R"]}`, sent: `{"n":"-d"}`},
		{name: "a question mark", properties: aUnit, sent: `{"n":"celsius?"}`},
		{name: "parentheses", properties: aUnit, sent: `{"n":"(celsius)"}`},
		{name: "a question mark that the choice has", properties: `"!n":{"enum":["who?","why?"]}`, sent: `{"n":"Why?"}`, want: `{"n":"why?"}`, rule: RuleChoice, tier: Silent},
		{name: "a risk in a different case", properties: `"!n":{"enum":["keep","delete"]}`, sent: `{"n":"DELETE"}`, want: `{"n":"delete"}`, rule: RuleChoice, tier: Silent},
		{name: "a risk in the same words", properties: `"!n":{"enum":["read_only","full_access"]}`, sent: `{"n":"Full Access"}`, want: `{"n":"full_access"}`, rule: RuleChoice, tier: Silent},
		{name: "a risk with a question mark", properties: `"!n":{"enum":["keep","delete"]}`, sent: `{"n":"delete?"}`},
		{name: "a risk with punctuation", properties: `"!n":{"enum":["keep","delete"]}`, sent: `{"n":"delete!"}`},
		{name: "a risk in pieces", properties: `"!n":{"enum":["keep","delete"]}`, sent: `{"n":"de-lete"}`},
		{name: "two that differ in punctuation", properties: `"!n":{"enum":["yes!","yes?"]}`, sent: `{"n":"yes"}`},
	} {
		e.run(t)
	}
}

func TestDamagedText(t *testing.T) {
	const two = `"!a":{"type":"string"},"b":{"type":"integer"}`
	for _, e := range []ruleCase{
		{name: "a lost quote before a key", properties: two, sent: `{"a": "x, "b": 2}`, want: `{"a":"x","b":2}`, rule: RuleReadText},
		{name: "a lost quote in Python", properties: two, sent: `{'a': 'x, 'b': 2}`, want: `{"a":"x","b":2}`, rule: RuleReadText},
		{name: "a lost quote after a sentence", properties: two, sent: `{"a": "one, two, "b": 2}`, want: `{"a":"one, two","b":2}`, rule: RuleReadText},
		{name: "a lost quote before an unknown key", properties: two, sent: `{"a": "x, "c": 2}`},
		{name: "brackets after the end", properties: two, sent: `{"a": "x"}}]`, want: `{"a":"x"}`, rule: RuleReadText},
		{name: "code after the end", properties: two, sent: "{'a': 'x'}}]\n\"\"\"\nprint('done')"},
		{name: "a remark after the end", properties: two, sent: "{\"a\": \"x\"}\n\nThis call finds x."},
		{name: "an argument after the end", properties: two, sent: `{"a": "x"}, "b": 2}`},
		{name: "an argument after two ends", properties: two, sent: `{"a": "x"}}, "b": 2}`},
		{name: "an unknown argument after two ends", properties: two, sent: `{"a": "x"}}, "c": 2}`},
		{name: "an argument without quotes after two ends", properties: two, sent: `{"a": "x"}]}, b: 2}`},
		{name: "an argument on a line of its own", properties: two, sent: "{\"a\": \"x\"}\nb = 2"},
		{name: "an argument without a sign", properties: `"!a":{"type":"string"},"dry_run":{"type":"boolean"}`, sent: "{\"a\": \"x\"}\ndryRun true"},
		{name: "a second document", properties: two, sent: `{"a": "x"} {"a": "y"}`},
		{name: "another bracket", properties: `"!a":{"type":"object"},"b":{"type":"string"}`, sent: `{"a": {"x": [1]], "b": "y"}`, want: `{"a":{"x":[1]},"b":"y"}`, rule: RuleReadText},
		{name: "another bracket at a list", properties: `"!a":{"type":"array"},"b":{"type":"string"}`, sent: `{"a": [1, 2}, "b": "y"}`, want: `{"a":[1,2],"b":"y"}`, rule: RuleReadText},
		{name: "another bracket and a missing one", properties: `"!a":{"type":"array"}`, sent: `{"a": [{"x":"1"]`},
	} {
		e.run(t)
	}
}
