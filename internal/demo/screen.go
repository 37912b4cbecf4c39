package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/timeline"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// screen is the timeline that the user sees.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	color bool
	began time.Time
	hush  bool
	kinds map[event.Kind]int // events counted while quiet
}

func newScreen(w io.Writer, color bool) *screen {
	return &screen{w: w, color: color, began: time.Now(), kinds: map[event.Kind]int{}}
}

func (s *screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	faint  = "2"
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s *screen) line(mark, color, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "  %s  %s %s\n", s.paint(faint, fmt.Sprintf("%6.2fs", time.Since(s.began).Seconds())), s.paint(color, mark), fold(text, 13))
}

func (s *screen) opening() {
	fmt.Fprintf(s.w, "\n%s an ordinary client, a server that fails on request, and gauze between them.\n", s.paint(bold, "gauze demo:"))
}

func (s *screen) scene(n, of int, title, about string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "\n%s\n", fold(s.paint(bold, fmt.Sprintf("%d/%d  %s.", n, of, title))+" "+s.paint(faint, about), 0))
}

func (s *screen) client(text string) { s.line("→", cyan, "the client "+text) }
func (s *screen) settled(text string) {
	s.mu.Lock()
	kinds := s.kinds
	s.kinds = map[event.Kind]int{}
	s.mu.Unlock()
	s.line("✗", red, "the server was killed "+times(kinds[event.Died]))
	s.line("↻", yellow, fmt.Sprintf("the session was restored %s, %s sent again", times(kinds[event.Restored]), plaintext.Count(kinds[event.Replayed], "call")))
	s.line("✓", green, text)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// quiet counts events instead of showing them.
func (s *screen) quiet(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hush = on
}

// answer shows a response to a caller.
func (s *screen) answer(a answer, err error) error {
	switch {
	case err != nil:
		return err
	case a.fault == "":
		s.line("✓", green, fmt.Sprintf("%s answered: %s", a.tool, oneLine(a.text)))
	default:
		s.line("?", yellow, fmt.Sprintf("%s, outcome reported as unknown: %s", a.tool, oneLine(a.text)))
	}
	return nil
}

// changes shows what was repaired in a call, and by which rule.
func (s *screen) changes(all []change) {
	for _, c := range all {
		before, after := string(c.Before), string(c.After)
		if before == "" {
			before = "nothing"
		}
		if after == "" {
			after = "left out"
		}
		s.line("✎", yellow, fmt.Sprintf("%-7s %s → %s  %s", c.Path, s.paint(red, oneLine(before)), s.paint(green, oneLine(after)), s.paint(faint, c.Rule)))
	}
}

// message shows the message for a model that has to send its call again.
func (s *screen) message(text string) {
	for i, line := range strings.Split(text, "\n") {
		mark := " "
		if i == 0 {
			mark = "?"
		}
		s.line(mark, yellow, plaintext.Clean(line))
	}
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(plaintext.Clean(text)), " ")
	if runes := []rune(text); len(runes) > 96 {
		text = string(runes[:95]) + "…"
	}
	return text
}

// event shows what gauze noticed and did.
func (s *screen) event(e event.Event) {
	s.mu.Lock()
	hush := s.hush
	if hush {
		s.kinds[e.Kind]++
	}
	s.mu.Unlock()
	if hush {
		return
	}
	took := e.Took.Round(time.Millisecond)
	switch e.Kind {
	case event.Died:
		if e.Reason != upstream.ReasonStopped && e.Reason != upstream.ReasonHung { // what was said already
			e.Took = 0
			s.line("✗", red, timeline.Ended(e))
		}
	case event.Hung:
		s.line("!", red, "the server is hung: "+e.Detail+"; gauze replaces it")
	case event.ProbeMissed:
		if e.Count <= 3 {
			s.line("…", faint, fmt.Sprintf("no response to a liveness probe (%d)", e.Count))
		}
	case event.Restored:
		s.line("↻", yellow, fmt.Sprintf("generation %d is running, session restored in %v", e.Generation, took))
	case event.Replayed:
		s.line("↻", yellow, fmt.Sprintf("%s was sent again: %s", e.Tool, e.Detail))
	case event.Corrected:
		text := fmt.Sprintf("%s corrected the call in %v: %s", e.Model.Model, took, oneLine(e.Model.Reason))
		s.line("✎", yellow, strings.TrimSuffix(text, ": "))
	case event.Proposed:
		s.line("✎", yellow, fmt.Sprintf("%s corrected the call in %v; the correction is offered, not sent", e.Model.Model, took))
	case event.Uncorrected:
		s.line("·", faint, "the model did not correct the call: "+oneLine(e.Detail))
	case event.Stray:
		s.line("~", faint, "not a message, not forwarded to the client: "+oneLine(e.Detail))
	}
}

func (s *screen) closing(v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "\n%s\n", s.paint(bold, "The responses, compared with the server's own ledger"))
	row := func(name string, value any, note string) {
		fmt.Fprintf(s.w, "  %-28s %6v   %s\n", name, value, fold(s.paint(faint, note), 40))
	}
	row("calls", v.calls, "")
	row("responses", v.answers, "exactly one each")
	row("successes", v.succeeded, "")
	row("unknown outcomes", v.unknown, "the server died during a write")
	row("calls repaired", v.repaired, "their arguments did not match the schema")
	row("calls explained", v.explained, "the server rejected them; gauze explained what to change")
	row("calls corrected by a model", v.corrected, "with the client's own values, each sent once")
	row("calls sent again", v.replays, "each of them provably safe to repeat")
	row("writes of a task", v.planned, "stopped and resumed; each happened once")
	row("restarts", v.restarts, "invisible to the client")
	row("stray lines filtered", v.stray, "")
	row("effects in the ledger", v.effects, "")
	row("effects applied twice", v.twice, "")
	if len(v.broken) == 0 {
		fmt.Fprintf(s.w, "\n  %s\n\n", s.paint(green, "✓ every guarantee held"))
		fmt.Fprintf(s.w, "  Run your own server with gauze:  %s\n\n", s.paint(cyan, "gauze run -- npx -y @modelcontextprotocol/server-everything"))
		return
	}
	for _, problem := range v.broken {
		fmt.Fprintf(s.w, "\n  %s", s.paint(red, "✗ "+problem))
	}
	fmt.Fprintln(s.w)
}
