package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// killServer kills a server process: the one that had the last effect, which may not have answered yet, or any other.
func (s *upStorm) killServer(n int) bool {
	all := s.processes(roleFaulty)
	if len(all) == 0 {
		return false
	}
	pid := s.lastToAct()
	if n%3 == 0 || !slices.Contains(all, pid) {
		pid = all[rand.New(rand.NewPCG(s.seed, uint64(n))).IntN(len(all))]
	}
	if n%4 == 0 {
		suspendProcess(pid) // gauze writes to a server that no longer reads
	}
	killProcess(pid)
	s.faults.Add(history.Event{Kind: history.Kill, PID: pid})
	return true
}

var actor = regexp.MustCompile(`"pid":(\d+)`)

// lastToAct returns the process of the last entry in the ledger, or 0.
func (s *upStorm) lastToAct() int {
	f, err := os.Open(s.ledger())
	if err != nil {
		return 0
	}
	defer f.Close()
	f.Seek(-1<<10, io.SeekEnd) // fails if the file is shorter
	tail, _ := io.ReadAll(f)
	entries := actor.FindAllSubmatch(tail, -1)
	if len(entries) == 0 {
		return 0
	}
	pid, _ := strconv.Atoi(string(entries[len(entries)-1][1]))
	return pid
}

// killUp kills the gauze up that gauze connect has started.
func (s *upStorm) killUp(int) bool {
	all := s.processes("--on-demand")
	for _, pid := range all {
		killProcess(pid)
		s.faults.Add(history.Event{Kind: history.Kill, PID: pid})
	}
	return len(all) > 0
}

// processes returns the processes of this storm with an argument.
func (s *upStorm) processes(argument string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(s.dir)) || !bytes.Contains(line, []byte("\x00"+argument+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
