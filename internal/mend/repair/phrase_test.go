package repair

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// The units of number fields, as names and descriptions state them.
const (
	dayCount   = `"!days":{"type":"integer"}`
	lookBack   = `"!lookback":{"type":"integer","description":"Number of days to look back"}`
	inSeconds  = `"!timeout":{"type":"number","description":"Timeout in seconds. Default: 30"}`
	resultsMax = `"!limit":{"type":"integer","description":"Maximum number of search results to return"}`
)

func TestNumbersInPhrases(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "a word", properties: anInteger, sent: `{"n":"five"}`, want: `{"n":5}`, rule: RulePhrase, tier: Silent},
		{name: "two words", properties: anInteger, sent: `{"n":"Twenty five"}`, want: `{"n":25}`, tier: Silent},
		{name: "hundreds", properties: anInteger, sent: `{"n":"two hundred and five"}`, want: `{"n":205}`, tier: Silent},
		{name: "the name is the unit", properties: dayCount, sent: `{"days":"five days"}`, want: `{"days":5}`, rule: RulePhrase, tier: Silent},
		{name: "digits and the unit", properties: dayCount, sent: `{"days":"7 days"}`, want: `{"days":7}`, rule: RulePhrase, tier: Silent},
		{name: "without a space", properties: dayCount, sent: `{"days":"7days"}`, want: `{"days":7}`, tier: Silent},
		{name: "one of them", properties: dayCount, sent: `{"days":"one day"}`, want: `{"days":1}`, tier: Silent},
		{name: "a sentence", properties: dayCount, sent: `{"days":"Five days."}`, want: `{"days":5}`, tier: Silent},
		{name: "a name that also limits it", properties: `"!max_items":{"type":"integer"}`, sent: `{"max_items":"twenty-five items"}`, want: `{"max_items":25}`, tier: Silent},
		{name: "a name that goes on", properties: `"!resultsPerPage":{"type":"integer"}`, sent: `{"resultsPerPage":"ten results"}`, want: `{"resultsPerPage":10}`, tier: Silent},
		{name: "a unit without a plural", properties: `"!timeout_ms":{"type":"integer"}`, sent: `{"timeout_ms":"500 milliseconds"}`, want: `{"timeout_ms":500}`, tier: Silent},
		{name: "the description counts it", properties: lookBack, sent: `{"lookback":"thirty days"}`, want: `{"lookback":30}`, tier: Silent},
		{name: "the description states the unit", properties: inSeconds, sent: `{"timeout":"2.5 seconds"}`, want: `{"timeout":2.5}`, tier: Silent},
		{name: "the description counts things", properties: resultsMax, sent: `{"limit":"ten results"}`, want: `{"limit":10}`, tier: Silent},
		{name: "in a branch", properties: `"!wait":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"Seconds to wait"}`, sent: `{"wait":"five seconds"}`, want: `{"wait":5}`, tier: Silent},
		{name: "in a list", properties: `"!n":{"type":"array","items":{"type":"integer"}}`, sent: `{"n":["one",2]}`, want: `{"n":[1,2]}`, tier: Silent},
		{name: "in an object", properties: `"!o":{"type":"object","properties":{"days":{"type":"integer"}}}`, sent: `{"o":{"days":"two days"}}`, want: `{"o":{"days":2}}`, tier: Silent},
		{name: "out of range", properties: `"!days":{"type":"integer","maximum":3}`, sent: `{"days":"five days"}`},
		{name: "a fraction for an integer", properties: dayCount, sent: `{"days":"2.5 days"}`},
		{name: "more digits than every reader keeps", properties: dayCount, sent: `{"days":"9007199254740993 days"}`},
		{name: "where text is allowed too", properties: `"!days":{"type":["string","integer"]}`, sent: `{"days":"five days"}`, want: `{"days":"five days"}`},
	} {
		e.run(t)
	}
}

