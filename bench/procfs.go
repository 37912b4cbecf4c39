package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is what the kernel says a process occupies, in kB.
type memory struct {
	RSS  int `json:"rss_kb"`
	Peak int `json:"peak_kb"`
}

func memoryOf(pid int) (memory, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	defer f.Close()
	var m memory
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) < 2 {
			continue
		}
		switch field[0] {
		case "VmRSS:":
			m.RSS, _ = strconv.Atoi(field[1])
		case "VmHWM:":
			m.Peak, _ = strconv.Atoi(field[1])
		}
	}
	return m, nil
}
