package gauze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/llm"
)

// attempt is what running a call came to.
type attempt[R any] struct {
	result R
	err    error
	note   string // about the first attempt, if this is the second; empty otherwise
}

// runCall runs a call. If it fails for a reason that may be over soon, and its tool is read-only, it runs
// once more after a pause.
func runCall[R any](ctx context.Context, c *corrector, tool Tool, arguments json.RawMessage, run func(context.Context, json.RawMessage) (R, error)) attempt[R] {
	began := time.Now()
	var first attempt[R]
	first.result, first.err = run(ctx, arguments)
	failed := first.failure()
	kind, again := c.mayRepeat(ctx, tool, failed, arguments, began)
	if !again || !pause(ctx, correct.RepeatPause) {
		return first
	}
	c.emit(Event{Kind: EventReplayed, Tool: tool.Name, Detail: "the tool answered with " + kind.Describe()})
	var second attempt[R]
	second.result, second.err = run(ctx, arguments)
	said, secondFailed := failed.text, second.failure()
	if secondFailed.text == said {
		said = ""
	}
	second.note = correct.Repeated(kind, environSecrets().Redact(said), secondFailed.err != nil)
	return second
}

func (a attempt[R]) failure() failedCall { return failureOf(a.result, a.err) }

// answer returns the result and the error, with the note about the first attempt.
func (a attempt[R]) answer() (R, error) { return noted(a.result, a.err, a.note) }

// noted adds a note for the caller's model to the answer to a call: to its error, or to the content of
// its result.
func noted[R any](result R, err error, note string) (R, error) {
	if note == "" {
		return result, err
	}
	note = fault.ModelMark + "] " + note
	if rpc, ok := err.(*jsonrpc.Error); ok {
		explained := *rpc
		explained.Message += "\n\n" + note
		return result, &explained
	}
	if err != nil {
		return result, fmt.Errorf("%w\n\n%s", err, note)
	}
	answer, ok := any(result).(*mcp.CallToolResult)
	if !ok || answer == nil {
		return result, nil
	}
	explained := *answer
	explained.Content = append(slices.Clone(answer.Content), &mcp.TextContent{Text: note})
	return as(&explained, result), nil
}

// mayRepeat reports whether a call that failed runs once more, and returns the kind of its failure.
func (c *corrector) mayRepeat(ctx context.Context, tool Tool, failed failedCall, arguments []byte, began time.Time) (correct.Kind, bool) {
	if failed.err == nil || !tool.ReadOnly || ctx.Err() != nil {
		return "", false
	}
	limit := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		limit = deadline.Sub(began)
	}
	kind, transient := failed.transient(arguments)
	return kind, transient && c.policy.Repeats(kind) && correct.FitsTwice(time.Since(began), limit)
}

// transient reports whether a call with these arguments failed for a reason that may be over soon, and
// returns the kind of the failure.
func (f failedCall) transient(arguments []byte) (correct.Kind, bool) {
	var timeout interface{ Timeout() bool }
	var name *net.DNSError
	switch asked := llm.KindOf(f.err); {
	case f.fault() != nil: // recovery has done what it can
	case isArgumentError(f.err), errors.Is(f.err, fs.ErrPermission), errors.Is(f.err, context.Canceled):
	case asked == llm.Overloaded, asked == llm.TimedOut, asked == llm.Unreachable, asked == llm.CutShort, asked == llm.InvalidAnswer:
		return correct.Model, true
	case asked != "":
	case errors.As(f.err, &timeout) && timeout.Timeout(): // context.DeadlineExceeded is one
		return correct.Timeout, true
	case errors.As(f.err, &name):
		return correct.Connection, name.IsTemporary
	case unreachable(f.err):
		return correct.Connection, true
	default:
		return correct.Transient(correct.Rejection{Text: f.text, Code: f.code}, arguments)
	}
	return "", false
}

// pause waits. It returns false if ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
