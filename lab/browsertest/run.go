package browsertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// Run is a user's machine in small: a home directory with configured clients, gauze, and servers.
type Run struct {
	Dir   string // Dir is the directory of everything else; short, because of the paths of sockets.
	Home  string
	State string // State is gauze's state directory.
	Gauze string // Gauze is the binary, built from this tree.
	Env   []string

	server string // the faulty server
	ended  []func()
}

// NewRun builds gauze and the server in a new directory, which Close removes.
func NewRun(ctx context.Context) (*Run, error) {
	dir, err := os.MkdirTemp("", "gauze-run-")
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "state"), Gauze: filepath.Join(dir, "bin", "gauze")}
	r.ended = append(r.ended, func() { os.RemoveAll(dir) })
	for _, sub := range []string{r.Home, r.State, r.project(), filepath.Dir(r.Gauze)} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	r.Env = append(environment(), "HOME="+r.Home, "GAUZE_STATE_DIR="+r.State, "PATH="+filepath.Dir(r.Gauze)+":"+os.Getenv("PATH"))
	if r.Gauze, err = programs.Gauze.LinkInto(ctx, filepath.Dir(r.Gauze)); err == nil {
		r.server, err = programs.Faulty.Path(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Elsewhere returns a run with the same files, except for a state directory of its own.
func (r *Run) Elsewhere(name string) *Run {
	other := &Run{Dir: r.Dir, Home: r.Home, State: filepath.Join(r.Dir, name), Gauze: r.Gauze, server: r.server}
	other.Env = append(slices.Clone(r.Env), "GAUZE_STATE_DIR="+other.State)
	return other
}

// environment returns the variables of this process without those that say where a user's files are.
func environment() (env []string) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "GAUZE_") && !strings.HasPrefix(name, "XDG_") && name != "HOME" && name != "PATH" {
			env = append(env, entry)
		}
	}
	return env
}

// Close ends what the run started, in reverse order.
func (r *Run) Close() error {
	for _, end := range slices.Backward(r.ended) {
		end()
	}
	r.ended = nil
	return nil
}

// project is the directory in which commands run.
func (r *Run) project() string { return filepath.Join(r.Dir, "project") }

// Write writes a file below Dir.
func (r *Run) Write(name, text string, mode os.FileMode) error {
	path := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// script makes a program on the PATH that is the faulty server with these flags, so that pages show a
// command as users have it.
func (r *Run) script(name string, flags []string) error {
	text := "#!/bin/sh\nexec " + shell.For("linux").Line(append([]string{r.server}, flags...)...) + "\n"
	return r.Write(filepath.Join("bin", name), text, 0o700)
}

// Command returns a gauze command of this run.
func (r *Run) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.Gauze, args...)
	cmd.Env, cmd.Dir = r.Env, r.project()
	return cmd
}

// Output runs a gauze command and returns its stdout, whatever its exit status.
func (r *Run) Output(ctx context.Context, args ...string) (string, error) {
	cmd := r.Command(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return string(out) + stderr.String(), nil
	}
	return string(out), err
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S*#\S+`)

// Dashboard starts gauze dashboard and returns the address that it prints, with a code.
func (r *Run) Dashboard(ctx context.Context) (url string, err error) {
	cmd := r.Command(ctx, "dashboard", "--listen", "127.0.0.1:0")
	return r.listen(cmd, address)
}

var upAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// Up starts gauze up with a file, and returns its address.
func (r *Run) Up(ctx context.Context, file string) (url string, err error) {
	return r.listen(r.Command(ctx, "up", "--listen", "127.0.0.1:0", "--no-token", "--no-dashboard", file), upAddress)
}

// listen starts a command and returns the first address in its output.
func (r *Run) listen(cmd *exec.Cmd, address *regexp.Regexp) (url string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return "", err
	}
	r.ended = append(r.ended, func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		read.Close()
	})
	var seen strings.Builder
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		if found := address.FindString(lines.Text()); found != "" {
			go func() {
				for lines.Scan() { // so that it never blocks
				}
			}()
			return found, nil
		}
		fmt.Fprintln(&seen, lines.Text())
	}
	return "", fmt.Errorf("%v printed no address:\n%s", cmd.Args, &seen)
}
