package gauze_test

import (
	"encoding/json"
	"testing"

	"github.com/gauze-mcp/gauze"
)

func TestRepairArgumentsHasFourOutcomes(t *testing.T) {
	schema := json.RawMessage(weatherSchema)
	for _, c := range []struct {
		schema          json.RawMessage
		arguments       string
		outcome, result string
		opts            []gauze.RepairOption
	}{
		{schema, `{"days": 5, "city": "Oslo"}`, "valid", `{"days": 5, "city": "Oslo"}`, nil},
		{schema, `{"days":"5","city":"Oslo"}`, "repaired", `{"days":5,"city":"Oslo"}`, nil},
		{schema, `{'days': 5, 'city': 'Oslo'}`, "repaired", `{"days":5,"city":"Oslo"}`, nil},
		{schema, `{"weather":{"days":5,"city":"Oslo"}}`, "repaired", `{"days":5,"city":"Oslo"}`, []gauze.RepairOption{gauze.ForTool("weather")}},
		{schema, `{"days":[5],"city":"Oslo"}`, "repaired", `{"days":5,"city":"Oslo"}`, nil},
		{schema, `{"days":[5],"city":"Oslo"}`, "refused", ``, []gauze.RepairOption{gauze.SilentOnly()}},
		{schema, `{"days":"2 + 3","city":"Oslo"}`, "refused", ``, nil},
		{schema, ``, "refused", ``, nil},
		{json.RawMessage(`{"type":"object"}`), ``, "valid", `{}`, nil},
		{json.RawMessage(`{"$ref":"https://example.com/s"}`), `{"a":1}`, "unverified", `{"a":1}`, nil},
	} {
		got := gauze.RepairArguments(c.schema, json.RawMessage(c.arguments), c.opts...)
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
