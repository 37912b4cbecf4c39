package faultyserver

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// unreadBytes counts what is in the pipe and was read by nobody.
func unreadBytes(t *testing.T, r *os.File) int {
	t.Helper()
	const fionread = 0x541B
	var n int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, r.Fd(), fionread, uintptr(unsafe.Pointer(&n))); errno != 0 {
		t.Fatal(errno)
	}
	return int(n)
}

func TestUnreadMessagesStayInThePipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := command("-stop-reading=n=2")
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	unread := toolCall("9", "append", `{"key":"never"}`) + "\n"
	fmt.Fprint(w, hello+"\n"+ping+"\n"+unread)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	p := &peer{t: t, lines: bufio.NewReader(out)}
	p.read()
	p.read()
	if got := unreadBytes(t, r); got != len(unread) {
		t.Errorf("%d bytes are unread, want %d", got, len(unread))
	}
}
