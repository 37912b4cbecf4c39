//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The faults that end gauze itself, with gauze as a process of its own.

// wrapped is gauze in front of a server, and the client that started it.
type wrapped struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *lockedBuffer
	lastID int
}

// forEver is longer than anything here may take.
const forEver = 30 * time.Second

// wrap starts gauze run in front of a server.
func wrap(t *testing.T, server ...string) *wrapped {
	t.Helper()
	return startRun(t, nil, slices.Concat([]string{"--quiet", "--"}, server)...)
}

// startRun starts gauze run with these arguments and more in its environment.
func startRun(t *testing.T, environ []string, args ...string) *wrapped {
	t.Helper()
	cmd := exec.Command("gauze", append([]string{"run"}, args...)...)
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), environ...)
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
	w.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Whatever goes wrong, nothing stays, and no read waits for ever.
	alarm := time.AfterFunc(forEver, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		alarm.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return w
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

// response reads the next message, which is one.
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

// initialize does the handshake, and makes sure that calls are answered.
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

// wantEnd waits for the end of gauze and checks its status.
func (w *wrapped) wantEnd(code int) {
	w.t.Helper()
	io.Copy(io.Discard, w.out)
	w.cmd.Wait()
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("ended with %v, want exit status %d\n%s", w.cmd.ProcessState, code, w.stderr)
	}
}

// family are all processes below gauze: the server, what that started, and
// the guard.
func (w *wrapped) family() (pids []int) {
	w.t.Helper()
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if fields := statOf(pid); len(fields) > 1 {
				parents[pid], _ = strconv.Atoi(fields[1])
			}
		}
	}
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == w.cmd.Process.Pid {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) < 2 {
		w.t.Fatalf("the family is %v, want a server and a guard at least", pids)
	}
	return pids
}

