//go:build windows

package windows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// part returns a file among the parts that the check laid out.
func part(t *testing.T, name ...string) string {
	t.Helper()
	dir := os.Getenv("GAUZE_WINDOWS")
	if dir == "" {
		t.Skip("GAUZE_WINDOWS is not set\nnext: go -C lab run ./check -only windows-real")
	}
	file := filepath.Join(append([]string{dir}, name...)...)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// tooLong ends a test that would wait forever.
const tooLong = 2 * time.Minute

// client is an MCP client with a gauze.exe of its own.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *output

	mu      sync.Mutex
	lastID  int
	pending map[int]chan response
}

// response is what a request was answered with.
type response struct {
	Result json.RawMessage
	Error  json.RawMessage
}

// wrapped starts gauze run with these arguments and does the handshake.
func wrapped(t *testing.T, dir string, environ []string, args ...string) *client {
	t.Helper()
	cmd := exec.Command(part(t, "gauze.exe"), append([]string{"run", "--quiet"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GAUZE_STATE_DIR="+t.TempDir()), environ...)
	c := &client{t: t, cmd: cmd, stderr: &output{}, pending: map[int]chan response{}}
	cmd.Stderr = c.stderr
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go c.read(out, read)
	alarm := time.AfterFunc(tooLong, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		c.in.Close()
		<-read
		cmd.Wait()
		alarm.Stop()
		if t.Failed() {
			t.Logf("stderr of gauze:\n%s", c.stderr)
		}
	})
	c.result("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// read hands every answer to the one who waits for it, and nothing to those who still wait at the end.
func (c *client) read(out io.Reader, done chan<- struct{}) {
	defer close(done)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var m struct {
			response
			ID     int
			Method string
		}
		if json.Unmarshal(line, &m) == nil && m.ID != 0 && m.Method == "" {
			if waiting := c.take(m.ID); waiting != nil {
				waiting <- m.response
			} else {
				c.t.Errorf("an answer to no request: %s", line)
			}
		}
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, waiting := range c.pending {
				close(waiting)
			}
			return
		}
	}
}

func (c *client) take(id int) chan response {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.pending[id]
	delete(c.pending, id)
	return waiting
}

func (c *client) send(line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Errorf("gauze accepts no more messages: %v", err)
	}
}

// request sends a request; the channel is closed without a response if gauze ends before it answers.
func (c *client) request(method, params string) <-chan response {
	answer := make(chan response, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	c.pending[c.lastID] = answer
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.lastID, method, params))
	return answer
}

func (c *client) call(tool, arguments string) <-chan response {
	return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// result waits for the result of a request, which must not be an error.
func (c *client) result(method, params string) string {
	c.t.Helper()
	answer, ok := <-c.request(method, params)
	if !ok || answer.Error != nil {
		c.t.Fatalf("%s %s: %s\n%s", method, params, answer.Error, c.stderr)
	}
	return string(answer.Result)
}

// text calls a tool and returns the text of its result.
func (c *client) text(tool, arguments string) string {
	c.t.Helper()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	said := c.result("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if err := json.Unmarshal([]byte(said), &result); err != nil || len(result.Content) == 0 || result.IsError {
		c.t.Fatalf("%s %s: %s", tool, arguments, said)
	}
	return result.Content[0].Text
}

// says calls a tool and checks that its result contains a text.
func (c *client) says(want, tool, arguments string) {
	c.t.Helper()
	if got := c.text(tool, arguments); !strings.Contains(got, want) {
		c.t.Errorf("%s %s: %q, want %q", tool, arguments, got, want)
	}
}

// serverPID asks the faulty server for its process.
func (c *client) serverPID() int {
	c.t.Helper()
	var said struct{ PID int }
	if text := c.text("pid", `{}`); json.Unmarshal([]byte(text), &said) != nil || said.PID == 0 {
		c.t.Fatalf("no process in %s", text)
	}
	return said.PID
}

// taskkill ends a process as a user does.
func taskkill(t *testing.T, pid int) {
	t.Helper()
	if said, err := exec.Command("taskkill", "/F", "/PID", strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Fatalf("taskkill: %v\n%s", err, said)
	}
}

// watch returns a function that waits until a process has ended.
func watch(t *testing.T, pid int) (wait func()) {
	t.Helper()
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	t.Cleanup(func() { syscall.CloseHandle(process) })
	return func() {
		t.Helper()
		if event, err := syscall.WaitForSingleObject(process, uint32(tooLong.Milliseconds())); event != syscall.WAIT_OBJECT_0 {
			t.Errorf("process %d is still there: %d, %v", pid, event, err)
		}
	}
}

// output collects what a program prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
