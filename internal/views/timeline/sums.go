package timeline

import (
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
		return s.Worth("This week")
	case s == Sums{}:
		return "This week: nothing was recorded"
	}
	return s.Worth("This week") + "; not everything was recorded"
}

// Plus returns the sums of two periods together.
func (s Sums) Plus(other Sums) Sums {
	return Sums{s.Crashes + other.Crashes, s.Saved + other.Saved, s.Repaired + other.Repaired,
		s.Corrected + other.Corrected, s.Fixed + other.Fixed, s.Logins + other.Logins}
}
