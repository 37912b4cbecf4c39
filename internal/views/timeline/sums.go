package timeline

import (
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
)

// Sums is what was healed in a period. The counters of running wraps have the same meaning.
type Sums struct {
	Crashes   int // exits, hangs and lost connections after which the session was restored
	Saved     int // calls that would have failed without gauze, and succeeded
	Repaired  int // calls that gauze repaired by rules. Those that would have failed are also Saved.
	Corrected int // calls that a model corrected, and that were sent
	Fixed     int // servers that did not start, and do with a fix
	Logins    int // logins that were renewed
}

// Sum adds up events.
func Sum(records []journal.Record) (s Sums) {
	for _, r := range records {
		switch r.Kind {
		case event.Restored:
			s.Crashes++
		case event.Saved:
			s.Saved++
		case event.Repaired:
			s.Repaired++
		case event.Corrected:
			s.Corrected++
		case event.Healed:
			s.Fixed++
		case event.LoginRenewed:
			s.Logins++
		}
	}
	return s
}

// Week returns the sums of the last seven days in one line. partly: not everything was recorded.
func (s Sums) Week(partly bool) string {
	switch {
	case !partly:
		return s.Sentence("this week")
	case s == Sums{}:
		return "this week: nothing was recorded"
	}
	return s.Sentence("this week") + "; not everything was recorded"
}

// Plus returns the sums of two periods together.
func (s Sums) Plus(other Sums) Sums {
	return Sums{s.Crashes + other.Crashes, s.Saved + other.Saved, s.Repaired + other.Repaired,
		s.Corrected + other.Corrected, s.Fixed + other.Fixed, s.Logins + other.Logins}
}

// Sentence returns the sums of a period in one line, such as "this week: 14 crashes healed, 31 calls
// repaired".
func (s Sums) Sentence(period string) string {
	var parts []string
	add := func(n int, one, many, what string) {
		if n > 0 {
			noun := many
			if n == 1 {
				noun = one
			}
			parts = append(parts, fmt.Sprintf("%d %s %s", n, noun, what))
		}
	}
	add(s.Crashes, "crash", "crashes", "healed")
	add(s.Repaired, "call", "calls", "repaired")
	add(s.Corrected, "call", "calls", "corrected by a model")
	add(s.Saved, "call", "calls", "saved")
	add(s.Fixed, "server", "servers", "fixed")
	add(s.Logins, "login", "logins", "renewed")
	if len(parts) == 0 {
		return period + ": nothing had to be healed"
	}
	return period + ": " + strings.Join(parts, ", ")
}
