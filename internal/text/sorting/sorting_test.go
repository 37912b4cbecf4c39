package sorting

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStable(t *testing.T) {
	type pair struct{ key, at int }
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{random.IntN(10), i}
		}
		compare := func(a, b pair) int { return a.key - b.key }
		want := slices.Clone(list)
		slices.SortStableFunc(want, compare)
		if Stable(list, compare); !slices.Equal(list, want) {
			t.Fatalf("%v, expected %v", list, want)
		}
	}
}
