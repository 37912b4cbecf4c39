package process

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// process is a started server with its three pipes. It leads a process group of its own, so that
// everything it starts can be ended with it.
type process struct {
	cmd     *exec.Cmd
	stdin   *stdinPipe // gauze writes
	stdout  *os.File   // gauze reads
	stderr  *os.File   // gauze reads
	started time.Time
	reaped  chan struct{} // closed once the leader was reaped
	exited  chan struct{} // closed soon after that, when it is known what the leader left
	allowed life.Allowed  // valid once the leader was reaped
	left    bool          // whether others of its group ran on; valid once exited is closed
	group                 // the platform's handle on all its processes
}

// start launches the server. It passes files, so that os/exec needs no goroutine to copy, and Wait
// returns when the leader exits even if a grandchild holds a pipe.
func start(spec launch.Spec) (_ *process, err error) {
	if spec.Dir != "" {
		if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
			return nil, &launch.WorkdirError{Dir: spec.Dir}
		}
	}
	path, err := launch.Locate(spec)
	if err != nil {
		return nil, err
	}
	p := &process{reaped: make(chan struct{}), exited: make(chan struct{})}
	var theirs [3]*os.File // the server's ends; closing a nil one is harmless
	defer func() {
		for _, file := range theirs {
			file.Close()
		}
		if err != nil {
			p.close()
		}
	}()
	if theirs[0], p.stdin, err = newStdinPipe(); err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	if p.stdout, theirs[1], err = newOutputPipe(); err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	if p.stderr, theirs[2], err = newOutputPipe(); err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	cmd := exec.Command(path)
	cmd.Args = append([]string{spec.Command}, spec.Args...)
	cmd.Dir = spec.Dir
	cmd.Env = spec.Environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p.cmd = cmd
	if err := p.group.prepare(cmd); err != nil {
		return nil, err
	}
	p.started = time.Now()
	if err := startTied(cmd); err != nil {
		return nil, err
	}
	if err := p.group.adopt(cmd); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	go func() {
		untilExit(p.pid())
		p.allowed = allowedOf(p.pid()) // the system forgets it once the process is reaped
		cmd.Wait()
		close(p.reaped)
		p.left = p.leftOthers()
		close(p.exited)
	}()
	return p, nil
}

// leftOthers reports whether the leader, which exited without a failure, left processes that run on. Those
// that only read its output, such as tee, end right after it.
func (p *process) leftOthers() bool {
	const times, interval = 20, 10 * time.Millisecond
	for range times {
		if !p.cmd.ProcessState.Success() || !p.group.running() {
			return false
		}
		time.Sleep(interval)
	}
	return true
}

// close closes gauze's ends of the pipes.
func (p *process) close() {
	if p.stdin != nil {
		p.stdin.Close()
	}
	p.stdout.Close()
	p.stderr.Close()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// A server can exit by itself when its stdin is closed, then it is terminated, then killed.
const (
	closeGrace = 2 * time.Second // after its stdin was closed
	termGrace  = 3 * time.Second // after SIGTERM
)

// MaxStopTime is the longest time that ending a server takes: writing what is queued, the steps
// above, reading its last output.
const MaxStopTime = closeGrace + closeGrace + termGrace + drainGrace

// stop ends the server and returns when the leader was reaped and the group is gone. Closing hurry
// skips the wait for a voluntary exit.
func (p *process) stop(hurry <-chan struct{}) {
	defer p.kill() // what is left of the group
	if p.endedWithin(closeGrace, hurry) {
		return
	}
	p.terminate()
	if p.endedWithin(termGrace, nil) {
		return
	}
	p.kill()
	<-p.exited
}

// endedWithin reports whether the leader ends within a grace. What it left is looked at after that.
func (p *process) endedWithin(grace time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.reaped:
		<-p.exited
		return true
	case <-hurry:
		return false
	case <-timer.C:
		return false
	}
}
