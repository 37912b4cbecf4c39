package repair

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a message.
const (
	maxText   = 4 << 10
	maxData   = 16 << 10
	maxIssues = 8
)

// Report is a message for programs.
type Report struct {
	Type         string          `json:"type"`
	Summary      string          `json:"summary"`
	Issues       []Issue         `json:"issues"`
	Schema       *Documentation  `json:"schema,omitempty"`
	Suggestions  []Suggestion    `json:"suggestions"`
	ValidExample json.RawMessage `json:"validExample,omitempty"`
}

// Suggestion says how to mend several fields that fail in the same way.
type Suggestion struct {
	Group  string   `json:"group"`
	Fields []string `json:"fields"`
	Text   string   `json:"text"`
}

// suggestionTexts are in the order in which suggestions are given.
var suggestionTexts = []struct{ group, text string }{
	{groupMissing, "Add what is missing: "},
	{groupType, "Send another type of value: "},
	{groupFormat, "Write in the format that is expected: "},
	{groupRange, "Stay within the bounds: "},
	{groupEnum, "Use one of the choices: "},
	{groupPattern, "Match the pattern: "},
	{groupExtra, "Leave out or rename what the tool does not have: "},
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

// encoded is the report as JSON within its bound: of the schema the detail
// goes first, then the schema, then the last issues.
func (r Report) encoded() json.RawMessage {
	if r.Issues == nil {
		r.Issues = []Issue{}
	}
	for {
		data, err := marshal(r)
		if err == nil && len(data) <= maxData {
			return data
		}
		switch {
		case r.Schema != nil:
			r.Schema = r.Schema.less()
		case r.ValidExample != nil:
			r.ValidExample = nil
		case len(r.Issues) > 1:
			r.Issues = r.Issues[:len(r.Issues)/2]
			r.Suggestions = suggestions(r.Issues)
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
	line = strings.TrimSpace(line) // a line of foreign text is one line in any case
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
