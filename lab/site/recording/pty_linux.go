package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two sides of a terminal.
func openTerminal() (control, terminal *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 30})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		control.Close()
		return nil, nil, err
	}
	return control, terminal, nil
}
