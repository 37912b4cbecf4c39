package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/backup"
)

// Reversal undoes one change. It is shown before it is applied.
type Reversal struct {
	backup.Entry
	Diff string // what the undo would change, without secrets
}

// Reversal returns what undoing a change would do.
func (f *Fleet) Reversal(id string) (Reversal, error) {
	entry, before, after, err := f.Store.Contents(id)
	if err != nil {
		return Reversal{}, err
	}
	return Reversal{entry, f.difference(entry, after, before)}, nil
}

// Consent returns a token for exactly this reversal.
func (r Reversal) Consent() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "undo %s %s %s %s %s", r.ID, r.Path, r.Target, r.Old, r.New))
	return hex.EncodeToString(sum[:])[:32]
}

// Undo reverts a change if consent is for exactly this reversal and the file did not change since.
func (f *Fleet) Undo(r Reversal, consent string) (backup.Entry, error) {
	if consent != r.Consent() {
		return backup.Entry{}, ErrConsent
	}
	return f.Store.Restore(r.ID, false)
}
