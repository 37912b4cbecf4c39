package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// viewCalls returns the lines of the table of calls.
func (m *model) viewCalls(height int) []string {
	shown := m.shownEntries()
	if len(shown) == 0 {
		return m.noCalls()
	}
	t := table{columns: []column{
		{title: "TIME"}, {title: "SERVER", rank: 2, least: 10, hidden: !m.all}, {title: "TOOL", least: 8}, {title: "OUTCOME", rank: 1, least: 7},
		{title: "TOOK", right: true, rank: 4}, {title: "HEALED", least: 9}, {title: "WHAT GAUZE DID", rank: 6, least: 20}, {title: "CLIENT", rank: 8, least: 8},
	}}
	for _, e := range shown {
		tool := clean(e.tool())
		if tool == "" {
			tool = "(server)"
		}
		took, _ := e.took()
		t.rows = append(t.rows, []string{clock(e.time(), m.current().at), clean(e.server), tool, clean(e.outcome()), duration(took), clean(e.healed()), clean(e.did()), clean(e.client())})
	}
	return m.viewTable(t, m.callAt(shown), height, func(column int, cell string) string {
		switch {
		case column == 5:
			return in(terminal.Green, cell)
		case column == 3 && strings.TrimSpace(cell) != "ok":
			return in(terminal.Yellow, cell)
		}
		return cell
	})
}

func (m *model) noCalls() []string {
	switch {
	case m.looking && m.details == nil:
		return []string{"", "  Loading the calls ..."}
	case m.filters[onCalls] != "":
		return []string{"", fmt.Sprintf("  No call matches %q. Press esc to show all.", m.filters[onCalls])}
	}
	return []string{"", "  No calls yet. They appear here as soon as the client calls a tool."}
}

// lines returns everything about one call.
func (e entry) lines(width int) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, short(fmt.Sprintf(format, args...), width)) }
	section := func(title, text string) {
		if text != "" {
			add("")
			add("%s", in(terminal.Bold, title))
			lines = append(lines, cleanLines(text, "  ", width)...)
		}
	}
	field := func(name, value string) {
		if value = clean(value); value != "" {
			lines = append(lines, hanging(fmt.Sprintf("%-9s ", name), value, width)...)
		}
	}
	with, without := e.took()
	field("Server", e.server)
	field("Client", e.client())
	field("Time", e.time().Local().Format("2 Jan 2006 15:04:05"))
	field("Outcome", e.outcome())
	field("Took", duration(with))
	if without > 0 {
		field("Without", "would have failed after "+timeline.Duration(without))
	}
	field("Healed", e.healed())
	if e.item != nil {
		section("What was wrong", sentence(e.item.Problem))
		section("What gauze did", sentence(e.item.Action))
		if c := e.item.Cause; c != nil {
			section("Cause: "+clean(c.Code), strings.TrimSpace(c.Explanation+" "+c.Remedy))
		}
		if q := e.item.Model; q != nil {
			section("What the model answered", strings.TrimSpace(q.Model+"\n"+q.Reason))
		}
	}
	lines = append(lines, diff(e.changes(), width)...)
	section("What the caller's model was shown", e.told())
	if e.item == nil && len(e.changes()) == 0 && e.told() == "" {
		add("")
		add("Gauze passed the call and its result on unchanged.")
	}
	return lines
}

// diff shows what gauze changed in the arguments.
func diff(changes []event.Change, width int) (lines []string) {
	if len(changes) == 0 {
		return nil
	}
	lines = append(lines, "", in(terminal.Bold, "What changed in the arguments"))
	values := false
	for _, c := range changes {
		lines = append(lines, cleanLines(c.Path+": "+c.Rule, "  ", width)...)
		if c.Reason != "" {
			lines = append(lines, cleanLines(sentence(c.Reason), "    ", width)...)
		}
		for _, side := range []struct {
			sign, value string
			style       terminal.Style
		}{{"- ", c.Before, terminal.Red}, {"+ ", c.After, terminal.Green}} {
			if side.value == "" {
				continue
			}
			values = true
			for _, line := range hanging("    "+side.sign, clean(side.value), width) {
				lines = append(lines, in(side.style, line))
			}
		}
	}
	if !values {
		lines = append(lines, cleanLines("The values are not recorded.", "  ", width)...)
	}
	return lines
}

// hanging returns a text after a label, its further lines indented by the width of the label.
func hanging(label, text string, width int) (lines []string) {
	indent := strings.Repeat(" ", ansi.StringWidth(label))
	for i, line := range cleanLines(text, indent, width) {
		if i == 0 {
			line = label + strings.TrimPrefix(line, indent)
		}
		lines = append(lines, line)
	}
	return lines
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(plaintext.UpperFirst(text), ".") + "."
}

func duration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	}
	return timeline.Duration(d)
}

// clock returns a time of day, or the date of a time more than a day ago.
func clock(t, now time.Time) string {
	if now.Sub(t) > 20*time.Hour {
		return t.Local().Format("02 Jan")
	}
	return t.Local().Format("15:04:05")
}
