package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// screen is the timeline that the user sees.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	paint terminal.Paint
	began time.Time
	hush  bool
	kinds map[event.Kind]int // events counted while quiet
}

func newScreen(w io.Writer, paint terminal.Paint) *screen {
	return &screen{w: w, paint: paint, began: time.Now(), kinds: map[event.Kind]int{}}
}

func (s *screen) line(mark string, style terminal.Style, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "  %s  %s %s\n", s.paint.Faint(fmt.Sprintf("%6.2fs", time.Since(s.began).Seconds())), s.paint.In(style, mark), fold(text, 13))
}

func (s *screen) opening() {
	fmt.Fprintf(s.w, "\n%s an ordinary client, a server that fails on request, and gauze between them.\n", s.paint.Bold("gauze demo:"))
}

func (s *screen) scene(n, of int, title, about string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "\n%s\n", fold(s.paint.Bold(fmt.Sprintf("%d/%d  %s.", n, of, title))+" "+s.paint.Faint(about), 0))
}

func (s *screen) client(text string) { s.line("→", terminal.Cyan, "the client "+text) }
func (s *screen) settled(text string) {
	s.mu.Lock()
	kinds := s.kinds
	s.kinds = map[event.Kind]int{}
	s.mu.Unlock()
	s.line("✗", terminal.Red, "the server was killed "+times(kinds[event.Died]))
	s.line("↻", terminal.Yellow, fmt.Sprintf("the session was restored %s, %s sent again", times(kinds[event.Restored]), plaintext.Count(kinds[event.Replayed], "call")))
	s.line("✓", terminal.Green, text)
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
		s.line("✓", terminal.Green, fmt.Sprintf("%s answered: %s", a.tool, oneLine(a.text)))
	default:
		s.line("?", terminal.Yellow, fmt.Sprintf("%s, outcome reported as unknown: %s", a.tool, oneLine(a.text)))
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
		s.line("✎", terminal.Yellow, fmt.Sprintf("%-7s %s → %s  %s", c.Path, s.paint.Red(oneLine(before)), s.paint.Green(oneLine(after)), s.paint.Faint(c.Rule)))
	}
}

// message shows the message for a model that has to send its call again.
func (s *screen) message(text string) {
	for i, line := range strings.Split(text, "\n") {
		mark := " "
		if i == 0 {
			mark = "?"
		}
		s.line(mark, terminal.Yellow, plaintext.Clean(line))
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
			s.line("✗", terminal.Red, timeline.Ended(e))
		}
	case event.Hung:
		s.line("!", terminal.Red, "the server is hung: "+e.Detail+"; gauze is replacing it")
	case event.ProbeMissed:
		if e.Count <= 3 {
			s.line("…", terminal.Faint, fmt.Sprintf("no response to a liveness probe (%d)", e.Count))
		}
	case event.Restored:
		s.line("↻", terminal.Yellow, fmt.Sprintf("server restarted (generation %d), session restored in %v", e.Generation, took))
	case event.Replayed:
		s.line("↻", terminal.Yellow, fmt.Sprintf("%s was sent again: %s", e.Tool, e.Detail))
	case event.Corrected:
		text := fmt.Sprintf("%s corrected the call in %v: %s", e.Model.Model, took, oneLine(e.Model.Reason))
		s.line("✎", terminal.Yellow, strings.TrimSuffix(text, ": "))
	case event.Proposed:
		s.line("✎", terminal.Yellow, fmt.Sprintf("%s suggested a correction in %v, which was shown to the caller but not sent", e.Model.Model, took))
	case event.Uncorrected:
		s.line("·", terminal.Faint, "the model did not correct the call: "+oneLine(e.Detail))
	case event.Stray:
		s.line("~", terminal.Faint, "not an MCP message, so not forwarded to the client: "+oneLine(e.Detail))
	}
}

func (s *screen) closing(v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "\n%s\n", s.paint.Bold("The responses, compared with the server's own ledger"))
	row := func(name string, value any, note string) {
		fmt.Fprintf(s.w, "  %-28s %6v   %s\n", name, value, fold(s.paint.Faint(note), 40))
	}
	row("calls", v.calls, "")
	row("responses", v.answers, "exactly one each")
	row("successes", v.succeeded, "")
	row("unknown outcomes", v.unknown, "the server died during a write")
	row("calls repaired", v.repaired, "their arguments did not match the schema")
	row("calls explained", v.explained, "the server rejected them; gauze explained what to change")
	row("calls corrected by a model", v.corrected, "with the client's own values, each sent once")
	row("calls sent again", v.replays, "each of them provably safe to repeat")
	row("writes by a task", v.planned, "stopped and resumed; each happened once")
	row("restarts", v.restarts, "invisible to the client")
	row("stray lines filtered", v.stray, "")
	row("effects in the ledger", v.effects, "")
	row("effects applied twice", v.twice, "")
	if len(v.broken) == 0 {
		fmt.Fprintf(s.w, "\n  %s\n\n", s.paint.Green("✓ every guarantee held"))
		fmt.Fprintf(s.w, "  To check your own servers:  %s\n\n", s.paint.Cyan("gauze doctor"))
		return
	}
	for _, problem := range v.broken {
		fmt.Fprintf(s.w, "\n  %s", s.paint.Red("✗ "+problem))
	}
	fmt.Fprintln(s.w)
}
