package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a child, and what it said last.
type process struct {
	cmd  *exec.Cmd
	said *tail
	done chan struct{}
	err  error // valid once done is closed
}

// start starts a command. In a group of its own it can be ended with everything it started; without, it ends with ours.
func start(ownGroup bool, env, argv []string, seen func(line string)) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), said: &tail{seen: seen}, done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	p.cmd.WaitDelay = 2 * time.Second // something it left behind may hold its output
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

// stop asks the process to end, waits, and ends what is still there. Its error says that asking was not enough.
func (p *process) stop(patience time.Duration) error {
	defer p.kill()
	select {
	case <-p.done:
		return fmt.Errorf("ended by itself: %v\n%s", p.err, p.said)
	default:
	}
	ask(p.cmd)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("still there %v after it was asked to end\n%s", patience, p.said)
	}
}

// kill ends the process and, if it leads one, its group; it returns when the process is gone.
func (p *process) kill() {
	killAll(p.cmd)
	<-p.done
}

// tail keeps the end of what was written, and shows each whole line to seen.
type tail struct {
	seen func(line string)

	mu   sync.Mutex
	kept string
	line string
}

const tailSize = 4000

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept += string(b)
	if extra := len(t.kept) - tailSize; extra > 0 {
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
