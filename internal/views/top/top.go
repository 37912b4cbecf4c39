// Package top is the live view of gauze top: the wrapped servers of this user, their calls, what
// gauze did about one call, and the log of a server. It shows what the wraps answer (package live)
// and what is recorded (packages journal and timeline), as gauze status and the dashboard do.
//
//	top.go      Run, and the model: what is shown, and how it changes
//	source.go   Source: where the data comes from
//	keys.go     what each key does
//	entry.go    calls and recorded items as one list
//	servers.go  the screen of servers
//	calls.go    the screens of calls and of one call
//	pages.go    the log, the help, and pages of text
//	view.go     the frame around each screen
//	table.go    tables that fit the terminal
package top

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/fullscreen"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// refreshInterval is the time between two reads.
const refreshInterval = time.Second

// Run shows the live view on the terminal until the user quits. Without color, it uses only bold and
// reverse.
func Run(ctx context.Context, s Source, color bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, s)
	m.plain = !color
	return fullscreen.Run(ctx, os.Stdin, os.Stdout, "gauze top", m)
}

// screen is what is shown.
type screen int

const (
	onServers screen = iota
	onCalls
	onCall
	onLog
	onPage // a page of text: help, an explanation, the output of gauze doctor
)

// model is the state of the view. Reads run outside of it and arrive as messages, so a wrap that
// does not respond never blocks a key.
type model struct {
	ctx           context.Context
	source        Source
	width, height int
	plain         bool // without colors

	screen screen
	under  []screen    // the screens to which esc returns
	server string      // the id of the selected server
	focus  live.Server // the server whose calls or log are shown
	all    bool        // the calls of all servers are shown
	call   string      // the key of the selected call; empty: the newest, whichever it is
	opened *entry      // the call on the screen of one call
	page   page
	scroll int // how many lines are above the screen of text; of the log, below it

	sorted   int // the index in orders
	reversed bool
	filters  [onPage + 1]string // of each screen
	typing   bool               // keys are letters of the filter
	asking   *live.Server       // the server whose restart is to be confirmed
	message  string             // shown until the next key

	samples []sample      // the last reads, oldest first
	loaded  bool          // the first read has ended
	failure string        // why the last read failed
	details []live.Detail // those of the servers whose calls or log are shown
	items   []timeline.Item
	reading bool   // a read of the servers is under way
	looking bool   // a read of details is under way
	summing bool   // a read of the week is under way
	week    string // sums up the last seven days; empty: it could not be read
}

// sample is one read of all servers.
type sample struct {
	at      time.Time
	servers []live.Server
}

// Messages.
type (
	tickMsg    struct{}
	serversMsg struct {
		sample
		err error
	}
	detailsMsg struct {
		details []live.Detail
		items   []timeline.Item
		err     error
	}
	weekMsg string // the sums of the week; empty: they cannot be read
	noteMsg string // the result of an action
	pageMsg page   // a page of text that was asked for
)

func newModel(ctx context.Context, s Source) *model {
	return &model{ctx: ctx, source: s, width: 80, height: 24}
}

// Init implements fullscreen.Program.
func (m *model) Init() fullscreen.Cmd { return fullscreen.Batch(m.readServers(), m.readWeek(), tick()) }

func tick() fullscreen.Cmd {
	return func() fullscreen.Msg {
		time.Sleep(refreshInterval)
		return tickMsg{}
	}
}

