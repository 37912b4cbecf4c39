//go:build linux || windows

package faultyserver

import (
	"bufio"
	"fmt"
	"os"
	"testing"
)

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
	if got := int(unreadBytes(t, r)); got != len(unread) {
		t.Errorf("%d bytes are unread, want %d", got, len(unread))
	}
}
