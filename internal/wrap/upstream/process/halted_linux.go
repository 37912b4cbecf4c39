package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// Halted reports whether the server is stopped, as Vitals does. Unless one of the processes that are
// remembered is stopped, it reads nothing but their states. It does not remember any itself: a launcher may not
// have started the server yet.
func (p *Pipes) Halted() bool {
	if pids := p.family.known(); len(pids) > 0 && !slices.ContainsFunc(pids, isStopped) {
		return false
	}
	return p.proc.vitals().Stopped
}

// known returns the processes of the group, as far as they are remembered.
func (f *family) known() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pids
}

func isStopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T"))
}
