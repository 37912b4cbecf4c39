package dashboard

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/markup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// language is what templates may call.
var language = markup.Language{Functions: functions, Methods: methods}

var functions = markup.Table{
	"navigation": func() []navigation { return navigations },
	"when":       func(t time.Time) markup.HTML { return when(t, time.Now()) },
	"clock":      clock,
	"quoted":     func(s string) string { return plaintext.Clean(shell.Here().Quote(s)) },
	"since":      func(t time.Time) string { return span(time.Since(t)) },
	"took":       took,
	"ms":         func(ms float64) string { return took(time.Duration(ms * float64(time.Millisecond))) },
	"short":      func(limit int, s string) string { return plaintext.Cap(plaintext.Clean(s), limit) },
	"prose":      prose,
	"upper":      plaintext.UpperFirst,
	"count":      count,
	"stateClass": stateClass,
	"stateShape": stateShape,
}

var methods = markup.Table{
	"Any":      func(c chart) bool { return c.Any() },
	"Checked":  func(v interface{ Checked() *fleet.Checked }) *fleet.Checked { return v.Checked() },
	"Count":    func(h *health.Histogram) uint64 { return h.Count() },
	"Duration": func(page *itemData) time.Duration { return page.Duration() },
	"Format":   func(t time.Time, layout string) string { return t.Format(layout) },
	"Helped":   func(v interface{ Helped() bool }) bool { return v.Helped() },
	"IsZero":   func(t time.Time) bool { return t.IsZero() },
	"Known":    func(v interface{ Known() bool }) bool { return v.Known() },
	"Link":     func(v interface{ Link() string }) string { return v.Link() },
	"Local":    func(t time.Time) time.Time { return t.Local() },
	"Last":     func(v shownItem) string { return v.Last() },
	"Quantile": func(h *health.Histogram, q float64) time.Duration { return h.Quantile(q) },
	"Rest":     func(v shownItem) int { return v.Rest() },
	"Running":  func(c *check) bool { return c.Running() },
	"SVG":      func(c chart, class string) markup.HTML { return c.SVG(class) },
	"Sentence": func(c chart) string { return c.Sentence() },
	"Shown":    func(s *fleet.Server) string { return s.Shown() },
	"State":    func(v interface{ State() string }) string { return v.State() },
	"Title":    func(c chart) string { return c.Title() },
	"String":   func(v fmt.Stringer) string { return v.String() },
	"What":     func(v interface{ What() string }) string { return v.What() },
	"Why":      func(v interface{ Why() string }) string { return v.Why() },
}

// prose shows a sentence of at most so many characters, with what is between backquotes as code.
func prose(limit int, s string) markup.HTML {
	parts := strings.Split(html.EscapeString(plaintext.Cap(plaintext.Clean(s), limit)), "`")
	for i := 1; i+1 < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return markup.HTML(strings.Join(parts, ""))
}

// navigation is an entry of the navigation.
type navigation struct{ Nav, Path, Name string }

var navigations = []navigation{
	{"overview", "/", "Overview"},
	{"timeline", "/timeline", "Timeline"},
	{"tasks", "/tasks", "Tasks"},
	{"configs", "/configs", "Configs"},
}

// when shows how long ago t was, and the exact time in its title.
func when(t, now time.Time) markup.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.Local()
	text := "in " + span(t.Sub(now))
	switch ago := now.Sub(t); {
	case ago < -time.Second:
	case ago < time.Second:
		text = "just now"
	case ago < 24*time.Hour:
		text = span(ago) + " ago"
	default:
		text = t.Format("2 Jan 15:04")
	}
	return markup.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.Format(time.RFC3339Nano), t.Format("2 January 2006, 15:04:05.000 MST"), text))
}

// clock is the time of a line in a log.
func clock(t time.Time) string {
	t = t.Local()
	if time.Since(t) > 20*time.Hour {
		return t.Format("2 Jan 15:04:05")
	}
	return t.Format("15:04:05")
}

// span says how long something lasted, in one unit or two.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// took shows a duration with two digits, such as 1.2 s.
func took(d time.Duration) string {
	unit, name := float64(time.Second), "s"
	switch {
	case d >= time.Minute:
		return span(d)
	case d < time.Millisecond:
		unit, name = float64(time.Microsecond), "µs"
	case d < time.Second:
		unit, name = float64(time.Millisecond), "ms"
	}
	n := float64(d) / unit
	if n >= 10 {
		return fmt.Sprintf("%.0f %s", n, name)
	}
	return fmt.Sprintf("%g %s", math.Round(n*10)/10, name)
}

// count shows a number of things, such as 1 call or 3 calls.
func count(n any, noun string) string {
	text := fmt.Sprint(n)
	if text == "1" {
		return text + " " + noun
	}
	return text + " " + noun + "s"
}

// stateLooks are how states look. The shape says the same as the colour.
var stateLooks = map[string]struct{ class, shape string }{
	health.Healthy.String():      {"good", "●"},
	health.Degraded.String():     {"warn", "◐"},
	health.Unresponsive.String(): {"bad", "▲"},
	health.Dead.String():         {"bad", "✕"},
	live.StateSilent:             {"bad", "?"},
	live.StateAsleep:             {"idle", "☾"},
	"ended":                      {"idle", "■"},

	task.StatusDone:            {"good", "✓"},
	task.StatusRunning:         {"good", "▸"},
	string(task.NeedsDecision): {"warn", "?"},
	string(task.NeedsPerson):   {"warn", "!"},
	string(task.Interrupted):   {"warn", "■"},
	string(task.BudgetSpent):   {"warn", "■"},
	string(task.ToolChanged):   {"warn", "!"},
	string(task.ServerDead):    {"bad", "✕"},
	string(task.StepFailed):    {"bad", "✕"},
	string(task.Stuck):         {"bad", "✕"},
	"model-unavailable":        {"bad", "✕"},
	"killed":                   {"bad", "✕"},
	"unreadable":               {"bad", "✕"},
	"damaged":                  {"bad", "✕"},

	string(fleet.Works):  {"good", "●"},
	"warning":            {"warn", "◐"},
	string(fleet.Broken): {"bad", "✕"},
	"checking":           {"idle", "…"},
}

func stateClass(state string) string {
	if look, known := stateLooks[state]; known {
		return look.class
	}
	return "idle"
}

func stateShape(state string) string {
	if look, known := stateLooks[state]; known {
		return look.shape
	}
	return "○"
}
