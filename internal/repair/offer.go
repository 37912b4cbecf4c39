package repair

import (
	"encoding/json"
	"strings"
)

// The labels of the call that an explanation ends with.
const (
	labelPasses  = "Call that would pass: "
	labelMatches = "Call that matches the schema: " // which the server may still reject
	guessPrefix  = "In the call below, "
	asSentNote   = `   ("` + maskText + `" is the value that you sent)`
)

// offerText replaces the example of an explanation, and the line about its guesses, or adds one.
func offerText(explanation, call, note string) string {
	label, at := labelPasses, -1
	var lines []string
	for line := range strings.SplitSeq(explanation, "\n") {
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

// offerReport sets the example of a report.
func offerReport(report json.RawMessage, call []byte) json.RawMessage {
	if len(report) == 0 {
		return report
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(report, &fields) != nil || fields == nil {
		return report
	}
	fields["validExample"] = json.RawMessage(visible(string(call)))
	changed, err := marshal(fields)
	if err != nil || len(changed) > maxData {
		return report
	}
	return changed
}

// Offer adds a call that a model proposed to an explanation and to its report, in place of the
// example that rules found. call is JSON with secrets masked.
func Offer(explanation string, report json.RawMessage, call []byte, note string) (string, json.RawMessage) {
	if len(call) > maxExample {
		return explanation, report
	}
	return offerText(explanation, visible(string(call)), note), offerReport(report, call)
}
