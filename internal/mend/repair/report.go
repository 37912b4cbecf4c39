package repair

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a message: bytes of its text and of its data, and issues.
const (
	maxText   = 4 << 10
	maxData   = 16 << 10
	maxIssues = 8
)

// Report is a Message for programs.
type Report struct {
	Type         string          `json:"type"`
	Summary      string          `json:"summary"`
	Issues       []Issue         `json:"issues"`
	Schema       *Documentation  `json:"schema,omitempty"`
	Suggestions  []Suggestion    `json:"suggestions"`
	ValidExample json.RawMessage `json:"validExample,omitempty"`
}

// Suggestion says how to fix several fields that fail in the same way.
type Suggestion struct {
	Group  string   `json:"group"`
	Fields []string `json:"fields"`
	Text   string   `json:"text"`
}

// suggestionTexts is in the order in which suggestions are given.
var suggestionTexts = []struct{ group, text string }{
	{groupMissing, "Add the missing fields: "},
	{groupType, "Send a value of the expected type: "},
	{groupFormat, "Use the expected format: "},
	{groupRange, "Stay within the limits: "},
	{groupEnum, "Use one of the allowed values: "},
	{groupPattern, "Send a value that matches the pattern: "},
	{groupExtra, "Rename or remove the keys that the tool does not accept: "},
}

func suggestions(issues []Issue) []Suggestion {
	list := []Suggestion{}
	for _, group := range suggestionTexts {
		var fields []string
		for _, issue := range issues {
			if slices.Contains(issue.groups, group.group) && !slices.Contains(fields, issue.Field) {
				fields = append(fields, issue.Field)
			}
		}
		if len(fields) > 0 {
			list = append(list, Suggestion{group.group, fields, group.text + strings.Join(fields, ", ") + "."})
		}
	}
	return list
}

// encoded returns the report as JSON within its limit. It drops the schema first, then the example,
// then the last issues.
func (r Report) encoded() json.RawMessage {
	for {
		r.Suggestions = suggestions(r.Issues)
		data, err := marshal(r)
		if err == nil && len(data) <= maxData {
			return data
		}
		switch {
		case r.Schema != nil:
			r.Schema = nil
		case r.ValidExample != nil:
			r.ValidExample = nil
		case len(r.Issues) > 1:
			r.Issues = r.Issues[:len(r.Issues)/2]
		default:
			return json.RawMessage(`{"type":"` + r.Type + `"}`)
		}
	}
}

func marshal(value any) (json.RawMessage, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return json.RawMessage(visible(strings.TrimSuffix(b.String(), "\n"))), err
}

// page collects lines up to a number of bytes.
type page struct {
	lines []string
	left  int
}

// add adds a line if there is room.
func (p *page) add(line string) bool {
	if line = strings.TrimSpace(line); line == "" { // untrusted text must stay on one line
		return true
	}
	if !utf8.ValidString(line) {
		line = strings.ToValidUTF8(line, "?")
	}
	if len(line)+1 > p.left {
		return false
	}
	p.lines = append(p.lines, line)
	p.left -= len(line) + 1
	return true
}

func (p *page) text() string { return strings.Join(p.lines, "\n") }
