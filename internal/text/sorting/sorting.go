// Package sorting sorts lists of structs. slices.SortFunc and slices.SortStableFunc are compiled again
// for each type of struct, 20 KB each time. For strings, numbers and pointers they are as small.
package sorting

import "sort"

// Stable sorts a list. Elements that compare as equal keep their order.
func Stable[E any](list []E, compare func(a, b E) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
