package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// wrapped is a gauze run process, and the client that started it.
type wrapped struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	ear    io.Closer // what out reads from
	stderr *lockedBuffer
	lastID int
}

// wrap starts gauze run with a server.
func wrap(t *testing.T, server ...string) *wrapped {
	t.Helper()
	return startRun(t, nil, slices.Concat([]string{"--quiet", "--"}, server)...)
}

// startRun starts gauze run with these arguments and additional variables.
func startRun(t *testing.T, environ []string, args ...string) *wrapped {
	t.Helper()
	return startWrap(t, program(t, "gauze", append([]string{"run"}, args...)...), environ)
}

// startWrap starts a command that becomes gauze run.
func startWrap(t *testing.T, cmd *exec.Cmd, environ []string) *wrapped {
	t.Helper()
	cmd.Env = append(os.Environ(), environ...)
	w := &wrapped{t: t, cmd: cmd, stderr: &lockedBuffer{}}
	cmd.Stderr = w.stderr
	var err error
	if w.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out, w.ear = bufio.NewReader(out), out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	return w
}

// program returns a command that is killed at the end of the test, or if it hangs: no process is
// left, and no read waits indefinitely.
func program(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(patience.Context(t), name, args...)
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// request sends a request and returns its id.
func (w *wrapped) request(method, params string) int {
	w.t.Helper()
	w.lastID++
	if _, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", w.lastID, method, params); err != nil {
		w.t.Fatal(err)
	}
	return w.lastID
}

func (w *wrapped) call(tool, arguments string) int {
	w.t.Helper()
	return w.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// response reads the next message, which must be a response.
func (w *wrapped) response() (id int, raw string) {
	w.t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil {
		w.t.Fatalf("no answer: %v\n%s", err, w.stderr)
	}
	var m struct{ ID int }
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID == 0 {
		w.t.Fatalf("told %s, %v", line, err)
	}
	return m.ID, line
}

// initialize completes the handshake, and checks that the server responds to calls.
func (w *wrapped) initialize() *wrapped {
	w.t.Helper()
	w.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	w.response()
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.call("echo", `{"text":"here"}`)
	if _, line := w.response(); !strings.Contains(line, `"here"`) {
		w.t.Fatalf("told %s", line)
	}
	return w
}

// wantEnd waits until gauze exits and checks its status.
func (w *wrapped) wantEnd(code int) {
	w.t.Helper()
	io.Copy(io.Discard, w.out)
	w.cmd.Wait()
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("ended with %v, want exit status %d\n%s", w.cmd.ProcessState, code, w.stderr)
	}
}
