package upstream

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// process is a started server with its three pipes. It leads its own process
// group, so that everything it starts can be ended with it.
type process struct {
	cmd     *exec.Cmd
	stdin   *stdinPipe // we write
	stdout  *os.File   // we read
	stderr  *os.File   // we read
	started time.Time
	exited  chan struct{} // closed once the leader was reaped
	group                 // platform: what we need to signal everyone
}

// start launches the server. Files are handed over as they are, so no
// goroutine of os/exec stands between the server and us, and Wait returns at
// the leader's exit even if a grandchild holds a pipe.
func start(spec launch.Spec) (_ *process, err error) {
	if spec.Dir != "" {
		if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
			return nil, &WorkdirError{Dir: spec.Dir}
		}
	}
	path, err := locate(spec)
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	var theirs [3]*os.File // of the server: a nil one may be closed
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
		cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// locate finds the program: a bare name in the server's own PATH, anything else
// where it says, seen from the server's own directory.
func locate(spec launch.Spec) (path string, err error) {
	command := spec.Command
	switch {
	case filepath.Base(command) == command:
		path, err = lookPath(command, spec.Env)
	case spec.Dir != "" && !filepath.IsAbs(command):
		path, err = exec.LookPath(filepath.Join(spec.Dir, command))
	default:
		path, err = exec.LookPath(command)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// lookPath is exec.LookPath with the PATH of an environment that may not be
// ours.
func lookPath(name string, env []string) (string, error) {
	path, ours := pathOfEnvironment(env), os.Getenv("PATH")
	if path != ours && path != "" { // without one, the system has a default of its own
		return lookBeyondHere(name, path)
	}
	found, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) { // Windows looks into the current directory first
		if found, err := lookBeyondHere(name, ours); err == nil {
			return found, nil
		}
	}
	return found, err
}

// lookBeyondHere finds a program in the absolute directories of a PATH: a name
// does not mean a file of the current directory.
func lookBeyondHere(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// WorkdirError says that the directory, not the command, is missing.
type WorkdirError struct{ Dir string }

func (e *WorkdirError) Error() string {
	return fmt.Sprintf("working directory \"%s\" does not exist", e.Dir)
}

// close closes our ends of the pipes.
func (p *process) close() {
	if p.stdin != nil {
		p.stdin.Close()
	}
	p.stdout.Close()
	p.stderr.Close()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// The stop ladder: a server gets the chance to end by itself, then to clean
// up, then none.
const (
	closeGrace = 2 * time.Second // after its stdin was closed
	termGrace  = 3 * time.Second // after SIGTERM
)

// StopMost is how long it takes at most to end a server: what is queued for it
// gets its time, then the ladder, then its last words.
const StopMost = closeGrace + closeGrace + termGrace + drainGrace

// stop takes the ladder and returns when the leader is reaped and the group is
// gone. A close of hurry skips the wait for a voluntary end.
func (p *process) stop(hurry <-chan struct{}) {
	defer p.kill() // whoever is left of the group
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

func (p *process) endedWithin(grace time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-hurry:
		return false
	case <-timer.C:
		return false
	}
}
