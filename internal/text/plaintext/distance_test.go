package plaintext

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b            string
		distance, typos int
	}{
		{"", "", 0, 0},
		{"", "abc", 3, 3},
		{"kitten", "sitting", 3, 3},
		{"comand", "command", 1, 1},
		{"agrs", "args", 2, 1},
		{"ba", "abc", 2, 2},
		{"naïve", "naive", 1, 1},
		{"same", "same", 0, 0},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := Distance(pair[0], pair[1]); got != c.distance {
				t.Errorf("Distance of %q: %d, want %d", pair, got, c.distance)
			}
			if got := Typos(pair[0], pair[1]); got != c.typos {
				t.Errorf("Typos of %q: %d, want %d", pair, got, c.typos)
			}
		}
	}
}