// Update implements fullscreen.Program.
func (m *model) Update(msg fullscreen.Msg) fullscreen.Cmd {
	switch msg := msg.(type) {
	case fullscreen.Size:
		m.width, m.height = msg.Width, msg.Height
	case fullscreen.Key:
		return m.press(msg)
	case fullscreen.Resumed:
		return m.readServers()
	case tickMsg:
		return fullscreen.Batch(tick(), m.readServers(), m.readWeek(), m.readDetails())
	case serversMsg:
		m.reading, m.loaded, m.failure = false, true, ""
		if msg.err != nil {
			m.failure = msg.err.Error()
			break
		}
		m.samples = append(m.samples, msg.sample)
		m.samples = m.samples[max(0, len(m.samples)-maxSamples):]
		m.refocus()
	case detailsMsg:
		m.looking = false
		m.details, m.items = msg.details, msg.items
		if msg.err != nil {
			m.message = msg.err.Error()
		}
		m.reopen()
	case weekMsg:
		m.summing, m.week = false, string(msg)
	case noteMsg:
		m.message = string(msg)
		return m.readServers()
	case pageMsg:
		if m.screen == onPage && m.page.id == msg.id { // the user has not left it
			m.page = page(msg)
		}
	}
	return nil
}

// readServers reads the servers, unless the last read is still under way.
func (m *model) readServers() fullscreen.Cmd {
	if m.reading {
		return nil
	}
	m.reading = true
	return func() fullscreen.Msg {
		servers, err := m.source.Servers(m.ctx)
		return serversMsg{sample{time.Now(), servers}, err}
	}
}

// readWeek sums up the week for the screen of servers. A disk that does not respond delays nothing
// else.
func (m *model) readWeek() fullscreen.Cmd {
	if m.summing || m.screen != onServers {
		return nil
	}
	m.summing = true
	partly := live.Unsummed(m.current().servers)
	return func() fullscreen.Msg {
		sums, err := m.source.Week(m.ctx)
		if err != nil {
			return weekMsg("")
		}
		return weekMsg(sums.Week(partly))
	}
}

// readDetails reads what the screens of calls and logs show.
func (m *model) readDetails() fullscreen.Cmd {
	if m.looking || !slices.Contains([]screen{onCalls, onCall, onLog}, m.screen) {
		return nil
	}
	var ids []string
	for _, s := range m.scope() {
		if s.State != live.StateSilent {
			ids = append(ids, s.ID)
		}
	}
	m.looking = true
	return func() fullscreen.Msg {
		details := details(m.ctx, m.source, ids)
		items, err := m.source.Items(m.ctx)
		return detailsMsg{details, items, err}
	}
}

// current returns the last read.
func (m *model) current() sample {
	if len(m.samples) == 0 {
		return sample{at: time.Now()}
	}
	return m.samples[len(m.samples)-1]
}

// selected returns the selected server, or the first one if that has ended.
func (m *model) selected() (live.Server, bool) {
	shown := m.shownServers()
	if at := m.serverAt(shown); at >= 0 {
		return shown[at], true
	}
	return live.Server{}, false
}

// serverAt returns the index of the selected server, -1 if there are none.
func (m *model) serverAt(shown []live.Server) int {
	at := slices.IndexFunc(shown, func(s live.Server) bool { return s.ID == m.server })
	return max(at, min(0, len(shown)-1))
}

// callAt returns the index of the selected call, -1 if there are none.
func (m *model) callAt(shown []entry) int {
	at := slices.IndexFunc(shown, func(e entry) bool { return e.key == m.call })
	return max(at, min(0, len(shown)-1))
}

// refocus keeps the selection on the same servers after a read.
func (m *model) refocus() {
	if s, ok := m.selected(); ok && m.server == "" {
		m.server = s.ID // it stays selected if the order changes
	}
	for _, s := range m.current().servers {
		if s.ID == m.focus.ID {
			m.focus = s
		}
	}
}

// scope returns the servers whose calls are shown.
func (m *model) scope() []live.Server {
	if m.all {
		return m.current().servers
	}
	return []live.Server{m.focus}
}

// matches reports whether the filter of a screen selects a row.
func (m *model) matches(s screen, cells ...string) bool {
	return m.filters[s] == "" || strings.Contains(strings.ToLower(strings.Join(cells, " ")), strings.ToLower(m.filters[s]))
}
