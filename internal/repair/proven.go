package repair

import "slices"

// Proven reports whether the server would have rejected the call as it came: the server was seen to
// enforce something that was repaired. A number or a boolean in a string proves nothing, nor does
// JSON in a string: many servers that enforce everything else convert them.
func (d *Decision) Proven() bool {
	if d.gate == nil {
		return false
	}
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	if d.Receipt.Called != "" && d.gate.rejected[d.Receipt.Called] {
		return true
	}
	enforced := d.gate.enforced[toolSchema{d.Tool, d.schema}]
	return slices.ContainsFunc(d.Receipt.Changes, func(c Change) bool {
		switch c.Rule {
		case RuleNumberText, RuleBooleanText, RuleJSONText, RuleModel, RuleOwn:
			return false
		}
		return enforced&c.aspect() == c.aspect()
	})
}

// reasons says why each rule applies.
var reasons = map[string]string{
	RuleReadText:        "the arguments were not valid JSON",
	RuleNoArguments:     "the tool requires an object",
	RuleEncodedTwice:    "the arguments were a string that contains JSON",
	RuleWrapped:         "the arguments were inside another object",
	RuleNumberText:      "the schema requires a number",
	RuleBooleanText:     "the schema requires a boolean",
	RuleJSONText:        "the schema requires an object or an array, not a string",
	RulePythonText:      "the value is a Python literal, not JSON",
	RuleNumberToText:    "the schema requires a string",
	RuleNull:            "the field is optional and must not be null",
	RuleEmpty:           "the field is optional and must not be empty",
	RuleNullWord:        "the word stands for null",
	RuleChoice:          "the schema has this choice in a different spelling",
	RuleKey:             "the schema has this key in a different spelling",
	RuleRenamed:         "the only unknown key is the only missing one",
	RuleToList:          "the schema requires an array",
	RuleOneElement:      "the schema requires a single value",
	RuleSplit:           "the schema requires an array",
	RuleTyped:           "the schema requires the value itself",
	RuleDefault:         "the field is required and the schema has a default",
	RuleRejectedDefault: "the schema rejects its own default",
}

// Reason says why the rule of a change applies.
func (c Change) Reason() string { return reasons[c.Rule] }
