package repair

import "encoding/json"

// Explanation is what a model reads about a call that was refused, or that its server rejected.
type Explanation struct {
	Tool    string
	Message string
	Details json.RawMessage // Message for programs
}

// worded lets the program that uses the Gate shape a message. Its details stay.
func (g *Gate) worded(tool string, m Message) Message {
	if g.Explain == nil || m.Text == "" {
		return m
	}
	if text := g.Explain(Explanation{Tool: tool, Message: m.Text, Details: m.Data}); text != "" {
		m.Text = text
	}
	return m
}
