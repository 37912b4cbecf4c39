//go:build unix

package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// stateDir returns a directory whose path is short enough for a socket.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze-logs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestLogsFollowARunningServer(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	gate := filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"GAUZE_STATE_DIR=" + dir, "HOME=" + dir}
	const server = "echo first >&2; echo no message; (read l < $0; echo second >&2; read l < $0) & exec faultyserver"
	notes := startRun(t, environ, "--quiet", "--name", "notes", "--", "sh", "-c", server, gate).initialize()
	pid := announced(t, dir, 1)[0].ServerPID

	cmd := program(t, "gauze", "logs", "--follow", "notes")
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var all []string
	wait := func(part string) {
		t.Helper()
		for lines.Scan() {
			if all = append(all, lines.Text()); strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("no line with %q:\n%s", part, strings.Join(all, "\n"))
	}
	wait("  stderr  first")
	if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wait("  stderr  second")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait("  gauze   the server exited (signal: killed)")
	wait("  stderr  first") // of the next process
	notes.in.Close()
	notes.wantEnd(0)
	wait("  gauze   gauze stopped the server")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	if err := cmd.Wait(); err != nil { // Ctrl-C ends it
		t.Error(err)
	}
	text := strings.Join(all, "\n")
	if strings.Count(text, "stderr  first") != 2 || strings.Count(text, "stderr  second") != 1 || strings.Count(text, "stdout  no message") != 2 {
		t.Errorf("each line should be shown once:\n%s", text)
	}
}

// gauze without arguments names a server that is down, and why.
func TestStateNamesAServerThatIsDown(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	if err := os.MkdirAll(filepath.Join(dir, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := `{"mcpServers": {"notes": {"command": "gauze", "args": ["run", "--name=notes", "--", "no-such-program"]}}}`
	if err := os.WriteFile(filepath.Join(dir, ".cursor", "mcp.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"GAUZE_STATE_DIR=" + dir, "HOME=" + dir}
	notes := startRun(t, environ, "--quiet", "--name=notes", "--", "no-such-program")
	limit := time.After(patience.Limit())
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		cmd := program(t, "gauze")
		cmd.Env, cmd.Dir = append(os.Environ(), environ...), dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(out); strings.Contains(text, "0 running, 1 down: cursor/notes (") {
			if !strings.HasSuffix(text, "\nNext: gauze doctor cursor/notes\n") || strings.Count(text, "\n") > 5 {
				t.Errorf("%s", text)
			}
			break
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("the server is not reported:\n%s", out)
		}
	}
	notes.in.Close()
	notes.cmd.Wait()
}
