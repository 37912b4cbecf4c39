package timeline

import (
	"fmt"
	"strings"
)

// Worth says in one sentence, without a full stop, what gauze was good for in a period, such as "This
// week: 12 calls saved from failing, 3 crashes with no session lost, 62 calls repaired". A repaired call
// that would have failed is in both numbers.
func (s Sums) Worth(period string) string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(s.Saved, "call saved from failing", "calls saved from failing")
	add(s.Crashes, "crash with no session lost", "crashes with no session lost")
	add(s.Repaired, "call repaired", "calls repaired")
	add(s.Corrected, "call corrected by a model", "calls corrected by a model")
	add(s.Fixed, "server fixed", "servers fixed")
	add(s.Logins, "login renewed", "logins renewed")
	if len(parts) == 0 {
		return period + ": nothing needed healing"
	}
	return period + ": " + strings.Join(parts, ", ")
}
