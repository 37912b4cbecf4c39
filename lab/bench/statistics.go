package main

import (
	"cmp"
	"slices"
)

// quantile returns the value below which the share q of the values is. It sorts the values in
// place.
func quantile[T cmp.Ordered](values []T, q float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }
