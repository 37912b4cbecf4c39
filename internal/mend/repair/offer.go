package repair

import (
	"encoding/json"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// The labels of the call that an explanation ends with.
const (
	labelPasses  = "Call that would pass: "
	labelMatches = "Call that matches the schema: " // which the server may still reject
	sameWith     = "the same with "                 // before the arguments that have to change, if all are too long
	guessPrefix  = "In the call below, "
	asSentNote   = `   ("` + maskText + `" is the value that you sent)`
)

// offerText replaces the example of an explanation, and the line about its guesses, or adds one.
func offerText(explanation, call, note string) string {
	label, at := labelPasses, -1
	swaps := swapsOf(strings.TrimPrefix(exampleIn(explanation), sameWith), call)
	var lines []string
	for line := range strings.SplitSeq(explanation, "\n") {
		line = swaps.inLine(line)
		switch {
		case strings.HasPrefix(line, labelPasses):
			at = len(lines)
		case strings.HasPrefix(line, labelMatches):
			label, at = labelMatches, len(lines)
		case strings.HasPrefix(line, guessPrefix):
		default:
			lines = append(lines, line)
		}
	}
	if at < 0 {
		at = len(lines)
		if strings.TrimSpace(explanation) == "" {
			lines, at = nil, 0
		}
	}
	offered := []string{label + call}
	if note != "" {
		offered = []string{note, label + call}
	}
	if strings.Contains(call, maskText) {
		offered[len(offered)-1] += asSentNote
	}
	lines = append(lines[:at:at], append(offered, lines[at:]...)...)
	return strings.Join(lines, "\n")
}

// exampleIn returns the call that an explanation ends with, or nothing. It may begin with sameWith.
func exampleIn(explanation string) string {
	for line := range strings.SplitSeq(explanation, "\n") {
		if strings.HasPrefix(line, labelPasses) || strings.HasPrefix(line, labelMatches) {
			return strings.TrimPrefix(strings.TrimPrefix(line, labelPasses), labelMatches)
		}
	}
	return ""
}

// swap is a value that rules proposed for an argument, and the one that a model proposes instead.
type swap struct{ field, old, new string }

type swaps []swap

// swapsOf compares the arguments of two calls.
func swapsOf(old, call string) (list swaps) {
	var before, after map[string]json.RawMessage
	if json.NewDecoder(strings.NewReader(old)).Decode(&before) != nil || json.Unmarshal([]byte(call), &after) != nil {
		return nil
	}
	for field, value := range before {
		if other, there := after[field]; there && string(other) != string(value) {
			list = append(list, swap{visible(field), string(value), string(other)})
		}
	}
	return list
}

// lineStart matches the start of a line about an argument.
var lineStart = regex.New(`^(?:\d+\. |- )`)

// inLine replaces the example in a line about an argument.
func (list swaps) inLine(line string) string {
	start := lineStart.FindString(line)
	for _, s := range list {
		rest, ok := strings.CutPrefix(line[len(start):], s.field)
		if isName := rest != "" && (rest[0] == ' ' || rest[0] == ':'); ok && isName && start != "" {
			return s.in(line)
		}
	}
	return line
}

// in replaces the example at the end of a text.
func (s swap) in(text string) string {
	body := strings.TrimSuffix(text, ".")
	if before, ok := strings.CutSuffix(body, "e.g. "+s.old); ok {
		return before + "e.g. " + bounded(s.new, maxLiteral) + text[len(body):]
	}
	return text
}

// inIssues replaces the examples in the issues of a report.
func (list swaps) inIssues(raw json.RawMessage) json.RawMessage {
	var issues []Issue
	if len(list) == 0 || json.Unmarshal(raw, &issues) != nil {
		return raw
	}
	for i := range issues {
		for _, s := range list {
			if s.field == issues[i].Field {
				issues[i].Fix = s.in(issues[i].Fix)
			}
		}
	}
	if changed, err := marshal(issues); err == nil {
		return changed
	}
	return raw
}

// offerReport sets the example of a report.
func offerReport(report json.RawMessage, call []byte) json.RawMessage {
	if len(report) == 0 {
		return report
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(report, &fields) != nil || fields == nil {
		return report
	}
	if issues := fields["issues"]; issues != nil {
		fields["issues"] = swapsOf(string(fields["validExample"]), string(call)).inIssues(issues)
	}
	fields["validExample"] = json.RawMessage(visible(string(call)))
	changed, err := marshal(fields)
	if err != nil || len(changed) > maxData {
		return report
	}
	return changed
}

// Offer adds a call that a model proposed to an explanation and to its report, in place of the
// example that rules found, unless that one has the valid values that the call lost. call is JSON with
// secrets masked.
func Offer(explanation string, report json.RawMessage, call []byte, note string, lost []Lost) (string, json.RawMessage) {
	if len(call) > maxExample || keeps(exampleIn(explanation), lost) {
		return explanation, report
	}
	return offerText(explanation, visible(string(call)), note), offerReport(report, call)
}
