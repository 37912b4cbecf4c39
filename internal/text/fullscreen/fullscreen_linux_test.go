package fullscreen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// script is a program that shows the last message and its size.
type script struct {
	size   Size
	last   string
	update func(Msg) Cmd
}

func (s *script) Init() Cmd { return func() Msg { return "started" } }

func (s *script) Update(m Msg) Cmd {
	if size, ok := m.(Size); ok {
		s.size = size
	}
	s.last = fmt.Sprintf("%T:%v", m, m)
	return s.update(m)
}

func (s *script) Lines() []string {
	return []string{"title", "\x1b[1m" + s.last + "\x1b[0m", strings.Repeat("x", s.size.Width)}
}

// show runs a script on a terminal. It returns the side that the user has and what Run returns.
func show(t *testing.T, update func(Msg) Cmd) (user *os.File, result chan error) {
	t.Helper()
	user, tty := open(t)
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	result = make(chan error, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				result <- fmt.Errorf("panic: %v", value)
			}
			if after, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil || *after != *before {
				t.Errorf("%v: the terminal's modes are %+v, not %+v", err, after, before)
			}
			tty.Close()
		}()
		result <- Run(context.Background(), tty, tty, "a title", &script{update: update})
	}()
	return user, result
}

func open(t *testing.T) (user, tty *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	resize(t, user, 40, 10)
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, tty
}

func resize(t *testing.T, user *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

// until reads what is painted until it contains a text, and returns it.
func until(t *testing.T, user *os.File, text string) string {
	t.Helper()
	var read strings.Builder
	b := make([]byte, 1024)
	for !strings.Contains(read.String(), text) {
		n, err := user.Read(b)
		if err != nil {
			t.Fatalf("%q is not in %q: %v", text, read.String(), err)
		}
		read.Write(b[:n])
	}
	return read.String()
}

func quitAtQ(m Msg) Cmd {
	if m == Key("q") {
		return Quit
	}
	return nil
}

func TestRun(t *testing.T) {
	user, result := show(t, quitAtQ)
	first := until(t, user, "string:started")
	if !strings.HasPrefix(first, enter+"\x1b]2;a title\x07\x1b[2J\x1b[1;1Htitle\x1b[m\x1b[K") {
		t.Errorf("at the start: %q", first)
	}
	if !strings.Contains(first, "\x1b[3;1H"+strings.Repeat("x", 40)+"\x1b[m\x1b[2;1H") {
		t.Errorf("the line of the full width is erased or missing: %q", first)
	}
	user.WriteString("\x1b")
	if changed := until(t, user, "Key:esc\x1b[0m\x1b[m\x1b[K"); strings.Contains(changed, "title") || strings.Contains(changed, "xx") {
		t.Errorf("lines that did not change are painted: %q", changed)
	}
	user.WriteString("\x1b[B")
	until(t, user, "Key:down")
	resize(t, user, 20, 5)
	syscall.Kill(os.Getpid(), syscall.SIGWINCH)
	if whole := until(t, user, "Size:{20 5}"); !strings.Contains(whole, "\x1b[2J\x1b[1;1Htitle") {
		t.Errorf("after a new size: %q", whole)
	}
	user.WriteString("q")
	until(t, user, leave)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// However it ends, the terminal is as before.
func TestTheTerminalIsRestored(t *testing.T) {
	t.Run("signal", func(t *testing.T) {
		user, result := show(t, quitAtQ)
		until(t, user, "started")
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		until(t, user, leave)
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
	for want, update := range map[string]func(Msg) Cmd{
		"panic: {40 10}":      func(m Msg) Cmd { panic(m) },
		"panic: in a command": func(Msg) Cmd { return func() Msg { panic("in a command") } },
	} {
		t.Run(want, func(t *testing.T) {
			user, result := show(t, update)
			until(t, user, leave)
			if err := <-result; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}

func TestWithoutATerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := Run(t.Context(), null, null, "", &script{update: quitAtQ}); !errors.Is(err, syscall.ENOTTY) {
		t.Error(err)
	}
}
