package repair

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// Message tells a caller how to correct a call.
type Message struct {
	Text string          // for the model
	Data json.RawMessage // the same for programs: a Report
}

// The values of Report.Type.
const (
	typeArguments = "invalid_arguments"
	typeTool      = "unknown_tool"
)

// Explain tells the caller of a refused call what to change. times counts how many times in a row
// the same mistake was made, from 1: the second message is shorter, and the third says to stop.
func (s *Schema) Explain(tool string, out Outcome, times int) Message {
	return s.explain(message{schema: s, tool: tool, times: times}, out)
}

func (s *Schema) explain(m message, out Outcome) (told Message) {
	defer func() {
		if recover() != nil { // no schema may prevent an explanation
			told = m.plainRefusal()
		}
	}()
	s.Ready()
	if out.Verdict != Refused {
		return Message{}
	}
	m.sent, m.rank = out.sent, out.rank
	m.known = s.masker(out.sent, out.closest)
	if out.unreadable != "" {
		m.sent = map[string]any{}
		found := salvage(out.text, slices.Sorted(maps.Keys(s.declared)))
		m.known = s.masker(found.value)
		m.shown = s.example(found.value, found.rank, m.known, nil)
		return m.unreadable(out)
	}
	m.shown = s.example(out.closest, out.rank, m.known, nil)
	d := s.find(out.sent, out.violations, m.known)
	m.issues, m.more, m.affected = d.issues(m.shown), d.more, d.affected
	m.summary = m.status() + ": " + m.extent() + "."
	return m.write()
}

// status says what happened to the call.
func (m *message) status() string {
	call := "the call"
	if m.tool != "" {
		call += " to `" + shownTool(m.tool) + "`"
	}
	switch m.found {
	case rejectedCall:
		return "The server rejected " + call
	case arguable:
		return "T" + call[1:] + " failed, and its arguments do not match the tool's schema"
	}
	return "T" + call[1:] + " was not run"
}

// plainRefusal is the message if no details are available.
func (m *message) plainRefusal() Message {
	summary := m.status() + ": its arguments do not match the tool's schema."
	return Message{Text: summary, Data: encode(map[string]any{"type": typeArguments, "summary": summary}, nil)}
}

// message collects what a Message is written from.
type message struct {
	schema   *Schema
	tool     string
	about    string // the tool's description
	times    int
	found    judgement // what the server's response says; unrelated: the call was not sent
	sent     any
	rank     map[string]int
	known    *masker
	shown    *example
	summary  string
	quoted   []string // lines between the summary and the issues
	issues   []Issue
	more     int             // number of issues that are not listed
	affected map[string]bool // arguments with issues
}

// shownTool returns a tool name that can be shown in backticks.
func shownTool(name string) string {
	return bounded(strings.ReplaceAll(redact.Text(visible(name)), "`", "'"), 100)
}

// extent says how much of the call has to change.
func (m *message) extent() string {
	for _, issue := range m.issues {
		if issue.top == "" {
			return "its arguments must be changed"
		}
	}
	bad := len(m.affected)
	all := bad
	if object, ok := m.sent.(map[string]any); ok {
		for key := range object {
			if !m.affected[key] {
				all++
			}
		}
	}
	if all == 1 {
		return "1 argument must be changed"
	}
	return fmt.Sprintf("%d of %d arguments must be changed", bad, all)
}

// write composes the message within its limits.
func (m *message) write() Message {
	report := Report{Type: typeArguments, Summary: m.summary, Issues: m.issues}
	if m.shown != nil {
		report.ValidExample = m.shown.text()
	}
	if m.times <= 1 {
		report.Schema = manual{m.schema}.documentation(m.about)
	}
	if m.times >= 3 {
		return Message{m.stop(), report.encoded()}
	}
	p := page{left: maxText}
	p.add(m.summary + word(m.times == 2, sameMistake, ""))
	for _, line := range m.quoted {
		p.add(line)
	}
	m.writeIssues(&p)
	m.writeSuggestions(&p)
	m.writeKept(&p)
	m.writeExample(&p)
	if m.times <= 1 {
		m.writeUsage(&p)
	}
	return Message{p.text(), report.encoded()}
}

