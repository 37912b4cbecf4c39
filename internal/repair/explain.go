package repair

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Message is what a caller reads who has to send a call again.
type Message struct {
	Text string          // for the model
	Data json.RawMessage // the same for programs: a Report
}

// The types of reports.
const (
	typeArguments = "invalid_arguments"
	typeTool      = "unknown_tool"
)

// Explain tells the caller of a refused call what to change. times is how
// often in a row the same mistake was made, from 1: the second text is
// shorter, the third says to stop.
func (s *Schema) Explain(tool string, out Outcome, times int) Message {
	return s.explain(message{schema: s, tool: tool, times: times}, out)
}

// Rejected is Explain for a call that was sent all the same and that the server rejected.
func (s *Schema) Rejected(tool string, out Outcome, times int) Message {
	return s.explain(message{schema: s, tool: tool, times: times, rejected: true, label: fittingCall}, out)
}

func (s *Schema) explain(m message, out Outcome) (told Message) {
	defer func() {
		if recover() != nil { // whatever a schema does to us, the caller gets an answer
			told = m.plainRefusal()
		}
	}()
	s.Ready()
	if out.Verdict != Refused {
		return Message{}
	}
	m.said, m.rank = out.said, out.rank
	m.known = s.secretive(out.said, out.near)
	if out.unreadable != "" {
		m.said = map[string]any{}
		m.shown = s.example(m.said, nil, m.known, nil)
		return m.unreadable(out)
	}
	m.shown = s.example(out.near, out.rank, m.known, nil)
	d := s.inquire(out.said, out.violations)
	m.issues, m.more, m.tops = d.issues(m.known, m.shown), d.more, d.tops
	m.summary = m.fate() + ": " + m.extent() + "."
	return m.write()
}

// fate says what became of the call.
func (m *message) fate() string {
	if m.rejected {
		return fmt.Sprintf("The server rejected the call to `%s`", shownTool(m.tool))
	}
	return fmt.Sprintf("The call to `%s` was not run", shownTool(m.tool))
}

// fittingCall introduces an example where the server has the last word: whether it passes is for
// the server to say.
const fittingCall = "Call that fits the schema: "

// plainRefusal is what is left to say if nothing else can be said.
func (m *message) plainRefusal() Message {
	summary := m.fate() + ": its arguments do not fit the tool's schema."
	return Message{Text: summary, Data: encode(map[string]any{"type": "invalid_arguments", "summary": summary}, nil)}
}

// message is a message in the making.
type message struct {
	schema   *Schema
	tool     string
	times    int
	rejected bool // by the server, not by us
	said     any
	rank     map[string]int
	known    *secretive
	shown    *example
	summary  string
	label    string   // what the example is called
	quoted   []string // lines between the summary and the issues
	issues   []Issue
	more     int             // issues that are only counted
	tops     map[string]bool // the arguments with issues
}

// shownTool is a name as it may be shown between backticks.
func shownTool(name string) string {
	return bounded(strings.ReplaceAll(fault.Redact(visible(name)), "`", "'"), 100)
}

// extent says how much of the call has to change.
func (m *message) extent() string {
	for _, issue := range m.issues {
		if issue.top == "" {
			return "its arguments need a change"
		}
	}
	bad := len(m.tops)
	all := bad
	if object, ok := m.said.(map[string]any); ok {
		for key := range object {
			if !m.tops[key] {
				all++
			}
		}
	}
	return fmt.Sprintf("%d of %s %s a change", bad, plural(all, "argument"), word(bad == 1, "needs", "need"))
}

