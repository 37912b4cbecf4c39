package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// screen is a terminal of the kind vt100 with a program on it.
type screen struct {
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File

	mu      sync.Mutex
	cells   [][]byte
	x, y    int
	full    bool // the alternate screen is shown
	colored bool // a text had a color
	insert  bool // characters move the rest of the line
	unknown []string
	read    chan struct{} // closed when the program has closed the terminal
}

// openTerminal returns the two sides of a terminal.
func openTerminal(t *testing.T) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return control, terminal
}

// startOnTerminal starts a program on a terminal of its own.
func startOnTerminal(t *testing.T, cmd *exec.Cmd) (pty *os.File) {
	t.Helper()
	pty, tty := openTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	return pty
}

// startOnScreen starts a program on a screen of its own.
func startOnScreen(t *testing.T, width, height int, cmd *exec.Cmd) *screen {
	t.Helper()
	pty := startOnTerminal(t, cmd)
	s := &screen{t: t, cmd: cmd, pty: pty, read: make(chan struct{})}
	s.resize(width, height)
	go s.show()
	t.Cleanup(func() {
		cmd.Wait()
		<-s.read
		pty.Close()
	})
	return s
}

func (s *screen) resize(width, height int) {
	s.mu.Lock()
	s.cells = make([][]byte, height)
	for y := range s.cells {
		s.cells[y] = bytes.Repeat([]byte(" "), width)
	}
	s.x, s.y = 0, 0
	s.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(s.pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)}); err != nil {
		s.t.Fatal(err)
	}
}

// show reads what the program writes until it closes the terminal.
func (s *screen) show() {
	defer close(s.read)
	var rest []byte
	buffer := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buffer)
		if err != nil {
			return
		}
		s.mu.Lock()
		rest = s.draw(append(rest, buffer[:n]...))
		s.mu.Unlock()
	}
}

var (
	control = regexp.MustCompile(`^\x1b\[([<-?]?)([0-9;]*)[ -/]*([@-~])`)
	quoted  = regexp.MustCompile(`^\x1b[]P][^\x07\x1b]*(?:\x07|\x1b\\)`)
	single  = regexp.MustCompile(`^\x1b([ -/]*[0-OQ-Z\\^-~])`)
)

// draw draws what is complete and returns the rest.
func (s *screen) draw(text []byte) []byte {
	for len(text) > 0 {
		if text[0] != 0x1b {
			s.put(text[0])
			text = text[1:]
			continue
		}
		if m := control.FindSubmatch(text); m != nil {
			s.control(string(m[1]), string(m[2]), m[3][0])
			text = text[len(m[0]):]
		} else if m := quoted.Find(text); m != nil { // a title, a question
			text = text[len(m):]
		} else if m := single.FindSubmatch(text); m != nil {
			s.control("ESC ", "", m[1][0])
			text = text[len(m[0]):]
		} else {
			return text
		}
	}
	return nil
}

// put draws one byte. A character outside ASCII is drawn as a tilde.
func (s *screen) put(b byte) {
	switch {
	case b == '\r':
		s.x = 0
	case b == '\n':
		s.y++
	case b == '\b':
		s.x--
	case b == '\t':
		s.x = s.x/8*8 + 8
	case b >= 0x80 && b < 0xc0: // the rest of a character
	case b >= ' ' && s.y < len(s.cells) && s.x < len(s.cells[s.y]):
		line := s.cells[s.y]
		if s.insert {
			copy(line[s.x+1:], line[s.x:])
		}
		line[s.x] = min(b, '~')
		s.x++
	}
	s.x, s.y = max(0, s.x), max(0, min(s.y, len(s.cells)-1))
}

func (s *screen) control(private, parameters string, final byte) {
	var n []int
	for p := range strings.SplitSeq(parameters, ";") {
		v, _ := strconv.Atoi(p)
		n = append(n, v)
	}
	n = append(n, 0)
	line := s.cells[min(s.y, len(s.cells)-1)]
	blank := func(cells []byte) { copy(cells, bytes.Repeat([]byte(" "), len(cells))) }
	switch {
	case private == "?" && (final == 'h' || final == 'l'):
		s.full = s.full && parameters != "1049" || parameters == "1049" && final == 'h'
	case private == "" && parameters == "4" && (final == 'h' || final == 'l'):
		s.insert = final == 'h'
	case private == "" && final == 'm':
		s.colored = s.colored || slices.ContainsFunc(n, func(style int) bool { return style >= 30 && style <= 37 })
	case private == "ESC " && final == 'M':
		s.y--
	case private == "ESC ":
		s.unknown = append(s.unknown, fmt.Sprintf("ESC %c", final))
	case private != "" || strings.IndexByte("nchlqputs", final) >= 0: // styles, modes, questions
	case final == 'H':
		s.y, s.x = max(n[0], 1)-1, max(n[1], 1)-1
	case final == 'A':
		s.y -= max(n[0], 1)
	case final == 'B':
		s.y += max(n[0], 1)
	case final == 'C':
		s.x += max(n[0], 1)
	case final == 'D':
		s.x -= max(n[0], 1)
	case final == 'P':
		at := min(s.x, len(line))
		blank(line[at+copy(line[at:], line[min(at+max(n[0], 1), len(line)):]):])
	case final == 'K' && n[0] == 0:
		blank(line[min(s.x, len(line)):])
	case final == 'K' && n[0] == 1:
		blank(line[:min(s.x+1, len(line))])
	case final == 'K':
		blank(line)
	case final == 'J' && n[0] != 1:
		if n[0] == 0 {
			blank(line[min(s.x, len(line)):])
		}
		for y := range s.cells {
			if y > s.y || n[0] == 2 {
				blank(s.cells[y])
			}
		}
	default:
		s.unknown = append(s.unknown, fmt.Sprintf("CSI %s%s%c", private, parameters, final))
	}
	s.x, s.y = max(0, s.x), max(0, min(s.y, len(s.cells)-1))
}

// String returns what is on the screen.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, line := range s.cells {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	text := strings.Join(lines, "\n")
	if len(s.unknown) > 0 {
		text += fmt.Sprintf("\nnot understood: %q", s.unknown)
	}
	return text
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// want waits until every pattern matches a line of the screen.
func (s *screen) want(patterns ...string) {
	s.t.Helper()
	for _, p := range patterns {
		pattern := regexp.MustCompile("(?m)" + p)
		s.until("no line matches "+p, func() bool { return pattern.MatchString(s.String()) })
	}
}

// until waits for a condition.
func (s *screen) until(missing string, met func() bool) {
	s.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience.Limit())
	for !met() {
		select {
		case <-look.C:
		case <-limit:
			s.t.Fatalf("%s:\n%s", missing, s)
		}
	}
}

func (s *screen) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}
