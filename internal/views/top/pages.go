package top

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/fullscreen"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// page is a page of text.
type page struct {
	id    int // distinguishes it from the pages before
	title string
	text  string
	lines func(width int) []string // replaces text if it is not nil
	stop  context.CancelFunc       // ends what writes the page
}

// open shows a page. If write is not nil, it returns the text later.
func (m *model) open(title, text string, write func(context.Context) string) fullscreen.Cmd {
	if m.screen == onPage {
		m.page.stop()
	} else {
		m.push(onPage)
	}
	ctx, stop := context.WithCancel(m.ctx)
	m.scroll = 0
	m.page = page{id: m.page.id + 1, title: title, text: text, stop: stop}
	if write == nil {
		return nil
	}
	p := m.page
	return func() fullscreen.Msg {
		p.text = write(ctx)
		return pageMsg(p)
	}
}

// doctor shows the output of gauze doctor.
func (m *model) doctor(s live.Server) fullscreen.Cmd {
	return m.open("gauze doctor "+clean(s.Name), "Checking the server. This may take a minute; esc stops it.", func(ctx context.Context) string {
		text, err := m.source.Doctor(ctx, s)
		if err != nil {
			text += "\n" + err.Error()
		}
		return strings.TrimLeft(text, "\n")
	})
}

// explain shows what gauze explain says about the fault or cause of a call, or about the last one of
// a server.
func (m *model) explain() fullscreen.Cmd {
	if e, ok := m.selectedEntry(); ok && (m.screen == onCalls || m.screen == onCall) {
		if e.code() == "" {
			m.message = "Nothing to explain: this call has no fault and no known cause."
			return nil
		}
		return m.open("gauze explain "+e.code(), explanation(e.code()), nil)
	}
	s, ok := m.target()
	if !ok {
		return nil
	}
	return m.open("gauze explain", "Reading the journal ...", func(ctx context.Context) string {
		items, err := m.source.Items(ctx)
		if err != nil {
			return err.Error()
		}
		for _, e := range entries(nil, items, []live.Server{s}) {
			if code := e.code(); code != "" {
				return explanation(code)
			}
		}
		for _, code := range slices.Sorted(maps.Keys(s.Counts.Faults)) {
			if explainable(code) {
				return explanation(code)
			}
		}
		return fmt.Sprintf("Nothing to explain: no fault or cause of failure is recorded for %s.", clean(s.Name))
	})
}

func explanation(code string) string {
	e, _ := fleet.Explain(code)
	_, text, _ := strings.Cut(e.Explain(false), "\n") // without the headline, which is wider than some terminals
	return code + "\n" + text
}

// log returns the end of the stderr of the server in focus.
func (m *model) log() (lines []string) {
	for _, d := range m.details {
		if d.Server.ID != m.focus.ID {
			continue
		}
		for _, line := range d.Log {
			if m.matches(onLog, line) {
				lines = append(lines, cleanLines(line, "", m.width)...)
			}
		}
		if len(lines) == 0 {
			return []string{"", "  The server has written nothing to stderr, or nothing that matches."}
		}
		return lines
	}
	return []string{"", "  The server's gauze process has not answered yet."}
}

// text returns the lines of a screen of text.
func (m *model) text() []string {
	switch {
	case m.screen == onCall && m.opened != nil:
		return m.opened.lines(m.width)
	case m.screen == onLog:
		return m.log()
	}
	if m.page.lines != nil {
		return m.page.lines(m.width)
	}
	return cleanLines(m.page.text, "", m.width)
}

// help shows all keys.
func (m *model) help() fullscreen.Cmd {
	cmd := m.open("keys", "", nil)
	m.page.lines = func(width int) (lines []string) {
		for _, k := range keys {
			lines = append(lines, hanging(fit(k.keys, 8, false)+" ", k.help, width)...)
		}
		return lines
	}
	return cmd
}