// write puts everything together, within the bounds.
func (m *message) write() Message {
	report := Report{Type: typeArguments, Summary: m.summary, Issues: m.issues, Suggestions: suggestions(m.issues)}
	if m.shown != nil {
		report.ValidExample = m.shown.text()
	}
	if m.times <= 1 {
		report.Schema = m.schema.documentation()
	}
	if m.times >= 3 {
		return Message{m.stop(), report.encoded()}
	}
	p := page{left: maxText}
	p.add(m.summary + word(m.times == 2, " This is the same mistake as before; change it.", ""))
	for _, line := range m.quoted {
		p.add(line)
	}
	m.writeIssues(&p)
	m.writeKept(&p)
	m.writeExample(&p)
	if m.times <= 1 {
		m.writeUsage(&p)
	}
	return Message{p.text(), report.encoded()}
}

// room is what is kept for the example and what comes with it.
const room = 1300

func (m *message) writeIssues(p *page) {
	p.left -= room
	shown := 0
	for i, issue := range m.issues {
		if i >= maxIssues || !p.add(strconv.Itoa(i+1)+". "+issue.line) {
			break
		}
		shown++
		if m.times <= 1 && issue.about != "" && p.left > 600 {
			p.add("About " + issue.Field + ": " + string(encode(issue.about, nil)))
		}
	}
	p.left += room
	if more := len(m.issues) - shown + m.more; more > 0 {
		p.add(fmt.Sprintf("And %s.", plural(more, "more issue")))
	}
}

// writeKept names the arguments that are right.
func (m *message) writeKept(p *page) {
	object, ok := m.said.(map[string]any)
	if !ok || slices.ContainsFunc(m.issues, func(issue Issue) bool { return issue.top == "" }) {
		return
	}
	var kept []string
	for _, key := range orderedKeys(object, m.rank) {
		if !m.tops[key] && m.shown.has(key) {
			kept = append(kept, field([]string{key}))
		}
	}
	if len(kept) == 0 {
		return
	}
	if len(kept) > 12 {
		kept = append(kept[:12], fmt.Sprintf("%d more", len(kept)-12))
	}
	p.add(bounded("Kept as sent: "+strings.Join(kept, ", "), 300) + ".")
}

// has reports whether an argument is still there; in no example, all are.
func (e *example) has(key string) bool {
	if e == nil {
		return true
	}
	_, there := present(e.value, []string{key})
	return there
}

func (m *message) writeExample(p *page) {
	if m.shown == nil {
		return
	}
	label := m.label
	if label == "" {
		label = "Call that would pass: "
	}
	line := label + string(m.shown.text())
	if note := m.guessed(); note != "" {
		line += "   (" + note + ")"
	}
	if len(line) <= room && p.add(line) {
		return
	}
	// Too long to repeat: what has to change is enough.
	changed := map[string]any{}
	if object, ok := m.shown.value.(map[string]any); ok {
		for _, issue := range m.issues {
			if value, there := object[issue.top]; there {
				changed[issue.top] = value
			}
		}
	}
	line = label + "the same with " + visible(string(encode(changed, m.shown.rank)))
	if len(changed) > 0 && len(line) <= room {
		p.add(line)
	}
}

// guessed names the values nobody but us has chosen.
func (m *message) guessed() string {
	names := m.shown.guesses
	var parts []string
	if len(names) > 5 {
		names = append(slices.Clone(names[:5]), fmt.Sprintf("%d more", len(names)-5))
	}
	if len(names) > 0 {
		parts = append(parts, strings.Join(names, ", ")+word(len(names) == 1, " is a guess; check it", " are guesses; check them"))
	}
	if strings.Contains(string(m.shown.text()), hiddenMark) {
		parts = append(parts, `"`+hiddenMark+`" stands for your own value`)
	}
	return strings.Join(parts, "; ")
}

// writeUsage documents the arguments, once.
func (m *message) writeUsage(p *page) {
	lines := m.schema.usage()
	if len(lines) == 0 || !p.add("Arguments of `"+shownTool(m.tool)+"`:") {
		return
	}
	for i, line := range lines {
		if p.left < len(line)+40 {
			p.add(fmt.Sprintf("- and %d more", len(lines)-i))
			return
		}
		p.add(line)
	}
}

