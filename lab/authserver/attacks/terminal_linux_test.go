package attacks

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// atTerminal runs a command at a terminal. The person answers each question, and out gets what they see.
func (p *person) atTerminal(cmd *exec.Cmd, out io.Writer) error {
	terminal, program, err := openTerminal()
	if err != nil {
		return err
	}
	defer terminal.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err = cmd.Start(); err != nil {
		return err
	}
	program.Close()
	var seen strings.Builder
	for buffer := make([]byte, 4096); ; {
		n, err := terminal.Read(buffer)
		if err != nil { // the program has ended
			return cmd.Wait()
		}
		out.Write(buffer[:n])
		seen.Write(buffer[:n])
		if strings.HasSuffix(seen.String(), "[y/N] ") {
			p.noteAsked()
			io.WriteString(terminal, p.types)
		}
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal() (terminal, program *os.File, err error) {
	terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		terminal.Close()
	}
	return terminal, program, err
}
