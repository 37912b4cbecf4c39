package fullscreen

import (
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Private modes of xterm: the alternate screen, the cursor, wrapping at the last column, and marks
// around what is pasted.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h"
	leave = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// display is a terminal.
type display struct {
	in, out *os.File
	title   string
	restore func()
	size    Size
	shown   []string // the lines on the terminal; nil: it must be cleared
}

// open makes the terminal send each key and shows an empty screen.
func (d *display) open() error {
	restore, err := prepare(d.in, d.out)
	if err != nil {
		return fmt.Errorf("the terminal cannot be set up: %w", err)
	}
	d.restore, d.shown = restore, nil
	if _, err = d.out.WriteString(enter + "\x1b]2;" + d.title + "\x07"); err != nil {
		restore()
	}
	return err
}

// close makes the terminal as it was before open.
func (d *display) close() {
	d.out.WriteString(leave)
	d.restore()
}

// measure returns the size of the terminal and whether it has changed.
func (d *display) measure() (Size, bool) {
	width, height, err := term.GetSize(d.out.Fd())
	size := Size{width, height}
	if err != nil || width <= 0 || height <= 0 || size == d.size {
		return d.size, false
	}
	d.size, d.shown = size, nil
	return size, true
}

// paint writes the lines that have changed, all of them at the same time, so that nothing flickers.
func (d *display) paint(lines []string) error {
	var b strings.Builder
	if d.shown == nil {
		b.WriteString("\x1b[2J")
	}
	for i, line := range lines {
		if i < len(d.shown) && d.shown[i] == line {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[m", i+1, line)
		if ansi.StringWidth(line) < d.size.Width { // in the last column it would erase the character there
			b.WriteString("\x1b[K")
		}
	}
	d.shown = lines
	if b.Len() == 0 {
		return nil
	}
	_, err := d.out.WriteString(b.String())
	return err
}
