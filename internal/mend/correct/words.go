package correct

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Offer adds a Proposal that is not sent to an explanation and to its report. Either may be empty.
func Offer(explanation string, report json.RawMessage, p Proposal) (string, json.RawMessage) {
	note := "A model proposed the call below. Before you send it, check that it does what the user asked for."
	if own := repair.OwnValues(p.Changes); own != "" {
		by := "the model"
		if p.Model != "" {
			by += " " + p.Model
		}
		note += " You did not send these values; " + by + " proposed them: " + own + "."
	}
	if len(p.Dropped) > 0 {
		note += " It omits " + strings.Join(p.Dropped[:min(len(p.Dropped), 5)], ", ") + "."
	}
	return repair.Offer(explanation, report, p.Shown, note, p.Lost)
}

// NotSent returns why a Proposal is only shown to the caller; empty: it may be sent.
func (p Proposal) NotSent(c Call, policy Policy) string {
	switch {
	case p.Send:
		return ""
	case policy.OfferOnly:
		return "the correction policy does not allow it"
	case !c.harmless():
		return "the rejected call may have had an effect"
	case len(p.Dropped) > 0:
		return "it omits values that the caller sent"
	case p.Opened && !c.Safe:
		return "it contains values that the caller did not send, and the tool may modify data"
	case p.Opened && policy.Closed:
		return "it contains values that the caller did not send"
	case c.Safe && p.Doubt != "":
		return p.Doubt
	}
	return "only the caller knows whether it has the same meaning"
}

// Describe lists changes on one line, without the rule if a model made them.
func Describe(changes []repair.Change) string {
	lines := make([]string, len(changes))
	for i, change := range changes {
		line := strings.TrimSuffix(change.String(), " ("+repair.RuleModel+")")
		lines[i] = strings.TrimSuffix(line, " ("+repair.RuleOwn+")")
	}
	return strings.Join(lines, "; ")
}

// BothFailed words the answer to a call that failed, was corrected, and failed again. The texts are
// those of the two failures.
func BothFailed(first string, changes []repair.Change, second string) string {
	const maxChanges = 5
	changed := Describe(changes[:min(len(changes), maxChanges)])
	if more := len(changes) - maxChanges; more > 0 {
		changed += fmt.Sprintf("; and %d more", more)
	}
	return "The call failed, and so did the call with corrected arguments, so it will not be sent again.\nFirst failure: " + quoted(first) +
		"\nCorrected by a model: " + changed + "\nSecond failure: " + quoted(second)
}

// quoted returns untrusted text as a JSON string.
func quoted(text string) string {
	data, err := plaintext.EncodeJSON(plaintext.Cap(redact.Text(plaintext.Clean(text)), 1000), "")
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(data))
}
