package timeline

import (
	"fmt"
	"strings"
)

// Worth says in one sentence, without a full stop, what gauze was good for in a period, such as "This
// week: 12 calls that would have failed, 3 crashes without a lost session, 62 calls repaired". gauze
// without arguments and the dashboard show it. A repaired call that would have failed is in both
// numbers.
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
	add(s.Saved, "call that would have failed", "calls that would have failed")
	add(s.Crashes, "crash without a lost session", "crashes without a lost session")
	add(s.Repaired, "call repaired", "calls repaired")
	add(s.Corrected, "call corrected by a model", "calls corrected by a model")
	add(s.Fixed, "server fixed", "servers fixed")
	add(s.Logins, "login renewed", "logins renewed")
	if len(parts) == 0 {
		return period + ": nothing had to be healed"
	}
	return period + ": " + strings.Join(parts, ", ")
}