// statOf is /proc/PID/stat from the state on; nil if there is no such process.
func statOf(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// running: a zombie is not, only its parent can do anything about it.
func running(pid int) bool {
	fields := statOf(pid)
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// wantGone waits until none of these processes is there.
func (w *wrapped) wantGone(pids []int) {
	w.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(forEver)
	for slices.ContainsFunc(pids, running) {
		select {
		case <-look.C:
		case <-limit:
			w.t.Fatalf("of %v some are still there", pids)
		}
	}
}

func TestFaultP23StopLadder(t *testing.T) {
	t.Run("step by step", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(t.TempDir(), "log")
		w := wrap(t, "sh", "-c", `trap 'echo TERM >>"$0"' TERM; echo READY >>"$0"; cat >/dev/null; echo EOF >>"$0"; while :; do sleep 0.1; done`, log)
		untilFile(t, log, "READY\n")
		pids := w.family()
		w.in.Close()
		w.wantEnd(0)
		w.wantGone(pids)
		if got, _ := os.ReadFile(log); string(got) != "READY\nEOF\nTERM\n" {
			t.Errorf("it was told %q, want EOF, then TERM, each once", got)
		}
	})
	t.Run("ignores both", func(t *testing.T) {
		t.Parallel()
		w := wrap(t, "faultyserver", "-ignore-eof", "-ignore-sigterm", "-grandchild").initialize()
		pids := w.family()
		w.in.Close()
		w.wantEnd(0)
		w.wantGone(pids)
	})
	t.Run("is stopped", func(t *testing.T) {
		t.Parallel()
		w := wrap(t, "faultyserver", "-ignore-eof").initialize()
		pids := w.family()
		w.stopServer()
		w.in.Close()
		w.wantEnd(0)
		w.wantGone(pids)
	})
}

// stopServer sends SIGSTOP to the server.
func (w *wrapped) stopServer() {
	w.t.Helper()
	w.call("pid", "{}")
	_, line := w.response()
	_, rest, _ := strings.Cut(line, `"pid":`)
	number, _, _ := strings.Cut(rest, "}")
	pid, err := strconv.Atoi(number)
	if err != nil {
		w.t.Fatalf("no pid in %s", line)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
}

// untilFile waits until a file has this content.
func untilFile(t *testing.T, path, content string) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(forEver)
	for {
		if got, _ := os.ReadFile(path); string(got) == content {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("%s never became %q", path, content)
		}
	}
}

func TestFaultP24ClientClosesWithCallsInFlight(t *testing.T) {
	t.Parallel()
	w := wrap(t, "faultyserver").initialize()
	pids := w.family()
	due := map[int]bool{}
	for i := range 10 {
		due[w.call([]string{"hang", "hang_unsafe"}[i%2], "{}")] = true
	}
	w.in.Close()
	for range 10 {
		id, line := w.response()
		if !due[id] {
			t.Errorf("told %s, want one answer to each call", line)
		}
		delete(due, id)
		if !strings.Contains(line, `"isError":true`) || !strings.Contains(line, `"source":"gauze"`) {
			t.Errorf("told %s, want an honest error", line)
		}
	}
	if rest, err := w.out.ReadString('\n'); err != io.EOF || rest != "" {
		t.Errorf("then %q, %v", rest, err)
	}
	w.wantEnd(0)
	w.wantGone(pids)
}

func TestFaultP25GauzeIsKilled(t *testing.T) {
	nested := []string{"sh", "-c", `exec 3<&0; "$@" <&3 & wait`, "launcher"}
	stubborn := []string{"faultyserver", "-ignore-eof", "-ignore-sigterm", "-grandchild"}
	for name, server := range map[string][]string{
		"plain":             {"faultyserver"},
		"stubborn":          stubborn,
		"nested":            slices.Concat(nested, []string{"faultyserver"}),
		"nested, stubborn":  slices.Concat(nested, stubborn),
		"with a grandchild": {"faultyserver", "-grandchild=kind=stdin+stdout+stderr,n=3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wrap(t, server...).initialize()
			w.call("hang_unsafe", "{}")
			pids := w.family()
			w.cmd.Process.Kill()
			w.cmd.Wait()
			w.wantGone(pids)
		})
	}
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		w := wrap(t, "faultyserver", "-ignore-eof").initialize()
		pids := w.family()
		w.stopServer()
		w.cmd.Process.Kill()
		w.cmd.Wait()
		w.wantGone(pids)
	})
	t.Run("and started again", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		server := []string{"faultyserver", "-state", filepath.Join(dir, "state"), "-ledger", filepath.Join(dir, "ledger")}
		first := wrap(t, server...).initialize()
		pids := first.family()
		first.cmd.Process.Kill()
		first.cmd.Wait()
		first.wantGone(pids)
		wrap(t, server...).initialize()
	})
}

// A client that keeps our stdout and does not read it must not keep us.
// The server's first act is to kill gauze, which has not even returned from
// starting it.
func TestFaultP25GauzeIsKilledWhileItStartsTheServer(t *testing.T) {
	for range 10 {
		file := filepath.Join(t.TempDir(), "pid")
		w := wrap(t, "sh", "-c", `kill -9 $PPID; echo $$ >"$0.new" && mv "$0.new" "$0"; while :; do sleep 0.1; done`, file)
		w.cmd.Wait()
		// Whether it got as far as the file or not, it must be gone.
		if data, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			w.wantGone([]int{pid})
		}
	}
}

func TestFaultH09ClientNeverReads(t *testing.T) {
	for name, leave := range map[string]func(*wrapped){
		"and closes":  func(w *wrapped) { w.in.Close() },
		"and signals": func(w *wrapped) { w.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wrap(t, "faultyserver", "-ignore-eof").initialize()
			pids := w.family()
			w.call("big", `{"n":1000000}`)
			if _, err := w.out.ReadByte(); err != nil { // it begins, and there is no room for all of it
				t.Fatal(err)
			}
			leave(w)
			w.cmd.Wait()
			if got := w.cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(w.stderr.String(), "does not read") {
				t.Errorf("ended with %v and the words %q", w.cmd.ProcessState, w.stderr)
			}
			w.wantGone(pids)
		})
	}
}
