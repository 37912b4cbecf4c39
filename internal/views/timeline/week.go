package timeline

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
)

// Week is the period that gauze status, gauze top and the dashboard sum up.
const Week = 7 * 24 * time.Hour

// weekAge is the time after which all events of a week are read again: the oldest are more than a
// week old by then.
const weekAge = 10 * time.Minute

// Weekly sums up the last seven days of a journal as it grows. The zero value is ready.
type Weekly struct {
	Keep func(journal.Record) bool // chooses the events that count. nil: all.

	sums Sums
	to   int       // the number of the last event that was read
	read time.Time // when all of them were read
}

// Sums returns the sums of the week before now. events reads the journal.
func (w *Weekly) Sums(ctx context.Context, events func(context.Context, journal.Query) ([]journal.Record, error), now time.Time) (Sums, error) {
	if now.Sub(w.read) > weekAge {
		w.sums, w.to, w.read = Sums{}, 0, now
	}
	added, err := events(ctx, journal.Query{After: w.to, Since: now.Add(-Week), Healed: true})
	if err != nil {
		return Sums{}, err
	}
	for _, r := range added {
		w.to = r.Seq
		if w.Keep == nil || w.Keep(r) {
			w.sums = w.sums.Plus(Sum([]journal.Record{r}))
		}
	}
	return w.sums, nil
}
