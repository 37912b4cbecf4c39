package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// worth is the events of the last seven days that count: those of timeline.Sum, and the calls whose
// outcome is unknown. The sentence, the table and the chart of a page are made from the same ones, so
// they agree. Only what is counted of an event is kept.
type worth struct {
	healed, unknown []journal.Record
}

// read adds what was recorded since the last time, and drops what is older than a week.
func (w *worth) read(ctx context.Context, events func(context.Context, journal.Query) ([]journal.Record, error), now time.Time) error {
	since := now.Add(-timeline.Week)
	for _, part := range []struct {
		kept *[]journal.Record
		q    journal.Query
	}{
		{&w.healed, journal.Query{Healed: true, Since: since}},
		{&w.unknown, journal.Query{Kind: event.Unknown, Since: since}},
	} {
		if n := len(*part.kept); n > 0 {
			part.q.After = (*part.kept)[n-1].Seq
		}
		added, err := events(ctx, part.q)
		if err != nil {
			return err
		}
		// A new slice: pages still read the old one.
		all := slices.Clip(*part.kept)
		for _, r := range added {
			all = append(all, journal.Record{Seq: r.Seq, Time: r.Time, Kind: r.Kind, Server: r.Server, Gauze: r.Gauze, Call: r.Call})
		}
		old := 0
		for old < len(all) && all[old].Time.Before(since) {
			old++
		}
		*part.kept = all[old:]
	}
	return nil
}

// sentence says what would have failed in the last seven days.
func (w worth) sentence(running []live.Server) string {
	sums, partly := timeline.Sum(w.healed), live.Unsummed(running)
	if sums == (timeline.Sums{}) && !partly {
		return sums.Week(partly) + inCalls(running)
	}
	return sums.Week(partly)
}

// inCalls says how many calls the wraps passed on, such as " in 1,204 calls".
func inCalls(running []live.Server) string {
	var calls uint64
	for _, s := range running {
		if time.Since(s.Since) < timeline.Week {
			calls += s.Counts.Calls
		}
	}
	if calls == 0 {
		return ""
	}
	return " in " + count(thousands(calls), "call")
}

// thousands returns a number with commas.
func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// cost says what gauze could not save.
func (w worth) cost() string {
	if len(w.unknown) == 0 {
		return ""
	}
	return plaintext.Count(len(w.unknown), "call") + " ended with an unknown outcome: gauze does not repeat a call that may have taken effect."
}

// ofWrap returns the part of one wrap.
func (w worth) ofWrap(s live.Server) []journal.Record { return ofWrap(w.healed, s) }

// ofOthers returns the part of servers that are not running.
func (w worth) ofOthers(running []live.Server) (others []journal.Record) {
	for _, r := range w.healed {
		if !slices.ContainsFunc(running, func(s live.Server) bool { return s.PID == r.Gauze && s.Name == r.Server }) {
			others = append(others, r)
		}
	}
	return others
}

// names returns the servers of events, such as "notes, search and 3 more".
func names(records []journal.Record) string {
	const most = 3
	var all []string
	for _, r := range records {
		if r.Server != "" && !slices.Contains(all, r.Server) {
			all = append(all, plaintext.Cap(plaintext.Clean(r.Server), 40))
		}
	}
	slices.Sort(all)
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}
