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
