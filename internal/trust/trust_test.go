package trust

import "testing"

// Only what the user wrote, what follows from it and what is installed here is
// applied without asking; nothing is written without asking.
func TestTable(t *testing.T) {
	for from := Entry; from <= Agent; from++ {
		for use := Start; use <= Show; use++ {
			want := Asks
			switch {
			case use == Show:
				want = Allowed
			case from == Output:
				want = Never
			case use == Write:
			case from <= Machine:
				want = Allowed
			}
			if got := Of(from, use); got != want {
				t.Errorf("Of(%v, %v) = %v, want %v", from, use, got, want)
			}
		}
	}
}

func TestUnknownSourceOrUseIsNever(t *testing.T) {
	for _, got := range []Verdict{Of(-1, Start), Of(Agent+1, Show), Of(Entry, -1), Of(Entry, Show+1)} {
		if got != Never {
			t.Errorf("got %v, want never", got)
		}
	}
}