// unsure are texts that say a number of days in more than one way, or another number, or none. N is the number.
var unsure = strings.Split(`N weeks|N hours|N business days|N to ten days|N or six days|N-ten days|N, ten days|N days and N hours|between N and ten days|no more than N|not N
	|not N days|less than N days|at least N|up to N days|about N|about N days|around N days|roughly N|~N days|>N|<N days|N+ days|N days or so|N days ago|in N days
	|N days from now|minus N|minus N days|-N days|- N days|+N days|N and a half|N and a half days|N half days|half N|N quarters|N fifths|Nth|the N|N-day|N-star|day N
	|N days each|N days per week|N more|N more days|N extra days|N less|N plus|N%|N percent|$N|N times|N thousand days|Nk|N k|N dozen|Nm|N M|N million
	|a dozen|a couple of days|a week|in a week|tomorrow|next N days|last N days|first N|N of them|N/10|N.5.1 days|0N days|N days?|N (days)|N days!|N_days|N,5 days
	|N (5) days|any|all|several days|some|one of N|no one|twenty-N-th|fifth|twenty-fifth|five hundred-day|N hundreds|hundred|thousand days|two N|ten N days`, "|")

// countedFields are number fields with what they count, and what they do not although they mention it.
var countedFields = []struct{ properties, field, unit, other string }{
	{dayCount, "days", "days", "weeks"},
	{lookBack, "lookback", "days", "lookbacks"},
	{inSeconds, "timeout", "seconds", "minutes"},
	{resultsMax, "limit", "results", "searches"},
	{`"!n":{"type":"integer","description":"Time in minutes, so 1 hour is 60"}`, "n", "", "minutes"},
	{`"!timeout":{"type":"integer","description":"Timeout in milliseconds, for example 5000 for 5 seconds"}`, "timeout", "", "seconds"},
	{`"!timeout":{"type":"integer","description":"Timeout in milliseconds, for example 5000 for 5 seconds"}`, "timeout", "", "milliseconds"},
	{`"!days":{"type":"integer","description":"Number of weeks"}`, "days", "", "days"},
	{`"!day":{"type":"integer"}`, "day", "", "days"},
	{`"!day":{"type":"integer","description":"Day of the month. A stay takes at most 5 days"}`, "day", "", "days"},
	{`"!hour":{"type":"integer","description":"Hour of the start in hours"}`, "hour", "", "hours"},
	{`"!page":{"type":"integer","description":"Which page of results to return"}`, "page", "", "results"},
	{`"!page":{"type":"integer","description":"Page number of the results"}`, "page", "", "results"},
	{`"!page":{"type":"integer","description":"Results page, at most 10 results on each"}`, "page", "", "results"},
	{`"!page":{"type":"integer","description":"Page number. There are at most 20 pages"}`, "page", "", "pages"},
	{`"!results_page":{"type":"integer"}`, "results_page", "", "results"},
	{`"!page_size":{"type":"integer","description":"Number of items per page"}`, "page_size", "items", "pages"},
	{`"!days_between_visits":{"type":"integer"}`, "days_between_visits", "days", "visits"},
	{`"!interval":{"type":"integer","description":"Seconds between retries"}`, "interval", "seconds", "retries"},
	{`"!days_per_week":{"type":"integer"}`, "days_per_week", "", "weeks"},
	{`"!speed":{"type":"integer","description":"Speed in miles per hour"}`, "speed", "", "miles"},
	{`"!amount":{"type":"integer","description":"Amount in cents"}`, "amount", "cents", "dollars"},
	{`"!revenue":{"type":"integer","description":"Revenue in thousands of dollars"}`, "revenue", "", "dollars"},
	{`"!dollars":{"type":"integer","description":"Dollars, in thousands"}`, "dollars", "", "dollars"},
	{`"!offset":{"type":"integer","description":"Where to start, for lists of more than 50 items"}`, "offset", "", "items"},
	{`"!expires":{"type":"integer","description":"Unix timestamp in seconds"}`, "expires", "", "seconds"},
	{`"!delay_ms":{"type":"integer","description":"Delay, a multiple of 100 ms"}`, "delay_ms", "", "ms"},
	{`"!n":{"type":"integer"}`, "n", "", "km"},
	{`"!size_mb":{"type":"integer"}`, "size_mb", "MB", "Mb"},
	{`"!days":{"type":"array","items":{"type":"integer"}}`, "days", "", "days"},
}

