package doctor

import "slices"

// symptom is what a client says about a failure whose cause it does not know. It does not point to a
// cause, because every cause has it, but something is known then.
type symptom struct {
	expr  string
	known string
	atURL string // instead of known, for a server behind a URL
}

// symptoms are in the order of how much they say.
var symptoms = []symptom{
	connectionLost: {
		expr: `(?i)(?:connection|client|transport|server(?: transport)?|session|stream|pipe) (?:(?:was|is|has been|got|unexpectedly) )*(?:closed?|disconnected|lost)\b|` +
			`exited before responding|process exited|connection reset|broken pipe|\b(?:Closed|Broken)ResourceError\b`,
		known: "The client lost its connection to the server: its process exited, or it closed its output.",
		atURL: "The client lost its connection: the server, or a proxy in front of it, closed it.",
	},
	{
		expr:  `(?i)(?:failed to|could not) (?:start|initialize)`,
		known: "The client could not start the server, or did not understand its first response.",
	},
	{
		expr:  `(?i)request timed out`,
		known: "The client got no response in time.",
	},
	{
		expr:  `(?i)failed to (?:re)?connect|could not connect|couldn't reach|not connected`,
		known: "The client has no connection to the server.",
	},
	errorGroup: {
		expr:  `(?i)unhandled errors in a TaskGroup`,
		known: "The message about a TaskGroup only wraps the real error, which follows it in a complete traceback.",
	},
}

// Positions in symptoms.
const (
	connectionLost = 0
	errorGroup     = 4
)

// maxSymptoms limits the lines that are quoted.
const maxSymptoms = 3

// shows reports whether the text has a symptom.
func (x *exam) shows(symptom int) bool { return x.find(x.table.symptoms[symptom], nil) != nil }

// symptoms returns what is known from the symptoms in the text, and the lines that have them.
func (x *exam) symptoms() (known string, lines []string) {
	for i, s := range symptoms {
		found := false
		x.find(x.table.symptoms[i], func(m *match) bool {
			found = true
			if line := x.reason(m); !slices.Contains(lines, line) && len(lines) < maxSymptoms {
				lines = append(lines, line)
			}
			return false // collect all of them
		})
		switch {
		case !found:
		case known == "" && x.remote() && s.atURL != "":
			known = s.atURL
		case known == "":
			known = s.known
		case i == errorGroup:
			known += " " + s.known
		}
	}
	return known, lines
}
