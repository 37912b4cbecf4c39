package event

import (
	"encoding/json"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Consultation is one question to a model and what came of it.
type Consultation struct {
	Model        string          // name of the model
	InputTokens  int             // length of the question
	OutputTokens int             // length of the answer
	Cost         float64         // in US dollars; 0 if prices are not configured
	Reason       string          // the model's own, and untrusted text
	Before       json.RawMessage // arguments as the model saw them, secrets masked
	After        json.RawMessage // the model's arguments, secrets masked; nil if it sent none
}

// quoted returns m with every text cleaned and redacted.
func (m *Consultation) quoted() *Consultation {
	if m == nil {
		return nil
	}
	clean := *m
	clean.Model, clean.Reason = redact.Quote(m.Model), redact.Quote(m.Reason)
	clean.Before, clean.After = redact.JSON(m.Before, redact.Quote), redact.JSON(m.After, redact.Quote)
	return &clean
}

// line formats the question as the end of an event's line.
func (m *Consultation) line() (line string) {
	if m.Reason != "" {
		line = ": " + m.Reason
	}
	line += " [" + m.Model
	if spent := m.Spent(); spent != "" {
		line += ", " + spent
	}
	return line + "]"
}

// Spent says what the question cost, such as 400+20 tokens, $0.0001. It is empty if that is not
// known.
func (m *Consultation) Spent() string {
	switch tokens := fmt.Sprintf("%d+%d tokens", m.InputTokens, m.OutputTokens); {
	case m.InputTokens == 0 && m.OutputTokens == 0:
		return ""
	case m.Cost > 0:
		return tokens + fmt.Sprintf(", $%.4f", m.Cost)
	default:
		return tokens
	}
}
