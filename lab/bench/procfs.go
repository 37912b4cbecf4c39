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
