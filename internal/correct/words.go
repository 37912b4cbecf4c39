package correct

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// Offer adds a Proposal that is not sent to an explanation and to its report. Either may be empty.
func Offer(explanation string, report json.RawMessage, p Proposal) (string, json.RawMessage) {
	note := "A model proposed the call below. Check that it means what the request says before you send it."
	if len(p.Dropped) > 0 {
		note += " It leaves out " + strings.Join(p.Dropped[:min(len(p.Dropped), 5)], ", ") + "."
	}
	if p.Opened {
		note += " It contains values that were not in the call."
	}
	return repair.Offer(explanation, report, p.Shown, note)
}

// BothFailed words the answer to a call that failed, was corrected, and failed again. The texts are
// those of the two failures.
func BothFailed(first string, changes []repair.Change, second string) string {
	var changed []string
	for _, change := range changes[:min(len(changes), 5)] {
		changed = append(changed, strings.TrimSuffix(change.String(), " ("+repair.RuleModel+")"))
	}
	if more := len(changes) - len(changed); more > 0 {
		changed = append(changed, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("The call failed, and so did the call with corrected arguments. It is not sent again.\nFirst failure: %s\nCorrected by a model: %s\nSecond failure: %s",
		quoted(first), strings.Join(changed, "; "), quoted(second))
}

// quoted returns untrusted text as a JSON string.
func quoted(text string) string {
	data, err := plaintext.EncodeJSON(plaintext.Cap(redact.Text(plaintext.Clean(text)), 1000), "")
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(data))
}
