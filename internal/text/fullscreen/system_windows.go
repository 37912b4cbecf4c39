package fullscreen

import (
	"os"
	"syscall"
	"time"
	"unicode/utf16"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/windows"
)

// ending are the signals that ask for the end.
var ending = []os.Signal{os.Interrupt, syscall.SIGTERM}

// sizeInterval is how often the size of the console is read.
const sizeInterval = 250 * time.Millisecond

// prepare makes the console send each key and understand control sequences. The function that it
// returns reverts that.
func prepare(in, out *os.File) (restore func(), err error) {
	console := windows.Handle(out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return nil, err
	}
	before, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, err
	}
	restore = func() {
		windows.SetConsoleMode(console, mode)
		term.Restore(in.Fd(), before)
	}
	const sequences = windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING | windows.DISABLE_NEWLINE_AUTO_RETURN
	if err := windows.SetConsoleMode(console, mode|sequences); err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// sizeChanges returns a channel that receives when the size of the console may have changed. Windows
// has no signal for it.
func sizeChanges() (changes <-chan time.Time, stop func()) {
	ticker := time.NewTicker(sizeInterval)
	return ticker.C, ticker.Stop
}

// readInput waits for what the console sends. Unlike os.File.Read, it does not take ctrl+z for the end.
func readInput(in *os.File) ([]byte, error) {
	var n uint32
	units := make([]uint16, 256)
	if err := windows.ReadConsole(windows.Handle(in.Fd()), &units[0], uint32(len(units)), &n, nil); err != nil {
		return nil, err
	}
	return []byte(string(utf16.Decode(units[:n]))), nil
}

// Windows does not stop processes for a shell.
const canStop = false

func stopProcess() {}
