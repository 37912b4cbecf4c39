package backup

import (
	"errors"
	"strings"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// What a caller may want to answer to; errors.Is finds them in a Refusal.
var (
	ErrConflict = errors.New("the file is not what it was")
	ErrOutside  = errors.New("a link leads out")
	ErrSame     = errors.New("nothing to change")
	ErrUnknown  = errors.New("no such change")
)

// Refusal is why a file was left as it is, in words for people: what, where, what to do next. It quotes nothing out of
// a file.
type Refusal struct {
	Path   string
	Target string // with ErrOutside: the file itself, which a person may be asked about
	Why    string
	Next   string // "" if there is nothing to do
	Err    error
}

func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(fault.Clean(r.Path))
	b.WriteString(": ")
	b.WriteString(fault.Clean(r.Why))
	if r.Next != "" {
		b.WriteString("\nnext: ")
		b.WriteString(fault.Clean(r.Next))
	}
	return b.String()
}

func (r *Refusal) Unwrap() error { return r.Err }

// reason is the system's own word without the call and the paths, which the Refusal says already.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
