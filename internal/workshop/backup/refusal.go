package backup

import (
	"errors"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Errors that callers handle; errors.Is finds them in a Refusal.
var (
	ErrConflict = errors.New("the file has changed")
	ErrOutside  = errors.New("the link points outside")
	ErrSame     = errors.New("nothing to change")
	ErrUnknown  = errors.New("no such change")
)

// Refusal explains why a file was not changed and what to do next. It never quotes the content of a
// file.
type Refusal struct {
	Path   string
	Target string // with ErrOutside, the file that Path resolves to, so that the user can be asked
	Why    string
	Next   string // "" if there is nothing to do
	Err    error
}

func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(plaintext.Clean(r.Path))
	b.WriteString(": ")
	b.WriteString(plaintext.Clean(r.Why))
	if r.Next != "" {
		b.WriteString("\nnext: ")
		b.WriteString(plaintext.Clean(r.Next))
	}
	return b.String()
}

func (r *Refusal) Unwrap() error { return r.Err }
