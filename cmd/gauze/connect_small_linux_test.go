//go:build !race

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Every client of every server has a gauze connect, so it has to be small.
func TestConnectIsSmall(t *testing.T) {
	t.Parallel()
	const maxPrivate = 8_000 // kB
	s := newUpState(t)
	w := s.connect(t.TempDir(), "A=1").initialize()
	for range 100 {
		w.ask("big", `{"n":10000}`)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", w.cmd.Process.Pid))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == "Anonymous:" {
			private, err := strconv.Atoi(fields[1])
			if err != nil || private > maxPrivate {
				t.Errorf("%d kB of private memory (%v), limit %d", private, err, maxPrivate)
			}
			t.Logf("%d kB of private memory", private)
			return
		}
	}
	t.Errorf("no figure in %s", text)
}
