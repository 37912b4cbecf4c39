//go:build linux

package realtest

import (
	"bytes"
	"sync"
	"testing"
)

// stderrText collects what a process says on stderr, from several of them at once.
type stderrText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *stderrText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// stderrOf shows what gauze and the server said, if the test fails.
func stderrOf(t *testing.T) *stderrText {
	s := &stderrText{}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.Failed() {
			t.Logf("stderr:\n%s", s.text.String())
		}
	})
	return s
}