// A tool that writes gets a number only if its text has no second reading, from a rule or from a model.
func TestSecondReadingsAreNotWritten(t *testing.T) {
	check := func(properties, field, text string, numbers ...string) {
		t.Helper()
		schema := Compile([]byte(closedTool(properties)))
		value := strconv.Quote(text)
		if strings.Contains(properties, `"array"`) {
			value = "[" + value + "]"
		}
		sent := `{"` + field + `":` + value + `}`
		for _, tier := range []Tier{Silent, Told} {
			if out := schema.Arguments([]byte(sent), Options{Tier: tier}); out.Verdict == Repaired {
				t.Errorf("%s: %s became %s", properties, sent, out.Arguments)
			}
		}
		for _, n := range numbers {
			proposed := strings.Replace(sent, strconv.Quote(text), n, 1)
			p, err := schema.Propose([]byte(sent), []byte(proposed), ProposeOptions{})
			if err == nil && p.Tier <= Told && !p.Touched {
				t.Errorf("%s: a tool that writes would get %s for %s", properties, p.Arguments, sent)
			}
		}
	}
	for _, number := range []string{"five", "5", "twelve", "12", "one", "seventy-two"} {
		for _, text := range unsure {
			text = strings.ReplaceAll(strings.TrimSpace(text), "N", number)
			for _, c := range countedFields[:3] {
				check(c.properties, c.field, strings.ReplaceAll(text, "days", c.unit), "5", "12", "1", "72", "35", "60", "7", "10", "5000", "24")
			}
		}
		for _, c := range countedFields {
			check(c.properties, c.field, number+" "+c.other, "5", "12", "1", "72")
			check(c.properties, c.field, number+" fathoms", "5", "12", "1", "72")
		}
	}
}

// Whatever number is spelled, with the unit of its field it is that number.
func TestSpelledNumbers(t *testing.T) {
	for n := range 1000 {
		text := spelled(n)
		if got, ok := spelledNumber(text); !ok || got != n {
			t.Errorf("%q is %d, %v", text, got, ok)
		}
		for _, c := range countedFields {
			if c.unit == "" || n%97 != 0 {
				continue
			}
			for _, phrase := range []string{text, strconv.Itoa(n)} {
				phrase += " " + c.unit
				want := `{"` + c.field + `":` + strconv.Itoa(n) + `}`
				out := Compile([]byte(closedTool(c.properties))).Arguments([]byte(`{"`+c.field+`":"`+phrase+`"}`), Options{Tier: Silent})
				if string(out.Arguments) != want {
					t.Errorf("%s: %q became %s", c.properties, phrase, out.Arguments)
				}
			}
		}
	}
	for _, text := range []string{"", "and", "five and", "and five", "two five", "ten five", "hundred", "five hundred hundred", "twenty-ten", "five thousand", "five  six", "-five",
		"twenty - five", "zero five", "twenty-zero", "five and six", "twenty hundred", "ninety-", "twenty twenty", "five-hundredth"} {
		if n, ok := spelledNumber(text); ok {
			t.Errorf("%q is said to be %d", text, n)
		}
	}
}

// spelled writes a number below 1000 in words.
func spelled(n int) string {
	small := strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens := strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
	join := func(head string, rest int, between string) string {
		if rest == 0 {
			return head
		}
		return head + between + spelled(rest)
	}
	switch {
	case n < 20:
		return small[n]
	case n < 100:
		return join(tens[n/10-2], n%10, "-")
	}
	return join(small[n/100]+" hundred", n%100, " and ")
}

