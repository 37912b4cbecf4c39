package live

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// File is the file of gauze up that a server comes from.
type File struct {
	Path  string    `json:"path"`
	Error string    `json:"error,omitempty"` // why the newest version of the file is not used, a line for each problem; empty: it is
	Note  string    `json:"note,omitempty"`  // what the last reload changed
	Read  time.Time `json:"read,omitzero"`   // when the file was last read again
}

// received makes what a wrap said fit to be shown.
func (f *File) received() {
	f.Path, f.Note = plaintext.Clean(f.Path), plaintext.Clean(f.Note)
	lines := strings.Split(f.Error, "\n")
	for i, line := range lines {
		lines[i] = plaintext.Clean(line)
	}
	f.Error = strings.Join(lines, "\n")
}

// OfFiles returns one server of each gauze up, which knows its file.
func OfFiles(servers []Server) (all []Server) {
	for _, s := range servers {
		if s.File != nil && !slices.ContainsFunc(all, func(other Server) bool { return other.PID == s.PID && other.File.Path == s.File.Path }) {
			all = append(all, s)
		}
	}
	return all
}

// Reload makes the gauze up that has a server read its file again, and returns what changed. The error is ErrGone if
// it has ended.
func Reload(ctx context.Context, dir, id string) (changed string, err error) {
	about, err := read(dir, id)
	if err != nil {
		return "", err
	}
	err = ask(ctx, dir, id, about, "reload", &changed)
	return plaintext.Clean(changed), err
}

// reload answers the request of Reload.
func (a *Announcement) reload() (json.RawMessage, error) {
	if a.source.Reload == nil {
		return nil, errors.New("this server is not in a file that can be reloaded")
	}
	changed, err := a.source.Reload()
	if err != nil {
		return nil, err
	}
	return json.Marshal(changed)
}
