//go:build linux

package realtest

import (
	"syscall"
	"testing"
)

// server-everything does not care that its stdin closes, and a shell stands between gauze and it.
func TestNothingIsLeftAfterTheClientCloses(t *testing.T) {
	for _, c := range some(t, eachLibrary, 4) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{c, everything}, setup{launch: nested})
			s.wantRead()
			s.killInnermost()
			s.wantRead()
			if n := len(s.processes()); n < 2 {
				t.Fatalf("the server is %d process, want a shell and a node", n)
			}
			// closing, and looking for what is left, is done at the end of every test
		})
	}
}

func TestNothingIsLeftAfterGauzeIsKilled(t *testing.T) {
	for _, launch := range []struct {
		name string
		how  setup
	}{{"direct", setup{}}, {"nested", setup{launch: nested}}} {
		t.Run(launch.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{goSDK, everything}, launch.how)
			s.wantRead()
			all := below(t, s.pid())
			if err := syscall.Kill(s.pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			wantGone(t, all, stopPatience)
		})
	}
}

func TestStoppedServerIsNotLeftAfterGauzeIsKilled(t *testing.T) {
	t.Parallel()
	s := open(t, pair{goSDK, everything}, setup{launch: nested})
	s.wantRead()
	all := below(t, s.pid())
	signalEach(t, s.processes(), syscall.SIGSTOP)
	if err := syscall.Kill(s.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantGone(t, all, stopPatience)
}
