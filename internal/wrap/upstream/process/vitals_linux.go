package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// vitals examines every process of the group: the server proper is often a grandchild (npx, uvx, sh
// -c). A clock tick is 10 ms on every Linux that Go supports.
func (p *process) vitals() (v Vitals) {
	var stopped, running []int
	v.Known = p.each(func(pid int, fields [][]byte) {
		switch fields[0][0] {
		case 'T':
			stopped = append(stopped, pid)
		case 't': // at a breakpoint
			v.Held = true
			running = append(running, pid)
		default:
			running = append(running, pid)
		}
		// Its own time and that of its reaped children.
		for _, field := range fields[11:15] {
			ticks, _ := strconv.Atoi(string(field))
			v.CPU += time.Duration(ticks) * 10 * time.Millisecond
		}
	})
	serves := func(pid int) bool { return p.reads(pid) && !launches(argsOf(pid)) }
	v.Stopped = slices.ContainsFunc(stopped, p.reads) && !slices.ContainsFunc(running, serves)
	return v
}

// reads reports whether a process has the server's stdin open, or whether that cannot be known. A
// process that has not, such as a helper of the server, gets no messages.
func (p *process) reads(pid int) bool {
	info, err := p.stdin.Stat()
	if err != nil {
		return true
	}
	pipe := fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino)
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return slices.ContainsFunc(files, func(file os.DirEntry) bool {
		target, _ := os.Readlink(dir + file.Name())
		return target == pipe
	})
}

// each calls see for the processes of the group, like eachProcess. It does not read what the kernel says of all
// others.
func (g *group) each(see func(pid int, fields [][]byte)) bool {
	return eachProcess(g.has, see)
}

// gone reports whether all processes of the group have exited. The first process of a container may reap them late
// or never.
func (g *group) gone() bool {
	runs := false
	known := g.each(func(_ int, fields [][]byte) { runs = runs || !bytes.ContainsAny(fields[0], "ZX") })
	return known && !runs
}

// has reports whether a process is in the group.
func (g *group) has(pid int) bool {
	id, err := syscall.Getpgid(pid)
	return err == nil && id == g.id
}

// eachProcess calls see for all processes that are wanted, with their /proc/PID/stat from the state on: state ppid
// pgrp ... utime stime cutime cstime. It reports whether /proc can be read.
func eachProcess(wanted func(pid int) bool, see func(pid int, fields [][]byte)) bool {
	proc, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || !wanted(pid) {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (comm) state: comm may contain anything, so fields are counted from its closing
		// parenthesis.
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) >= 15 {
			see(pid, fields)
		}
	}
	return true
}

// family remembers the processes of a group, so that checking them reads two or three files and not
// all of /proc.
type family struct {
	mu       sync.Mutex
	pids     []int
	counting bool
}

// dying reports whether a process of the group is gone or about to be: a server killed below a
// launcher that has not noticed yet. The first call only begins to collect the processes.
func (f *family) dying(g *group) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range f.pids {
		if isDying(pid) {
			f.pids = nil
			return true
		}
	}
	if f.pids == nil && !f.counting {
		f.counting = true
		go f.count(g)
	}
	return false
}

func (f *family) count(g *group) {
	var pids []int
	g.each(func(pid int, fields [][]byte) {
		if fields[0][0] != 'Z' {
			pids = append(pids, pid)
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pids, f.counting = pids, false
}

// isDying reports whether a process is gone, a zombie, or has a pending SIGKILL. Until it is
// scheduled again, it may still be sent messages that it will never answer.
func isDying(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	const sigkill = 1 << 8
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimSpace(value)
		switch string(name) {
		case "State":
			if len(value) > 0 && (value[0] == 'Z' || value[0] == 'X') {
				return true
			}
		case "SigPnd", "ShdPnd":
			if pending, err := strconv.ParseUint(string(value), 16, 64); err == nil && pending&sigkill != 0 {
				return true
			}
		}
	}
	return false
}
