//go:build linux

package hostile

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// person is who answers the questions of a command or a tool, all of them alike.
type person int

const (
	nobody    person = iota // there is no terminal, and the client cannot ask
	declining               // says no
	agreeing                // says yes
)

func (p person) String() string {
	return [...]string{"nobody can be asked", "the person declines", "the person agrees"}[p]
}

// prompt is how a question at a terminal ends.
const prompt = "[y/N] "

// at runs one command at a terminal with this person, or without a terminal.
func (w *world) at(who person, args ...string) transcript {
	if who == nobody {
		return w.gauze(nil, args...)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience.Limit())
	defer cancel()
	control, terminal := w.openTerminal()
	defer control.Close()
	cmd := w.start(ctx, nil, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := cmd.Start()
	terminal.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	said := transcript{line: typed(nil, args)}
	shown := "" // since the last answer
	part := make([]byte, 4096)
	for {
		n, err := control.Read(part)
		said.output += string(part[:n])
		shown += string(part[:n])
		if strings.HasSuffix(shown, prompt) {
			said.asked, said.questions, shown = said.asked+shown, said.questions+1, ""
			if w.reads != nil {
				w.reads()
			}
			_, _ = io.WriteString(control, map[person]string{declining: "n\n", agreeing: "y\n"}[who]) // it may have exited
		}
		if err != nil { // the command has exited, and all it started
			break
		}
	}
	_ = cmd.Wait() // with a server that fails it fails
	if ctx.Err() != nil {
		said.err = fmt.Errorf("it hung: %w", ctx.Err())
	}
	return said
}

// openTerminal returns the two sides of a terminal.
func (w *world) openTerminal() (control, terminal *os.File) {
	w.t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 200, Row: 50})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return control, terminal
}
