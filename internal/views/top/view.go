package top

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// frameHeight is the number of lines around a screen: the header, the message and the keys.
const frameHeight = 3

func (m *model) bodyHeight() int { return max(1, m.height-frameHeight) }

// uncolor leaves out colors, but not other styles.
var uncolor = strings.NewReplacer("\x1b["+string(terminal.Red)+"m", "", "\x1b["+string(terminal.Green)+"m", "", "\x1b["+string(terminal.Yellow)+"m", "")

// Lines returns exactly as many lines as the terminal has, none of them too long.
func (m *model) Lines() []string {
	lines := append([]string{m.header()}, m.body()...)
	for len(lines) < m.height-2 {
		lines = append(lines, "")
	}
	lines = append(lines, m.messageLine(), m.footer())
	lines = lines[max(0, len(lines)-m.height):]
	for i := range lines {
		lines[i] = short(lines[i], m.width)
		if m.plain {
			lines[i] = uncolor.Replace(lines[i])
		}
	}
	return lines
}

func (m *model) body() []string {
	height := m.bodyHeight()
	switch m.screen {
	case onServers:
		return atMost(m.viewServers(height), height)
	case onCalls:
		return atMost(m.viewCalls(height), height)
	}
	text := m.text()
	first := m.scrolled(m.scroll)
	if m.screen == onLog {
		first = max(0, len(text)-height) - first
	}
	return atMost(text[first:], height)
}

func atMost(lines []string, n int) []string { return lines[:min(n, len(lines))] }

// viewTable returns the head of a table and the rows around the selected one.
func (m *model) viewTable(t table, at, height int, style func(column int, cell string) string) []string {
	widths := t.widths(m.width)
	lines := []string{in(terminal.Bold, strings.Repeat(" ", gap)+t.head(widths))}
	first, end := window(at, len(t.rows), height-1)
	for i := first; i < end; i++ {
		if i == at {
			lines = append(lines, in(terminal.Reverse, fit(marker+t.line(widths, t.rows[i], nil), m.width, false)))
			continue
		}
		lines = append(lines, strings.Repeat(" ", gap)+t.line(widths, t.rows[i], style))
	}
	return lines
}

// title says what the screen shows.
func (m *model) title() string {
	server := clean(m.focus.Name)
	switch m.screen {
	case onCalls:
		if m.all {
			server = "all servers"
		}
		return "calls of " + server
	case onCall:
		if m.opened.tool() == "" {
			return "what happened to " + clean(m.opened.server)
		}
		return "call of " + clean(m.opened.tool())
	case onLog:
		return "log of " + server
	case onPage:
		return m.page.title
	}
	return "servers"
}

// header says what is shown, and sums it up as far as the line is long enough.
func (m *model) header() string {
	left := "gauze top: " + m.title()
	now := m.current()
	var healthy, asleep int
	var calls, saved, repaired uint64
	for _, s := range now.servers {
		calls += s.Counts.Calls
		saved += s.Counts.Saved
		repaired += s.Counts.Repaired
		switch s.State {
		case "healthy":
			healthy++
		case live.StateAsleep:
			asleep++
		}
	}
	states := fmt.Sprintf("%d of %d healthy", healthy, len(now.servers))
	if asleep > 0 {
		states += fmt.Sprintf(", %d asleep", asleep)
	}
	parts := []string{now.at.Local().Format("15:04:05"), states,
		plaintext.Count(int(calls), "call"), fmt.Sprintf("%d saved", saved), fmt.Sprintf("%d repaired", repaired)}
	if !m.loaded {
		parts = nil
	}
	right := ""
	for _, part := range parts {
		longer := part
		if right != "" {
			longer = part + "  " + right
		}
		if ansi.StringWidth(left)+3+ansi.StringWidth(longer) > m.width {
			break
		}
		right = longer
	}
	return in(terminal.Bold, fit(left, m.width-ansi.StringWidth(right)-1, false)) + " " + right
}

// messageLine is the question, the filter, the result of the last action, or under the servers the
// sums of the week.
func (m *model) messageLine() string {
	switch filter := m.filters[m.screen]; {
	case m.asking != nil:
		return in(terminal.Bold, short("Restart "+clean(m.asking.Name), m.width-7)+"? y/n")
	case m.typing:
		return "/" + filter + in(terminal.Reverse, " ")
	case m.message != "":
		return clean(m.message)
	case m.failure != "":
		return in(terminal.Red, clean("Cannot list the servers: "+m.failure))
	case filter != "":
		return in(terminal.Faint, "filter: "+filter+" (esc shows all)")
	case m.screen == onServers && m.brokenFile() != "":
		return in(terminal.Red, m.brokenFile())
	case m.screen == onServers:
		return m.week
	}
	return ""
}

// brokenFile says that a gauze up cannot use its file as it is now; empty: every one can.
func (m *model) brokenFile() string {
	for _, s := range live.OfFiles(m.current().servers) {
		if s.File.Error != "" {
			return "gauze up uses the previous version of its file: " + clean(s.File.Error)
		}
	}
	return ""
}

// footer lists the keys of the screen, as far as the line is long enough.
func (m *model) footer() string {
	switch {
	case m.asking != nil:
		return keyHint("y", "restart") + "  " + keyHint("n", "cancel")
	case m.typing:
		return keyHint("enter", "keep") + "  " + keyHint("esc", "clear")
	}
	const last = "? keys"
	line, used := "", 0
	for _, k := range keys {
		if k.word == "" || k.on != nil && !slices.Contains(k.on, m.screen) {
			continue
		}
		if length := ansi.StringWidth(k.keys+" "+k.word) + 2; used+length+len(last) <= m.width {
			line += keyHint(k.keys, k.word) + "  "
			used += length
		}
	}
	return line + keyHint("?", "keys")
}

func keyHint(key, word string) string { return in(terminal.Bold, key) + " " + fmt.Sprint(word) }
