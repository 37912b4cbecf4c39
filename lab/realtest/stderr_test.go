//go:build linux

package realtest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// stderrText collects what a process says on stderr, from several of them at once.
type stderrText struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // full when something was said since somebody last looked
}

func (s *stderrText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// line returns the first whole line with a text in it.
func (s *stderrText) line(with string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		if strings.Contains(line, with) && strings.HasSuffix(line, "\n") {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}

// stderrOf shows what gauze and the server said, if the test fails.
func stderrOf(t *testing.T) *stderrText {
	s := &stderrText{grown: make(chan struct{}, 1)}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.Failed() {
			t.Logf("stderr:\n%s", s.text.String())
		}
	})
	return s
}
