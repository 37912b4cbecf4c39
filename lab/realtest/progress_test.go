//go:build linux

package realtest

import (
	"fmt"
	"sync"
)

// progressBoard leads progress notifications to whoever asked for them.
type progressBoard struct {
	mu      sync.Mutex
	callers map[string]func()
}

// token returns a new token under which progressed hears.
func (b *progressBoard) token(progressed func()) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.callers == nil {
		b.callers = map[string]func(){}
	}
	token := fmt.Sprintf("progress-%d", len(b.callers))
	b.callers[token] = progressed
	return token
}

func (b *progressBoard) heard(token any) {
	b.mu.Lock()
	progressed := b.callers[fmt.Sprint(token)]
	b.mu.Unlock()
	if progressed != nil {
		progressed()
	}
}
