package execute

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/llm"
)

// Attempt is what running a call came to.
type Attempt[R any] struct {
	Result R
	Err    error
	Note   string // about the first attempt, if this is the second; empty otherwise
}

// Run runs a call. If it fails for a reason that may be over soon, and its tool is read-only, it runs
// once more after a pause.
func Run[R any](ctx context.Context, c *Corrector, tool Tool, arguments json.RawMessage, run func(context.Context, json.RawMessage) (R, error)) Attempt[R] {
	began := time.Now()
	var first Attempt[R]
	first.Result, first.Err = run(ctx, arguments)
	failed := first.Failure()
	kind, again := c.mayRepeat(ctx, tool, failed, arguments, began)
	if !again || !pause.For(ctx, correct.RepeatPause) {
		return first
	}
	c.Emit(event.Event{Kind: event.Replayed, Tool: tool.Name, Detail: "the tool reported " + kind.Describe()})
	var second Attempt[R]
	second.Result, second.Err = run(ctx, arguments)
	said, secondFailed := failed.Text, second.Failure()
	if secondFailed.Text == said {
		said = ""
	}
	second.Note = correct.Repeated(kind, EnvironSecrets().Redact(said), secondFailed.Err != nil)
	return second
}

// Failure returns how the call failed. The zero value means that it did not.
func (a Attempt[R]) Failure() Failure { return results.Failure(a.Result, a.Err) }

// Answer returns the result and the error, with the note about the first attempt.
func (a Attempt[R]) Answer() (R, error) { return Noted(a.Result, a.Err, a.Note) }

// mayRepeat reports whether a call that failed runs once more, and returns the kind of its failure.
func (c *Corrector) mayRepeat(ctx context.Context, tool Tool, failed Failure, arguments []byte, began time.Time) (correct.Kind, bool) {
	if failed.Err == nil || !tool.ReadOnly || ctx.Err() != nil {
		return "", false
	}
	limit := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		limit = deadline.Sub(began)
	}
	kind, transient := failed.transient(arguments)
	return kind, transient && c.Policy.Repeats(kind) && correct.FitsTwice(time.Since(began), limit)
}

// transient reports whether a call with these arguments failed for a reason that may be over soon, and
// returns the kind of the failure.
func (f Failure) transient(arguments []byte) (correct.Kind, bool) {
	var timeout interface{ Timeout() bool }
	var name *net.DNSError
	switch asked := llm.KindOf(f.Err); {
	case f.Fault != nil: // recovery has done what it can
	case IsArgumentError(f.Err), errors.Is(f.Err, fs.ErrPermission), errors.Is(f.Err, context.Canceled):
	case asked == llm.Overloaded, asked == llm.TimedOut, asked == llm.Unreachable, asked == llm.CutShort, asked == llm.InvalidAnswer:
		return correct.Model, true
	case asked != "":
	case errors.As(f.Err, &timeout) && timeout.Timeout(): // context.DeadlineExceeded is one
		return correct.Timeout, true
	case errors.As(f.Err, &name):
		return correct.Connection, name.IsTemporary
	case f.unreachable():
		return correct.Connection, true
	default:
		return correct.Transient(correct.Rejection{Text: f.Text, Code: f.Code}, arguments)
	}
	return "", false
}
