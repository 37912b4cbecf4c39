//go:build unix

package fullscreen

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
)

// ending are the signals that ask for the end.
var ending = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// prepare makes the terminal send each key. The function that it returns reverts that.
func prepare(in, _ *os.File) (restore func(), err error) {
	before, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, err
	}
	return func() { term.Restore(in.Fd(), before) }, nil
}

// sizeChanges returns a channel that receives when the size of the terminal may have changed.
func sizeChanges() (changes <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// readInput waits for what the terminal sends.
func readInput(in *os.File) ([]byte, error) {
	b := make([]byte, 256)
	n, err := in.Read(b)
	return b[:n], err
}

const canStop = true

// stopProcess stops the process group until the shell continues it. If no shell has started it, the
// system ignores the stop and nothing would continue the program, so it continues itself. A process
// that was stopped ignores the second signal.
func stopProcess() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(time.Second):
	}
}
