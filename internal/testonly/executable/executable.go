// Package executable writes programs that a test starts.
package executable

import (
	"os"
	"syscall"
)

// Write writes a program. No goroutine starts a process meanwhile: it would have the file open for writing for a moment,
// and a system does not start a program that is ("text file busy").
func Write(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
