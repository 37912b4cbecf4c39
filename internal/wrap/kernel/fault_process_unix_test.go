//go:build unix

package kernel_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
)

func TestFaultP05NoRoomForAProcess(t *testing.T) {
	o := quick()
	o.Restart.Cap = 20 * time.Millisecond
	s := begin(t, o).initialize()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	lift := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}
	none := limit
	none.Cur = 0 // what is open stays open, and nothing can be added
	pid := s.pid()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer lift()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// It is waited for room, and not given up.
	if e := s.await(event.Waiting, 3); e.Code != fault.SpawnFailed {
		t.Errorf("waits for %s", e.Code)
	}
	id := s.start("append", `{"key":"k"}`)
	s.await(event.Waiting, 4)
	lift()
	s.text(s.answer(id))
	s.wantEffect("k", 1)
	s.want(event.GaveUp, 0)
	s.want(event.Failed, 0)
	s.wantOneAnswer(id)
}
