package repair

import (
	"encoding/json"
	"maps"
	"strconv"
)

// keepsValues is the last check: no scalar may be lost or invented between the sent and the
// repaired value, except null, empty strings and words for null, what the schema granted, and what
// a rule released.
func keepsValues(sent, sending any, granted, released []any) bool {
	before, after := map[string]int{}, map[string]int{}
	scalars(sent, before)
	scalars(sending, after)
	for _, value := range granted {
		scalars(value, before)
	}
	for _, value := range released {
		scalars(value, after)
	}
	return maps.Equal(before, after)
}

// scalars counts the scalars of a value, each in one spelling. A string that contains an array or
// an object counts as that.
func scalars(value any, into map[string]int) {
	switch v := value.(type) {
	case map[string]any:
		if inner, ok := typedValue(v); ok && len(v) == 2 {
			scalars(inner, into)
			return
		}
		for _, item := range v {
			scalars(item, into)
		}
	case []any:
		for _, item := range v {
			scalars(item, into)
		}
	case bool:
		into[strconv.FormatBool(v)]++
	case json.Number:
		into[canonicalNumber(v)]++
	case string:
		if doc, ok := opened(v); ok {
			scalars(doc.value, into)
			return
		}
		if n, ok := number(v); ok {
			into[canonicalNumber(n)]++
			return
		}
		if !saysNothing(v) {
			into[fold(v)]++
		}
	}
}

func canonicalNumber(n json.Number) string {
	if f, err := n.Float64(); err == nil && f < 1<<53 && f > -(1<<53) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return n.String()
}
