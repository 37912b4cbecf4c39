package markup

import (
	"fmt"
	"reflect"
)

// shortCircuits are the functions that do not always evaluate their arguments.
var shortCircuits = Table{"and": true, "or": true}

// builtins are the functions that every template may call.
var builtins = Table{
	"not":    func(v any) bool { return !truth(reflect.ValueOf(v)) },
	"eq":     equal,
	"ne":     func(a, b any) bool { return !equal(a, b) },
	"gt":     func(a, b int) bool { return a > b },
	"le":     func(a, b int) bool { return a <= b },
	"len":    func(v any) int { return reflect.ValueOf(v).Len() },
	"printf": fmt.Sprintf,
}

// equal reports whether two values are equal. Strings of different types can be equal.
func equal(a, b any) bool {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Kind() == reflect.String && w.Kind() == reflect.String {
		return v.String() == w.String()
	}
	return a == b
}
