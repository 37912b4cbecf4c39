package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// statusTable formats the wraps that run: a table if it fits, otherwise a paragraph for each.
type statusTable struct {
	now    time.Time
	color  terminal.Paint
	width  int  // that of the terminal; 0: no limit
	detail bool // always paragraphs, with more facts
}

const (
	maxStatusName   = 28 // characters
	maxStatusClient = 20
)

const nothingRuns = `No wrapped server is running. Clients start their servers, so start a client
whose servers are wrapped. To wrap them:

    gauze wrap --all

To see what gauze does, without changing anything:

    gauze demo
`

func (t statusTable) text(servers []live.Server) string {
	if len(servers) == 0 {
		return nothingRuns
	}
	if !t.detail {
		if text, widest := t.table(servers); t.width == 0 || widest <= t.width {
			return text + t.sleeping(servers) + t.failing(servers) + t.files(servers)
		}
	}
	var all []string
	for _, s := range servers {
		all = append(all, t.paragraph(s))
	}
	return strings.Join(all, "") + t.files(servers)
}

// files says which gauze up cannot use its file as it is now, and why.
func (t statusTable) files(servers []live.Server) (text string) {
	for _, s := range live.OfFiles(servers) {
		if s.File.Error != "" {
			text += fmt.Sprintf("\n%s has an error, so gauze up (pid %d) keeps using the previous version:\n%s\n", s.File.Path, s.PID, s.File.Error)
		}
	}
	return text
}

// table returns a line for each server, and the width of the widest.
func (t statusTable) table(servers []live.Server) (text string, widest int) {
	rows := [][]string{{"NAME", "CLIENT", "STATE", "UP", "TOOLS", "CALLS", "P95", "HEALED", "RESTARTS"}}
	for _, s := range servers {
		row := []string{short(s.Name, maxStatusName), cmp.Or(short(clientOf(s), maxStatusClient), "-"), s.State}
		if s.State == live.StateSilent {
			row = append(row, "-", "-", "-", "-", "-", "-")
		} else {
			row = append(row, t.up(s), fmt.Sprint(s.Counts.ToolCount), fmt.Sprint(s.Counts.Calls), p95(s), fmt.Sprint(s.Counts.Healed), restarts(s))
		}
		rows = append(rows, row)
	}
	return terminal.Table(rows, func(row, column int, cell string) string {
		switch {
		case row == 0:
			return t.color.Faint(cell)
		case column == 2:
			return t.state(cell)
		}
		return cell
	})
}

// lineWidth is the width of lines of prose.
func (t statusTable) lineWidth() int {
	if t.width == 0 {
		return plaintext.Width
	}
	return max(20, min(plaintext.Width, t.width))
}

// paragraph describes a server in lines that fit.
func (t statusTable) paragraph(s live.Server) string {
	width := t.lineWidth()
	parts := []string{t.upText(s)}
	if s.State != live.StateSilent {
		parts = append(parts, facts(s))
	}
	parts = append(parts, t.failures(s)...)
	if t.detail {
		parts = append(parts, fmt.Sprintf("gauze %s, pid %d", cmp.Or(s.Via, "run"), s.PID))
		if s.ServerPID > 0 {
			parts = append(parts, fmt.Sprintf("server pid %d", s.ServerPID))
		}
		if !s.LastDeath.IsZero() {
			parts = append(parts, "last stopped "+timeline.Age(t.now.Sub(s.LastDeath))+" ago")
		}
		if s.Counts.Unrecorded > 0 {
			parts = append(parts, plaintext.Count(s.Counts.Unrecorded, "event")+" not recorded")
		}
		if s.Counts.NotRecorded {
			parts = append(parts, "not recorded")
		}
	}
	name := short(label(s), max(8, width-len(s.State)-2))
	return name + ": " + t.state(s.State) + "\n" + terminal.FoldList(strings.Join(parts, ", "), "  ", width) + "\n"
}

// failing returns a line for each server of the table that fails.
func (t statusTable) failing(servers []live.Server) string {
	var b strings.Builder
	for _, s := range servers {
		if parts := t.failures(s); len(parts) > 0 {
			b.WriteString(terminal.FoldList(short(s.Name, maxStatusName)+": "+strings.Join(parts, ", "), "", t.lineWidth()) + "\n")
		}
	}
	return b.String()
}

// startsAgain says what starts a server that is asleep.
const startsAgain = "not running; the next call starts it"

