package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a child process and the end of its output.
type process struct {
	cmd    *exec.Cmd
	output *tail
	done   chan struct{}
	err    error // valid once done is closed
}

// start starts a command. With its own process group it can be killed with all its children;
// otherwise it shares ours.
func start(ownGroup bool, env, argv []string, seen func(line string)) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), output: &tail{seen: seen}, done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = 2 * time.Second // a child that it left behind may hold its output open
	if ownGroup {
		leadGroup(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop asks the process to exit, waits, and kills it. It returns an error if the process had exited
// before or did not exit in time.
func (p *process) stop(timeout time.Duration) error {
	defer p.kill()
	select {
	case <-p.done:
		return fmt.Errorf("exited early: %v\n%s", p.err, p.output)
	default:
	}
	ask(p.cmd)
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("still running %v after it was asked to exit\n%s", timeout, p.output)
	}
}

// kill kills the process and its group, if it has its own, and waits for the process to exit.
func (p *process) kill() {
	killAll(p.cmd)
	<-p.done
}

// tail keeps the end of what was written and passes each complete line to seen.
type tail struct {
	seen func(line string)

	mu   sync.Mutex
	kept string
	line string
}

const maxTailLen = 4000

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept += string(b)
	if extra := len(t.kept) - maxTailLen; extra > 0 {
		t.kept = t.kept[extra:]
	}
	if t.seen == nil {
		return len(b), nil
	}
	t.line += string(b)
	for {
		line, rest, found := strings.Cut(t.line, "\n")
		if !found {
			return len(b), nil
		}
		t.seen(line)
		t.line = rest
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.kept)
}
