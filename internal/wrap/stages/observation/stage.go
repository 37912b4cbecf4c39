// Package observation is the stage that counts what happens to the tool calls of a session, each once, and says
// what can be seen of the session from outside.
package observation

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
)

// Stage counts the calls of one session.
type Stage struct {
	kernel.Bystander
	Kernel     *kernel.Session
	Redact     func(string) string // masks secrets
	RedactPart func(string) string // masks secrets in text whose end is missing
	Policy     func(tool string, hinted kernel.Class) (kernel.Class, string)
	NeedsLogin func() (since time.Time, needed bool)

	calls atomic.Uint64 // that arrived

	mu    sync.Mutex
	tally tally
	sums  Sums
}

// Sums counts what stages did.
type Sums struct {
	Repaired, Corrected, Proposed, Uncorrected uint64

	ModelInputTokens, ModelOutputTokens uint64
	ModelCost                           float64 // US dollars; 0 if prices are not configured
}

// Arrive counts a call.
func (s *Stage) Arrive(c *kernel.Call) kernel.Ruling {
	if c.IsTool() {
		s.calls.Add(1)
	}
	return kernel.Pass
}

// End counts a call that ended.
func (s *Stage) End(c *kernel.Call, e *kernel.EndedCall) {
	if !c.IsTool() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.end(e)
}

// Add remembers what was added to the response to a call.
func (s *Stage) Add(c *kernel.Call, r *kernel.Response, added *kernel.Addition) {
	isAdded := added.Explanation != "" || added.Note != "" && r.Message != nil && r.Message.Error == nil
	if r.Message == nil || !isAdded {
		return
	}
	told := s.Redact(strings.TrimSpace(added.Note + "\n\n" + added.Explanation))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.told(c.Number(), told)
}

// Event counts what is reported.
func (s *Stage) Event(c *kernel.Call, e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case event.Restored:
		s.tally.healed++
	case event.Replayed:
		if e.Method == "tools/call" {
			s.tally.replayed++
		}
	case event.Repaired:
		s.sums.Repaired++
		s.tally.repair(e.Changes)
	case event.Corrected:
		s.sums.Corrected++
		s.tally.corrected++
	case event.Proposed:
		s.sums.Proposed++
	case event.Uncorrected:
		s.sums.Uncorrected++
	}
	if m := e.Model; m != nil {
		s.sums.ModelInputTokens += uint64(max(0, m.InputTokens))
		s.sums.ModelOutputTokens += uint64(max(0, m.OutputTokens))
		s.sums.ModelCost += m.Cost
	}
}

// NoteVerdict counts what a task decided about the server while it failed, one of a small set of words.
func (s *Stage) NoteVerdict(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.tally.verdicts, action)
}

// Sums returns what was counted.
func (s *Stage) Sums() Sums {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sums
}
