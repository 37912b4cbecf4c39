package top

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/fullscreen"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// key is one line of the help.
type key struct {
	keys string
	word string // for the footer; empty: the key is only in the help
	on   []screen
	help string
}

// tabs are the screens through which tab goes.
var tabs = []screen{onServers, onCalls, onLog}

// keys are in the order of the footer.
var keys = []key{
	{"q", "quit", nil, "quit; also ctrl+c"},
	{"esc", "back", []screen{onCalls, onCall, onLog, onPage}, "clear the filter, or go back"},
	{"enter", "calls", []screen{onServers}, "show the calls of the selected server"},
	{"enter", "open", []screen{onCalls}, "show what was wrong with the selected call, and what gauze did"},
	{"tab", "next", tabs, "switch between servers, calls and log; shift+tab: backwards"},
	{"r", "restart", []screen{onServers, onCalls, onCall, onLog}, "restart the server, after you confirm"},
	{"d", "doctor", []screen{onServers, onCalls, onCall, onLog}, "run gauze doctor for the server"},
	{"e", "explain", []screen{onServers, onCalls, onCall, onLog}, "explain the fault or the cause"},
	{"/", "filter", tabs, "show only lines that contain a given text"},
	{"a", "all", []screen{onCalls}, "show the calls of all servers, or of one"},
	{"s", "sort", []screen{onServers}, "sort by the next column; S: reverse the order"},
	{"↑ ↓ j k", "", nil, "move; also pgup, pgdown, home, end, g and G"},
	{"ctrl+z", "", nil, "suspend"},
	{"?", "", nil, "show these keys"},
}

// press handles a key.
func (m *model) press(key fullscreen.Key) fullscreen.Cmd {
	pressed := string(key)
	m.message = ""
	switch pressed {
	case "ctrl+c":
		return fullscreen.Quit
	case "ctrl+z":
		return fullscreen.Suspend
	}
	switch {
	case m.asking != nil:
		return m.answer(pressed)
	case m.typing:
		m.typeFilter(pressed, key.Text())
		return nil
	}
	if by, ok := m.step(pressed); ok {
		m.move(by)
		return nil
	}
	switch pressed {
	case "q":
		return fullscreen.Quit
	case "?":
		return m.help()
	case "esc":
		m.goBack()
	case "tab":
		return m.turn(1)
	case "shift+tab":
		return m.turn(-1)
	case "enter":
		return m.enter()
	case "/":
		m.typing = slices.Contains(tabs, m.screen)
	default:
		return m.act(pressed)
	}
	return nil
}

// act handles the keys that do something about a server or a list.
func (m *model) act(pressed string) fullscreen.Cmd {
	if m.screen == onPage {
		return nil
	}
	s, ok := m.target()
	switch {
	case pressed == "r" && ok:
		m.asking = &s
	case pressed == "d" && ok:
		return m.doctor(s)
	case pressed == "e":
		return m.explain()
	case pressed == "a" && m.screen == onCalls:
		m.all, m.call = !m.all, ""
		return m.readDetails()
	case pressed == "s" && m.screen == onServers:
		m.sorted = (m.sorted + 1) % len(orders)
	case pressed == "S" && m.screen == onServers:
		m.reversed = !m.reversed
	}
	return nil
}

// target returns the server that a key is about.
func (m *model) target() (live.Server, bool) {
	if m.screen == onServers {
		return m.selected()
	}
	if e, ok := m.selectedEntry(); ok && m.screen != onLog {
		for _, s := range m.current().servers {
			byName := e.wrap == "" && e.server == s.Name
			if e.wrap == s.ID || byName && (m.all || s.ID == m.focus.ID) {
				return s, true
			}
		}
	}
	return m.focus, m.focus.ID != ""
}