// What a model reads out of a phrase is the caller's own value. What has a second reading is certain enough to read only.
func TestModelReadsPhrases(t *testing.T) {
	for _, c := range []struct {
		properties, sent, proposed string
		tier                       Tier
		touched                    bool
	}{
		{dayCount, `{"days":"five days"}`, `{"days":5}`, Told, false},
		{dayCount, `{"days":"twenty-five days"}`, `{"days":25}`, Told, false},
		{dayCount, `{"days":"five days"}`, `{"days":6}`, outside, false},
		{dayCount, `{"days":"twenty-five days"}`, `{"days":20}`, outside, false},
		{inSeconds, `{"timeout":"thirty seconds"}`, `{"timeout":30}`, Told, false},
		{dayCount, `{"days":"10k"}`, `{"days":10000}`, Told, true},
		{dayCount, `{"days":"five thousand"}`, `{"days":5000}`, Told, true},
		{dayCount, `{"days":"1.5 thousand"}`, `{"days":1500}`, Told, true},
		{dayCount, `{"days":"a dozen"}`, `{"days":12}`, Told, true},
		{dayCount, `{"days":"two dozen"}`, `{"days":24}`, Told, true},
		{dayCount, `{"days":"10k"}`, `{"days":10}`, outside, false},
		{dayCount, `{"days":"10k"}`, `{"days":10240}`, outside, false},
		{`"!day":{"type":"integer"}`, `{"day":"five days"}`, `{"day":5}`, Told, true},
		{dayCount, `{"days":"five weeks"}`, `{"days":5}`, Shown, false},
		{dayCount, `{"days":"about five days"}`, `{"days":5}`, Shown, false},
		{dayCount, `{"days":"five to ten days"}`, `{"days":5}`, outside, false},
		{dayCount, `{"days":"five and a half days"}`, `{"days":5}`, outside, false},
		{dayCount, `{"days":"5 and a half days"}`, `{"days":5}`, outside, false},
		{dayCount, `{"days":"not five days"}`, `{"days":5}`, outside, false},
		{dayCount, `{"days":"minus five days"}`, `{"days":5}`, outside, false},
		{dayCount, `{"days":"twenty-fifth"}`, `{"days":20}`, outside, false},
	} {
		p, err := Compile([]byte(closedTool(c.properties))).Propose([]byte(c.sent), []byte(c.proposed), ProposeOptions{})
		switch {
		case c.tier == outside:
			if err == nil && p.Tier <= Told {
				t.Errorf("%s: %s passed as the caller's, with tier %d", c.sent, c.proposed, p.Tier)
			}
		case err != nil || p.Tier != c.tier || c.tier == Told && p.Touched != c.touched:
			t.Errorf("%s: %s has tier %d, touched %v, %v", c.sent, c.proposed, p.Tier, p.Touched, err)
		}
	}
}

// A phrase that is not certain is offered as the caller's own number, not as an invented one.
func TestOfferReadsPhrases(t *testing.T) {
	offers(t, []struct{ name, properties, sent, want string }{
		{"another unit", dayCount, `{"days":"five weeks"}`, `{"days":5}`},
		{"words around it", dayCount, `{"days":"no more than five days"}`, `{"days":5}`},
		{"thousands", dayCount, `{"days":"10k"}`, `{"days":10000}`},
		{"a dozen", dayCount, `{"days":"a dozen"}`, `{"days":12}`},
		{"a range", dayCount, `{"days":"five to ten"}`, `{"days":1}`},
		{"a negative number", dayCount, `{"days":"minus five"}`, `{"days":1}`},
	})
	var report struct{ ValidExample json.RawMessage }
	m, _ := explain(t, `{"type":"object","properties":{"days":{"type":"integer","minimum":1,"maximum":14},"city":{"type":"string"}},"required":["days","city"]}`, `{"days":"five days"}`)
	if err := json.Unmarshal(m.Data, &report); err != nil || !strings.Contains(string(report.ValidExample), `"days":5`) {
		t.Errorf("%s, %v", report.ValidExample, err)
	}
}
