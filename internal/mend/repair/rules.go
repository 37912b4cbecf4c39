package repair

// The rules, as they are named in receipts.
const (
	RuleReadText     = "read as JSON"
	RuleNoArguments  = "missing arguments replaced with {}"
	RuleEncodedTwice = "decoded from a JSON string"
	RuleWrapped      = "unwrapped"
	RuleNumberText   = "string to number"
	RulePhrase       = "phrase to number"
	RuleBooleanText  = "string to boolean"
	RuleJSONText     = "JSON string to the value it contains"
	RulePythonText   = "Python literal to JSON"
	RuleNumberToText = "number to string"
	RuleNull         = "null for an optional field"
	RuleEmpty        = "empty optional field"
	RuleNullWord     = "string that means null"
	RuleChoice       = "option spelling"
	RuleKey          = "key spelling"
	RuleRenamed      = "renamed key"
	RuleToList       = "single value to an array"
	RuleOneElement   = "one-element array to its element"
	RuleSplit        = "comma-separated string to an array"
	RuleTyped        = "value unwrapped from {type, value}"
	RuleDefault      = "default for a required field"

	RuleRejectedDefault = "default that the schema rejects"
	RuleModel           = "corrected by a model"
	RuleOwn             = "proposed by a model, not in the call"
)

// reasons says why each rule applies.
var reasons = map[string]string{
	RuleReadText:        "the arguments were not valid JSON",
	RuleNoArguments:     "the tool requires an object",
	RuleEncodedTwice:    "the arguments were JSON inside a string",
	RuleWrapped:         "the arguments were inside another object",
	RuleNumberText:      "the schema requires a number",
	RuleBooleanText:     "the schema requires a boolean",
	RuleJSONText:        "the schema requires an object or an array, not a string",
	RulePythonText:      "the value is a Python literal, not JSON",
	RuleNumberToText:    "the schema requires a string",
	RuleNull:            "the field is optional and must not be null",
	RuleEmpty:           "the field is optional and must not be empty",
	RuleNullWord:        "the string means null",
	RuleChoice:          "the schema spells this option differently",
	RuleKey:             "the schema spells this key differently",
	RuleRenamed:         "one key was unknown and one was missing, so the unknown one was renamed",
	RuleToList:          "the schema requires an array",
	RuleOneElement:      "the schema requires a single value",
	RuleSplit:           "the schema requires an array",
	RuleTyped:           "the schema requires only the value",
	RuleDefault:         "the field is required and the schema has a default",
	RuleRejectedDefault: "the schema rejects its own default",
}

// Reason says why the rule of a change applies.
func (c Change) Reason() string { return reasons[c.Rule] }
