package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A file is shown before it is given to a cluster, once for each cluster.
func TestTaskFileIsShownBeforeItRuns(t *testing.T) {
	dir := t.TempDir()
	const file = "task.yaml"
	if err := os.WriteFile(filepath.Join(dir, file), []byte("servers: {s: {command: [sh, -c, evil], env: {KEY: \"${KEY}\"}}}\nsteps: [{id: a, server: s, tool: t, arguments: {x: 1}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	address := l.Addr().String()
	l.Close() // a plan that is confirmed gets as far as the cluster, which is not there
	const unreachable = "cannot be reached"
	run := func(args ...string) (int, string) {
		cmd := exec.Command(os.Args[0], append([]string{"task"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), envProgram+"=1", "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "GAUZE_STATE_DIR="+filepath.Join(dir, "state"))
		out, _ := cmd.CombinedOutput() // the exit status is compared
		return cmd.ProcessState.ExitCode(), string(out)
	}
	status, said := run("run", "--temporal", address, file)
	for _, want := range []string{"server s: sh -c evil", "with KEY=${KEY}", `1. a: s t {"x":1}`, "on a worker of " + address, "nothing was started"} {
		if status != 1 || !strings.Contains(said, want) {
			t.Errorf("exit status %d, want %q:\n%s", status, want, said)
		}
	}
	hash := regexp.MustCompile(`gauze task run --temporal \S+ --consent ([0-9a-f]{32}) `).FindStringSubmatch(said)
	if hash == nil {
		t.Fatalf("there is no command with --consent:\n%s", said)
	}
	if status, said := run("run", "--dry-run", "--temporal", address, file); status != 0 || !strings.Contains(said, hash[1]) {
		t.Errorf("--dry-run: exit status %d:\n%s", status, said)
	}
	if status, said := run("run", "--dry-run", "--temporal", address, "--goal", "x", "--server", "s=sh"); status != 0 || !strings.Contains(said, "goal: x") {
		t.Errorf("--dry-run of a goal: exit status %d:\n%s", status, said)
	}
	if _, said := run("resume", "--temporal", address, "--file", file, "id"); !strings.Contains(said, "nothing was started") {
		t.Errorf("resume --file:\n%s", said)
	}
	for _, args := range [][]string{{"run", "--temporal", address, "--consent", hash[1], file}, {"run", "--temporal", address, file}, {"run", "--temporal", address, "--goal", "x", "--server", "s=sh"}} {
		if _, said := run(args...); !strings.Contains(said, unreachable) {
			t.Errorf("%v:\n%s", args, said)
		}
	}
	if _, said := run("run", "--temporal", address, "--queue", "other", file); !strings.Contains(said, "nothing was started") {
		t.Errorf("a different queue:\n%s", said)
	}
}

// envProgram makes the test binary act as gauze-temporal.
const envProgram = "GAUZE_TEMPORAL_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}
