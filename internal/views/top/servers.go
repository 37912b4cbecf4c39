package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// maxSamples is over how many reads calls per second are averaged.
const maxSamples = 6

// order is a way to sort the servers.
type order struct {
	title   string // that of the column
	compare func(m *model, a, b live.Server) int
}

var orders = []order{
	{"NAME", func(_ *model, a, b live.Server) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	}},
	{"STATE", func(_ *model, a, b live.Server) int { return cmp.Compare(severity(b.State), severity(a.State)) }},
	{"UP", func(_ *model, a, b live.Server) int { return a.Up.Compare(b.Up) }},
	{"CALLS", func(_ *model, a, b live.Server) int { return cmp.Compare(b.Counts.Calls, a.Counts.Calls) }},
	{"CALLS/S", func(m *model, a, b live.Server) int { return cmp.Compare(m.rate(b), m.rate(a)) }},
	{"P95", func(_ *model, a, b live.Server) int { return cmp.Compare(b.Counts.P95, a.Counts.P95) }},
	{"SAVED", func(_ *model, a, b live.Server) int { return cmp.Compare(b.Counts.Saved, a.Counts.Saved) }},
	{"REPAIRED", func(_ *model, a, b live.Server) int { return cmp.Compare(b.Counts.Repaired, a.Counts.Repaired) }},
	{"HEALED", func(_ *model, a, b live.Server) int { return cmp.Compare(b.Counts.Healed, a.Counts.Healed) }},
	{"RESTARTS", func(_ *model, a, b live.Server) int { return cmp.Compare(b.Restarts, a.Restarts) }},
}

// severity orders states, the worst last.
func severity(state string) int {
	return slices.Index([]string{"healthy", live.StateAsleep, "starting", "degraded", "unresponsive", live.StateSilent, "dead"}, state)
}

func stateStyle(state string) terminal.Style {
	switch severity(strings.TrimSpace(state)) {
	case 0:
		return terminal.Green
	case 1:
		return terminal.Faint
	case 2, 3:
		return terminal.Yellow
	}
	return terminal.Red
}

// shownServers returns the servers that are shown, sorted.
func (m *model) shownServers() []live.Server {
	all := slices.DeleteFunc(slices.Clone(m.current().servers), func(s live.Server) bool {
		return !m.matches(onServers, s.Name, s.Client, s.State, s.LastReason)
	})
	sorting.Stable(all, func(a, b live.Server) int {
		by := orders[m.sorted].compare(m, a, b)
		if m.reversed {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// rate returns the calls per second of a server in the last reads.
func (m *model) rate(s live.Server) float64 {
	for _, old := range m.samples {
		for _, o := range old.servers {
			if over := m.current().at.Sub(old.at).Seconds(); o.ID == s.ID && over > 0 && s.Counts.Calls >= o.Counts.Calls {
				return float64(s.Counts.Calls-o.Counts.Calls) / over
			}
		}
	}
	return 0
}

// viewServers returns the lines of the table of servers.
func (m *model) viewServers(height int) []string {
	shown := m.shownServers()
	if len(shown) == 0 {
		return m.noServers()
	}
	t := table{columns: []column{
		{title: "NAME", least: 12}, {title: "STATE"}, {title: "UP", right: true, rank: 4},
		{title: "CALLS", right: true, rank: 1}, {title: "CALLS/S", right: true, rank: 6}, {title: "P95", right: true, rank: 5},
		{title: "SAVED", right: true, rank: 7}, {title: "REPAIRED", right: true, rank: 8}, {title: "HEALED", right: true, rank: 2}, {title: "RESTARTS", right: true, rank: 3},
		{title: "LAST RESTART", rank: 9, least: 12}, {title: "CLIENT", rank: 10, least: 8}, {title: "TOOLS", right: true, rank: 11},
	}}
	for i := range t.columns {
		if t.columns[i].title == orders[m.sorted].title {
			t.columns[i].title += map[bool]string{false: "↓", true: "↑"}[m.reversed]
		}
	}
	now := m.current().at
	for _, s := range shown {
		row := []string{clean(s.Name), clean(s.State), uptime(s, now), fmt.Sprint(s.Counts.Calls), perSecond(m.rate(s)), milliseconds(s.Counts.P95),
			fmt.Sprint(s.Counts.Saved), fmt.Sprint(s.Counts.Repaired), fmt.Sprint(s.Counts.Healed), fmt.Sprint(s.Restarts), lastRestart(s, now), client(s), fmt.Sprint(s.Counts.ToolCount)}
		if s.State == live.StateSilent {
			for i := 2; i < len(row); i++ {
				row[i] = "-"
			}
		}
		t.rows = append(t.rows, row)
	}
	return m.viewTable(t, m.serverAt(shown), height, func(column int, cell string) string {
		if column == 1 {
			return in(stateStyle(cell), cell)
		}
		return cell
	})
}

// noServers says why no server is shown and what to do.
func (m *model) noServers() []string {
	switch {
	case !m.loaded:
		return []string{"", "  Querying the wrapped servers ..."}
	case len(m.current().servers) > 0:
		return []string{"", fmt.Sprintf("  No server matches %q. Press esc to show all.", m.filters[onServers])}
	}
	return []string{"", "  No wrapped server is running.", "  To wrap your clients' servers:", "", "      gauze wrap --all", "",
		"  To see what gauze does, without", "  changing anything:", "", "      gauze demo"}
}

func uptime(s live.Server, now time.Time) string {
	switch {
	case s.State == live.StateAsleep:
		return "at next call"
	case s.Up.IsZero():
		return "-"
	}
	return timeline.Age(now.Sub(s.Up))
}

// client names the client, or says how many there are.
func client(s live.Server) string {
	if s.Client == "" && s.Sessions > 1 {
		return plaintext.Count(s.Sessions, "session")
	}
	return clean(s.Client)
}

func perSecond(rate float64) string {
	if rate >= 100 || rate == 0 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.1f", rate)
}

func milliseconds(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return timeline.Duration(time.Duration(ms * float64(time.Millisecond)))
}

func lastRestart(s live.Server, now time.Time) string {
	if s.LastReason == "" {
		return ""
	}
	if s.LastDeath.IsZero() {
		return clean(s.LastReason)
	}
	return clean(s.LastReason) + ", " + timeline.Age(now.Sub(s.LastDeath)) + " ago"
}
