//go:build unix

package top

import (
	"os"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// suspend stops the process until the shell continues it. If no shell has started it, the system
// ignores the stop and nothing would continue the view, so it continues itself. A process that was
// stopped ignores the second signal.
func suspend() tea.Cmd {
	return tea.Batch(tea.Suspend, func() tea.Msg {
		time.Sleep(time.Second)
		syscall.Kill(os.Getpid(), syscall.SIGCONT)
		return nil
	})
}
