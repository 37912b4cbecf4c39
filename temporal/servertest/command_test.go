package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// command is a command of gauze that runs.
type command struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan error

	mu  sync.Mutex
	out bytes.Buffer
}

// Write keeps what the command prints.
func (c *command) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(text)
}

func (c *command) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// launch starts a command of gauze on the cluster.
func (b *bench) launch(args ...string) *command {
	b.t.Helper()
	args = slices.Concat(args[:2], []string{"--temporal", b.address, "--namespace", b.namespace, "--queue", b.queue}, args[2:])
	c := &command{t: b.t, cmd: exec.Command(filepath.Join(bin, "gauze"), args...), ended: make(chan error, 1)}
	c.cmd.Stdout, c.cmd.Stderr = c, c
	if err := c.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	go func() { c.ended <- c.cmd.Wait() }()
	b.t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it has ended, unless the test failed
	return c
}

// wait returns the exit status and the output of the command.
func (c *command) wait() (int, string) {
	c.t.Helper()
	var exit *exec.ExitError
	if err := <-c.ended; err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode(), c.said()
}

// until returns when the command has said something.
func (c *command) until(text string) {
	c.t.Helper()
	for look := time.NewTicker(20 * time.Millisecond); !strings.Contains(c.said(), text); {
		select {
		case <-look.C:
		case err := <-c.ended:
			c.t.Fatalf("the command ended (%v) and did not say %q:\n%s", err, text, c.said())
		}
	}
}

// gauze runs a command of gauze on the cluster, and returns its exit status and output.
func (b *bench) gauze(args ...string) (int, string) {
	b.t.Helper()
	return b.launch(args...).wait()
}

// file writes a task file with these steps, and returns its path.
func (b *bench) file(steps string) string {
	b.t.Helper()
	s := b.server()
	text := fmt.Sprintf("name: test\nservers: {s: {command: %s, env: {%s: '1'}}}\n%s", list(s.Command), onlyKey(s.Env), steps)
	file := filepath.Join(b.dir, "task.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

func onlyKey(m map[string]string) string {
	for key := range m {
		return key
	}
	return ""
}

// list returns words as a list in YAML.
func list(words []string) string {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, fmt.Sprintf("%q", w))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