// stop is for a caller who goes on repeating itself.
func (m *message) stop() string {
	p := page{left: maxText / 4}
	p.add(fmt.Sprintf("%s It has failed in the same way %d times: stop repeating it.", m.summary, m.times))
	for i, issue := range m.issues[:min(len(m.issues), 3)] {
		p.add(fmt.Sprintf("%d. %s: expected %s.", i+1, issue.Field, bounded(issue.Expected, 160)))
	}
	p.add("Change these, ask the user for what you do not know, or use another tool.")
	return p.text()
}

var characterAt = regexp.MustCompile(` at character (\d+)$`)

// unreadable tells of a text that is no JSON, and where it stops being it.
func (m *message) unreadable(out Outcome) Message {
	m.summary = m.fate() + ": its arguments are not JSON."
	why, after := remark(out.unreadable, 200), ""
	if found := characterAt.FindStringSubmatch(out.unreadable); found != nil {
		text := unfenced(out.text)
		at, _ := strconv.Atoi(found[1])
		at = min(max(at-1, 0), len(text))
		after = tail(fault.Redact(fault.Clean(text[max(0, at-2000):at])), 60)
	} else {
		after = tail(fault.Redact(fault.Clean(out.text[max(0, len(out.text)-2000):])), 60)
	}
	issue := Issue{Field: Path(nil), Problem: why, Expected: "a JSON object", Fix: "send the whole object as JSON, with every text and bracket closed",
		groups: []string{groupFormat}}
	got := fmt.Sprintf("received %s", plural(len(out.text), "byte"))
	if after != "" {
		got += " that stop being JSON after " + visible(string(encode(after, nil)))
		issue.Received = json.RawMessage(visible(string(encode(after, nil))))
	}
	issue.line = fmt.Sprintf("%s - %s (%s); expected %s. Fix: %s.", issue.Field, got, why, issue.Expected, issue.Fix)
	m.issues = []Issue{issue}
	return m.write()
}

// tail is the end of a text, of n characters.
func tail(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return "…" + string(runes[len(runes)-n:])
	}
	return text
}

// UnknownTool tells the caller of a tool that does not exist which there are.
func UnknownTool(called string, tools []string, times int) Message {
	return unknownTool(fmt.Sprintf("There is no tool `%s`. Nothing was run.", shownTool(called)), called, tools, times)
}

// UnlistedTool is UnknownTool for a call that was sent and that the server rejected.
func UnlistedTool(called string, tools []string, times int) Message {
	return unknownTool(fmt.Sprintf("The server does not list a tool `%s`, and rejected the call.", shownTool(called)), called, tools, times)
}

func unknownTool(summary, called string, tools []string, times int) Message {
	near := NearestNames(called, tools, nearEnum)
	shown := make([]string, len(near))
	for i, name := range near {
		shown[i] = "`" + shownTool(name) + "`"
	}
	expected, fix := "no tool at all: there are none", "answer without a tool"
	if len(near) > 0 {
		expected = "one of " + strings.Join(shown, ", ")
		if more := len(tools) - len(near); more > 0 {
			expected += fmt.Sprintf(" and %d more", more)
		}
		fix = "call the tool you mean by its exact name, e.g. " + shown[0]
	}
	issue := Issue{Field: "name", Problem: "there is no such tool", Received: json.RawMessage(visible(string(encode(bounded(fault.Redact(called), 100), nil)))),
		Expected: expected, Fix: fix, groups: []string{groupEnum}}
	report := Report{Type: typeTool, Summary: summary, Issues: []Issue{issue}, Suggestions: suggestions([]Issue{issue})}
	p := page{left: maxText}
	switch {
	case times >= 3:
		p.add(fmt.Sprintf("%s It was called %d times: stop repeating it. Use one of the tools there are, or tell the user.", summary, times))
	case times == 2:
		p.add(summary + " This is the same mistake as before; change it.")
	default:
		p.add(summary)
	}
	p.add("Expected " + expected + ". Fix: " + fix + ".")
	return Message{p.text(), report.encoded()}
}
