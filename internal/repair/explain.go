package repair

import "encoding/json"

// Message is what a caller reads who has to send a call again.
type Message struct {
	Text string          // for the model
	Data json.RawMessage // the same for programs: type, summary, issues, schema, suggestions, validExample
}

// Explain tells the caller of a refused call what to change. times is how
// often in a row the same mistake was made, from 1: the second text is
// shorter, the third says to stop.
func (s *Schema) Explain(tool string, out Outcome, times int) Message { return Message{} }

// UnknownTool tells the caller of a tool that does not exist which there are.
func UnknownTool(called string, tools []string, times int) Message { return Message{} }

// IsComplaint reports whether a server's error text is a complaint about the
// arguments of the call and not about what the tool did.
func IsComplaint(text string) bool { return false }

// Complaint tells the caller what a server's own complaint means: raw are the
// arguments that were sent, said is what the server said.
func (s *Schema) Complaint(tool string, raw []byte, said string, times int) Message { return Message{} }
