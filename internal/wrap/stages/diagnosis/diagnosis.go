// Package diagnosis is the stage that finds out whether a tool call failed because of the server's setup, such
// as a database that is down or a key that is rejected, and says so in the response.
package diagnosis

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Doctor determines whether a tool call failed because of the server's setup.
type Doctor interface {
	// Suspects reports whether Examine may find a cause. It must be fast: it delays the response.
	Suspects(launch.Spec, upstream.FailedCall) bool
	// Examine returns the cause, unknown if it is not likely.
	Examine(context.Context, launch.Spec, upstream.FailedCall) fault.Cause
	// Ailing returns the tool whose last call Examine found a cause for, in any session, or "".
	Ailing(launch.Spec) (tool string)
	// Succeeded is called when a call of an ailing tool succeeds.
	Succeeded(spec launch.Spec, tool string)
}

const (
	maxExamined   = 4        // failed calls that are examined at the same time
	maxAiling     = 1000     // tools whose failures are remembered
	maxFailureLen = 16 << 10 // bytes of the longest failure that is examined
	maxClaimedLen = 400      // the same for a result that claims success
)

// Stage examines the failed calls of one session.
type Stage struct {
	kernel.Bystander
	Kernel  *kernel.Session
	Doctor  Doctor
	Spec    func() launch.Spec // how the server is started or reached
	Mode    func(tool string) repair.Mode
	Redact  func(string) string // masks secrets
	Timeout time.Duration       // how long the response to a failed call waits for its cause

	ails     atomic.Bool // ailing is not empty
	mu       sync.Mutex
	ailing   map[string]string // tools whose last call failed because of the server's setup, and the code of the cause
	examined int               // failed calls that are being examined
}

// causeOf is the cause of a failed call, once it is known.
var causeOf = kernel.NewSlot[*atomic.Pointer[fault.Cause]]()

// Remember marks the tool that failed in an earlier session: its next success is news.
func (s *Stage) Remember() {
	s.ailing = map[string]string{}
	if tool := s.Doctor.Ailing(s.Spec()); tool != "" {
		s.ailing[tool] = "" // the same cause is reported again in this session
		s.ails.Store(true)
	}
}

// Attends reports whether a result that claims success may be a failure, or follows one.
func (s *Stage) Attends(m *wire.Message) bool {
	result := m.Result
	return s.ails.Load() || len(result) <= maxClaimedLen && bytes.Contains(result, []byte("401"))
}

// Respond looks for the cause of a failed tool call. The response follows once the cause is known, in its place
// before later messages. A result that claims success is never changed.
func (s *Stage) Respond(c *kernel.Call, r *kernel.Response) kernel.Ruling {
	failed, ok := failedCall(c, r)
	if !ok {
		if s.ails.Load() {
			s.noteSucceeded(c.Tool())
		}
		return kernel.Pass
	}
	if len(failed.Text) > maxFailureLen || !s.Doctor.Suspects(s.Spec(), failed) || !s.begin() {
		return kernel.Pass
	}
	failed = s.lasting(c, failed)
	number, client := c.Number(), c.Client()
	found := new(atomic.Pointer[fault.Cause])
	examine := func(ctx context.Context) {
		why := s.Doctor.Examine(ctx, s.Spec(), failed)
		found.Store(&why)
		s.end(number, client, failed.Tool, why)
	}
	if failed.Claimed || s.Mode(c.Tool()) == repair.ModeOff {
		return kernel.Beside(s.Timeout, examine).Unless(s.giveUp)
	}
	causeOf.Keep(c, found)
	return kernel.InPlace(s.Timeout, examine).Unless(s.giveUp)
}

// Examine looks for the cause of a failed call that another stage holds. If there is one, it is added to the
// response.
func (s *Stage) Examine(ctx context.Context, c *kernel.Call, failed upstream.FailedCall) (known bool) {
	if !s.Doctor.Suspects(s.Spec(), failed) || !s.begin() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	why := s.Doctor.Examine(ctx, s.Spec(), failed)
	s.end(c.Number(), c.Client(), failed.Tool, why)
	found := new(atomic.Pointer[fault.Cause])
	found.Store(&why)
	causeOf.Keep(c, found)
	return why.Known()
}

// Failed returns a call as failed in the server's words, to be examined later, and whether it failed.
func (s *Stage) Failed(c *kernel.Call, r *kernel.Response) (upstream.FailedCall, bool) {
	failed, ok := failedCall(c, r)
	return s.lasting(c, failed), ok
}

// lasting returns a failed call that can be examined after its response was passed on.
func (s *Stage) lasting(c *kernel.Call, f upstream.FailedCall) upstream.FailedCall {
	sent, conn := s.Kernel.Sent(c)
	f.Arguments = bytes.Clone(f.Arguments)
	f.Stderr = func() string { return conn.StderrSince(sent) }
	return f
}

// failedCall returns the call as failed in the server's words, and whether it failed.
func failedCall(c *kernel.Call, r *kernel.Response) (f upstream.FailedCall, failed bool) {
	f = upstream.FailedCall{Tool: c.Tool(), Code: r.Code, Text: r.All}
	if !r.Failed {
		if f.Text, f.Claimed = r.Claimed(maxClaimedLen, "401"); f.Text == "" || !f.Claimed {
			return f, false
		}
	}
	f.Arguments = c.Arguments()
	return f, true
}

// begin reports whether one more failed call may be examined.
func (s *Stage) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.examined >= maxExamined {
		return false
	}
	s.examined++
	return true
}

// giveUp ends an examination that did not begin.
func (s *Stage) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.examined--
}

// end reports a cause, once for each tool until a call of the tool succeeds.
func (s *Stage) end(number event.CallID, client, tool string, why fault.Cause) {
	s.mu.Lock()
	s.examined--
	news := why.Known() && s.ailing[tool] != why.Code
	if news && len(s.ailing) < maxAiling {
		s.ailing[tool] = why.Code
		s.ails.Store(true)
	}
	s.mu.Unlock()
	if news {
		s.Kernel.Emit(event.Event{Kind: event.Diagnosed, Call: number, Client: client, Method: "tools/call", Tool: tool, Cause: why})
	}
}

// noteSucceeded forgets the failure of a tool.
func (s *Stage) noteSucceeded(tool string) {
	s.mu.Lock()
	_, ailed := s.ailing[tool]
	delete(s.ailing, tool)
	s.ails.Store(len(s.ailing) > 0)
	s.mu.Unlock()
	if ailed {
		s.Kernel.Go(func(context.Context) { s.Doctor.Succeeded(s.Spec(), tool) })
	}
}

// Add words the cause of a failure for the model, unless the response is explained already.
func (s *Stage) Add(c *kernel.Call, r *kernel.Response, added *kernel.Addition) {
	found := causeOf.Of(c)
	if found == nil || r.Message == nil || added.Explanation != "" {
		return
	}
	if why := found.Load(); why != nil && why.Known() {
		shown := *why
		shown.Explanation, shown.Remedy = s.Redact(why.Explanation), s.Redact(why.Remedy)
		shown = shown.Shown()
		added.Explanation = fault.ModelMark + "] Likely cause: " + shown.Explanation + " Different arguments are unlikely to help. Tell the user: " + shown.Remedy
	}
}
