package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// death is a server that is dead and stays so until the user acts: gauze has given up on it,
// or it crashes whenever it is started. A browser shows it as a notification.
type death struct {
	ID    string `json:"id"` // the same for the same death
	Title string `json:"title"`
	Text  string `json:"text"`
}

// maxDeathText bounds the text of a notification.
const maxDeathText = 200

// deaths returns the servers that are permanently dead as far as gauze can tell.
func (d *Dashboard) deaths(ctx context.Context) (all []death) {
	servers, err := d.servers(ctx)
	if err != nil {
		return nil
	}
	records, err := d.events(ctx)
	if err != nil {
		return nil
	}
	for _, s := range servers {
		if s.State != health.Dead.String() {
			continue
		}
		if r, found := gaveUp(records, s); found {
			text := "Gauze cannot start it again."
			if r.Kind == event.Opened {
				text = "It crashes whenever it is started."
			}
			if r.Cause != nil && r.Cause.Explanation != "" {
				text = r.Cause.Explanation
			}
			all = append(all, death{fmt.Sprintf("%s-%d", s.ID, r.Seq), plaintext.Cap(plaintext.Clean(s.Name), 80) + " is not running", plaintext.Cap(redact.Quote(text), maxDeathText)})
		}
	}
	return all
}

// gaveUp returns the first event since the server of a wrap last worked with which gauze gave up on it
// or paused restarts, with the last cause.
func gaveUp(records []journal.Record, s live.Server) (first journal.Record, found bool) {
	var cause *journal.Cause
	for _, r := range slices.Backward(records) {
		if r.Gauze != s.PID || r.Server != s.Name {
			continue
		}
		if r.Cause != nil && cause == nil {
			cause = r.Cause
		}
		switch r.Kind {
		case event.GaveUp, event.Opened:
			first, found = r, true
		case event.Ready, event.Restored:
			first.Cause = cause
			return first, found
		}
	}
	first.Cause = cause
	return first, found
}

// deathMessages returns the deaths that a stream has not reported, as its messages.
func (d *Dashboard) deathMessages(ctx context.Context, told map[string]bool) (messages string) {
	for _, one := range d.deaths(ctx) {
		if told[one.ID] {
			continue
		}
		told[one.ID] = true
		if text, err := json.Marshal(one); err == nil {
			messages += "event: death\ndata: " + string(text) + "\n\n"
		}
	}
	return messages
}
