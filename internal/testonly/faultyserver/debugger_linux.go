package faultyserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func init() { helpers["hold"] = debug }

// Hold holds a process as a debugger does at a breakpoint, until release is called. The debugger is
// a process of its own, because the stops of what it holds are reported to all that wait in it.
func Hold(pid int) (release func(), err error) {
	path, args, own := Command("hold", strconv.Itoa(pid))
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), own...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	release = func() {
		in.Close()
		cmd.Wait()
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		release()
		return nil, errors.New(strings.TrimSpace(line))
	}
	return release, nil
}

// debug holds the process that is named until its stdin is closed.
func debug(args []string) error {
	runtime.LockOSThread() // the debugger is the thread
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := attach(pid); err != nil {
		fmt.Println(err)
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// attach traces all threads of a process and returns when they are held.
func attach(pid int) error {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	held := map[string]bool{}
	for before := -1; before < len(held); { // a thread that runs may start more
		before = len(held)
		threads, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, thread := range threads {
			name := thread.Name()
			if held[name] {
				continue
			}
			id, _ := strconv.Atoi(name)
			if err := errors.Join(unix.PtraceSeize(id), unix.PtraceInterrupt(id)); err != nil {
				return err
			}
			for stateIn(filepath.Join(dir, name, "stat")) != 't' {
				runtime.Gosched()
			}
			held[name] = true
		}
	}
	return nil
}
