package repair

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Receipt reports what was changed in a call.
type Receipt struct {
	Called  string   `json:"called,omitempty"` // the name that the caller used, if the tool has a different one
	Tool    string   `json:"tool,omitempty"`   // the tool's name, if Called is set
	Changes []Change `json:"changes,omitempty"`
	Notes   []string `json:"notes,omitempty"`  // likely mistakes in arguments that were sent unchanged
	Model   string   `json:"model,omitempty"`  // the model that corrected the call
	Reason  string   `json:"reason,omitempty"` // why, in the model's words
}

func (r *Receipt) empty() bool {
	return r.Called == "" && len(r.Changes) == 0 && len(r.Notes) == 0 && r.Model == ""
}

// Limits of a note to the model.
const (
	maxNoteLen     = 1500 // characters
	maxNoteChanges = 5
)

// Note words the receipt for the model, as far as the mode asks for it. It is added to the result of
// the call. Values that are not the caller's are always named.
func (d *Decision) Note() string {
	parts := d.Receipt.ownNote()
	if d.mode != ModeSilent {
		parts = append(parts, d.notes()...)
	}
	if len(parts) == 0 {
		return ""
	}
	return fault.ModelMark + "] " + bounded(plaintext.Clean(strings.Join(parts, " ")), maxNoteLen)
}

func (c Change) isOwn() bool { return c.Rule == RuleOwn }

// Own returns the changes that contain a value of a model's own.
func Own(changes []Change) (own []Change) {
	for _, change := range changes {
		if change.isOwn() {
			own = append(own, change)
		}
	}
	return own
}

// ownNote names the values that are not the caller's, and who proposed them.
func (r *Receipt) ownNote() []string {
	own := OwnValues(r.Changes)
	if own == "" {
		return nil
	}
	by := "A model"
	if r.Model != "" {
		by = "The model " + bounded(visible(r.Model), 60)
	}
	return []string{"The call was run with values that you did not send. " + by + " proposed them: " + own +
		". Check that they match what the user asked for."}
}

// OwnValues names the values of a model's own among changes, on one line.
func OwnValues(changes []Change) string {
	var values []string
	own := Own(changes)
	for _, change := range own[:min(len(own), maxOwn)] {
		values = append(values, bounded(change.Path, 60)+": "+bounded(visible(string(change.After)), 80))
	}
	if more := len(own) - maxOwn; more > 0 {
		values = append(values, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(values, "; ")
}

// notes words the other changes, and what was noticed.
func (d *Decision) notes() (parts []string) {
	what := "The arguments were adjusted: "
	var changed []string
	if d.Receipt.Called != "" {
		what = "The call was adjusted: "
		changed = append(changed, "the tool is called "+redact.Quote(d.Tool)+", not "+redact.Quote(d.Receipt.Called))
	}
	for _, change := range d.Receipt.Changes {
		if change.Rule != RuleOwn && (change.Tier > Silent || d.mode == ModeReport) {
			changed = append(changed, change.String())
		}
	}
	if more := len(changed) - maxNoteChanges; more > 0 {
		changed = append(changed[:maxNoteChanges], fmt.Sprintf("and %d more", more))
	}
	if len(changed) > 0 {
		parts = append(parts, what+strings.Join(changed, "; ")+". Use this form next time.")
	}
	if len(d.Receipt.Notes) > 0 {
		parts = append(parts, "The arguments were sent unchanged, but "+strings.Join(d.Receipt.Notes, "; ")+".")
	}
	return parts
}

// Change is the receipt for one repair. Nothing is changed without one.
type Change struct {
	Path   string          `json:"path"`
	Before json.RawMessage `json:"before,omitempty"` // absent if the field was added
	After  json.RawMessage `json:"after,omitempty"`  // absent if the field was removed
	Rule   string          `json:"rule"`
	Tier   Tier            `json:"tier"`
}

// quoted encodes text as a JSON string, shortened for a receipt.
func quoted(text string) json.RawMessage { return encode(bounded(text, 400), nil) }

// maxChanges limits the changes in a receipt.
const maxChanges = 50

// shown returns the first changes, with secrets masked and long values shortened.
func (s *Schema) shown(changes []Change) []Change {
	changes = changes[:min(len(changes), maxChanges)]
	shown := make([]Change, len(changes))
	for i, c := range changes {
		shown[i] = c
		shown[i].Before, shown[i].After = s.shownValue(c, c.Before), s.shownValue(c, c.After)
	}
	return shown
}

func (s *Schema) shownValue(c Change, raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	doc, err := decode(string(raw))
	if err != nil {
		return quoted(maskText)
	}
	path := strings.Split(c.Path, ".")
	if c.Path == Path(nil) || c.Rule == RuleKey || c.Rule == RuleRenamed {
		path = path[:len(path)-1] // the value contains its own key
	}
	if text, ok := doc.value.(string); ok && looksLikeContainer(text) {
		if inner, ok := opened(text); ok {
			if known := s.masker(inner.value); len(known.values) > 0 {
				return quoted(known.in(bounded(text, 400)))
			}
		}
	}
	value := encode(s.masker(doc.value).safe(doc.value, path), doc.rank)
	if len(value) > 500 {
		return quoted(string(value))
	}
	return value
}

// String describes the change on one line.
func (c Change) String() string {
	switch {
	case c.After == nil:
		return c.Path + " was removed (" + c.Rule + ")"
	case c.Before == nil:
		return c.Path + " was set to " + bounded(string(c.After), 80) + " (" + c.Rule + ")"
	}
	return c.Path + ": " + bounded(string(c.Before), 80) + " became " + bounded(string(c.After), 80) + " (" + c.Rule + ")"
}