// answer handles the key after the question whether to restart.
func (m *model) answer(pressed string) fullscreen.Cmd {
	s := *m.asking
	m.asking = nil
	if pressed != "y" && pressed != "Y" {
		m.message = "Not restarted."
		return nil
	}
	m.message = "Restarting " + clean(s.Name) + " ..."
	return func() fullscreen.Msg {
		if err := m.source.Restart(m.ctx, s.ID); err != nil {
			return noteMsg(fmt.Sprintf("Cannot restart %s: %s", clean(s.Name), clean(err.Error())))
		}
		return noteMsg("Restarted " + clean(s.Name) + ".")
	}
}

// typeFilter handles a key while the filter is typed.
func (m *model) typeFilter(pressed, text string) {
	filter := &m.filters[m.screen]
	switch pressed {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, *filter = false, ""
	case "backspace":
		if letters := []rune(*filter); len(letters) > 0 {
			*filter = string(letters[:len(letters)-1])
		}
	case "ctrl+u":
		*filter = ""
	default:
		*filter += printable(text)
	}
}

// step returns by how many lines a key moves.
func (m *model) step(pressed string) (by int, ok bool) {
	const far = 1 << 20
	switch pressed {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -max(1, m.bodyHeight()-1), true
	case "pgdown", "ctrl+f", "space":
		return max(1, m.bodyHeight()-1), true
	case "home", "g":
		return -far, true
	case "end", "G":
		return far, true
	}
	return 0, false
}

// move moves the selection, or scrolls a text.
func (m *model) move(by int) {
	switch m.screen {
	case onServers:
		if shown := m.shownServers(); len(shown) > 0 {
			m.server = shown[min(max(0, m.serverAt(shown)+by), len(shown)-1)].ID
		}
	case onCalls:
		shown := m.shownEntries()
		if at := min(max(0, m.callAt(shown)+by), len(shown)-1); at > 0 {
			m.call = shown[at].key
		} else {
			m.call = "" // the newest, also when there are newer ones
		}
	case onLog:
		m.scroll = m.scrolled(m.scroll - by)
	default:
		m.scroll = m.scrolled(m.scroll + by)
	}
}

// scrolled limits how far a text is scrolled.
func (m *model) scrolled(to int) int { return max(0, min(to, len(m.text())-m.bodyHeight())) }

// push shows a screen; esc returns to this one.
func (m *model) push(s screen) {
	m.under = append(m.under, m.screen)
	m.screen, m.scroll = s, 0
}

func (m *model) goBack() {
	if m.filters[m.screen] != "" {
		m.filters[m.screen] = ""
		return
	}
	if m.screen == onPage {
		m.page.stop()
	}
	m.screen, m.scroll = onServers, 0
	if n := len(m.under); n > 0 {
		m.screen, m.under = m.under[n-1], m.under[:n-1]
	}
}

// enter opens what is selected.
func (m *model) enter() fullscreen.Cmd {
	switch m.screen {
	case onServers:
		s, ok := m.selected()
		if !ok {
			return nil
		}
		m.look(s)
		m.all = false
		m.push(onCalls)
		return m.readDetails()
	case onCalls:
		if e, ok := m.selectedEntry(); ok {
			m.opened = &e
			m.push(onCall)
		}
	}
	return nil
}

// turn shows the next or the previous of servers, calls and log.
func (m *model) turn(by int) fullscreen.Cmd {
	if m.screen == onPage {
		m.goBack()
	}
	if m.screen == onServers {
		s, ok := m.selected()
		if !ok {
			return nil
		}
		m.look(s)
	}
	at := max(slices.Index(tabs, m.screen), 0)
	if m.screen == onCall {
		at = slices.Index(tabs, onCalls)
	}
	m.screen, m.under, m.scroll = tabs[(at+by+len(tabs))%len(tabs)], nil, 0
	return m.readDetails()
}

// look puts a server into focus.
func (m *model) look(s live.Server) {
	if m.focus.ID != s.ID {
		m.details, m.call = nil, ""
	}
	m.server, m.focus = s.ID, s
}

// printable returns the letters of a text that can be shown. Unlike clean, it keeps spaces.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if plaintext.Unseen(r) {
			return -1
		}
		return r
	}, text)
}