// sleeping explains the state of servers of the table that are asleep.
func (t statusTable) sleeping(servers []live.Server) string {
	if !slices.ContainsFunc(servers, func(s live.Server) bool { return s.State == live.StateAsleep }) {
		return ""
	}
	return terminal.FoldList(live.StateAsleep+": "+startsAgain, "", t.lineWidth()) + "\n"
}

// failures returns what is known about a server that failed since its last response.
func (t statusTable) failures(s live.Server) (parts []string) {
	if s.ConsecutiveFailures == 0 {
		return nil
	}
	ago := func(at time.Time) string { return timeline.Age(max(0, t.now.Sub(at))) + " ago" }
	parts = []string{plaintext.Count(s.ConsecutiveFailures, "failure") + " in a row", "the last one " + ago(s.LastFailure)}
	if s.LastCause != "" {
		parts = append(parts, short(s.LastCause, t.lineWidth()-4))
	}
	switch {
	case s.NextTry.After(t.now):
		parts = append(parts, "next attempt in "+timeline.Age(s.NextTry.Sub(t.now)))
	case !s.NextTry.IsZero():
		parts = append(parts, "an attempt is in progress")
	}
	if !s.LastSuccess.IsZero() {
		parts = append(parts, "last answered "+ago(s.LastSuccess))
	}
	return parts
}

// state returns a state in its color. Its word says the same.
func (t statusTable) state(state string) string {
	switch state {
	case health.Healthy.String():
		return t.color.Green(state)
	case health.Dead.String(), health.Unresponsive.String(), live.StateSilent:
		return t.color.Red(state)
	case health.Degraded.String():
		return t.color.Yellow(state)
	case live.StateAsleep:
		return t.color.Faint(state)
	}
	return state
}

// up returns how long the server has been connected.
func (t statusTable) up(s live.Server) string {
	if s.Up.IsZero() {
		return "-"
	}
	return timeline.Age(t.now.Sub(s.Up))
}

func (t statusTable) upText(s live.Server) string {
	switch {
	case s.State == live.StateAsleep:
		return startsAgain
	case s.Up.IsZero():
		return "wrapped for " + timeline.Age(t.now.Sub(s.Since))
	}
	return "up " + t.up(s)
}

// facts returns the numbers of a server that are not zero, and always those of tools and calls.
func facts(s live.Server) string {
	parts := []string{plaintext.Count(s.Counts.ToolCount, "tool"), plaintext.Count(int(s.Counts.Calls), "call")}
	add := func(n uint64, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	if s.Counts.P95 > 0 {
		parts = append(parts, "p95 "+p95(s))
	}
	add(s.Counts.Failed, "failed")
	add(s.Counts.Healed, "healed")
	add(s.Counts.Repaired, "repaired")
	add(s.Counts.Corrected, "corrected")
	add(s.Counts.Saved, "saved")
	if s.Restarts > 0 {
		parts = append(parts, plaintext.Count(int(s.Restarts), "restart")+reason(s))
	} else if why := reason(s); why != "" {
		parts = append(parts, "last end"+why)
	}
	return strings.Join(parts, ", ")
}

// restarts returns the number of restarts and why the server last ended.
func restarts(s live.Server) string {
	if s.Restarts == 0 && s.LastReason != "" {
		return short(s.LastReason, maxStatusClient) // "0 (did not start)" would contradict itself
	}
	return fmt.Sprint(s.Restarts) + reason(s)
}

func reason(s live.Server) string {
	if s.LastReason == "" {
		return ""
	}
	return " (" + short(s.LastReason, maxStatusClient) + ")"
}

func p95(s live.Server) string {
	if s.Counts.P95 <= 0 {
		return "-"
	}
	return timeline.Duration(time.Duration(s.Counts.P95 * float64(time.Millisecond)))
}

// label names a server and its client.
func label(s live.Server) string {
	client := clientOf(s)
	if client == "" {
		return plaintext.Clean(s.Name)
	}
	return plaintext.Clean(s.Name) + " (" + client + ")"
}

// clientOf names the client, or says how many there are.
func clientOf(s live.Server) string {
	if s.Client == "" && s.Sessions > 1 {
		return plaintext.Count(s.Sessions, "session")
	}
	return plaintext.Clean(s.Client)
}

// short returns at most a number of characters of a text, on one line.
func short(text string, limit int) string { return terminal.Short(plaintext.Clean(text), limit) }
