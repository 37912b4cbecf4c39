package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// relative is a process of a visit.
type relative struct {
	pid     int
	command string // command is the command line; each argument ends with a zero byte.
}

// family returns the processes of the visit.
func (v *visit) family() []relative {
	all, children := map[int]relative{}, map[int][]int{}
	var queue []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		end := bytes.LastIndexByte(stat, ')')
		var pid, parent int
		var state string
		if err != nil || end < 0 {
			continue // it has exited
		}
		fmt.Sscan(filepath.Base(dir), &pid)
		fmt.Sscan(string(stat[end+1:]), &state, &parent)
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if state == "Z" || len(command) == 0 {
			continue
		}
		all[pid], children[parent] = relative{pid, string(command)}, append(children[parent], pid)
		if env, _ := os.ReadFile(filepath.Join(dir, "environ")); bytes.Contains(env, []byte(v.mark+"\x00")) {
			queue = append(queue, pid)
		}
	}
	var found []relative
	for len(queue) > 0 {
		pid := queue[0]
		queue = append(queue[1:], children[pid]...)
		if p, ok := all[pid]; ok {
			found = append(found, p)
			delete(all, pid)
		}
	}
	return found
}

// count returns how many of the processes are servers.
func (v *visit) count(family []relative) (servers int) {
	for _, p := range family {
		if strings.HasPrefix(p.command, strings.Join(v.server, "\x00")+"\x00") {
			servers++
		}
	}
	return servers
}

// end stops what is left of the visit, and waits until it is gone.
func (v *visit) end() {
	for attempt := 0; ; attempt++ {
		family := v.family()
		if len(family) == 0 {
			return
		}
		signal := syscall.SIGTERM
		if attempt > 50 {
			signal = syscall.SIGKILL
		}
		for _, r := range family {
			if p, err := os.FindProcess(r.pid); err == nil && attempt%25 == 0 {
				p.Signal(signal)
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}
