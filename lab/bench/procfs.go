package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memory is the memory of a process in kB, as reported by the kernel.
type memory struct {
	RSS       int `json:"rss_kb"`
	Peak      int `json:"peak_kb"`
	Anonymous int `json:"anonymous_kb"` // private: not shared with any other process
	PSS       int `json:"pss_kb"`       // with each shared page divided among its users
}

func memoryOf(pid int) (m memory, err error) {
	names := map[string]*int{"VmRSS:": &m.RSS, "VmHWM:": &m.Peak, "Anonymous:": &m.Anonymous, "Pss:": &m.PSS}
	for _, file := range []string{"status", "smaps_rollup"} {
		if err := readNumbers(fmt.Sprintf("/proc/%d/%s", pid, file), names); err != nil {
			return memory{}, err
		}
	}
	return m, nil
}

// readNumbers reads the lines of a file that begin with one of the names.
func readNumbers(file string, names map[string]*int) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) < 2 {
			continue
		}
		if number := names[field[0]]; number != nil {
			*number, _ = strconv.Atoi(field[1])
		}
	}
	return nil
}

// cpuOf returns the CPU time of a process so far, user and system, over all its threads. Unlike
// wall time, it hardly depends on other load.
func cpuOf(pid int) (total time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range tasks {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		fmt.Sscan(string(text), &ns)
		total += time.Duration(ns)
	}
	return total
}

// activity is what a process and its threads did so far, as counted by the kernel.
type activity struct {
	cpu       time.Duration
	transfers int // reads and writes
	waits     int // voluntary context switches: each is followed by a wake-up
	preempted int // other context switches
}

func activityOf(pid int) activity {
	a := activity{cpu: cpuOf(pid)}
	var reads, writes int
	readNumbers(fmt.Sprintf("/proc/%d/io", pid), map[string]*int{"syscr:": &reads, "syscw:": &writes})
	a.transfers = reads + writes
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range tasks {
		var waits, preempted int
		readNumbers(file, map[string]*int{"voluntary_ctxt_switches:": &waits, "nonvoluntary_ctxt_switches:": &preempted})
		a.waits, a.preempted = a.waits+waits, a.preempted+preempted
	}
	return a
}

// since returns what was done after an earlier reading.
func (a activity) since(before activity) activity {
	return activity{a.cpu - before.cpu, a.transfers - before.transfers, a.waits - before.waits, a.preempted - before.preempted}
}
