package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// taskServer is the faulty server with the flags that a file lists at the time of the start, one on
// each line: a test breaks and repairs it without changing how it is started.
func taskServer(args []string) int {
	text, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return faultyserver.Main(append(strings.Fields(string(text)), args[1:]...), os.Stdin, os.Stdout, os.Stderr)
}

// tasks is a directory with a task, its server and the journal of gauze.
type tasks struct {
	t   *testing.T
	dir string
	env []string
}

func newTasks(t *testing.T, flags ...string) *tasks {
	t.Helper()
	dir := t.TempDir()
	k := &tasks{t: t, dir: dir, env: []string{"GAUZE_STATE_DIR=" + filepath.Join(dir, "state"), "HOME=" + dir, "USERPROFILE=" + dir}}
	k.breaks(flags...)
	return k
}

// breaks sets the flags of the server's next starts. Without flags, it is repaired.
func (k *tasks) breaks(flags ...string) {
	k.t.Helper()
	k.write("flags", strings.Join(append(flags, "-ledger", "ledger", "-state", "counts"), "\n"))
}

func (k *tasks) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

const theServer = "servers: {s: {command: [taskserver, flags]}}\n"

// forty returns a task of forty steps: appends, except that step thirty is the given call. keys are
// the effects.
func forty(servers, thirtieth string) (file string, keys []string) {
	var b strings.Builder
	b.WriteString("name: forty steps\n" + servers + "steps:\n")
	for i := 1; i <= 40; i++ {
		if i == 30 {
			fmt.Fprintf(&b, "  - {id: s30, server: s, %s}\n", thirtieth)
			if strings.Contains(thirtieth, "k30") {
				keys = append(keys, "k30")
			}
			continue
		}
		fmt.Fprintf(&b, "  - {id: s%d, server: s, tool: append, arguments: {key: k%d}}\n", i, i)
		keys = append(keys, fmt.Sprintf("k%d", i))
	}
	return b.String(), keys
}

// ended is how a command ended.
type ended struct {
	t              *testing.T
	status         int
	stdout, stderr string
}

// gauze runs gauze task with these arguments.
func (k *tasks) gauze(args ...string) *ended {
	k.t.Helper()
	cmd := k.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		k.t.Fatal(err)
	}
	e := &ended{k.t, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	for _, crash := range []string{"panic: ", "DATA RACE", "goroutine "} {
		if strings.Contains(e.stderr, crash) {
			k.t.Fatalf("gauze task %v crashed:\n%s", args, e.stderr)
		}
	}
	return e
}

func (k *tasks) command(args ...string) *exec.Cmd {
	cmd := program(k.t, "gauze", append([]string{"task"}, args...)...)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), k.env...)
	return cmd
}

// want checks the exit status and parts of what stderr says.
func (e *ended) want(status int, parts ...string) *ended {
	e.t.Helper()
	if e.status != status {
		e.t.Fatalf("exit status %d, want %d\n%s", e.status, status, e.stderr)
	}
	for _, part := range parts {
		if !regexp.MustCompile(part).MatchString(e.stderr) {
			e.t.Errorf("stderr does not match %q:\n%s", part, e.stderr)
		}
	}
	return e
}

var resumeLine = regexp.MustCompile(`^gauze task resume ([a-z0-9-]+)$`)

// id returns the task that the last line of stderr resumes.
func (e *ended) id() string {
	e.t.Helper()
	lines := strings.Split(strings.TrimSuffix(e.stderr, "\n"), "\n")
	words := resumeLine.FindStringSubmatch(lines[len(lines)-1])
	if words == nil {
		e.t.Fatalf("the last line is not the command that resumes:\n%s", e.stderr)
	}
	return words[1]
}

// effects returns the keys of the effects, in order.
func (k *tasks) effects() (keys []string) {
	k.t.Helper()
	entries, _, err := faultyserver.ReadLedger(filepath.Join(k.dir, "ledger"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func (k *tasks) wantEffects(keys ...string) {
	k.t.Helper()
	if got := k.effects(); !slices.Equal(got, keys) {
		k.t.Errorf("effects: %v\nwant: %v", got, keys)
	}
}
