package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// showProgress keeps one line up to date if stderr is a terminal.
func showProgress(stopped <-chan struct{}, line func() string) {
	info, err := os.Stderr.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stopped:
			fmt.Fprint(os.Stderr, "\r\x1b[K")
			return
		case <-tick.C:
			fmt.Fprint(os.Stderr, "\r\x1b[K", line())
		}
	}
}

// tailBuffer keeps the end of what gauze writes to stderr.
type tailBuffer struct {
	mu   sync.Mutex
	text []byte
}

const mostWords = 600

func (w *tailBuffer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if extra := len(w.text) - mostWords; extra > 0 {
		w.text = append(w.text[:0], w.text[extra:]...)
	}
	return len(b), nil
}

func (w *tailBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}
