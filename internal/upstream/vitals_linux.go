package upstream

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// vitals looks at every process of the group: the server proper is often a
// grandchild (npx, uvx, sh -c). Clock ticks are 100 a second on every Linux
// that Go supports.
func (g *group) vitals() (v Vitals) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return v
	}
	v.Known = true
	for _, entry := range entries {
		if name := entry.Name(); name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (comm) state ppid pgrp ... utime stime cutime cstime: comm may hold anything,
		// so fields are counted from its closing parenthesis.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 15 || string(fields[2]) != strconv.Itoa(g.id) {
			continue
		}
		if fields[0][0] == 'T' {
			v.Stopped = true
		}
		// Its own time and that of the children it has seen end.
		for _, field := range fields[11:15] {
			ticks, _ := strconv.Atoi(string(field))
			v.CPU += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return v
}
