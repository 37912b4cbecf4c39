package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/backup"
)

// Reversal is the way back from one change, shown before it is gone.
type Reversal struct {
	backup.Entry
	Diff string // from what the change left to what was there before, without the values that are secret
}

// Reversal shows what taking back a change would do.
func (f *Fleet) Reversal(id string) (Reversal, error) {
	entry, before, after, err := f.Store.Contents(id)
	if err != nil {
		return Reversal{}, err
	}
	return Reversal{entry, f.difference(entry, after, before)}, nil
}

// Consent is what somebody agrees to who has seen the diff.
func (r Reversal) Consent() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "undo %s %s %s %s %s", r.ID, r.Path, r.Target, r.Old, r.New))
	return hex.EncodeToString(sum[:])[:32]
}

// Undo takes a change back, if that is what was agreed to and the file is
// still what the change left.
func (f *Fleet) Undo(r Reversal, consent string) (backup.Entry, error) {
	if consent != r.Consent() {
		return backup.Entry{}, ErrConsent
	}
	return f.Store.Restore(r.ID, false)
}
