package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/remembered"
)

// CallLog remembers the last failed call of each server that was explained, in one small file for
// each server. It contains no arguments, no results and no secrets. The zero value remembers
// nothing.
type CallLog struct{ Dir string }

// CallLogIn returns the log in gauze's state directory.
func CallLogIn(state string) CallLog { return CallLog{Dir: filepath.Join(state, "calls")} }

// CallFailure is a failed tool call that was explained.
type CallFailure struct {
	At          time.Time `json:"at"`
	Tool        string    `json:"tool"`
	Dir         string    `json:"dir"` // where the server ran, whose files may have settings for it
	Category    Category  `json:"category"`
	Cause       string    `json:"cause"` // in the catalogue
	Explanation string    `json:"explanation"`
	Fix         string    `json:"fix"`
	Said        string    `json:"said"` // the line of the server's error that the cause rests on, redacted
}

// A failure is remembered for maxFailureAge. There are at most maxFailures files.
const (
	maxFailureAge  = 7 * 24 * time.Hour
	maxFailures    = 100
	maxFailureSize = 8 << 10
)

// file returns the file of a server. Its name is a hash of the command line without its secrets:
// gauze run and the client's file have the command line in common, but not the environment.
func (l CallLog) file(spec launch.Spec) string {
	sum := sha256.Sum256([]byte(spec.Shown()))
	return filepath.Join(l.Dir, hex.EncodeToString(sum[:8])+".json")
}

// Put remembers a failure instead of the server's last one. Errors are ignored: a call is answered
// the same without it.
func (l CallLog) Put(spec launch.Spec, f CallFailure) {
	if l.Dir == "" || os.MkdirAll(l.Dir, 0o700) != nil {
		return
	}
	secrets := spec.Secrets()
	for _, text := range []*string{&f.Tool, &f.Explanation, &f.Fix, &f.Said} {
		hidden := redact.Text(secrets.Redact(*text)) // before it is cut: half a secret is not recognised
		*text = hidden[:min(len(hidden), 1<<10)]
	}
	text, err := json.Marshal(f)
	if err != nil || len(text) > maxFailureSize {
		return
	}
	_ = remembered.Keep(l.file(spec), text, maxFailures)
}

// Get returns the last failure of a server's calls.
func (l CallLog) Get(spec launch.Spec) (f CallFailure, ok bool) {
	if l.Dir == "" {
		return f, false
	}
	text, err := readSmall(l.file(spec))
	if err != nil || json.Unmarshal(text, &f) != nil || time.Since(f.At) > maxFailureAge {
		return CallFailure{}, false
	}
	return f, true
}

// Delete forgets the last failure of a server's calls if it was of this tool.
func (l CallLog) Delete(spec launch.Spec, tool string) {
	if f, ok := l.Get(spec); ok && f.Tool == tool {
		os.Remove(l.file(spec))
	}
}
