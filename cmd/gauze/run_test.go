//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// Faults that end gauze itself, with gauze as a separate process.

// family returns all descendants of gauze: the server, its children, and the guard.
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

// statOf returns the fields of /proc/PID/stat from the state on, or nil if the process is gone.
func statOf(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// running reports whether a process is running. A zombie is not.
func running(pid int) bool {
	fields := statOf(pid)
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// wantGone waits until all of these processes are gone.
func (w *wrapped) wantGone(pids []int) {
	w.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience.Limit())
	for slices.ContainsFunc(pids, running) {
		select {
		case <-look.C:
		case <-limit:
			w.t.Fatalf("of %v some are still there", pids)
		}
	}
}

func TestFaultP23StopLadder(t *testing.T) {
	t.Parallel()
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

// A server handles every signal as it does without gauze.
func TestAServerIgnoresNoSignalBecauseOfGauze(t *testing.T) {
	t.Parallel()
	const ignored = "grep SigIgn /proc/self/status"
	want, err := exec.Command("sh", "-c", ignored).Output()
	if err != nil {
		t.Fatal(err)
	}
	w := startRun(t, nil, "--", "sh", "-c", ignored+" >&2; exec faultyserver").initialize()
	w.in.Close()
	w.wantEnd(0)
	// Gauze may handle a signal that it was started to ignore, as a shell starts what is in the background.
	if got := ignoredSignals(t, w.stderr.String()); got&^ignoredSignals(t, string(want)) != 0 {
		t.Errorf("got %x, want %s", got, want)
	}
}

// ignoredSignals returns the signals in a line of /proc/PID/status, as bits.
func ignoredSignals(t *testing.T, text string) (bits uint64) {
	t.Helper()
	_, rest, _ := strings.Cut(text, "SigIgn:")
	if _, err := fmt.Sscanf(rest, "%x", &bits); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return bits
}

// The first signal gives the server time to exit; the second ends gauze immediately.
func TestASecondSignalEndsRun(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	w := wrap(t, "sh", "-c", `trap 'echo TERM >>"$0"' TERM; echo READY >>"$0"; while :; do sleep 0.1; done`, log)
	untilFile(t, log, "READY\n")
	pids := w.family()
	w.cmd.Process.Signal(syscall.SIGTERM)
	untilFile(t, log, "READY\nTERM\n")
	w.cmd.Process.Signal(syscall.SIGTERM)
	w.wantEnd(int(interrupted))
	w.wantGone(pids)
}

// stopServer sends SIGSTOP to the server.
func (w *wrapped) stopServer() {
	w.t.Helper()
	if err := syscall.Kill(w.server(), syscall.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
}

// server returns the process id of the server.
func (w *wrapped) server() int {
	w.t.Helper()
	w.call("pid", "{}")
	_, line := w.response()
	_, rest, _ := strings.Cut(line, `"pid":`)
	number, _, _ := strings.Cut(rest, "}")
	pid, err := strconv.Atoi(number)
	if err != nil {
		w.t.Fatalf("no pid in %s", line)
	}
	return pid
}

// untilFile waits until a file has this content.
func untilFile(t *testing.T, path, content string) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience.Limit())
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

// finishing is a server that reads its input to the end, which it notes in a log, and answers its call once
// there is a file of this name.
const finishing = `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}'
	cat >/dev/null; echo EOF >>"$0"; until [ -e "$0.go" ]; do sleep 0.05; done
	echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"finished"}]}}'`

// writeAndClose writes what a client does that does not read: a handshake and a call, the last line without
// its newline.
func (w *wrapped) writeAndClose() {
	w.t.Helper()
	if _, err := io.WriteString(w.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","arguments":{}}}`); err != nil {
		w.t.Fatal(err)
	}
	w.in.Close()
}

// A client that only writes, as in printf ... | gauze run -- server, gets its answers.
func TestRunFinishesWhatItsClientAsked(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	w := wrap(t, "sh", "-c", finishing, log)
	w.writeAndClose()
	untilFile(t, log, "EOF\n")
	if err := os.WriteFile(log+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for id := range 2 {
		if got, line := w.response(); got != id+1 || !strings.Contains(line, `"result"`) {
			t.Errorf("told %s", line)
		}
	}
	w.wantEnd(0)
}

// Nobody waits for the answer any more.
func TestRunEndsWithItsReader(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*wrapped){
		"reader gone": func(w *wrapped) { w.ear.Close() },
		"signal":      func(w *wrapped) { w.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			w := wrap(t, "sh", "-c", finishing, log)
			w.writeAndClose()
			untilFile(t, log, "EOF\n")
			pids := w.family()
			leave(w)
			w.cmd.Wait()
			if !w.cmd.ProcessState.Exited() {
				t.Errorf("%v", w.cmd.ProcessState)
			}
			w.wantGone(pids)
		})
	}
}

func TestFaultP25GauzeIsKilled(t *testing.T) {
	t.Parallel()
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

// The server kills gauze before gauze has returned from starting it.
func TestFaultP25GauzeIsKilledWhileItStartsTheServer(t *testing.T) {
	t.Parallel()
	for range 10 {
		file := filepath.Join(t.TempDir(), "pid")
		w := wrap(t, "sh", "-c", `kill -9 $PPID; echo $$ >"$0.new" && mv "$0.new" "$0"; while :; do sleep 0.1; done`, file)
		w.cmd.Wait()
		// Whether it wrote the file or not, it must be gone.
		if data, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			w.wantGone([]int{pid})
		}
	}
}

// unread is a wrap whose client does not read a long response of the server.
func unread(t *testing.T) (w *wrapped, server int) {
	t.Helper()
	w = wrap(t, "faultyserver", "-ignore-eof").initialize()
	server = w.server()
	w.call("big", `{"n":1000000}`)
	if _, err := w.out.ReadByte(); err != nil { // the response has begun, and does not fit into the pipe
		t.Fatal(err)
	}
	return w, server
}

// A client that closes its side may read when it likes. The server does not stay for that.
func TestAClientThatClosesReadsLater(t *testing.T) {
	t.Parallel()
	w, server := unread(t)
	w.in.Close()
	w.wantGone([]int{server})
	rest, err := io.ReadAll(w.out)
	if err != nil || len(rest) < 1_000_000 || !strings.HasSuffix(string(rest), "}\n") {
		t.Errorf("read %d bytes: %v", len(rest), err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("ended with %v and the words %q", err, w.stderr)
	}
}

func TestFaultH09ClientNeverReads(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprintf("and signals, closes first %v", closes), func(t *testing.T) {
			t.Parallel()
			w, server := unread(t)
			pids := w.family()
			if closes {
				w.in.Close()
				w.wantGone([]int{server})
			}
			w.cmd.Process.Signal(syscall.SIGTERM)
			w.cmd.Wait()
			if got := w.cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(w.stderr.String(), "is not reading") {
				t.Errorf("ended with %v and the words %q", w.cmd.ProcessState, w.stderr)
			}
			w.wantGone(pids)
		})
	}
}
