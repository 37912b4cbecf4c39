package repair_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	internal "github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/repair"
)

// A model sent a string for a number, and a different spelling of an option.
func ExampleArguments() {
	schema := json.RawMessage(`{"type":"object","required":["city","days"],"properties":{
		"city":{"type":"string"},"days":{"type":"integer"},"units":{"enum":["celsius","fahrenheit"]}}}`)
	result := repair.Arguments(schema, json.RawMessage(`{"city":"Oslo","days":"5","units":"Celsius"}`), repair.Options{})
	fmt.Println(result.Outcome, string(result.Arguments))
	for _, change := range result.Changes {
		fmt.Printf("%s: %s became %s\n", change.Path, change.Before, change.After)
	}
	// Output:
	// repaired {"city":"Oslo","days":5,"units":"celsius"}
	// days: "5" became 5
	// units: "Celsius" became "celsius"
}

// What cannot be repaired is refused, and Details says why in JSON.
func ExampleArguments_refused() {
	schema := json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}`)
	result := repair.Arguments(schema, json.RawMessage(`{"days":"some"}`), repair.Options{Tool: "get_weather"})
	var details struct {
		Issues []struct{ Field, Expected string }
	}
	if err := json.Unmarshal(result.Details, &details); err != nil {
		panic(err)
	}
	fmt.Println(result.Outcome, details.Issues[0].Field)
	// Output: refused days
}

// An agent that works in German words the refusal itself, from the details.
func ExampleArguments_explain() {
	schema := json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}`)
	inGerman := func(e repair.Explanation) string {
		var details struct {
			Issues       []struct{ Field string }
			ValidExample json.RawMessage
		}
		if json.Unmarshal(e.Details, &details) != nil || len(details.Issues) == 0 {
			return "" // the usual message
		}
		return fmt.Sprintf("%s lief nicht: %s ist falsch. Gültig wäre %s", e.Tool, details.Issues[0].Field, details.ValidExample)
	}
	result := repair.Arguments(schema, json.RawMessage(`{"days":"some"}`), repair.Options{Tool: "get_weather", Explain: inGerman})
	fmt.Println(result.Message)
	// Output: get_weather lief nicht: days ist falsch. Gültig wäre {"days":1}
}

func TestAnEmptyExplanationKeepsTheMessage(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}`)
	usual := repair.Arguments(schema, json.RawMessage(`{"days":"some"}`), repair.Options{Tool: "get_weather"})
	asked := 0
	kept := repair.Arguments(schema, json.RawMessage(`{"days":"some"}`), repair.Options{Tool: "get_weather", Explain: func(e repair.Explanation) string {
		if asked++; e.Tool != "get_weather" || e.Message != usual.Message || string(e.Details) != string(usual.Details) {
			t.Errorf("%+v", e)
		}
		return ""
	}})
	if asked != 1 || kept.Message != usual.Message || string(kept.Details) != string(usual.Details) {
		t.Errorf("asked %d times: %s", asked, kept.Message)
	}
}

func TestTiersAreThoseOfTheReceipts(t *testing.T) {
	if repair.TierSilent != repair.Tier(internal.Silent) || repair.TierTold != repair.Tier(internal.Told) {
		t.Error("the tiers have different numbers")
	}
	schema := json.RawMessage(`{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"}}}`)
	got := repair.Arguments(schema, json.RawMessage(`{"tags":"a","n":"1"}`), repair.Options{})
	tiers := map[string]repair.Tier{}
	for _, c := range got.Changes {
		tiers[c.Path] = c.Tier
		if c.String() == "" {
			t.Error("a change without a description")
		}
	}
	if tiers["tags"] != repair.TierTold || tiers["n"] != repair.TierSilent {
		t.Errorf("%+v", got.Changes)
	}
}

// Agents that repair arguments need neither the SDK nor the supervisor.
func TestThePackageLinksNeitherTheSDKNorTheSupervisor(t *testing.T) {
	windowstest.Skip(t)
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		for _, no := range []string{"modelcontextprotocol", "internal/wrap/proxy", "internal/wrap/upstream", "internal/workshop/doctor", "os/exec"} {
			if strings.Contains(path, no) {
				t.Errorf("it imports %s", path)
			}
		}
	}
}

const weatherSchema = `{"type":"object","required":["city","days"],"properties":{
	"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},"units":{"enum":["celsius","fahrenheit"]}}}`

func TestArgumentsHaveFourOutcomes(t *testing.T) {
	schema := json.RawMessage(weatherSchema)
	for _, c := range []struct {
		schema          json.RawMessage
		arguments       string
		outcome, result string
		options         repair.Options
	}{
		{schema, `{"days": 5, "city": "Oslo"}`, "valid", `{"days": 5, "city": "Oslo"}`, repair.Options{}},
		{schema, `{"days":"5","city":"Oslo"}`, "repaired", `{"days":5,"city":"Oslo"}`, repair.Options{}},
		{schema, `{'days': 5, 'city': 'Oslo'}`, "repaired", `{"days":5,"city":"Oslo"}`, repair.Options{}},
		{schema, `{"weather":{"days":5,"city":"Oslo"}}`, "repaired", `{"days":5,"city":"Oslo"}`, repair.Options{Tool: "weather"}},
		{schema, `{"days":[5],"city":"Oslo"}`, "repaired", `{"days":5,"city":"Oslo"}`, repair.Options{}},
		{schema, `{"days":[5],"city":"Oslo"}`, "refused", ``, repair.Options{SilentOnly: true}},
		{schema, `{"days":"2 + 3","city":"Oslo"}`, "refused", ``, repair.Options{}},
		{schema, ``, "refused", ``, repair.Options{}},
		{json.RawMessage(`{"type":"object"}`), ``, "valid", `{}`, repair.Options{}},
		{json.RawMessage(`{"$ref":"https://example.com/s"}`), `{"a":1}`, "unverified", `{"a":1}`, repair.Options{}},
	} {
		got := repair.Arguments(c.schema, json.RawMessage(c.arguments), c.options)
		if string(got.Outcome) != c.outcome || string(got.Arguments) != c.result {
			t.Errorf("%s: %s, %s", c.arguments, got.Outcome, got.Arguments)
		}
		if refused := c.outcome == "refused"; (got.Message != "") != refused || json.Valid(got.Details) != refused {
			t.Errorf("%s: message %q, details %q", c.arguments, got.Message, got.Details)
		}
		if (len(got.Changes) > 0) != (c.outcome == "repaired") || (got.Reason != "") != (c.outcome == "unverified") {
			t.Errorf("%s: changes %v, reason %q", c.arguments, got.Changes, got.Reason)
		}
	}
}