// maxExampleLine limits the line with the example, in bytes. That much room is reserved for it.
const maxExampleLine = 1300

func (m *message) writeIssues(p *page) {
	p.left -= maxExampleLine
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
	p.left += maxExampleLine
	if more := len(m.issues) - shown + m.more; more > 0 {
		p.add(fmt.Sprintf("And %s.", plural(more, "more issue")))
	}
}

// sameMistake is added to the summary of a call that failed in the same way twice.
const sameMistake = " This is the same mistake as before."

// writeSuggestions sums up what to do if several things are wrong.
func (m *message) writeSuggestions(p *page) {
	if len(m.issues) < 2 {
		return
	}
	var texts []string
	for _, suggestion := range suggestions(m.issues) {
		texts = append(texts, suggestion.Text)
	}
	p.add(bounded(strings.Join(texts, " "), 400))
}

// writeKept lists the arguments that need no change.
func (m *message) writeKept(p *page) {
	object, ok := m.sent.(map[string]any)
	if !ok || slices.ContainsFunc(m.issues, func(issue Issue) bool { return issue.top == "" }) {
		return
	}
	var kept []string
	for _, key := range orderedKeys(object, m.rank) {
		if !m.affected[key] && m.shown.has([]string{key}) {
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

func (m *message) writeExample(p *page) {
	if m.shown == nil {
		return
	}
	label := labelPasses
	if m.found != unrelated {
		label = labelMatches
	}
	line := label + string(m.shown.text())
	if strings.Contains(line, maskText) {
		line += asSentNote
	}
	if note := m.guessed(); len(note)+len(line) < maxExampleLine && note != "" {
		p.add(note) // before the call, which is copied without what follows it
	}
	if len(line) <= maxExampleLine && p.add(line) {
		return
	}
	// The example is too long: show only what has to change.
	changed := map[string]any{}
	if object, ok := m.shown.value.(map[string]any); ok {
		for _, issue := range m.issues {
			if value, there := object[issue.top]; there {
				changed[issue.top] = value
			}
		}
	}
	line = label + sameWith + visible(string(encode(changed, m.shown.rank)))
	if len(changed) > 0 && len(line) <= maxExampleLine {
		p.add(line)
	}
}

// guessed tells the caller which values of the example to replace; empty if there are none.
func (m *message) guessed() string {
	names := m.shown.guesses
	if len(names) == 0 {
		return ""
	}
	if len(names) > 5 {
		names = append(slices.Clone(names[:5]), fmt.Sprintf("%d more", len(names)-5))
	}
	return guessPrefix + strings.Join(names, ", ") +
		word(len(names) == 1, " is a guess: change it if the user asked for something else.",
			" are guesses: change any that do not match what the user asked for.")
}

// writeUsage documents the tool and its arguments.
func (m *message) writeUsage(p *page) {
	manual := manual{m.schema}
	if about := manual.purpose(m.about, 200); about != "" && p.left > 600 {
		p.add("About the tool: " + string(encode(about, nil)))
	}
	title := "Arguments"
	if m.tool != "" {
		title += " of `" + shownTool(m.tool) + "`"
	}
	if len(m.schema.declared) > 0 && p.add(title+":") {
		manual.usage(p, m.affected, m.shown)
	}
}

// stop tells a caller to stop repeating the same mistake.
func (m *message) stop() string {
	p := page{left: maxText / 4}
	p.add(fmt.Sprintf("%s This call has failed in the same way %d times: stop repeating it.", m.summary, m.times))
	for i, issue := range m.issues[:min(len(m.issues), 3)] {
		p.add(fmt.Sprintf("%d. %s: expected %s.", i+1, issue.Field, bounded(issue.Expected, 160)))
	}
	p.add("Change these arguments, ask the user for the values that you do not know, or use another tool.")
	return p.text()
}

// lastNumber matches a number at the end of a text.
var lastNumber = regex.New(`[\d.]*\s*$`)

var characterAt = regex.New(` at character (\d+)$`)

// unreadable explains text that is not JSON, and where the problem is.
func (m *message) unreadable(out Outcome) Message {
	m.summary = m.status() + ": its arguments are not JSON."
	text, what := out.text, "not JSON"
	if strings.HasPrefix(out.unreadable, afterJSON) {
		what = "not JSON, more text"
	}
	if found := characterAt.FindStringSubmatch(out.unreadable); found != nil {
		text = unfenced(text)
		at, _ := strconv.Atoi(found[1])
		at = min(max(at-1, 0), len(text))
		rest, _, _ := strings.Cut(text[at:], "\n")
		expression, _, _ := strings.Cut(bounded(rest, maxLiteral), ",")
		if text = text[:at]; isCalculation(strings.TrimRight(lastNumber.FindString(text)+expression, " }]\r")) {
			what = "not JSON, calculation"
		}
	}
	why, got := remark(out.unreadable, 200), "received "+plural(len(out.text), "byte")
	f := finding{expected: "a JSON object"}
	f.tell(what, "{why}", why)
	issue := f.issue()
	if after := tail(redact.Text(plaintext.Clean(text[max(0, len(text)-2000):])), 60); after != "" {
		issue.Received = json.RawMessage(visible(string(encode(after, nil))))
		got += " that are not JSON after " + string(issue.Received)
	}
	issue.write(got+" ("+why+")", "")
	m.issues = []Issue{issue}
	return m.write()
}

func isCalculation(text string) bool { _, ok := evaluated(text); return ok }

// tail returns the last n characters of a text.
func tail(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return "…" + string(runes[len(runes)-n:])
	}
	return text
}

// unknownTool tells the caller of a tool that does not exist, or that the server rejected, which
// tools there are.
func unknownTool(called string, tools []string, times int, rejected bool) Message {
	summary := fmt.Sprintf("The call was not run: tool `%s` does not exist.", shownTool(called))
	if rejected {
		summary = fmt.Sprintf("The server rejected the call: it does not list a tool named `%s`.", shownTool(called))
	}
	f := toolChoice(called, tools)
	issue := f.issue()
	issue.Field, issue.Received = "name", json.RawMessage(visible(string(encode(bounded(redact.Text(called), 100), nil))))
	report := Report{Type: typeTool, Summary: summary, Issues: []Issue{issue}}
	switch {
	case times >= 3:
		summary += fmt.Sprintf(" This tool has been called %d times: stop repeating the call. Use one of the tools below, or tell the user.", times)
	case times == 2:
		summary += sameMistake
	}
	p := page{left: maxText}
	p.add(summary)
	p.add("Expected " + issue.Expected + ". Fix: " + issue.Fix + ".")
	return Message{p.text(), report.encoded()}
}

// toolChoice says which tools can be called instead of one that does not exist: those with a similar
// name, or else all.
func toolChoice(called string, tools []string) (f finding) {
	quoted := func(names []string) string {
		shown := make([]string, len(names))
		for i, name := range names {
			shown[i] = "`" + shownTool(name) + "`"
		}
		return strings.Join(shown, ", ")
	}
	what, example := "unknown tool", ""
	switch near, n := SimilarNames(called, tools, maxNearChoices), len(tools); {
	case len(near) > 0:
		f.expected = fmt.Sprintf("one of the server's %s; similar: %s", plural(n, "tool"), quoted(near))
		example = ", e.g. " + quoted(near[:1])
	case n == 0:
		f.expected, what = "no tool, because the server has none", "unknown tool, none"
	case n == 1:
		f.expected = "the server's only tool: " + quoted(tools)
	case n > maxToolsListed:
		f.expected = fmt.Sprintf("one of the server's tools: %s and %d more", quoted(tools[:maxToolsListed]), n-maxToolsListed)
	default:
		f.expected = "one of the server's tools: " + quoted(tools)
	}
	f.tell(what, "{example}", example)
	return f
}
